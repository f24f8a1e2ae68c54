//! The bytes of frames (RFC 9000, section 19; RFC 9221; draft-ietf-quic-ack-frequency), and
//! integers of variable length (RFC 9000, section 16).
//!
//! The data of streams, datagrams and the handshake is written as zeros and ignored when read. Only
//! the frames of [`Frame`] are known.

use super::frames::{identifier, variable, Ack, AckRequest, EcnCounts, Frame, Message, StreamData};
use crate::app::Stamp;
use bentpipe_core::{Span, Time};
use bentpipe_stage::packet::datagram::Written;
use std::fmt;

/// Exponent of the unit of an acknowledgment's delay in microseconds (`ack_delay_exponent`, RFC
/// 9000, section 18.2): the default.
pub const DELAY_EXPONENT: u32 = 3;
/// Largest integer of variable length (section 16), and largest position in a stream (section 4.5).
pub const LARGEST: u64 = (1 << 62) - 1;

const PADDING: u64 = 0x00;
const PING: u64 = 0x01;
const ACK: u64 = 0x02;
const ACK_ECN: u64 = 0x03;
const CRYPTO: u64 = 0x06;
const STREAM: u64 = 0x08;
const STREAM_LAST: u64 = 0x0f;
const FIN: u64 = 0x01;
const LENGTH: u64 = 0x02;
const OFFSET: u64 = 0x04;
const MAX_DATA: u64 = 0x10;
const MAX_STREAM_DATA: u64 = 0x11;
const PATH_CHALLENGE: u64 = 0x1a;
const PATH_RESPONSE: u64 = 0x1b;
const HANDSHAKE_DONE: u64 = 0x1e;
const IMMEDIATE_ACK: u64 = 0x1f;
const ACK_FREQUENCY: u64 = 0xaf;
const DATAGRAM: u64 = 0x30;
const DATAGRAM_LAST: u64 = 0x31;

