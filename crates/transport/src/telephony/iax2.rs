//! Calls by IAX2 (RFC 5456): signalling and speech over one UDP port.
//!
//! Speech travels in mini frames of 4 bytes and the payload (32 bytes more with IPv4 and UDP), or,
//! with `trunk`, together with the speech of all other calls. A trunk frame has 8 bytes, plus 4
//! bytes per call, or 6 with time stamps. It leaves at every multiple of the trunk's period at
//! which speech waits. Speech that does not fit into a packet of `mtu` leaves in a second one at
//! the same time. A trunk delays speech by half of its period on average. Without time stamps, its
//! entries take the time of the trunk.
//!
//! A call fails with a cause of Q.931: 17 if no line is free at the destination, 102 if a frame is
//! not acknowledged, 19 if the caller gives up.
//!
//! Deviation: frames have no sequence numbers, so a real receiver must distinguish lost speech from
//! silence by time stamps; here it knows the losses.

use super::endpoint::{Endpoint, Ends};
use super::results::{CALL, HEARD, REPORT, TRAFFIC};
use super::{Line, Message, Outgoing, Signal, Signals};
use crate::app::{calls, Workload};
use crate::{tcp, udp, EndpointParts, Packets, Supply, Transport};
use bentpipe_core::{Problems, Sample, Size, Span, Stream, Table, Tables, Time};
use bentpipe_stage::{Body, Stage};
use bentpipe_voice::codec::{self, Codec};
use bentpipe_voice::iax2::{self, cause, frame, Call, Event, Exchange};
use bentpipe_voice::rtp::Rtp;
use bentpipe_voice::stream::Media;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// Telephone calls by IAX2 (RFC 5456): signalling and speech over one UDP port, alone or in trunks.
///
/// ```toml
/// app = { kind = "calls", calls = 4 }
/// transport = { kind = "iax2", trunk = "20 ms" }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Period of trunk frames, which carry the speech of all calls together (RFC 5456, section
    /// 7.1). If unset, every packet of speech is a separate mini frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trunk: Option<Span>,
    /// True if a call's entry in a trunk frame has its own time stamp, which takes 2 bytes. Default
    /// false.
    pub timestamps: bool,
    /// Maximum size of a packet with a trunk frame, IP and UDP included, 68 B to 65535 B. Speech
    /// that does not fit leaves in further trunk frames at the same time. Default 1500 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Size>,
}

/// Default maximum size of a packet with a trunk frame, in bytes: the MTU of Ethernet.
const MTU: u64 = 1500;
/// The allowed values of `mtu`: sizes of IPv4 packets (RFC 791).
const MTUS: RangeInclusive<u64> = 68..=65_535;

impl Sample for Config {
    const SAMPLE: &'static str = r#"trunk = "20 ms", timestamps = true, mtu = "576 B""#;
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
        _random: Stream,
        _supply: &mut dyn tcp::Supply,
    ) -> Option<Box<dyn Line>> {
        let timestamps = self.timestamps;
        let largest = self.mtu.map_or(MTU, Size::bytes) as u32 - udp::HEADER;
        let trunk = self.trunk.map(|period| iax2::Trunk { period, timestamps, largest });
        Some(Box::new(Iax2::new(ends, calls.codec(), trunk)))
    }

    fn carries_calls(&self) -> bool {
        true
    }

    fn packets(&self, datagram: Option<u32>) -> Packets {
        let payload = datagram.unwrap_or(160);
        // In a trunk with several calls, the headers are shared, and packets are larger.
        Packets { payload, size: payload + frame::MINI as u32 + udp::HEADER, answer: 0, responsive: false }
    }

    fn mismatch(&self, _kind: &str, app: &dyn Workload) -> Option<String> {
        let codec = codec::find(&app.calls()?.codec)?;
        format(codec).is_none().then(|| {
            let known = codec::CODECS.iter().filter(|codec| format(codec).is_some()).map(|codec| codec.name);
            let known = known.collect::<Vec<_>>().join(", ");
            format!("IAX2 has no number for {}; allowed: {known}", codec.name)
        })
    }

    fn check(&self, problems: &mut Problems) {
        if self.trunk == Some(Span::ZERO) {
            problems.add("trunk", "must be longer than 0 s");
        }
        if self.timestamps && self.trunk.is_none() {
            problems.add("timestamps", "are those of a trunk's entries; allowed: with trunk");
        }
        match self.mtu {
            Some(_) if self.trunk.is_none() => {
                problems.add("mtu", "is that of trunk frames; allowed: with trunk")
            }
            Some(mtu) if !MTUS.contains(&mtu.bytes()) => {
                let (min, max) = (MTUS.start(), MTUS.end());
                problems.add("mtu", format!("{mtu} is out of range; allowed: {min} B to {max} B"));
            }
            _ => {}
        }
    }
}

/// Returns the bit of a codec (RFC 5456, section 8.7), if it has one.
fn format(codec: &Codec) -> Option<frame::Codec> {
    frame::Codec::of(super::sip::encoding(codec)?)
}

