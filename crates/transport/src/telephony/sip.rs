//! Calls by SIP (RFC 3261) over UDP or TCP, with their speech in RTP (RFC 3550).
//!
//! The exchanges at both ends of the flow know each other's address. INVITE is sent directly from
//! one to the other, with an offer and an answer (RFC 3264) that name the ports of the media. Over
//! UDP a message is 28 bytes longer than its text (IPv4 and UDP). Over TCP all messages share one
//! connection ([`stream`](super::stream)), which the first call opens, so its set-up takes one more
//! round trip. TCP repairs lost messages, and SIP retransmits nothing. Speech is always sent over
//! UDP, in packets 40 bytes longer than their payload (IPv4, UDP and RTP).
//!
//! A call fails with the status of the final response: 486 if no line is free at the destination,
//! 408 if an INVITE has no answer for 64 T1, 487 if the caller gives up, 503 if the TCP connection
//! fails.

use super::endpoint::{Endpoint, Ends};
use super::results::{CALL, HEARD, REPORT, TRAFFIC};
use super::stream::{Carried, News, Stream as Connection};
use super::{Line, Message, Outgoing, Signal, Signals};
use crate::app::{calls, End, Workload};
use crate::{tcp, udp, EndpointParts, Packets, Supply, Transport};
use bentpipe_core::{Problems, Sample, Span, Stream, Streams, Table, Tables, Time};
use bentpipe_stage::{Body, Content, Packet, Payload, Stage};
use bentpipe_voice::codec::{self, Codec};
use bentpipe_voice::rtp::{self, Rtp};
use bentpipe_voice::sip::message::ParseError;
use bentpipe_voice::sip::sdp::{Format, Session};
use bentpipe_voice::sip::{self, Agent, Call, Event, Identity, Timers};
use bentpipe_voice::stream::Media;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Telephone calls by SIP (RFC 3261) over UDP or TCP, with speech in RTP (RFC 3550).
///
/// ```toml
/// app = { kind = "calls", calls = 1 }
/// transport = "sip"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Timer T1, the estimate of the round-trip time from which all timers of SIP follow (RFC 3261,
    /// section 17.1.1.1): the first retransmission comes after T1, and a request fails after 64 T1.
    /// The RFC recommends more for longer round-trip times. Default 500 ms.
    pub t1: Span,
    /// Transport protocol of the signalling: `"udp"` (the default) or `"tcp"`, one connection for
    /// all calls with the default settings of the transport `tcp`. Speech is always sent over UDP.
    pub over: SignallingTransport,
}

/// The transport protocol of SIP's messages (RFC 3261, section 18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignallingTransport {
    /// Each message is a UDP datagram, retransmitted by SIP.
    #[default]
    Udp,
    /// All messages between two ends use one TCP connection.
    Tcp,
}

