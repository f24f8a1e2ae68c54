//! The packet: a small header and a typed body. A packet has the size of a cache line, since it is
//! moved by value.

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
    /// Not-ECT: the transport does not support ECN.
    #[default]
    NotEct = 0,
    /// ECT(1): the transport supports ECN, second code point.
    Ect1 = 1,
    /// ECT(0): the transport supports ECN, the usual code point.
    Ect0 = 2,
    /// CE: a queue on the path marked the packet because of congestion.
    Ce = 3,
}

/// A leg of a flow: a direction, and the end or proxy that sends there. A flow that no proxy splits
/// has one leg in each direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Leg(u16);

impl Leg {
    /// The leg on which the source of a flow sends.
    pub const THERE: Leg = Leg(0);
    /// The leg on which the destination of a flow sends.
    pub const BACK: Leg = Leg(1 << 15);

    /// Returns the leg of the same direction on which the proxy of this number sends
    /// (`Served::number` of its service).
    pub const fn beyond(self, proxy: u16) -> Leg {
        Leg(self.0 & Leg::BACK.0 | proxy)
    }

    /// Returns true for a leg from the flow's destination to its source.
    pub const fn is_back(self) -> bool {
        self.0 & Leg::BACK.0 != 0
    }

    /// Returns the number of the proxy that sends there; 0 for an end of the flow.
    pub const fn proxy(self) -> u16 {
        self.0 & !Leg::BACK.0
    }
}

/// A network-layer packet, IPv4 or IPv6, with what its upper layer sends in it.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Time at which its source created it.
    pub birth: Time,
    /// Position in the sequence of packets that its source created for this flow and direction,
    /// from 0.
    pub number: u32,
    /// Size in bytes at the network layer, IP header included.
    pub size: u32,
    /// The flow to which it belongs.
    pub flow: FlowId,
    /// Node from which it comes.
    pub source: NodeId,
    /// Node for which it is destined.
    pub destination: NodeId,
    /// Number of the connection within the flow, from 0.
    pub connection: u16,
    /// The leg of its flow on which it travels.
    pub leg: Leg,
    /// Differentiated services code point (RFC 2474).
    pub dscp: u8,
    /// Explicit congestion notification field.
    pub ecn: Ecn,
    /// The contents of the packet.
    pub body: Body,
}

impl Packet {
    /// Returns the octet of its DSCP and ECN field in an IP header (RFC 2474, section 3; RFC 3168,
    /// section 5).
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        self.dscp << 2 | self.ecn as u8
    }

    /// The Quick-Start request that it carries, if any.
    #[inline]
    pub fn quick_start(&self) -> Option<QuickStart> {
        match &self.body {
            Body::Datagram => None,
            Body::Segment(segment) => segment.options.as_ref()?.quick_start,
            Body::Layer(payload) => payload.quick_start(),
            Body::Frame(_) | Body::Spoiled(_) => None,
        }
    }

    /// Replaces the Quick-Start request that it carries.
    #[cold]
    pub fn set_quick_start(&mut self, request: QuickStart) {
        match &mut self.body {
            Body::Segment(Segment { options: Some(options), .. }) => options.quick_start = Some(request),
            Body::Layer(payload) => *payload = payload.with_quick_start(request),
            _ => unreachable!("only a packet with a request is given another"),
        }
    }

    /// Returns the time since its creation.
    #[inline]
    pub fn age(&self, now: Time) -> Span {
        now.since(self.birth)
    }
}

/// The contents of a packet.
///
/// Every layer has a type of its own that implements [`Payload`] and travels as [`Body::Layer`].
/// The two that most packets have are kept in place, which spares an allocation for each packet.
#[derive(Clone, Debug, Default)]
pub enum Body {
    /// A datagram whose payload matters only by its size.
    #[default]
    Datagram,
    /// A segment of TCP.
    Segment(Segment),
    /// What any other layer sends. It is shared by all copies of a packet and does not change.
    Layer(Arc<dyn Payload>),
    /// A real packet, network header first, in the first [`Packet::size`] bytes of a buffer that
    /// may be longer: buffers are used again, see [`Outbox::spare`](crate::Outbox::spare).
    Frame(Box<[u8]>),
    /// A body with a wrong bit, set by a channel.
    Spoiled(Box<Spoiled>),
}

impl Body {
    /// Returns the body of a layer other than TCP.
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

