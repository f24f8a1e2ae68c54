//! Packets and frames of QUIC (RFC 9000, sections 17 and 19): the body of a UDP datagram, and the
//! sizes of its parts.
//!
//! A datagram contains one packet, or during the handshake one of each packet number space
//! (coalescing, section 12.2). Connection IDs have 8 bytes, and each packet has an authentication
//! tag of 16 bytes. Integers have variable length (section 16), and packet numbers the length that
//! section 17.1 requires.

use crate::app::Stamp;
use bentpipe_core::Span;
use bentpipe_stage::packet::{datagram::Written, IPV4_HEADER, UDP_HEADER};
use bentpipe_stage::{Content, Damage, Ecn, Packet as Carrier, Payload};

/// Bytes of the headers below QUIC.
pub const LOWER: u32 = IPV4_HEADER + UDP_HEADER;
/// Bytes of a connection ID.
const CONNECTION_ID: u32 = 8;
/// Bytes of an authentication tag.
const TAG: u32 = 16;
/// Smallest UDP payload of a client's Initial packet, and of the server's answers to it (RFC 9000,
/// section 14.1).
pub const SMALLEST_INITIAL: u32 = 1200;

/// A packet number space (RFC 9000, section 12.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Space {
    /// Space of Initial packets.
    Initial,
    /// Space of Handshake packets.
    Handshake,
    /// Space of 0-RTT and 1-RTT packets.
    Application,
}

impl Space {
    /// All spaces, in the order of the handshake.
    pub const ALL: [Space; 3] = [Space::Initial, Space::Handshake, Space::Application];
}

/// The kind of a packet, which determines its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Initial packet: long header with an empty token.
    Initial,
    /// 0-RTT packet: long header.
    ZeroRtt,
    /// Handshake packet: long header.
    Handshake,
    /// 1-RTT packet: short header.
    OneRtt,
}

impl Kind {
    /// Returns the packet number space of packets of this kind.
    pub fn space(self) -> Space {
        match self {
            Kind::Initial => Space::Initial,
            Kind::Handshake => Space::Handshake,
            Kind::ZeroRtt | Kind::OneRtt => Space::Application,
        }
    }

    /// Returns the size of the header and the authentication tag, in bytes.
    pub fn overhead(self, number_bytes: u32) -> u32 {
        let long = 1 + 4 + 2 * (1 + CONNECTION_ID) + 2;
        let header = match self {
            Kind::Initial => long + 1,
            Kind::ZeroRtt | Kind::Handshake => long,
            Kind::OneRtt => 1 + CONNECTION_ID,
        };
        header + number_bytes + TAG
    }
}

/// Returns the data of a stream in a full packet with this UDP payload, in bytes.
pub fn full_packet(udp_payload: u32) -> u32 {
    udp_payload - Kind::OneRtt.overhead(2) - 8
}

/// Returns the bytes of a packet number (RFC 9000, section 17.1): enough for more than twice the
/// range of numbers since the largest acknowledged one.
pub fn number_bytes(number: u64, largest_acknowledged: Option<u64>) -> u32 {
    let range = largest_acknowledged.map_or(number + 1, |largest| number - largest);
    let bits = 64 - range.leading_zeros() + 1;
    bits.div_ceil(8).clamp(1, 4)
}

/// Returns the bytes of a variable-length integer (RFC 9000, section 16).
pub fn variable(value: u64) -> u32 {
    match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    }
}

/// A part of the data of a stream, or of the messages of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamData {
    /// Number of the stream, equal to the application's number of the connection.
    pub id: u16,
    /// Position of the first byte.
    pub offset: u64,
    /// Number of bytes of this part.
    pub length: u32,
    /// True if the data ends the stream.
    pub fin: bool,
}

/// An acknowledgment (RFC 9000, section 19.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ack {
    /// First and last number of each range of received packets, the highest range first.
    pub ranges: Vec<(u64, u64)>,
    /// Time since the packet with the largest number arrived.
    pub delay: Span,
    /// Numbers of packets that arrived with each mark, if the connection uses ECN.
    pub ecn: Option<EcnCounts>,
}

/// Numbers of packets that arrived with each mark (RFC 9000, section 19.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounts {
    /// Number of packets with the mark ECT(0).
    pub ect0: u64,
    /// Number of packets with the mark ECT(1).
    pub ect1: u64,
    /// Number of packets with the mark "congestion experienced".
    pub ce: u64,
}

impl EcnCounts {
    /// Counts a packet that arrived with this mark.
    pub fn count(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += 1,
            Ecn::Ect1 => self.ect1 += 1,
            Ecn::Ce => self.ce += 1,
        }
    }
}

/// A request for acknowledgments of another frequency (ACK_FREQUENCY,
/// draft-ietf-quic-ack-frequency, section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckRequest {
    /// Number of the request. A lower number than that of an earlier request has no effect.
    pub sequence: u64,
    /// Number of packets that may wait for an acknowledgment; one more causes it.
    pub threshold: u64,
    /// Maximum delay of an acknowledgment.
    pub max_ack_delay: Span,
    /// Distance from a missing packet to the largest number received that causes an acknowledgment
    /// without delay; 0 for never.
    pub reordering_threshold: u64,
}

