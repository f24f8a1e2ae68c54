//! Calls by SIP (RFC 3261) over UDP, with their speech in RTP (RFC 3550).
//!
//! The exchanges at both ends of the flow know each other's address: INVITE goes directly from one to the other, with an offer
//! and an answer (RFC 3264) that say where media go. A message takes 28 bytes more than its text (IPv4 and UDP), a packet of
//! speech 40 bytes more than its payload (and RTP).
//!
//! A call fails with the status of the final response: 486 if no line is free at the destination, 408 if nobody answers an INVITE
//! for 64 T1, 487 if the caller gives up.

use super::endpoint::{Endpoint, Ends};
use super::results::{CALL, REPORT, TRAFFIC};
use super::{Line, Message, Outgoing, Signal, Signals};
use crate::app::{calls, Workload};
use crate::transport::{udp, Packets, Seat, Supply, Transport};
use crate::voice::codec::{self, Codec};
use crate::voice::rtp::{self, Rtp};
use crate::voice::sip::sdp::{Format, Session};
use crate::voice::sip::{self, Agent, Call, Event, Identity, Timers};
use crate::voice::stream::Media;
use crate::{Body, Content, Packet, Payload, Stage};
use bentpipe_core::{Problems, Sample, Span, Stream, Table, Tables, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Telephone calls by SIP (RFC 3261) over UDP, with speech in RTP (RFC 3550).
///
/// ```toml
/// app = { kind = "calls", calls = 1 }
/// transport = "sip"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Timer T1, the estimate of the round-trip time from which all timers of SIP follow (RFC 3261, section 17.1.1.1): the first
    /// retransmission comes after T1, and a request fails after 64 T1. 500 ms by default; the RFC recommends more where
    /// round-trip times are longer.
    pub t1: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { t1: Timers::default().t1 }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"t1 = "1 s""#;
}

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&CALL, &TRAFFIC];
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Transport for Config {
    fn build(&self, seat: Seat, supply: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(Endpoint::of(self, seat, supply))
    }

    fn line(&self, ends: Ends, calls: &calls::Config, random: Stream) -> Option<Box<dyn Line>> {
        let timers = Timers { t1: self.t1, t2: Timers::default().t2.max(self.t1), ..Timers::default() };
        Some(Box::new(Sip::new(ends, calls.codec(), timers, random)))
    }

    fn carries_calls(&self) -> bool {
        true
    }

    fn packets(&self, datagram: Option<u32>) -> Packets {
        let payload = datagram.unwrap_or(160);
        Packets { payload, size: payload + rtp::HEADER as u32 + udp::HEADER, answer: 0, responsive: false }
    }

    fn mismatch(&self, _kind: &str, app: &dyn Workload) -> Option<String> {
        let codec = codec::find(&app.calls()?.codec)?;
        encoding(codec).is_none().then(|| format!("SIP has no name for {}", codec.name))
    }

    fn check(&self, problems: &mut Problems) {
        if self.t1 == Span::ZERO {
            problems.add("t1", "must be longer than 0 s");
        }
    }
}

/// The name of a codec's RTP encoding in session descriptions.
pub fn encoding(codec: &Codec) -> Option<&'static str> {
    Some(match codec.rtp.payload_type {
        0 => "PCMU",
        3 => "GSM",
        4 => "G723",
        8 => "PCMA",
        18 => "G729",
        97 => "iLBC",
        98 => "AMR",
        99 => "GSM-EFR",
        111 => "opus",
        _ => return None,
    })
}

/// A packet of speech.
#[derive(Debug)]
struct Speech {
    /// The UDP port for which it is.
    port: u16,
    rtp: Rtp,
    payload: u32,
}

impl Payload for Speech {
    fn content(&self) -> Content {
        Content::Data
    }

    fn header(&self, _packet: &Packet, _notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        out.extend(self.rtp.write());
        self.payload
    }
}

/// One end.
struct Sip {
    agent: Agent,
    ends: Ends,
    codec: &'static Codec,
    /// Where media of a call are to go, once it is known.
    ports: BTreeMap<u32, u16>,
    /// The calls whose media are to come, by port.
    calls: BTreeMap<u16, u32>,
    out: sip::Out,
}

/// The first UDP port of media; the port of call n is 2 n above it.
const MEDIA: u16 = 10_000;

impl Sip {
    fn new(ends: Ends, codec: &'static Codec, timers: Timers, random: Stream) -> Sip {
        let me =
            Identity { user: "exchange".to_owned(), address: SocketAddr::from((ends.own, 5060)), tcp: false };
        Sip {
            agent: Agent::new(me, timers, random),
            ends,
            codec,
            ports: BTreeMap::new(),
            calls: BTreeMap::new(),
            out: sip::Out::default(),
        }
    }

