//! The messages of NORM (RFC 5740, section 4), with the headers that captures show.
//!
//! The FEC payload ID has four bytes: the number of the block in 24 bits, and the number of the
//! segment in the block in 8 bits (RFC 5510, FEC encoding ID 5). The advertised GRTT is written by
//! the quantisation of RFC 5401, section 3.3.1 (from memory).

use super::ranges::Ranges;
use crate::udp;
use bentpipe_core::{math, Span, Time};
use bentpipe_stage::{Content, Packet, Payload};
use std::sync::Arc;

/// Size of the header of NORM_DATA in bytes.
pub const DATA_HEADER: u32 = 20;
/// Size of NORM_CMD(FLUSH) in bytes.
pub const FLUSH: u32 = 20;
/// Size of NORM_CMD(REPAIR_ADV) in bytes, without its requests.
pub const REPAIR_ADV: u32 = 16;
/// Size of NORM_NACK in bytes, without its requests.
pub const NACK: u32 = 24;

/// The message types of NORM_DATA, NORM_CMD and NORM_NACK.
const TYPE_DATA: u8 = 2;
const TYPE_CMD: u8 = 3;
const TYPE_NACK: u8 = 4;
/// The flavors of the message NORM_CMD.
const FLAVOR_FLUSH: u8 = 1;
const FLAVOR_REPAIR_ADV: u8 = 5;
/// The flag of a segment that is sent for repair.
const FLAG_REPAIR: u8 = 1;
/// The FEC encoding ID of the payload IDs.
const FEC_ID: u8 = 5;
/// The forms of requests: single segments, and ranges.
const FORM_ITEMS: u8 = 1;
const FORM_RANGES: u8 = 2;
/// The flag of requests for segments.
const REQUEST_SEGMENT: u8 = 1;

/// The parameters that the sender announces in every message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Announced {
    /// The group round-trip time.
    pub grtt: Span,
    /// The backoff factor K of receivers.
    pub backoff: u8,
    /// The estimated number of receivers.
    pub group_size: u64,
    /// Number of segments in a block.
    pub block: u32,
}

/// A message of NORM, with the announced parameters.
#[derive(Clone, Debug)]
pub struct Norm {
    /// The announced parameters.
    pub announced: Announced,
    /// The content by type of message.
    pub message: Message,
}

/// The content of a message.
#[derive(Clone, Debug)]
pub enum Message {
    /// NORM_DATA: a segment of the object.
    Data {
        /// Number of the segment, from 0.
        segment: u32,
        /// Time at which the application handed over the data.
        written: Time,
        /// Number of all segments, if it is known.
        total: Option<u32>,
        /// True for a retransmission.
        repair: bool,
    },
    /// NORM_CMD(FLUSH): all segments before this number have been sent.
    Flush {
        /// Number of segments that have been sent.
        sent: u32,
        /// Number of all segments, if it is known.
        total: Option<u32>,
    },
    /// NORM_CMD(REPAIR_ADV): the requests that the sender has collected.
    RepairAdv(Arc<Ranges>),
    /// NORM_NACK: the segments that a receiver misses.
    Nack(Arc<Ranges>),
}

impl Message {
    /// Returns the size of the message without its payload, in bytes.
    pub fn bytes(&self) -> u32 {
        match self {
            Message::Data { .. } => DATA_HEADER,
            Message::Flush { .. } => FLUSH,
            Message::RepairAdv(requests) => REPAIR_ADV + requests.bytes(),
            Message::Nack(requests) => NACK + requests.bytes(),
        }
    }
}

impl Payload for Norm {
    fn content(&self) -> Content {
        match self.message {
            Message::Data { .. } => Content::Data,
            _ => Content::Feedback,
        }
    }

    fn header(&self, packet: &Packet, _notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        let begin = out.len();
        let Announced { grtt, backoff, group_size, block } = self.announced;
        let kind = match self.message {
            Message::Data { .. } => TYPE_DATA,
            Message::Flush { .. } | Message::RepairAdv(_) => TYPE_CMD,
            Message::Nack(_) => TYPE_NACK,
        };
        // Requests are the content of a message, and not part of its header.
        let words = match self.message {
            Message::RepairAdv(_) => REPAIR_ADV,
            Message::Nack(_) => NACK,
            _ => DATA_HEADER,
        } / 4;
        out.extend([1 << 4 | kind, words as u8]);
        out.extend((packet.number as u16).to_be_bytes());
        out.extend(u32::from(packet.source.0).wrapping_add(1).to_be_bytes());
        let payload_id = |segment: u32| ((segment / block) << 8 | (segment % block)).to_be_bytes();
        let common = [quantised(grtt), backoff << 4 | group_code(group_size)];
        // The instance of the sender, and the only object.
        let (instance, object) = ([0, 1], [0, 0]);
        match &self.message {
            Message::Data { segment, repair, .. } => {
                out.extend(instance);
                out.extend(common);
                out.extend([if *repair { FLAG_REPAIR } else { 0 }, FEC_ID]);
                out.extend(object);
                out.extend(payload_id(*segment));
            }
            Message::Flush { sent, .. } => {
                out.extend(instance);
                out.extend(common);
                out.extend([FLAVOR_FLUSH, FEC_ID]);
                out.extend(object);
                out.extend(payload_id(sent.saturating_sub(1)));
            }
            Message::RepairAdv(requests) => {
                out.extend(instance);
                out.extend(common);
                out.extend([FLAVOR_REPAIR_ADV, 0, 0, 0]);
                append(requests, payload_id, out);
            }
            Message::Nack(requests) => {
                out.extend(u32::from(packet.destination.0).wrapping_add(1).to_be_bytes());
                out.extend(instance);
                // Reserved, and the response to a measurement of GRTT.
                out.extend([0; 10]);
                append(requests, payload_id, out);
            }
        }
        (packet.size - udp::HEADER).saturating_sub((out.len() - begin) as u32)
    }
}

