//! Sizes of the transfer frames of space links and of their data fields.
//!
//! The kinds of frames are TM (CCSDS 132.0-B), AOS (732.0-B), USLP (732.1-B), TC (232.0-B) and
//! Proximity-1 (211.0-B). A long-haul link continuously sends frames of a fixed length, and idle
//! frames when it has no data. Network packets are wrapped in space packets or encapsulation
//! packets. These are concatenated into the data fields of consecutive frames and may cross frame
//! boundaries. Sizes come from the overviews of the standards in `tests/authorities/dtn`, not from
//! the standards themselves.

use crate::coding::{Code, CODEWORD};

/// A kind of transfer frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Telemetry (TM).
    Tm,
    /// Advanced orbiting systems (AOS).
    Aos,
    /// Unified space data link protocol (USLP), with the full primary header and a frame count of
    /// two bytes.
    Uslp,
    /// Telecommand (TC).
    Tc,
    /// Proximity-1, version 3.
    Proximity1,
}

/// A frame's layout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    /// Kind of the frame.
    pub kind: Kind,
    /// Length of the frame in bytes, including header and trailer.
    pub length: u32,
    /// True if the frame has an operational control field of 4 bytes (TM, AOS, USLP).
    pub control_field: bool,
    /// Length of the insert zone in bytes (AOS, USLP).
    pub insert: u32,
}

/// Length of a space packet's primary header in bytes (133.0-B).
pub const SPACE_PACKET: u32 = 6;
/// Length in bytes of an encapsulation packet's header that has a length field of two bytes
/// (133.1-B).
pub const ENCAPSULATION: u32 = 4;

impl Kind {
    /// Returns the length of the header in bytes.
    pub fn header(self) -> u32 {
        match self {
            Kind::Tm | Kind::Aos => 6,
            // 7 bytes without a frame count, 2 bytes of frame count, and 1 byte of data field
            // header.
            Kind::Uslp => 10,
            Kind::Tc | Kind::Proximity1 => 5,
        }
    }

    /// Returns the length of the error control field in bytes.
    pub fn check(self) -> u32 {
        match self {
            Kind::Proximity1 => 4,
            _ => 2,
        }
    }

    /// Returns the maximum length of a frame in bytes.
    pub fn max_length(self) -> u32 {
        match self {
            Kind::Tm | Kind::Proximity1 | Kind::Aos => 2048,
            Kind::Uslp => 65_536,
            Kind::Tc => 1024,
        }
    }

    /// Returns the length of the attached sync marker in bytes.
    pub fn marker(self) -> u32 {
        match self {
            Kind::Tm | Kind::Aos | Kind::Uslp => 4,
            Kind::Proximity1 => 3,
            // The start sequence of a command link transmission unit (CLTU), without its tail of 8
            // bytes.
            Kind::Tc => 2,
        }
    }
}

impl Frame {
    /// Returns the length of the data field in bytes.
    pub fn data(&self) -> u32 {
        // The CRC of Proximity-1 is outside of the frame.
        let check = if self.kind == Kind::Proximity1 { 0 } else { self.kind.check() };
        let control = if self.control_field { 4 } else { 0 };
        self.length.saturating_sub(self.kind.header() + check + control + self.insert)
    }

    /// Returns the number of bytes sent for a frame, including sync marker and code.
    pub fn encoded_length(&self, code: &Code) -> u32 {
        let marker = self.kind.marker();
        match (*code, self.kind) {
            (Code::Bch, _) => {
                // Each code block of 8 bytes has 7 bytes of information. The start sequence has 2
                // bytes, and the tail 8.
                2 + self.length.div_ceil(7) * 8 + 8
            }
            (Code::ReedSolomon { t, interleave }, _) => marker + self.length + 2 * t * interleave,
            (Code::Concatenated { t, interleave }, _) => 2 * (marker + self.length + 2 * t * interleave),
            (Code::Convolutional, kind) => {
                let check = if kind == Kind::Proximity1 { kind.check() } else { 0 };
                2 * (marker + self.length + check)
            }
            (Code::NearBest { rate, .. }, kind) => {
                let check = if kind == Kind::Proximity1 { kind.check() } else { 0 };
                // The sync marker is longer for codes with a lower rate.
                (f64::from(marker + self.length + check) / rate).ceil() as u32
            }
            (Code::None, Kind::Proximity1) => marker + self.length + self.kind.check(),
            (Code::None, _) => marker + self.length,
        }
    }

