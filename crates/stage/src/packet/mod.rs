//! The packet: a small header and a typed body. A packet is moved by value, so it has the size of a
//! cache line.

pub mod datagram;
pub mod quick_start;
pub mod segment;
mod tcp_header;

use bentpipe_core::{FlowId, NodeId, Span, Time};
use datagram::{Datagram, Written};
use quick_start::QuickStart;
use segment::Segment;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

pub use bentpipe_wire::{TCP, UDP};

/// Explicit congestion notification field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: the transport does not support ECN (Not-ECT).
    #[default]
    NotEct = 0,
    /// ECN-capable, second code point: ECT(1).
    Ect1 = 1,
    /// ECN-capable, the usual code point: ECT(0).
    Ect0 = 2,
    /// Congestion experienced (CE): a queue on the path marked the packet.
    Ce = 3,
}

/// A leg of a flow: a direction, and the end or proxy that sends there. Without a proxy that splits
/// the flow, there is one leg in each direction. A packet to a multicast group has the number of
/// its set of receivers in place of a proxy's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Leg(u16);

impl Leg {
    /// The leg on which the source of a flow sends.
    pub const THERE: Leg = Leg(0);
    /// The leg on which the destination of a flow sends.
    pub const BACK: Leg = Leg(1 << 15);

    /// Returns the leg in the same direction on which the proxy with this number (`Served::number`
    /// of its service) sends.
    pub const fn beyond(self, proxy: u16) -> Leg {
        Leg(self.0 & Leg::BACK.0 | proxy)
    }

    /// Returns true for a leg from the flow's destination to its source.
    pub const fn is_back(self) -> bool {
        self.0 & Leg::BACK.0 != 0
    }

    /// Returns the number of the proxy that sends on this leg; 0 for an end of the flow.
    pub const fn proxy(self) -> u16 {
        self.0 & !Leg::BACK.0
    }
}

/// A network-layer packet, IPv4 or IPv6, with its upper-layer body.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Time at which the source created the packet.
    pub birth: Time,
    /// Sequence number of the packet at its source, per flow and direction, from 0.
    pub number: u32,
    /// Size in bytes at the network layer, IP header included.
    pub size: u32,
    /// The flow to which the packet belongs.
    pub flow: FlowId,
    /// The node that sent the packet.
    pub source: NodeId,
    /// The node to which the packet is addressed.
    pub destination: NodeId,
    /// Number of the connection within the flow, from 0.
    pub connection: u16,
    /// The leg of the flow on which the packet travels.
    pub leg: Leg,
    /// Differentiated services code point (RFC 2474).
    pub dscp: u8,
    /// Explicit congestion notification field.
    pub ecn: Ecn,
    /// The contents of the packet, by layer.
    pub body: Body,
}

impl Packet {
    /// Returns the traffic class octet, DSCP and ECN, of the IP header (RFC 2474, section 3; RFC
    /// 3168, section 5).
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        self.dscp << 2 | self.ecn as u8
    }

    /// Returns the Quick-Start request in the packet, if any.
    #[inline]
    pub fn quick_start(&self) -> Option<QuickStart> {
        match &self.body {
            Body::Datagram => None,
            Body::Segment(segment) => segment.options.as_ref()?.quick_start,
            Body::Layer(payload) => payload.quick_start(),
            Body::Frame(_) | Body::Corrupted(_) => None,
        }
    }

    /// Replaces the Quick-Start request in the packet.
    #[cold]
    pub fn set_quick_start(&mut self, request: QuickStart) {
        match &mut self.body {
            Body::Segment(Segment { options: Some(options), .. }) => options.quick_start = Some(request),
            Body::Layer(payload) => *payload = payload.with_quick_start(request),
            _ => unreachable!("only a packet with a request gets another one"),
        }
    }

    /// Returns the time since the packet's creation.
    #[inline]
    pub fn age(&self, now: Time) -> Span {
        now.since(self.birth)
    }
}

/// The contents of a packet.
///
/// Every layer has its own type, which implements [`Payload`] and travels as [`Body::Layer`]. The
/// two most frequent bodies are stored in place, which saves an allocation per packet.
#[derive(Clone, Debug, Default)]
pub enum Body {
    /// A datagram of which only the payload size matters.
    #[default]
    Datagram,
    /// A segment of TCP.
    Segment(Segment),
    /// The payload of any other layer. All copies of a packet share it, and it does not change.
    Layer(Arc<dyn Payload>),
    /// A real packet, network header first, in the first [`Packet::size`] bytes of a buffer. The
    /// buffer may be longer, because buffers are reused; see
    /// [`Outbox::spare`](crate::Outbox::spare).
    Frame(Box<[u8]>),
    /// A body with a bit error, set by a channel.
    Corrupted(Box<Corrupted>),
}

impl Body {
    /// Creates the body of a layer other than TCP.
    pub fn layer(payload: impl Payload) -> Body {
        Body::Layer(Arc::new(payload))
    }