/// A datagram of the application (RFC 9221), which is not repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Size of its payload in bytes.
    pub length: u32,
    /// Number of the datagram and the time at which the application sent it.
    pub stamp: Stamp,
    /// Bytes that the application wrote into it.
    pub written: Written,
}

/// A frame: the unit of which packets consist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// A frame that requests an acknowledgment.
    Ping,
    /// An acknowledgment of packets.
    Ack(Box<Ack>),
    /// A part of the messages of the handshake.
    Crypto(StreamData),
    /// A part of the data of a stream.
    Stream(StreamData),
    /// Limit of the data of the connection.
    MaxData(u64),
    /// Limit of the data of a stream: its number and the limit.
    MaxStreamData(u16, u64),
    /// The server has completed the handshake.
    HandshakeDone,
    /// A request for acknowledgments of another frequency.
    AckFrequency(Box<AckRequest>),
    /// A request for an acknowledgment without delay.
    ImmediateAck,
    /// A datagram of the application (RFC 9221).
    Datagram(Box<Message>),
    /// A question to the other end on a new path, with its number.
    PathChallenge(u64),
    /// The answer to a question with this number.
    PathResponse(u64),
}

impl Frame {
    /// Returns the size of the frame in bytes.
    pub fn size(&self) -> u32 {
        match self {
            Frame::Ping | Frame::HandshakeDone | Frame::ImmediateAck => 1,
            Frame::Ack(ack) => ack_size(ack),
            Frame::Crypto(data) => 1 + variable(data.offset) + variable(data.length.into()) + data.length,
            Frame::Stream(data) => stream_header(data.id, data.offset, data.length) + data.length,
            Frame::PathChallenge(_) | Frame::PathResponse(_) => 9,
            Frame::MaxData(limit) => 1 + variable(*limit),
            Frame::MaxStreamData(id, limit) => 1 + variable(identifier(*id)) + variable(*limit),
            Frame::Datagram(message) => datagram_header(message.length) + message.length,
            Frame::AckFrequency(request) => {
                let delay = variable(request.max_ack_delay.as_micros());
                2 + variable(request.sequence)
                    + variable(request.threshold)
                    + delay
                    + variable(request.reordering_threshold)
            }
        }
    }

    /// Returns true if the frame requests an acknowledgment (RFC 9000, section 13.2).
    pub fn elicits(&self) -> bool {
        !matches!(self, Frame::Ack(_))
    }

    /// Returns true for a frame that validates a path (RFC 9000, section 8.2).
    pub fn validates_path(&self) -> bool {
        matches!(self, Frame::PathChallenge(_) | Frame::PathResponse(_))
    }
}

/// Returns the identifier of a stream on the wire: a bidirectional stream of the client (RFC 9000,
/// section 2.1).
pub(super) fn identifier(id: u16) -> u64 {
    u64::from(id) * 4
}

/// Returns the size of a stream frame without its data, in bytes.
pub fn stream_header(id: u16, offset: u64, length: u32) -> u32 {
    let position = if offset == 0 { 0 } else { variable(offset) };
    1 + variable(identifier(id)) + position + variable(length.into())
}

/// Returns the size of a datagram's frame without its data, in bytes.
pub fn datagram_header(length: u32) -> u32 {
    1 + variable(length.into())
}

/// Returns the largest payload of a datagram in a packet with this UDP payload, in bytes.
pub fn largest_datagram(udp_payload: u32) -> u32 {
    udp_payload - Kind::OneRtt.overhead(4) - datagram_header(udp_payload)
}

fn ack_size(ack: &Ack) -> u32 {
    let (first, rest) = ack.ranges.split_first().expect("an acknowledgment names packets");
    let mut size = 1 + variable(first.1) + variable(ack.delay.as_micros() >> 3) + variable(rest.len() as u64);
    size += variable(first.1 - first.0);
    let mut smallest = first.0;
    for (start, end) in rest {
        size += variable(smallest - end - 2) + variable(end - start);
        smallest = *start;
    }
    size + ack.ecn.map_or(0, |counts| variable(counts.ect0) + variable(counts.ect1) + variable(counts.ce))
}

/// A packet of QUIC, as a list of frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Kind of the packet and its header.
    pub kind: Kind,
    /// Packet number in its space.
    pub number: u64,
    /// Bytes of its packet number.
    pub number_bytes: u32,
    /// Size of the packet in bytes, without padding.
    pub size: u32,
    /// The frames of the packet.
    pub frames: Vec<Frame>,
}

impl Packet {
    /// Creates a packet with these frames.
    pub fn new(kind: Kind, number: u64, number_bytes: u32, frames: Vec<Frame>) -> Packet {
        let size = kind.overhead(number_bytes) + frames.iter().map(Frame::size).sum::<u32>();
        Packet { kind, number, number_bytes, size, frames }
    }