    /// Returns the reason why a code cannot carry the frame; `None` if it can.
    pub fn incompatibility(&self, code: &Code) -> Option<String> {
        let Frame { kind, length, .. } = *self;
        if length > kind.max_length() || self.data() == 0 {
            let min = length - self.data() + 1;
            return Some(format!(
                "a frame of {length} B is not possible; allowed: {min} B to {} B",
                kind.max_length()
            ));
        }
        match *code {
            Code::ReedSolomon { t, interleave } | Code::Concatenated { t, interleave } => {
                let max = (CODEWORD - 2 * t) * interleave;
                // Shorter frames use shortened codewords with virtual fill.
                (length > max).then(|| format!("a frame of {length} B does not fit into {interleave} codewords; allowed: up to {max} B"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_sizes_match_the_standards() {
        let table = include_str!("../../../tests/authorities/dtn/ccsds_frames.csv");
        let value = |name: &str| {
            let row = table.lines().find(|row| row.trim_start_matches('"').starts_with(name)).expect(name);
            let cells: Vec<&str> = row.rsplitn(4, ',').collect();
            cells[2].parse::<u32>().expect(name)
        };
        for (kind, name) in [(Kind::Tm, "TM"), (Kind::Aos, "AOS"), (Kind::Tc, "TC")] {
            assert_eq!(kind.header(), value(&format!("{name} transfer frame header")));
        }
        assert_eq!(Kind::Tm.check(), value("TM frame error control"));
        assert_eq!(Kind::Tm.max_length(), value("TM frame most"));
        assert_eq!(Kind::Tc.max_length(), value("TC frame most"));
        assert_eq!(Kind::Tm.marker(), value("TM attached sync marker"));
        assert_eq!(Kind::Proximity1.header(), value("Proximity-1 version-3 frame header"));
        assert_eq!(Kind::Proximity1.max_length(), value("Proximity-1 version-3 frame most"));
        assert_eq!(Kind::Proximity1.marker(), value("Proximity-1 sync marker"));
        assert_eq!(Kind::Proximity1.check(), value("Proximity-1 CRC-32"));
        assert_eq!(SPACE_PACKET, value("space packet primary header"));
    }

    #[test]
    fn encoded_lengths_match_calculations_by_hand() {
        let frame = Frame { kind: Kind::Tm, length: 1115, control_field: true, insert: 0 };
        assert_eq!(frame.data(), 1115 - 6 - 2 - 4);
        // The sync marker has 4 bytes, and 5 codewords have 255 bytes each. The convolutional code
        // doubles the length.
        let reed_solomon = Code::ReedSolomon { t: 16, interleave: 5 };
        assert_eq!(frame.encoded_length(&reed_solomon), 1279);
        assert_eq!(frame.encoded_length(&Code::Concatenated { t: 16, interleave: 5 }), 2558);
        assert_eq!(frame.incompatibility(&reed_solomon), None);
        assert!(frame.incompatibility(&Code::ReedSolomon { t: 16, interleave: 4 }).is_some());
        let command = Frame { kind: Kind::Tc, length: 256, control_field: false, insert: 0 };
        // 256 bytes fill 37 code blocks.
        assert_eq!(command.encoded_length(&Code::Bch), 2 + 37 * 8 + 8);
        let near = Frame { kind: Kind::Proximity1, length: 2048, control_field: false, insert: 0 };
        assert_eq!((near.data(), near.encoded_length(&Code::None)), (2043, 2055));
    }
}
