//! Segments of the Licklider Transmission Protocol (RFC 5326, section 3).
//!
//! A segment consists of a control byte (version 0 and type), the session (numbers of its engine
//! and block as SDNVs), a byte with the numbers of header and trailer extensions, the header
//! extensions, the content, and the trailer extensions.

use crate::chunk::Chunk;
use crate::sdnv;
use bytes::Bytes;

/// The session to which a segment belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Session {
    /// Number of the engine that sends the block.
    pub engine: u64,
    /// Number of the session at the sending engine.
    pub number: u64,
}

/// A segment, the unit of transmission of LTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The session to which the segment belongs.
    pub session: Session,
    /// Extensions between the header and the content.
    pub header: Vec<Extension>,
    /// Content of the segment.
    pub content: Content,
    /// Extensions after the content.
    pub trailer: Vec<Extension>,
}

/// An extension of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Tag of the extension, as registered with IANA.
    pub tag: u8,
    /// Bytes of the extension's value.
    pub value: Vec<u8>,
}

/// The content of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A part of the block.
    Data(Data),
    /// The parts of the red data that have arrived.
    Report(Report),
    /// The sender acknowledges the report of this number.
    ReportAck(u64),
    /// The sender cancels the session, with a code of [`reason`].
    CancelBySender(u8),
    /// The receiver acknowledges the sender's cancellation.
    CancelAckToSender,
    /// The receiver cancels the session, with a code of [`reason`].
    CancelByReceiver(u8),
    /// The sender acknowledges the receiver's cancellation.
    CancelAckToReceiver,
}

/// A part of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// True for red data, which is retransmitted until it has arrived; false for green data, which
    /// is sent only once.
    pub red: bool,
    /// True if the red part ends with this segment, which must then be a checkpoint.
    pub ends_red_part: bool,
    /// True if the block ends with this segment.
    pub ends_block: bool,
    /// Number of the client service; 1 for bundles.
    pub service: u64,
    /// Offset of the first byte in the block.
    pub offset: u64,
    /// The part of the block that the segment carries.
    pub bytes: Chunk,
    /// For a checkpoint, which requests a report: its number, and the number of the report that it
    /// answers, or 0.
    pub checkpoint: Option<(u64, u64)>,
}

/// The received parts of a range of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Serial number of the report in its session.
    pub number: u64,
    /// Number of the checkpoint that the report answers, or 0.
    pub checkpoint: u64,
    /// End of the range.
    pub upper: u64,
    /// Start of the range.
    pub lower: u64,
    /// Received parts as offset from the lower bound, and length.
    pub claims: Vec<(u64, u64)>,
}

/// Reason codes of cancellations (RFC 5326, section 3.2.4).
pub mod reason {
    /// The client cancelled.
    pub const USER: u8 = 0;
    /// The client service cannot be reached.
    pub const UNREACHABLE: u8 = 1;
    /// A retransmission limit was exceeded.
    pub const LIMIT: u8 = 2;
    /// Red data arrived after green data in the block, or green data before red data.
    pub const MISCOLOURED: u8 = 3;
    /// A system error.
    pub const SYSTEM: u8 = 4;
}

impl Segment {
    /// Creates a segment without extensions.
    pub fn new(session: Session, content: Content) -> Segment {
        Segment { session, header: Vec::new(), content, trailer: Vec::new() }
    }

    /// Returns the number of the segment's type.
    pub fn kind(&self) -> u8 {
        match &self.content {
            Content::Data(data) => {
                match (data.red, data.checkpoint.is_some(), data.ends_red_part, data.ends_block) {
                    (true, false, ..) => 0,
                    (true, true, false, _) => 1,
                    (true, true, true, false) => 2,
                    (true, true, true, true) => 3,
                    (false, _, _, false) => 4,
                    (false, _, _, true) => 7,
                }
            }
            Content::Report(_) => 8,
            Content::ReportAck(_) => 9,
            Content::CancelBySender(_) => 12,
            Content::CancelAckToSender => 13,
            Content::CancelByReceiver(_) => 14,
            Content::CancelAckToReceiver => 15,
        }
    }