impl Default for Config {
    fn default() -> Config {
        Config { t1: Timers::default().t1, over: SignallingTransport::default() }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"t1 = "1 s""#;
}

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&CALL, &TRAFFIC, &HEARD];
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Transport for Config {
    fn build(&self, parts: EndpointParts, supply: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(Endpoint::of(self, parts, supply))
    }

    fn line(
        &self,
        ends: Ends,
        calls: &calls::Config,
        mut random: Stream,
        supply: &mut dyn tcp::Supply,
    ) -> Option<Box<dyn Line>> {
        let timers = Timers { t1: self.t1, t2: Timers::default().t2.max(self.t1), ..Timers::default() };
        let connection = (self.over == SignallingTransport::Tcp).then(|| {
            let (opens, config) = (ends.end == End::Source, tcp::Config::default());
            let own = Streams::new(random.bits(), 0).stream("connection");
            let congestion = supply.congestion(config.control());
            Connection::new(opens, config, congestion, own)
        });
        Some(Box::new(Sip::new(ends, calls.codec(), timers, random, connection)))
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

/// Returns the name of a codec's RTP encoding in session descriptions.
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

/// A packet of speech in RTP.
#[derive(Debug)]
struct Speech {
    /// UDP port of the packet's destination.
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

/// The signalling and the speech of one end.
struct Sip {
    agent: Agent,
    ends: Ends,
    codec: &'static Codec,
    /// Destination port of a call's speech, once it is known.
    ports: BTreeMap<u32, u16>,
    /// The calls with arriving speech, by local port.
    calls: BTreeMap<u16, u32>,
    out: sip::Out,
    /// The TCP connection of the signalling, if TCP is used.
    connection: Option<Connection>,
}

/// The lowest UDP port of speech. Call n uses this port plus 2 n.
const MEDIA: u16 = 10_000;

impl Sip {
    fn new(
        ends: Ends,
        codec: &'static Codec,
        timers: Timers,
        random: Stream,
        connection: Option<Connection>,
    ) -> Sip {
        let (address, tcp) = (SocketAddr::from((ends.own, 5060)), connection.is_some());
        let me = Identity { user: "exchange".to_owned(), address, tcp };
        Sip {
            agent: Agent::new(me, timers, random),
            ends,
            codec,
            ports: BTreeMap::new(),
            calls: BTreeMap::new(),
            out: sip::Out::default(),
            connection,
        }
    }

    /// Returns the session description of this end for a call.
    fn description(&self, call: u32) -> String {
        let codec = self.codec;
        let encoding = encoding(codec).unwrap_or_default().to_owned();
        let format = Format { number: codec.rtp.payload_type, encoding, clock: codec.rtp.clock };
        Session { address: self.ends.own.into(), port: own_port(call), formats: vec![format] }
            .text(u64::from(call))
    }

    /// Records the port of the other end's session description. Returns true if it has one for the
    /// codec of the calls.
    fn record_port(&mut self, call: u32, description: &[u8]) -> bool {
        let session = Session::read(description).filter(|session| session.port != 0);
        let wanted = self.codec.rtp.payload_type;
        let session = session.filter(|session| session.formats.iter().any(|format| format.number == wanted));
        if let Some(session) = &session {
            self.ports.insert(call, session.port);
            self.calls.insert(own_port(call), call);
        }
        session.is_some()
    }

    /// Removes the ports of a call.
    fn remove_ports(&mut self, call: u32) {
        self.ports.remove(&call);
        self.calls.remove(&own_port(call));
    }

    /// Passes on the messages and events of the agent.
    fn pass(&mut self, now: Time, out: &mut Signals) {
        loop {
            for (_, bytes) in self.out.send.drain(..) {
                match &mut self.connection {
                    Some(connection) => connection.write(&bytes),
                    None => {
                        let size = bytes.len() as u32 + udp::HEADER;
                        let body = Body::layer(Message { bytes, marks: Vec::new() });
                        out.send.push(Outgoing { size, speech: 0, body });
                    }
                }
            }
            out.retransmissions += std::mem::take(&mut self.out.retransmissions);
            if self.out.events.is_empty() {
                break;
            }
            for event in std::mem::take(&mut self.out.events) {
                self.handle_event(now, event, out);
            }
        }
        if let Some(connection) = &mut self.connection {
            out.retransmissions += connection.segments(now, &mut out.send);
        }
    }

    /// Reads the messages that have arrived over the connection, or ends all transactions if it has
    /// failed.
    fn read(&mut self, now: Time, news: &News) {
        let Some(connection) = &mut self.connection else { return };
        if news.failed {
            return self.agent.disconnected(now, &mut self.out);
        }
        if !news.arrived {
            return;
        }
        let from = SocketAddr::from((self.ends.other, 5060));
        loop {
            match sip::Message::read_stream(&connection.arrived) {
                Ok((_, length)) => {
                    let message: Vec<u8> = connection.arrived.drain(..length).collect();
                    self.agent.receive(now, from, &message, &mut self.out);
                }
                Err(ParseError::Incomplete) => return,
                Err(_) => unreachable!("the other end writes messages of SIP"),
            }
        }
    }

    /// Handles an event of the agent.
    fn handle_event(&mut self, now: Time, event: Event, out: &mut Signals) {
        match event {
            Event::Incoming { call, from, offer, .. } => match self.record_port(call.0, &offer) {
                true => out.events.push(Signal::Incoming { call: call.0, number: from.parse().unwrap_or(0) }),
                false => self.agent.refuse(now, call, 488, &mut self.out),
            },
            Event::Progress { call, status } if status >= 180 => {
                out.events.push(Signal::Ringing { call: call.0 })
            }
            Event::Answered { call, answer } => {
                self.record_port(call.0, &answer);
                out.events.push(Signal::Answered { call: call.0 });
            }
            Event::Failed { call, status } => {
                self.remove_ports(call.0);
                out.events.push(Signal::Failed { call: call.0, reason: status });
            }
            Event::Ended { call, by_other } => {
                self.remove_ports(call.0);
                if by_other {
                    out.events.push(Signal::Ended { call: call.0 });
                }
            }
            Event::Progress { .. } | Event::Acknowledged { .. } | Event::Registered { .. } => {}
        }
    }
}

/// Returns the UDP port at which this end expects the speech of a call.
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
        let size = rtp::HEADER as u32 + media.payload + udp::HEADER;
        out.send.push(Outgoing { size, speech: media.payload, body: Body::layer(speech) });
    }

    fn receive(&mut self, now: Time, body: &Body, out: &mut Signals) -> bool {
        if let Some(speech) = body.of::<Speech>() {
            let call = self.calls.get(&speech.port);
            out.events.extend(call.map(|call| Signal::Speech {
                call: *call,
                rtp: speech.rtp,
                payload: speech.payload,
            }));
            return true;
        }
        if let (Some(carried), Some(connection)) = (body.of::<Carried>(), &mut self.connection) {
            let news = connection.receive(now, carried);
            self.read(now, &news);
            self.pass(now, out);
            return true;
        }
        let Some(message) = body.of::<Message>() else { return false };
        let from = SocketAddr::from((self.ends.other, 5060));
        self.agent.receive(now, from, &message.bytes, &mut self.out);
        self.pass(now, out);
        true
    }

    fn wake(&mut self, now: Time, out: &mut Signals) {
        if let Some(connection) = &mut self.connection {
            let news = connection.wake(now);
            self.read(now, &news);
        }
        self.agent.wake(now, &mut self.out);
        self.pass(now, out);
    }

    fn next_wake(&self) -> Time {
        let connection = self.connection.as_ref().map_or(Time::MAX, Connection::next_wake);
        connection.min(self.agent.next_wake())
    }
}
