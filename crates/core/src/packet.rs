//! What travels: a small header and a typed body. Kept to the size of a cache line, since it is moved by value.

use crate::{Span, Time};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Index of a flow in the scenario, in the order in which flows are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

impl FlowId {
    /// From here on numbers are of packets that no flow of the scenario is known to have sent.
    pub const UNKNOWN: u32 = 1 << 31;
}

/// Index of a node of the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u16);

/// Explicit congestion notification field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct = 0,
    /// ECN-capable transport, ECT(1).
    Ect1 = 1,
    /// ECN-capable transport, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// A network-layer packet.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// When its source created it.
    pub birth: Time,
    /// Position in the sequence of packets that its source created for this flow and direction, from 0.
    pub number: u32,
    /// Bytes at the network layer, IP header included.
    pub size: u32,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Where it comes from.
    pub source: NodeId,
    /// Where it goes.
    pub destination: NodeId,
    /// Which of the flow's connections it belongs to, from 0.
    pub connection: u16,
    /// Differentiated services code point (RFC 2474).
    pub dscp: u8,
    /// Congestion notification.
    pub ecn: Ecn,
    /// What it carries.
    pub body: Body,
}

impl Packet {
    /// The Quick-Start request that it carries.
    #[inline]
    pub fn quick_start(&mut self) -> Option<&mut QuickStart> {
        match &mut self.body {
            Body::Tfrc(tfrc) => tfrc.quick_start.as_mut(),
            Body::Segment(segment) => segment.options.as_mut()?.quick_start.as_mut(),
            _ => None,
        }
    }

    /// How long ago it was created.
    #[inline]
    pub fn age(&self, now: Time) -> Span {
        now.since(self.birth)
    }
}

/// What a packet carries, typed by the layer that made it.
#[derive(Clone, Debug, Default)]
pub enum Body {
    /// A datagram whose payload matters only by its size.
    #[default]
    Datagram,
    /// A TCP segment.
    Segment(Segment),
    /// A datagram of TFRC.
    Tfrc(Box<Tfrc>),
    /// A message of a control protocol (a capacity request, a burst time plan, ...), typed by its protocol.
    Control(Arc<dyn Message>),
    /// A real packet, network header first, in the first [`Packet::size`] bytes of a buffer that may be longer: buffers
    /// are used again, see [`Outbox::spare`](crate::Outbox::spare).
    Frame(Box<[u8]>),
    /// What a channel has put a wrong bit into.
    Spoiled(Box<Spoiled>),
}

impl Body {
    /// Whether it carries data of an application; nothing where no flow's packets are like that.
    pub fn has_payload(&self) -> Option<bool> {
        match self {
            Body::Datagram => Some(true),
            Body::Segment(segment) => Some(segment.payload > 0),
            Body::Tfrc(tfrc) => Some(tfrc.feedback.is_none()),
            Body::Spoiled(spoiled) => spoiled.body.has_payload(),
            Body::Control(_) | Body::Frame(_) => None,
        }
    }
}

/// A packet's body with a wrong bit.
#[derive(Clone, Debug)]
pub struct Spoiled {
    /// As it was.
    pub body: Body,
    /// Whether its checksum holds all the same.
    pub valid: bool,
}

/// TFRC header (RFC 5348, section 3.2) of a data packet, whose sequence number is [`Packet::number`], or of a report.
#[derive(Clone, Debug)]
pub struct Tfrc {
    /// When it was sent, which may be after its payload was handed over.
    pub sent: Time,
    /// The sender's round-trip time; zero before it has one.
    pub rtt: Span,
    /// What a receiver reports.
    pub feedback: Option<TfrcFeedback>,
    /// What is asked of the path.
    pub quick_start: Option<QuickStart>,
}

/// A receiver's report (RFC 5348, section 3.2.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TfrcFeedback {
    /// When the last packet had been sent (t_recvdata), and how long ago it came (t_delay).
    pub echo: Time,
    /// See `echo`.
    pub delay: Span,
    /// X_recv in bytes per second.
    pub receive_rate: f64,
    /// p.
    pub loss_event_rate: f64,
    /// What the path has granted to a request, in bit/s (a Quick-Start response).
    pub granted: Option<u64>,
}

/// A Quick-Start request (RFC 4782, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuickStart {
    /// N of the rate, 40 kbit/s x 2^N; 0 when nothing is granted any more.
    pub rate: u8,
    /// Whether it has passed a router that does not know of it.
    pub missed: bool,
}

impl QuickStart {
    /// The least rate that the option can say and that is enough, or the greatest.
    pub fn asking(bits_per_second: f64) -> QuickStart {
        let rate = (1..15).find(|rate| f64::from(40_000u32 << rate) >= bits_per_second).unwrap_or(15);
        QuickStart { rate, missed: false }
    }

    /// The rate in bit/s; 0 when nothing is granted.
    pub fn bits_per_second(self) -> u64 {
        match self.rate {
            0 => 0,
            rate => 40_000 << rate,
        }
    }

    /// A router grants no more than this.
    pub fn reduce_to(&mut self, bits_per_second: f64) {
        while self.rate > 0 && self.bits_per_second() as f64 > bits_per_second {
            self.rate -= 1;
        }
    }
}