/// The signalling and the speech of one end.
struct Iax2 {
    exchange: Exchange,
    ends: Ends,
    codec: frame::Codec,
    out: iax2::Out,
    /// The payload of a packet of speech, zeros.
    silence: Vec<u8>,
}

/// The UDP port of IAX2 (RFC 5456).
const PORT: u16 = 4569;

impl Iax2 {
    fn new(ends: Ends, codec: &'static Codec, trunk: Option<iax2::Trunk>) -> Iax2 {
        let codec = format(codec).expect("the scenario has been checked");
        Iax2 { exchange: Exchange::new(trunk), ends, codec, out: iax2::Out::default(), silence: Vec::new() }
    }

    /// Passes on the datagrams and events of the exchange. `marks` are those of the handled
    /// datagram.
    fn pass(&mut self, marks: &[u64], out: &mut Signals) {
        for iax2::OutgoingDatagram { bytes, marks, speech, .. } in self.out.send.drain(..) {
            let size = bytes.len() as u32 + udp::HEADER;
            out.send.push(Outgoing { size, speech, body: Body::layer(Message { bytes, marks }) });
        }
        out.retransmissions += std::mem::take(&mut self.out.retransmissions);
        for event in self.out.events.drain(..) {
            out.events.extend(match event {
                Event::Incoming { call, from, .. } => {
                    Some(Signal::Incoming { call: u32::from(call.0), number: from.parse().unwrap_or(0) })
                }
                Event::Progress { call, ringing: true } => Some(Signal::Ringing { call: u32::from(call.0) }),
                Event::Answered { call } => Some(Signal::Answered { call: u32::from(call.0) }),
                Event::Failed { call, cause } => {
                    Some(Signal::Failed { call: u32::from(call.0), reason: u16::from(cause) })
                }
                Event::Ended { call, by_other: true } => Some(Signal::Ended { call: u32::from(call.0) }),
                Event::Voice { call, place, bytes, .. } => marks.get(place).map(|mark| Signal::Speech {
                    call: u32::from(call.0),
                    rtp: unmarked(*mark),
                    payload: bytes,
                }),
                Event::Progress { .. }
                | Event::Ended { .. }
                | Event::Lag { .. }
                | Event::Registering { .. } => None,
            });
        }
    }
}

/// Returns the contents of an RTP header in 64 bits, without the source, which is the call.
fn mark(rtp: &Rtp) -> u64 {
    u64::from(rtp.timestamp) << 32
        | u64::from(rtp.sequence) << 16
        | u64::from(rtp.payload_type) << 8
        | u64::from(rtp.marker)
}

/// Returns the RTP header from which [`mark`] made these bits.
fn unmarked(mark: u64) -> Rtp {
    Rtp {
        marker: mark & 1 == 1,
        payload_type: (mark >> 8) as u8,
        sequence: (mark >> 16) as u16,
        timestamp: (mark >> 32) as u32,
        ssrc: 0,
    }
}

impl Line for Iax2 {
    fn call(&mut self, now: Time, number: u32, out: &mut Signals) -> Option<u32> {
        let to = SocketAddr::from((self.ends.other, PORT));
        let call = self.exchange.call(now, to, "1", &number.to_string(), self.codec, &mut self.out);
        self.pass(&[], out);
        call.map(|call| u32::from(call.0))
    }

    fn ring(&mut self, now: Time, call: u32, out: &mut Signals) {
        self.exchange.ring(now, Call(call as u16), &mut self.out);
        self.pass(&[], out);
    }

    fn answer(&mut self, now: Time, call: u32, out: &mut Signals) {
        self.exchange.answer(now, Call(call as u16), &mut self.out);
        self.pass(&[], out);
    }

    fn refuse(&mut self, now: Time, call: u32, out: &mut Signals) {
        self.exchange.refuse(now, Call(call as u16), cause::BUSY, &mut self.out);
        self.pass(&[], out);
    }

    fn hang_up(&mut self, now: Time, call: u32, out: &mut Signals) {
        self.exchange.hang_up(now, Call(call as u16), &mut self.out);
        self.pass(&[], out);
    }

    fn speak(&mut self, now: Time, call: u32, media: &Media, out: &mut Signals) {
        // The content of speech is not simulated.
        self.silence.resize(media.payload as usize, 0);
        self.exchange.voice(now, Call(call as u16), &self.silence, mark(&media.rtp), &mut self.out);
        self.pass(&[], out);
    }

    fn receive(&mut self, now: Time, body: &Body, out: &mut Signals) -> bool {
        let Some(message) = body.of::<Message>() else { return false };
        let from = SocketAddr::from((self.ends.other, PORT));
        self.exchange.receive(now, from, &message.bytes, &mut self.out);
        self.pass(&message.marks, out);
        true
    }

    fn wake(&mut self, now: Time, out: &mut Signals) {
        self.exchange.wake(now, &mut self.out);
        self.pass(&[], out);
    }

    fn next_wake(&self) -> Time {
        self.exchange.next_wake()
    }
}