    /// Returns the body as a `T`, if it is one.
    #[inline]
    pub fn of<T: Payload>(&self) -> Option<&T> {
        match self {
            Body::Layer(payload) => (&**payload as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// Returns the payload as seen by its layer; `None` for a real packet. A corrupted packet
    /// returns its payload before the error.
    pub fn payload(&self) -> Option<&dyn Payload> {
        match self {
            Body::Datagram => Some(&Datagram),
            Body::Segment(segment) => Some(segment),
            Body::Layer(payload) => Some(&**payload),
            Body::Corrupted(corrupted) => corrupted.body.payload(),
            Body::Frame(_) => None,
        }
    }

    /// Returns the bytes that the application wrote into a datagram; `None` if the body is no
    /// datagram.
    #[inline]
    pub fn datagram(&self) -> Option<&[u8]> {
        match self {
            Body::Datagram => Some(&[]),
            _ => self.of::<Written>().map(Written::bytes),
        }
    }

    /// Returns true if the body is a message of a control protocol.
    pub fn is_signalling(&self) -> bool {
        self.payload().is_some_and(|payload| payload.content() == Content::Signalling)
    }

    /// Returns true if the body carries application data; `None` if it belongs to no flow or is a
    /// real packet.
    pub fn has_payload(&self) -> Option<bool> {
        match self.payload()?.content() {
            Content::Data => Some(true),
            Content::Feedback => Some(false),
            Content::Signalling => None,
        }
    }
}

/// A packet's body with a bit error.
#[derive(Clone, Debug)]
pub struct Corrupted {
    /// The body before the error.
    pub body: Body,
    /// True if the receiver accepts the packet nevertheless, because no checksum of its layer
    /// detects the error.
    pub valid: bool,
}

/// The packet payload of a layer: its header, as far as the model has one, and its properties that
/// matter outside the layer. The layer itself recovers its payload with [`Body::of`].
///
/// ```
/// use bentpipe_stage::{Body, Content, Damage, Packet, Payload};
///
/// /// A sensor's reading, whose checksum covers only the first 8 bytes (as in UDP-Lite, RFC 3828).
/// #[derive(Debug)]
/// struct Reading {
///     sequence: u32,
/// }
///
/// impl Payload for Reading {
///     fn content(&self) -> Content {
///         Content::Data
///     }
///     fn header(&self, packet: &Packet, _notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
///         out.extend_from_slice(&self.sequence.to_be_bytes());
///         packet.size - 32
///     }
///     fn damage(&self, _packet: &Packet, valid: bool, byte: &mut dyn FnMut() -> u32) -> Damage {
///         if valid || byte() >= 28 { Damage::Unnoticed } else { Damage::Noticed }
///     }
/// }
///
/// let body = Body::layer(Reading { sequence: 7 });
/// let packet = Packet { size: 60, body, ..Packet::default() };
/// assert_eq!(packet.body.of::<Reading>().unwrap().sequence, 7);
/// assert_eq!(packet.body.has_payload(), Some(true));
/// ```
pub trait Payload: Any + fmt::Debug + Send + Sync {
    /// Returns the purpose of the packet.
    fn content(&self) -> Content;

    /// Returns the protocol number in the IP header (RFC 791); UDP by default.
    fn protocol(&self) -> u8 {
        UDP
    }

    /// Appends the layer's header for a capture, for a payload of zeros, and returns the number of
    /// payload bytes that follow. Over UDP, the header begins after UDP's. The capture fills in a
    /// checksum at TCP's position. `notes` keep state for the layer: two words for each connection
    /// of a flow, initially zero. By default there is no further header.
    fn header(&self, packet: &Packet, _notes: &mut [u32; 2], _out: &mut Vec<u8>) -> u32 {
        packet.size.saturating_sub(IPV4_HEADER + UDP_HEADER)
    }

    /// Returns the effect of a bit error after the network header of `packet`. Its checksums are
    /// `valid` despite the error, or stale. `byte` draws the index of the damaged byte, for layers
    /// in which the position matters; network and transport header count as 28 bytes over UDP.
    ///
    /// By default one checksum covers the whole packet. Signalling is lost in both cases, because
    /// its protocols have their own checksums.
    fn damage(&self, _packet: &Packet, valid: bool, _byte: &mut dyn FnMut() -> u32) -> Damage {
        match (self.content(), valid) {
            (Content::Signalling, _) => Damage::Lost,
            (_, false) => Damage::Noticed,
            (_, true) => Damage::Unnoticed,
        }
    }

    /// Returns the Quick-Start request (RFC 4782) in the packet's IP header, if any.
    fn quick_start(&self) -> Option<QuickStart> {
        None
    }

    /// Returns a copy of the payload with another Quick-Start request. Called only if there is one.
    fn with_quick_start(&self, _request: QuickStart) -> Arc<dyn Payload> {
        unreachable!("a layer with Quick-Start requests implements this")
    }
}

/// The purpose of a packet: data, feedback or signalling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Data of a flow's application.
    Data,
    /// A packet of a flow without data, such as an acknowledgment or a report.
    Feedback,
    /// A message of a control protocol, such as a capacity request or a burst time plan, which
    /// belongs to no flow.
    Signalling,
}

/// The effect of a bit error on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Lost at the channel: the packet has no bit that could be wrong, or no node that it could
    /// reach.
    Lost,
    /// Dropped by the receiver, because a checksum fails.
    Noticed,
    /// Accepted by the receiver with wrong bytes.
    Unnoticed,
}

/// Size of an IPv4 header without options, in bytes.
pub const IPV4_HEADER: u32 = 20;
/// Size of a UDP header, in bytes.
pub const UDP_HEADER: u32 = 8;
/// Largest payload of a UDP datagram over IPv4, in bytes.
pub const LARGEST_DATAGRAM: u64 = 65_507;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_fits_into_a_cache_line() {
        assert!(std::mem::size_of::<Packet>() <= 64, "{} bytes", std::mem::size_of::<Packet>());
    }
}