/// Appends requests: a list of single segments, and a list of ranges.
fn append(requests: &Ranges, payload_id: impl Fn(u32) -> [u8; 4], out: &mut Vec<u8>) {
    let single = requests.list().iter().filter(|(first, last)| first == last).map(|(first, _)| *first);
    let ranges = requests.list().iter().filter(|(first, last)| first < last);
    let ranges = ranges.flat_map(|(first, last)| [*first, *last]);
    for (form, segments) in [(FORM_ITEMS, single.collect::<Vec<_>>()), (FORM_RANGES, ranges.collect())] {
        if segments.is_empty() {
            continue;
        }
        out.extend([form, REQUEST_SEGMENT]);
        out.extend(((segments.len() * 8) as u16).to_be_bytes());
        for segment in segments {
            out.extend([FEC_ID, 0, 0, 0]);
            out.extend(payload_id(segment));
        }
    }
}

/// Returns the eight-bit code of a round-trip time: linear up to 33 us, then logarithmic up to 1000
/// s.
fn quantised(rtt: Span) -> u8 {
    let seconds = rtt.as_secs_f64().clamp(1e-6, 1000.0);
    match seconds < 33e-6 {
        true => (seconds / 1e-6).ceil() as u8 - 1,
        false => (255.0 - 13.0 * math::ln(1000.0 / seconds)).ceil() as u8,
    }
}

/// Returns the four-bit code of a number of receivers: the mantissa 1 or 5 in the highest bit, and
/// the exponent of ten, less one, in the others.
fn group_code(size: u64) -> u8 {
    for exponent in 1..=8u32 {
        for (bit, mantissa) in [(0, 1), (8, 5)] {
            if mantissa * 10u64.pow(exponent) >= size {
                return bit | (exponent - 1) as u8;
            }
        }
    }
    15
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::NodeId;
    use bentpipe_stage::Body;

    fn bytes(message: Message, payload: u32) -> (Vec<u8>, u32) {
        let announced = Announced { grtt: Span::from_millis(500), backoff: 4, group_size: 10_000, block: 64 };
        let size = 28 + message.bytes() + payload;
        let norm = Norm { announced, message };
        let packet = Packet { size, number: 0x0102, source: NodeId(6), ..Packet::default() };
        let mut out = Vec::new();
        let left = norm.header(&packet, &mut [0; 2], &mut out);
        assert!(Body::layer(norm).of::<Norm>().is_some());
        (out, left)
    }

    /// Segment 130 is segment 2 of block 2. 500 ms have the code 255 - 13 ln(2000) = 156.2, rounded
    /// up. The group size of 10 000 is 1 x 10^4: mantissa bit 0, exponent 4 - 1.
    #[test]
    fn messages_have_the_headers_of_the_standard() {
        let data = Message::Data { segment: 130, written: Time::ZERO, total: None, repair: true };
        let (header, payload) = bytes(data, 1000);
        assert_eq!(header, [0x12, 5, 1, 2, 0, 0, 0, 7, 0, 1, 157, 0x43, 1, 5, 0, 0, 0, 0, 2, 2]);
        assert_eq!(payload, 1000);
        let (flush, payload) = bytes(Message::Flush { sent: 131, total: None }, 0);
        assert_eq!(
            (&flush[..2], flush[12], &flush[16..], payload),
            (&[0x13, 5][..], 1, &[0, 0, 2, 2][..], 0)
        );
        let requests = Arc::new(Ranges::of([3, 7, 8, 9], 1000));
        for (message, length) in [(Message::Nack(requests.clone()), 24), (Message::RepairAdv(requests), 16)] {
            let (written, payload) = bytes(message, 0);
            assert_eq!((written.len() as u32, payload), (length + 12 + 20, 0));
            assert_eq!(written[1] as u32 * 4, length);
            let requests = &written[length as usize..];
            assert_eq!(requests[..12], [1, 1, 0, 8, 5, 0, 0, 0, 0, 0, 0, 3]);
            assert_eq!(requests[12..], [2, 1, 0, 16, 5, 0, 0, 0, 0, 0, 0, 7, 5, 0, 0, 0, 0, 0, 0, 9]);
        }
    }
}