/// A reason for which bytes are no frame (FRAME_ENCODING_ERROR, RFC 9000, section 20.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// The bytes end within the frame.
    Truncated,
    /// A number exceeds its range.
    OutOfRange,
    /// The model has no frame of this type.
    UnknownType(u64),
    /// The model has no stream with this identifier.
    UnknownStream(u64),
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Malformed::Truncated => write!(formatter, "the frame is truncated"),
            Malformed::OutOfRange => write!(formatter, "a number of the frame is out of range"),
            Malformed::UnknownType(kind) => write!(formatter, "frame type {kind:#x} is unknown"),
            Malformed::UnknownStream(id) => write!(formatter, "stream {id} is unknown"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Appends an integer of at most [`LARGEST`] in its shortest form.
pub fn write_integer(value: u64, out: &mut Vec<u8>) {
    assert!(value <= LARGEST, "{value} exceeds the largest integer of variable length");
    let length = variable(value);
    let marked = value | u64::from(length.trailing_zeros()) << (8 * length - 2);
    out.extend_from_slice(&marked.to_be_bytes()[8 - length as usize..]);
}

/// Appends integers one after the other.
fn write_integers<const COUNT: usize>(values: [u64; COUNT], out: &mut Vec<u8>) {
    values.into_iter().for_each(|value| write_integer(value, out));
}

/// Reads an integer, of any length, and removes it from `bytes`.
///
/// # Errors
/// [`Malformed::Truncated`] if the bytes end within the integer.
pub fn read_integer(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let first = *bytes.first().ok_or(Malformed::Truncated)?;
    let length = 1 << (first >> 6);
    let (integer, rest) = bytes.split_at_checked(length).ok_or(Malformed::Truncated)?;
    *bytes = rest;
    Ok(integer[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
}

/// Returns the type of a frame on the wire.
pub fn frame_type(frame: &Frame) -> u64 {
    match frame {
        Frame::Ping => PING,
        Frame::Ack(ack) if ack.ecn.is_some() => ACK_ECN,
        Frame::Ack(_) => ACK,
        Frame::Crypto(_) => CRYPTO,
        Frame::Stream(data) => {
            let position = if data.offset > 0 { OFFSET } else { 0 };
            STREAM | LENGTH | position | if data.fin { FIN } else { 0 }
        }
        Frame::MaxData(_) => MAX_DATA,
        Frame::MaxStreamData(..) => MAX_STREAM_DATA,
        Frame::PathChallenge(_) => PATH_CHALLENGE,
        Frame::PathResponse(_) => PATH_RESPONSE,
        Frame::HandshakeDone => HANDSHAKE_DONE,
        Frame::AckFrequency(_) => ACK_FREQUENCY,
        Frame::ImmediateAck => IMMEDIATE_ACK,
        Frame::Datagram(_) => DATAGRAM_LAST,
    }
}

/// Appends a frame. The delay of an acknowledgment is rounded down to units of 8 microseconds.
pub fn write(frame: &Frame, out: &mut Vec<u8>) {
    write_integer(frame_type(frame), out);
    match frame {
        Frame::Ping | Frame::HandshakeDone | Frame::ImmediateAck => {}
        Frame::Ack(ack) => write_ack(ack, out),
        Frame::Crypto(data) => {
            write_integers([data.offset, data.length.into()], out);
            out.resize(out.len() + data.length as usize, 0);
        }
        Frame::Stream(data) => {
            write_integer(identifier(data.id), out);
            if data.offset > 0 {
                write_integer(data.offset, out);
            }
            write_integer(data.length.into(), out);
            out.resize(out.len() + data.length as usize, 0);
        }
        Frame::Datagram(message) => {
            write_integer(message.length.into(), out);
            out.resize(out.len() + message.length as usize, 0);
        }
        Frame::PathChallenge(number) | Frame::PathResponse(number) => {
            out.extend_from_slice(&number.to_be_bytes());
        }
        Frame::MaxData(limit) => write_integer(*limit, out),
        Frame::MaxStreamData(id, limit) => write_integers([identifier(*id), *limit], out),
        Frame::AckFrequency(request) => {
            let delay = request.max_ack_delay.as_micros();
            write_integers([request.sequence, request.threshold, delay, request.reordering_threshold], out);
        }
    }
}

fn write_ack(ack: &Ack, out: &mut Vec<u8>) {
    let (first, rest) = ack.ranges.split_first().expect("an acknowledgment names packets");
    let delay = ack.delay.as_micros() >> DELAY_EXPONENT;
    write_integers([first.1, delay, rest.len() as u64, first.1 - first.0], out);
    let mut smallest = first.0;
    for (start, end) in rest {
        write_integers([smallest - end - 2, end - start], out);
        smallest = *start;
    }
    if let Some(counts) = ack.ecn {
        write_integers([counts.ect0, counts.ect1, counts.ce], out);
    }
}

/// Reads the next frame after any padding, and removes both from `bytes`. Returns nothing at the
/// end of the bytes.
///
/// # Errors
/// The reason for which the bytes are no frame.
pub fn read(bytes: &mut &[u8]) -> Result<Option<Frame>, Malformed> {
    loop {
        if bytes.is_empty() {
            return Ok(None);
        }
        let kind = read_integer(bytes)?;
        return Ok(Some(match kind {
            PADDING => continue,
            PING => Frame::Ping,
            ACK | ACK_ECN => Frame::Ack(Box::new(read_ack(kind == ACK_ECN, bytes)?)),
            CRYPTO => {
                let offset = read_integer(bytes)?;
                let length = read_integer(bytes)?;
                Frame::Crypto(read_data((0, offset, length), false, bytes)?)
            }
            STREAM..=STREAM_LAST => {
                let id = read_stream(bytes)?;
                let offset = if kind & OFFSET != 0 { read_integer(bytes)? } else { 0 };
                let length = if kind & LENGTH != 0 { read_integer(bytes)? } else { bytes.len() as u64 };
                Frame::Stream(read_data((id, offset, length), kind & FIN != 0, bytes)?)
            }
            MAX_DATA => Frame::MaxData(read_integer(bytes)?),
            MAX_STREAM_DATA => Frame::MaxStreamData(read_stream(bytes)?, read_integer(bytes)?),
            PATH_CHALLENGE => Frame::PathChallenge(read_number(bytes)?),
            PATH_RESPONSE => Frame::PathResponse(read_number(bytes)?),
            HANDSHAKE_DONE => Frame::HandshakeDone,
            IMMEDIATE_ACK => Frame::ImmediateAck,
            DATAGRAM | DATAGRAM_LAST => {
                let has_length = kind == DATAGRAM_LAST;
                let length = if has_length { read_integer(bytes)? } else { bytes.len() as u64 };
                let length = read_data((0, 0, length), false, bytes)?.length;
                let stamp = Stamp { number: 0, sent: Time::ZERO };
                Frame::Datagram(Box::new(Message { length, stamp, written: Written::default() }))
            }
            ACK_FREQUENCY => Frame::AckFrequency(Box::new(AckRequest {
                sequence: read_integer(bytes)?,
                threshold: read_integer(bytes)?,
                max_ack_delay: read_delay(0, bytes)?,
                reordering_threshold: read_integer(bytes)?,
            })),
            unknown => return Err(Malformed::UnknownType(unknown)),
        }));
    }
}

/// Reads a number of eight bytes.
fn read_number(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let (number, rest) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
    *bytes = rest;
    Ok(u64::from_be_bytes(*number))
}

/// Reads the identifier of a stream, and returns its number.
fn read_stream(bytes: &mut &[u8]) -> Result<u16, Malformed> {
    let id = read_integer(bytes)?;
    let number = u16::try_from(id / 4).ok().filter(|number| identifier(*number) == id);
    number.ok_or(Malformed::UnknownStream(id))
}

/// Reads the data of a stream or of the handshake: its stream, offset and length.
fn read_data(
    (id, offset, length): (u16, u64, u64),
    fin: bool,
    bytes: &mut &[u8],
) -> Result<StreamData, Malformed> {
    if offset + length > LARGEST {
        return Err(Malformed::OutOfRange);
    }
    let end = usize::try_from(length).map_err(|_| Malformed::Truncated)?;
    *bytes = bytes.get(end..).ok_or(Malformed::Truncated)?;
    let length = u32::try_from(length).map_err(|_| Malformed::OutOfRange)?;
    Ok(StreamData { id, offset, length, fin })
}

/// Reads a delay in units of 2^`exponent` microseconds.
fn read_delay(exponent: u32, bytes: &mut &[u8]) -> Result<Span, Malformed> {
    let nanos = read_integer(bytes)?.checked_mul(1000 << exponent);
    nanos.map(Span::from_nanos).ok_or(Malformed::OutOfRange)
}

fn read_ack(has_counts: bool, bytes: &mut &[u8]) -> Result<Ack, Malformed> {
    let largest = read_integer(bytes)?;
    let delay = read_delay(DELAY_EXPONENT, bytes)?;
    let more = read_integer(bytes)?;
    let range = |largest: u64, length: u64| match largest.checked_sub(length) {
        Some(smallest) => Ok((smallest, largest)),
        None => Err(Malformed::OutOfRange),
    };
    let mut ranges = vec![range(largest, read_integer(bytes)?)?];
    let mut smallest = ranges[0].0;
    for _ in 0..more {
        let gap = read_integer(bytes)?;
        let largest = smallest.checked_sub(gap + 2).ok_or(Malformed::OutOfRange)?;
        let next = range(largest, read_integer(bytes)?)?;
        smallest = next.0;
        ranges.push(next);
    }
    let ecn = match has_counts {
        true => Some(EcnCounts {
            ect0: read_integer(bytes)?,
            ect1: read_integer(bytes)?,
            ce: read_integer(bytes)?,
        }),
        false => None,
    };
    Ok(Ack { ranges, delay, ecn })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the bytes of a text of hexadecimal digits.
    fn bytes(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.chars().filter_map(|one| Some(one.to_digit(16)? as u8)).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    fn read_all(mut bytes: &[u8]) -> Result<Vec<Frame>, Malformed> {
        let mut frames = Vec::new();
        while let Some(frame) = read(&mut bytes)? {
            frames.push(frame);
        }
        Ok(frames)
    }

    /// The examples of RFC 9000, appendix A.1.
    #[test]
    fn integers_have_the_bytes_of_the_examples() {
        let examples = [
            (151_288_809_941_952_652, "c2197c5eff14e88c"),
            (494_878_333, "9d7f3e7d"),
            (15_293, "7bbd"),
            (37, "25"),
        ];
        for (value, text) in examples {
            let mut out = Vec::new();
            write_integer(value, &mut out);
            assert_eq!(out, bytes(text));
            assert_eq!(read_integer(&mut &out[..]), Ok(value));
        }
        assert_eq!(read_integer(&mut &bytes("4025")[..]), Ok(37));
    }

    /// RFC 9001, appendices A.2 and A.3: the frames of a client's and a server's Initial packet.
    #[test]
    fn frames_of_rfc_9001_are_read() {
        let crypto = |length| Frame::Crypto(StreamData { id: 0, offset: 0, length, fin: false });
        let mut client = bytes("060040f1");
        client.resize(1162, 0);
        assert_eq!(read_all(&client), Ok(vec![crypto(241)]));
        let mut server = bytes("02 00 00 00 00 06 00 40 5a");
        server.resize(5 + 4 + 90, 0xff);
        let ack = Ack { ranges: vec![(0, 0)], delay: Span::ZERO, ecn: None };
        assert_eq!(read_all(&server), Ok(vec![Frame::Ack(Box::new(ack)), crypto(90)]));
        assert_eq!(read_all(&server[..98]), Err(Malformed::Truncated));
    }

    /// RFC 9000, sections 19.3.1, 19.6, 19.8 and 4.5: numbers below zero or above 2^62 - 1, and
    /// streams that no client has opened.
    #[test]
    fn numbers_out_of_range_are_refused() {
        let refused = |text: &str| read_all(&bytes(text)).unwrap_err();
        assert_eq!(refused("02 05 00 00 06"), Malformed::OutOfRange);
        assert_eq!(refused("02 05 00 01 02 02 00"), Malformed::OutOfRange);
        assert_eq!(refused("02 05 ffffffffffffffff 00 00"), Malformed::OutOfRange);
        assert_eq!(refused("0e 04 ffffffffffffffff 01 00"), Malformed::OutOfRange);
        assert_eq!(refused("0a 01 00"), Malformed::UnknownStream(1));
        assert_eq!(refused("1c 00 00 00"), Malformed::UnknownType(0x1c));
    }

    fn integer() -> impl Strategy<Value = u64> {
        (0..=62_u32, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1))
    }

    fn data() -> impl Strategy<Value = StreamData> {
        (any::<u16>(), integer(), 0..3000_u32, any::<bool>()).prop_map(|(id, offset, length, fin)| {
            StreamData { id, offset: offset.min(LARGEST - 3000), length, fin }
        })
    }

    fn ack() -> impl Strategy<Value = Frame> {
        let sizes = prop::collection::vec((0..1_u64 << 50, 0..300_u64), 1..40);
        let counts = prop::option::of((integer(), integer(), integer()));
        (sizes, 0..1_u64 << 40, counts).prop_map(|(sizes, delay, counts)| {
            let mut next = 0;
            let mut ranges: Vec<_> = sizes
                .into_iter()
                .map(|(gap, length)| {
                    let start = next + gap;
                    next = start + length + 2;
                    (start, start + length)
                })
                .collect();
            ranges.reverse();
            let ecn = counts.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
            Frame::Ack(Box::new(Ack { ranges, delay: Span::from_micros(8 * delay), ecn }))
        })
    }

    fn request() -> impl Strategy<Value = Frame> {
        (integer(), integer(), 0..1_u64 << 50, integer()).prop_map(
            |(sequence, threshold, delay, reordering_threshold)| {
                let max_ack_delay = Span::from_micros(delay);
                let request = AckRequest { sequence, threshold, max_ack_delay, reordering_threshold };
                Frame::AckFrequency(Box::new(request))
            },
        )
    }

    fn frame() -> impl Strategy<Value = Frame> {
        prop_oneof![
            Just(Frame::Ping),
            Just(Frame::HandshakeDone),
            Just(Frame::ImmediateAck),
            any::<u64>().prop_map(Frame::PathChallenge),
            any::<u64>().prop_map(Frame::PathResponse),
            request(),
            data().prop_map(|data| {
                let stamp = Stamp { number: 0, sent: Time::ZERO };
                Frame::Datagram(Box::new(Message { length: data.length, stamp, written: Written::default() }))
            }),
            ack(),
            data().prop_map(|data| Frame::Crypto(StreamData { id: 0, fin: false, ..data })),
            data().prop_map(Frame::Stream),
            integer().prop_map(Frame::MaxData),
            (any::<u16>(), integer()).prop_map(|(id, limit)| Frame::MaxStreamData(id, limit)),
        ]
    }

    proptest! {
        #[test]
        fn frames_are_read_as_written_and_have_the_size_of_the_model(frames in prop::collection::vec(frame(), 1..6)) {
            let mut out = Vec::new();
            for frame in &frames {
                let before = out.len();
                write(frame, &mut out);
                prop_assert_eq!(out.len() - before, frame.size() as usize, "{:?}", frame);
            }
            prop_assert_eq!(read_all(&out), Ok(frames));
        }

        #[test]
        fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(prop_oneof![0..0x34_u8, Just(0xaf), any::<u8>()], 0..60)) {
            for frame in read_all(&bytes).unwrap_or_default() {
                let mut out = Vec::new();
                write(&frame, &mut out);
                prop_assert_eq!(read_all(&out), Ok(vec![frame]));
            }
        }
    }
}