    fn description(&self, call: u32) -> String {
        let codec = self.codec;
        let encoding = encoding(codec).unwrap_or_default().to_owned();
        let format = Format { number: codec.rtp.payload_type, encoding, clock: codec.rtp.clock };
        Session { address: self.ends.own.into(), port: own_port(call), formats: vec![format] }
            .text(u64::from(call))
    }

    fn learn(&mut self, call: u32, description: &[u8]) -> bool {
        let session = Session::read(description).filter(|session| session.port != 0);
        let wanted = self.codec.rtp.payload_type;
        let session = session.filter(|session| session.formats.iter().any(|format| format.number == wanted));
        if let Some(session) = &session {
            self.ports.insert(call, session.port);
            self.calls.insert(own_port(call), call);
        }
        session.is_some()
    }

    fn forget(&mut self, call: u32) {
        self.ports.remove(&call);
        self.calls.remove(&own_port(call));
    }

    /// Passes on what the agent asked for.
    fn pass(&mut self, now: Time, out: &mut Signals) {
        loop {
            for (_, bytes) in self.out.send.drain(..) {
                let payload = bytes.len() as u32;
                let body = Body::layer(Message { bytes, marks: Vec::new() });
                out.send.push(Outgoing { payload, speech: 0, body });
            }
            out.retransmissions += std::mem::take(&mut self.out.retransmissions);
            if self.out.events.is_empty() {
                return;
            }
            for event in std::mem::take(&mut self.out.events) {
                self.tell(now, event, out);
            }
        }
    }

    fn tell(&mut self, now: Time, event: Event, out: &mut Signals) {
        match event {
            Event::Incoming { call, from, offer, .. } => match self.learn(call.0, &offer) {
                true => out.events.push(Signal::Incoming { call: call.0, number: from.parse().unwrap_or(0) }),
                false => self.agent.refuse(now, call, 488, &mut self.out),
            },
            Event::Progress { call, status } if status >= 180 => {
                out.events.push(Signal::Ringing { call: call.0 })
            }
            Event::Answered { call, answer } => {
                self.learn(call.0, &answer);
                out.events.push(Signal::Answered { call: call.0 });
            }
            Event::Failed { call, status } => {
                self.forget(call.0);
                out.events.push(Signal::Failed { call: call.0, reason: status });
            }
            Event::Ended { call, by_other } => {
                self.forget(call.0);
                if by_other {
                    out.events.push(Signal::Ended { call: call.0 });
                }
            }
            Event::Progress { .. } | Event::Acknowledged { .. } | Event::Registered { .. } => {}
        }
    }
}

fn own_port(call: u32) -> u16 {
    MEDIA + (call % 27_000) as u16 * 2
}

impl Line for Sip {
    fn call(&mut self, now: Time, number: u32, out: &mut Signals) -> Option<u32> {
        let to = SocketAddr::from((self.ends.other, 5060));
        let offer = self.description(self.agent.following().0);
        let uri = format!("sip:exchange@{}", self.ends.other);
        let Call(call) = self.agent.invite(now, &number.to_string(), &uri, to, &offer, &mut self.out);
        self.pass(now, out);
        Some(call)
    }

    fn ring(&mut self, now: Time, call: u32, out: &mut Signals) {
        self.agent.ring(now, Call(call), &mut self.out);
        self.pass(now, out);
    }

    fn answer(&mut self, now: Time, call: u32, out: &mut Signals) {
        let answer = self.description(call);
        self.agent.answer(now, Call(call), &answer, &mut self.out);
        self.pass(now, out);
    }

    fn refuse(&mut self, now: Time, call: u32, out: &mut Signals) {
        self.agent.refuse(now, Call(call), 486, &mut self.out);
        self.pass(now, out);
    }

    fn hang_up(&mut self, now: Time, call: u32, out: &mut Signals) {
        self.agent.hang_up(now, Call(call), &mut self.out);
        self.pass(now, out);
    }

    fn speak(&mut self, _now: Time, call: u32, media: &Media, out: &mut Signals) {
        let Some(port) = self.ports.get(&call) else { return };
        let speech = Speech { port: *port, rtp: media.rtp, payload: media.payload };
        let payload = rtp::HEADER as u32 + media.payload;
        out.send.push(Outgoing { payload, speech: media.payload, body: Body::layer(speech) });
    }

    fn receive(&mut self, now: Time, body: &Body, out: &mut Signals) -> bool {
        if let Some(speech) = body.of::<Speech>() {
            let call = self.calls.get(&speech.port);
            out.events.extend(call.map(|call| Signal::Speech { call: *call, rtp: speech.rtp }));
            return true;
        }
        let Some(message) = body.of::<Message>() else { return false };
        let from = SocketAddr::from((self.ends.other, 5060));
        self.agent.receive(now, from, &message.bytes, &mut self.out);
        self.pass(now, out);
        true
    }

    fn wake(&mut self, now: Time, out: &mut Signals) {
        self.agent.wake(now, &mut self.out);
        self.pass(now, out);
    }

    fn next_wake(&self) -> Time {
        self.agent.next_wake()
    }
}