    /// What its layer says about it; `None` for a real packet. That of a spoiled packet is as it
    /// was.
    pub fn payload(&self) -> Option<&dyn Payload> {
        match self {
            Body::Datagram => Some(&Datagram),
            Body::Segment(segment) => Some(segment),
            Body::Layer(payload) => Some(&**payload),
            Body::Spoiled(spoiled) => spoiled.body.payload(),
            Body::Frame(_) => None,
        }
    }

    /// What the application wrote into a datagram; `None` if it is no datagram.
    #[inline]
    pub fn datagram(&self) -> Option<&[u8]> {
        match self {
            Body::Datagram => Some(&[]),
            _ => self.of::<Written>().map(Written::bytes),
        }
    }

    /// Returns true if it is a message of a control protocol.
    pub fn is_signalling(&self) -> bool {
        self.payload().is_some_and(|payload| payload.content() == Content::Signalling)
    }

    /// Whether it carries data of an application; `None` if it belongs to no flow or is a real
    /// packet.
    pub fn has_payload(&self) -> Option<bool> {
        match self.payload()?.content() {
            Content::Data => Some(true),
            Content::Feedback => Some(false),
            Content::Signalling => None,
        }
    }
}

/// A packet's body with a wrong bit.
#[derive(Clone, Debug)]
pub struct Spoiled {
    /// The body before the error.
    pub body: Body,
    /// True if its receiver accepts it nevertheless, since no checksum of its layer detects the
    /// error.
    pub valid: bool,
}

/// What a layer puts into packets: its header, as far as its model has one, and what there is to
/// know about it outside of the layer. The layer itself gets it back by [`Body::of`].
///
/// ```
/// use bentpipe_stage::{Body, Content, Damage, Packet, Payload};
///
/// /// A sensor's reading; its checksum covers the first 8 bytes only (as UDP-Lite's can, RFC 3828).
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
/// let packet = Packet { size: 60, body: Body::layer(Reading { sequence: 7 }), ..Packet::default() };
/// assert_eq!(packet.body.of::<Reading>().unwrap().sequence, 7);
/// assert_eq!(packet.body.has_payload(), Some(true));
/// ```
pub trait Payload: Any + fmt::Debug + Send + Sync {
    /// Returns what the packet is for.
    fn content(&self) -> Content;

    /// Returns the number of its protocol in the IP header (RFC 791); UDP by default.
    fn protocol(&self) -> u8 {
        UDP
    }

    /// Appends its header for a capture, for a payload of zeros, and returns the number of payload
    /// bytes that follow. Over UDP the header begins behind UDP's; a checksum at TCP's place is
    /// filled in by the capture. `notes` are kept for the layer, two words for each connection of a
    /// flow, zero at first. By default there is no further header.
    fn header(&self, packet: &Packet, _notes: &mut [u32; 2], _out: &mut Vec<u8>) -> u32 {
        packet.size.saturating_sub(IPV4_HEADER + UDP_HEADER)
    }

    /// What happens to `packet` when it continues with a wrong bit behind its network header. Its
    /// checksums are `valid` all the same, or stale. `byte` draws which byte of the packet has the
    /// wrong bit, for a layer to which that makes a difference; network and transport header count
    /// as 28 bytes over UDP.
    ///
    /// By default one checksum covers the whole packet. Signalling is lost in either case: its
    /// protocols have checksums of their own.
    fn damage(&self, _packet: &Packet, valid: bool, _byte: &mut dyn FnMut() -> u32) -> Damage {
        match (self.content(), valid) {
            (Content::Signalling, _) => Damage::Lost,
            (_, false) => Damage::Noticed,
            (_, true) => Damage::Unnoticed,
        }
    }

    /// The Quick-Start request (RFC 4782) in the packet's IP header, if any.
    fn quick_start(&self) -> Option<QuickStart> {
        None
    }

    /// Returns the same with another Quick-Start request. Called only if there is one.
    fn with_quick_start(&self, _request: QuickStart) -> Arc<dyn Payload> {
        unreachable!("a layer with Quick-Start requests implements this")
    }
}

/// What a packet is for: data, feedback or signalling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// It carries data of a flow's application.
    Data,
    /// It belongs to a flow but carries no data: an acknowledgment, a report.
    Feedback,
    /// A message of a control protocol (a capacity request, a burst time plan), which belongs to no
    /// flow.
    Signalling,
}

/// What happens to a packet with a wrong bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// It is lost at the channel: there is no bit that may be wrong, or nobody whom the packet
    /// could reach.
    Lost,
    /// A checksum does not hold: the receiver drops it.
    Noticed,
    /// The receiver takes it with wrong bytes.
    Unnoticed,
}

/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER: u32 = 20;
/// Bytes of a UDP header.
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