/// SCPS-TP's selective negative acknowledgment (CCSDS 714.0-B-2): what is missing above the acknowledged byte, in units of the
/// sender's full segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snack {
    /// From the acknowledged byte to the first hole (Hole1 Offset).
    pub offset: u16,
    /// Length of the first hole (Hole1 Size).
    pub size: u16,
    /// What follows the first hole, lowest bit first: 1 for a unit that is there.
    pub vector: u128,
    /// How many bits of the vector count.
    pub bits: u8,
}

impl Snack {
    /// Bytes of the option.
    pub fn bytes(&self) -> u32 {
        6 + u32::from(self.bits).div_ceil(8)
    }
}

/// A control message. Its protocol downcasts it with [`Message::as_any`].
pub trait Message: Any + fmt::Debug + Send + Sync {
    /// For downcasting to the protocol's own type.
    fn as_any(&self) -> &dyn Any;
}

/// TCP header of a segment (RFC 9293, section 3.1) without the ports, which the flow stands for.
/// The payload's length follows from the packet's size; [`Segment::payload`] carries it for speed.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// Sequence number of the first payload byte (of the SYN when that flag is set).
    pub sequence: u32,
    /// Next byte expected; valid with the ACK flag.
    pub acknowledgment: u32,
    /// Receive window in bytes, after window scaling (a multiple of 2^scale except on SYN).
    pub window: u32,
    /// Payload bytes.
    pub payload: u16,
    /// Control flags.
    pub flags: SegmentFlags,
    /// Timestamp value and echo (RFC 7323), when that option is in use: 12 bytes of header with padding.
    pub timestamps: Option<Timestamps>,
    /// Options that few segments carry.
    pub options: Option<Box<SegmentOptions>>,
}

/// A timestamp value and its echo (RFC 7323), kept as bytes: without alignment, a [`Packet`] has no padding for them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    value: [u8; 4],
    echo: [u8; 4],
}

impl Timestamps {
    /// The sender's clock and what it echoes.
    #[inline]
    pub const fn new(value: u32, echo: u32) -> Timestamps {
        Timestamps { value: value.to_ne_bytes(), echo: echo.to_ne_bytes() }
    }

    /// The sender's clock.
    #[inline]
    pub const fn value(self) -> u32 {
        u32::from_ne_bytes(self.value)
    }

    /// The clock of the other side that the sender last saw.
    #[inline]
    pub const fn echo(self) -> u32 {
        u32::from_ne_bytes(self.echo)
    }
}

impl fmt::Debug for Timestamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.value(), self.echo())
    }
}

/// TCP options other than timestamps, and what else few segments carry; their bytes are part of the packet's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentOptions {
    /// Maximum segment size (RFC 9293, section 3.7.1), on SYN only.
    pub mss: Option<u16>,
    /// Window scale shift count (RFC 7323), on SYN only.
    pub window_scale: Option<u8>,
    /// Selective acknowledgment permitted (RFC 2018), on SYN only.
    pub sack_permitted: bool,
    /// Selective acknowledgments (RFC 2018).
    pub sack: SackBlocks,
    /// What is asked of the path, an option of the IP header (RFC 4782, section 3.1).
    pub quick_start: Option<QuickStart>,
    /// Selective negative acknowledgments are understood: SCPS capabilities, on SYN only (CCSDS 714.0-B-2).
    pub snack_permitted: bool,
    /// Selective negative acknowledgment (CCSDS 714.0-B-2).
    pub snack: Option<Snack>,
    /// What the path has granted to the other end (RFC 4782, section 4.2), as [`QuickStart::rate`] has it.
    pub granted: Option<u8>,
}

/// Control flags of a segment as a bit set with the bits of the TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentFlags(pub u8);

impl SegmentFlags {
    /// No more data from the sender.
    pub const FIN: SegmentFlags = SegmentFlags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: SegmentFlags = SegmentFlags(0x02);
    /// Reset the connection.
    pub const RST: SegmentFlags = SegmentFlags(0x04);
    /// Push.
    pub const PSH: SegmentFlags = SegmentFlags(0x08);
    /// The acknowledgment field is valid.
    pub const ACK: SegmentFlags = SegmentFlags(0x10);
    /// ECN echo (RFC 3168).
    pub const ECE: SegmentFlags = SegmentFlags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: SegmentFlags = SegmentFlags(0x80);

    /// Whether all flags of `other` are set here.
    #[inline]
    pub const fn contains(self, other: SegmentFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and those of `other`.
    #[inline]
    pub const fn with(self, other: SegmentFlags) -> SegmentFlags {
        SegmentFlags(self.0 | other.0)
    }
}

impl fmt::Debug for SegmentFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::FIN, "FIN"),
            (Self::SYN, "SYN"),
            (Self::RST, "RST"),
            (Self::PSH, "PSH"),
            (Self::ACK, "ACK"),
            (Self::ECE, "ECE"),
            (Self::CWR, "CWR"),
        ];
        let set: Vec<_> =
            names.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect();
        f.write_str(&set.join("|"))
    }
}

/// Up to four SACK blocks (RFC 2018, section 3), each `[left, right)` in sequence numbers, newest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Adds a block at the end; a fifth is ignored, as the option space ends.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(slot) = self.blocks.get_mut(self.count as usize) {
            *slot = (left, right);
            self.count += 1;
        }
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_fits_into_a_cache_line() {
        assert!(std::mem::size_of::<Packet>() <= 64, "{} bytes", std::mem::size_of::<Packet>());
    }
}
