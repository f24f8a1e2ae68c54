//! Resets (RFC 9293, section 3.5.2).

use bentpipe_stage::packet::segment::{Segment, SegmentFlags};

/// A reset that is ready to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reset {
    /// Sequence number of the reset.
    pub sequence: u32,
    /// Acknowledgment number, if the reset has the flag ACK.
    pub acknowledgment: Option<u32>,
}

impl Reset {
    /// Returns the answer to a segment for a connection that does not exist (RFC 9293, section
    /// 3.10.7.1); resets are not answered.
    pub fn answering(segment: &Segment) -> Option<Reset> {
        let flags = segment.flags;
        if flags.contains(SegmentFlags::RST) {
            return None;
        }
        if flags.contains(SegmentFlags::ACK) {
            return Some(Reset { sequence: segment.acknowledgment, acknowledgment: None });
        }
        let length = u32::from(segment.payload)
            + u32::from(flags.contains(SegmentFlags::SYN))
            + u32::from(flags.contains(SegmentFlags::FIN));
        Some(Reset { sequence: 0, acknowledgment: Some(segment.sequence.wrapping_add(length)) })
    }

    /// Returns the reset as a segment.
    pub fn segment(self) -> Segment {
        Segment {
            sequence: self.sequence,
            acknowledgment: self.acknowledgment.unwrap_or(0),
            flags: match self.acknowledgment {
                Some(_) => SegmentFlags::RST.with(SegmentFlags::ACK),
                None => SegmentFlags::RST,
            },
            ..Segment::default()
        }
    }
}