    /// Returns the length in bytes.
    pub fn length(&self) -> u64 {
        let extensions = |list: &[Extension]| -> usize {
            list.iter()
                .map(|extension| 1 + sdnv::length(extension.value.len() as u64) + extension.value.len())
                .sum()
        };
        let header = 2 + sdnv::length(self.session.engine) + sdnv::length(self.session.number);
        let fixed = header + extensions(&self.header) + extensions(&self.trailer);
        let sum = |values: &[u64]| values.iter().map(|value| sdnv::length(*value)).sum::<usize>() as u64;
        let content = match &self.content {
            Content::Data(data) => {
                let length = data.bytes.len();
                let marks = data.checkpoint.map_or(0, |(number, report)| sum(&[number, report]));
                sum(&[data.service, data.offset, length]) + marks + length
            }
            Content::Report(report) => {
                let claims: u64 = report.claims.iter().map(|(offset, length)| sum(&[*offset, *length])).sum();
                sum(&[
                    report.number,
                    report.checkpoint,
                    report.upper,
                    report.lower,
                    report.claims.len() as u64,
                ]) + claims
            }
            Content::ReportAck(number) => sum(&[*number]),
            Content::CancelBySender(_) | Content::CancelByReceiver(_) => 1,
            Content::CancelAckToSender | Content::CancelAckToReceiver => 0,
        };
        fixed as u64 + content
    }

    /// Appends the encoded segment.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.kind());
        sdnv::write(self.session.engine, out);
        sdnv::write(self.session.number, out);
        out.push((self.header.len().min(15) as u8) << 4 | self.trailer.len().min(15) as u8);
        write_extensions(&self.header, out);
        let mut put = |value: u64| sdnv::write(value, out);
        match &self.content {
            Content::Data(data) => {
                put(data.service);
                put(data.offset);
                put(data.bytes.len());
                if let Some((number, report)) = data.checkpoint {
                    put(number);
                    put(report);
                }
                data.bytes.write(out);
            }
            Content::Report(report) => {
                put(report.number);
                put(report.checkpoint);
                put(report.upper);
                put(report.lower);
                put(report.claims.len() as u64);
                for (offset, length) in &report.claims {
                    put(*offset);
                    put(*length);
                }
            }
            Content::ReportAck(number) => put(*number),
            Content::CancelBySender(reason) | Content::CancelByReceiver(reason) => out.push(*reason),
            Content::CancelAckToSender | Content::CancelAckToReceiver => {}
        }
        write_extensions(&self.trailer, out);
    }

    /// Reads a segment that fills `bytes`. Returns `None` if the segment is invalid, or if further
    /// bytes follow it.
    pub fn read(bytes: &[u8]) -> Option<Segment> {
        let mut rest = bytes;
        let control = byte(&mut rest)?;
        if control >> 4 != 0 {
            return None;
        }
        let session = Session { engine: sdnv::read(&mut rest)?, number: sdnv::read(&mut rest)? };
        let counts = byte(&mut rest)?;
        let header = read_extensions(counts >> 4, &mut rest)?;
        let content = match control & 15 {
            kind @ (0..=4 | 7) => Content::Data(read_data(kind, &mut rest)?),
            8 => Content::Report(read_report(&mut rest)?),
            9 => Content::ReportAck(sdnv::read(&mut rest)?),
            12 => Content::CancelBySender(byte(&mut rest)?),
            13 => Content::CancelAckToSender,
            14 => Content::CancelByReceiver(byte(&mut rest)?),
            15 => Content::CancelAckToReceiver,
            _ => return None,
        };
        let trailer = read_extensions(counts & 15, &mut rest)?;
        rest.is_empty().then_some(Segment { session, header, content, trailer })
    }
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, others) = rest.split_first()?;
    *rest = others;
    Some(*first)
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let length = usize::try_from(length).ok().filter(|length| *length <= rest.len())?;
    let (taken, others) = rest.split_at(length);
    *rest = others;
    Some(taken)
}

fn write_extensions(list: &[Extension], out: &mut Vec<u8>) {
    for extension in list.iter().take(15) {
        out.push(extension.tag);
        sdnv::write(extension.value.len() as u64, out);
        out.extend_from_slice(&extension.value);
    }
}

fn read_extensions(count: u8, rest: &mut &[u8]) -> Option<Vec<Extension>> {
    let one = |_| {
        let tag = byte(rest)?;
        let length = sdnv::read(rest)?;
        Some(Extension { tag, value: take(rest, length)?.to_vec() })
    };
    (0..count).map(one).collect()
}