    /// Returns true if the packet requests an acknowledgment.
    pub fn elicits(&self) -> bool {
        self.frames.iter().any(Frame::elicits)
    }
}

/// The payload of a UDP datagram: one or more packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Number of the client's address: the number of its migrations.
    pub path: u32,
    /// The first packet, often the only one.
    pub first: Packet,
    /// The packets after the first one, in order.
    pub more: Vec<Packet>,
}

impl Datagram {
    /// Iterates over the packets in order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// Returns the packet at this place.
    pub fn packet(&self, place: usize) -> &Packet {
        if place == 0 {
            &self.first
        } else {
            &self.more[place - 1]
        }
    }

    /// Returns the size of the packets in bytes, without padding.
    pub fn size(&self) -> u32 {
        self.packets().map(|packet| packet.size).sum()
    }

    /// Iterates over the data of streams.
    pub fn streams(&self) -> impl Iterator<Item = StreamData> + '_ {
        let frames = self.packets().flat_map(|packet| &packet.frames);
        frames.filter_map(|frame| match frame {
            Frame::Stream(data) => Some(*data),
            _ => None,
        })
    }
}

impl Payload for Datagram {
    fn content(&self) -> Content {
        let is_datagram = |frame: &Frame| matches!(frame, Frame::Datagram(_));
        let has_datagrams = self.packets().any(|packet| packet.frames.iter().any(is_datagram));
        match has_datagrams || self.streams().any(|data| data.length > 0) {
            true => Content::Data,
            false => Content::Feedback,
        }
    }

    /// A bit error always fails the authentication of a packet.
    fn damage(&self, _packet: &Carrier, _valid: bool, _byte: &mut dyn FnMut() -> u32) -> Damage {
        Damage::Noticed
    }

    /// Writes the header of the first packet: the form and kind, the version, the connection IDs.
    fn header(&self, packet: &Carrier, _notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        let before = out.len();
        let first = &self.first;
        let long = |bits: u8| 0xc0 | bits << 4 | (first.number_bytes - 1) as u8;
        let payload = packet.size.saturating_sub(LOWER);
        let id = |back: bool| [packet.flow.0, u32::from(back)].map(u32::to_be_bytes).concat();
        let (to, from) = (id(packet.leg.is_back()), id(!packet.leg.is_back()));
        match first.kind {
            Kind::OneRtt => out.push(0x40 | (first.number_bytes - 1) as u8),
            Kind::Initial => out.push(long(0)),
            Kind::ZeroRtt => out.push(long(1)),
            Kind::Handshake => out.push(long(2)),
        }
        if first.kind == Kind::OneRtt {
            out.extend_from_slice(&to);
        } else {
            out.extend_from_slice(&1_u32.to_be_bytes());
            for id in [to, from] {
                out.push(CONNECTION_ID as u8);
                out.extend_from_slice(&id);
            }
            if first.kind == Kind::Initial {
                // The token is empty.
                out.push(0);
            }
            // The packet fills the datagram, because the headers of further packets are missing.
            let rest = payload.saturating_sub((out.len() - before) as u32 + 2);
            out.extend_from_slice(&(0x4000 | rest as u16).to_be_bytes());
        }
        payload.saturating_sub((out.len() - before) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000, section 17.1 and appendix A.2: 0xac5c02 after 0xabe8b3 needs 16 bits, 0xace8fe
    /// needs 18.
    #[test]
    fn packet_numbers_have_the_lengths_of_the_examples() {
        assert_eq!(number_bytes(0xac_5c02, Some(0xab_e8b3)), 2);
        assert_eq!(number_bytes(0xac_e8fe, Some(0xab_e8b3)), 3);
        assert_eq!(number_bytes(0, None), 1);
    }

    /// RFC 9000, appendix A.1: the examples have 8, 4, 2 and 1 bytes.
    #[test]
    fn integers_have_the_lengths_of_the_examples() {
        let examples = [151_288_809_941_952_652, 494_878_333, 15_293, 37];
        assert_eq!(examples.map(variable), [8, 4, 2, 1]);
    }

    /// RFC 9000, section 19.3.1: a gap is the number of unacknowledged packets between two ranges
    /// minus one.
    #[test]
    fn an_acknowledgment_has_the_size_of_its_ranges() {
        let ack = |ranges: &[(u64, u64)]| {
            let ranges = ranges.to_vec();
            Frame::Ack(Box::new(Ack { ranges, delay: Span::ZERO, ecn: None })).size()
        };
        assert_eq!(ack(&[(0, 10)]), 5);
        assert_eq!(ack(&[(100, 110)]), 6);
        assert_eq!(ack(&[(20, 30), (0, 18)]), 7);
        assert_eq!(ack(&[(20_000, 20_001), (0, 18)]), 5 + 3 + 4 + 1);
    }
}