fn read_data(kind: u8, rest: &mut &[u8]) -> Option<Data> {
    let (service, offset, length) = (sdnv::read(rest)?, sdnv::read(rest)?, sdnv::read(rest)?);
    offset.checked_add(length)?;
    let checkpoint = match kind {
        1..=3 => Some((sdnv::read(rest)?, sdnv::read(rest)?)),
        _ => None,
    };
    let bytes = Chunk::Bytes(Bytes::copy_from_slice(take(rest, length)?));
    let (red, ends_red_part, ends_block) = (kind < 4, matches!(kind, 2 | 3), matches!(kind, 3 | 7));
    Some(Data { red, ends_red_part, ends_block, service, offset, bytes, checkpoint })
}

fn read_report(rest: &mut &[u8]) -> Option<Report> {
    let mut next = || sdnv::read(rest);
    let (number, checkpoint, upper, lower, count) = (next()?, next()?, next()?, next()?, next()?);
    // A claim takes at least two bytes.
    if lower > upper || count > rest.len() as u64 / 2 {
        return None;
    }
    let claims: Option<Vec<_>> = (0..count).map(|_| Some((sdnv::read(rest)?, sdnv::read(rest)?))).collect();
    let claims = claims?;
    let within = claims.iter().all(|(offset, length)| {
        let end = offset.checked_add(*length);
        *length > 0 && end.is_some_and(|end| end <= upper - lower)
    });
    within.then_some(Report { number, checkpoint, upper, lower, claims })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len() / 2)
            .map(|index| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap())
            .collect()
    }

    /// Returns the segment described by a test vector.
    fn described(vector: &Value) -> Segment {
        let fields = &vector["fields"];
        let field = |name: &str| fields[name].as_u64().unwrap_or_default();
        let kind = vector["type"].as_u64().unwrap();
        let content = match kind {
            0..=7 => Content::Data(Data {
                red: kind < 4,
                ends_red_part: kind == 2 || kind == 3,
                ends_block: kind == 3 || kind == 7,
                service: field("service"),
                offset: field("offset"),
                bytes: Chunk::Bytes(Bytes::from(fields["data"].as_str().unwrap().to_owned())),
                checkpoint: (1..=3).contains(&kind).then(|| (field("checkpoint"), field("report"))),
            }),
            8 => Content::Report(Report {
                number: field("report"),
                checkpoint: field("checkpoint"),
                upper: field("upper"),
                lower: field("lower"),
                claims: serde_json::from_value(fields["claims"].clone()).unwrap(),
            }),
            9 => Content::ReportAck(field("report")),
            12 => Content::CancelBySender(field("reason") as u8),
            13 => Content::CancelAckToSender,
            14 => Content::CancelByReceiver(field("reason") as u8),
            _ => Content::CancelAckToReceiver,
        };
        let number = |name: &str| vector[name].as_u64().unwrap();
        let mut segment =
            Segment::new(Session { engine: number("engine"), number: number("session") }, content);
        if vector["name"].as_str().unwrap().contains("extension tag") {
            segment.header.push(Extension { tag: 0x44, value: vec![0x62, 0x62] });
            segment.trailer.push(Extension { tag: 0x55, value: Vec::new() });
        }
        segment
    }

    #[test]
    fn segments_match_the_test_vectors() {
        let vectors: Vec<Value> =
            serde_json::from_str(include_str!("../../../../tests/authorities/dtn/ltp_segments.json"))
                .unwrap();
        assert_eq!(vectors.len(), 12);
        for vector in vectors {
            let hex = bytes(vector["hex"].as_str().unwrap());
            let mut expected = described(&vector);
            if let Some(extension) = expected.header.first_mut() {
                // The test vector does not give the values of the extension's bytes.
                extension.value = Segment::read(&hex).unwrap().header[0].value.clone();
            }
            assert_eq!(Segment::read(&hex), Some(expected.clone()), "{}", vector["name"]);
            let mut written = Vec::new();
            expected.write(&mut written);
            assert_eq!(written, hex, "{}", vector["name"]);
            assert_eq!(expected.length(), hex.len() as u64);
            for cut in 0..hex.len() {
                assert_eq!(Segment::read(&hex[..cut]), None, "{} cut at {cut}", vector["name"]);
            }
        }
    }
}
