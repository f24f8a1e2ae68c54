//! Transfer frames of space links: their sizes, and their room for data.
//!
//! TM (CCSDS 132.0-B), AOS (732.0-B), USLP (732.1-B), TC (232.0-B) and Proximity-1 (211.0-B). A
//! long-haul link sends frames of one length without a pause, and idle frames when there is nothing
//! to send. Packets are wrapped in space packets or encapsulation packets, which fill the data
//! fields one after the other and may cross the boundaries of frames. Sizes come from the overviews
//! of the standards in `tests/authorities/dtn`; the originals were not read.

use crate::coding::{Code, CODEWORD};

/// A kind of transfer frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Telemetry.
    Tm,
    /// Advanced orbiting systems.
    Aos,
    /// Unified space data link protocol, with the full primary header and a frame count of two
    /// bytes.
    Uslp,
    /// Telecommand.
    Tc,
    /// Proximity-1, version 3.
    Proximity1,
}

/// A frame's layout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    /// Kind of the frame.
    pub kind: Kind,
    /// Length of the frame in bytes, header and trailer included.
    pub length: u32,
    /// True if the frame has an operational control field of 4 bytes (TM, AOS, USLP).
    pub control_field: bool,
    /// Bytes of an insert zone (AOS, USLP).
    pub insert: u32,
}

/// Bytes of a space packet's primary header (133.0-B).
pub const SPACE_PACKET: u32 = 6;
/// Bytes of an encapsulation packet's header with a length of two bytes (133.1-B).
pub const ENCAPSULATION: u32 = 4;

impl Kind {
    /// Returns the bytes of the header.
    pub fn header(self) -> u32 {
        match self {
            Kind::Tm | Kind::Aos => 6,
            // 7 bytes with a count of none, two more for the count, and one of the data field's
            // header.
            Kind::Uslp => 10,
            Kind::Tc | Kind::Proximity1 => 5,
        }
    }

    /// Returns the bytes of the error control field.
    pub fn check(self) -> u32 {
        match self {
            Kind::Proximity1 => 4,
            _ => 2,
        }
    }

    /// Returns the longest frame in bytes.
    pub fn max_length(self) -> u32 {
        match self {
            Kind::Tm | Kind::Proximity1 | Kind::Aos => 2048,
            Kind::Uslp => 65_536,
            Kind::Tc => 1024,
        }
    }

    /// Returns the bytes of the attached sync marker.
    pub fn marker(self) -> u32 {
        match self {
            Kind::Tm | Kind::Aos | Kind::Uslp => 4,
            Kind::Proximity1 => 3,
            // A CLTU's start sequence; its tail is eight more.
            Kind::Tc => 2,
        }
    }
}

impl Frame {
    /// Returns the bytes of the data field.
    pub fn data(&self) -> u32 {
        // Proximity-1's CRC is outside of the frame.
        let check = if self.kind == Kind::Proximity1 { 0 } else { self.kind.check() };
        let control = if self.control_field { 4 } else { 0 };
        self.length.saturating_sub(self.kind.header() + check + control + self.insert)
    }

    /// Returns the bytes that are sent for a frame: sync marker, code and frame.
    pub fn encoded_length(&self, code: &Code) -> u32 {
        let marker = self.kind.marker();
        match (*code, self.kind) {
            (Code::Bch, _) => {
                // Code blocks of 8 bytes for 7 of information, start sequence of 2 and tail of 8.
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
                // The lower the code's rate, the longer is the sync marker.
                (f64::from(marker + self.length + check) / rate).ceil() as u32
            }
            (Code::None, Kind::Proximity1) => marker + self.length + self.kind.check(),
            (Code::None, _) => marker + self.length,
        }
    }

    /// Returns the reason for which a code cannot carry the frame, if there is one.
    pub fn incompatibility(&self, code: &Code) -> Option<String> {
        let Frame { kind, length, .. } = *self;
        if length > kind.max_length() || self.data() == 0 {
            let least = length - self.data() + 1;
            return Some(format!(
                "a frame of {length} B is not possible; allowed: {least} B to {} B",
                kind.max_length()
            ));
        }
        match *code {
            Code::ReedSolomon { t, interleave } | Code::Concatenated { t, interleave } => {
                let most = (CODEWORD - 2 * t) * interleave;
                // Shortened codewords have virtual fill.
                (length > most).then(|| format!("a frame of {length} B does not fit into {interleave} codewords; allowed: up to {most} B"))
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
        let value = |what: &str| {
            let row = table.lines().find(|row| row.trim_start_matches('"').starts_with(what)).expect(what);
            let cells: Vec<&str> = row.rsplitn(4, ',').collect();
            cells[2].parse::<u32>().expect(what)
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
    fn frames_worked_by_hand() {
        let frame = Frame { kind: Kind::Tm, length: 1115, control_field: true, insert: 0 };
        assert_eq!(frame.data(), 1115 - 6 - 2 - 4);
        // 4 + 5 x 255, and twice that behind a convolutional code.
        let reed_solomon = Code::ReedSolomon { t: 16, interleave: 5 };
        assert_eq!(frame.encoded_length(&reed_solomon), 1279);
        assert_eq!(frame.encoded_length(&Code::Concatenated { t: 16, interleave: 5 }), 2558);
        assert_eq!(frame.incompatibility(&reed_solomon), None);
        assert!(frame.incompatibility(&Code::ReedSolomon { t: 16, interleave: 4 }).is_some());
        let command = Frame { kind: Kind::Tc, length: 256, control_field: false, insert: 0 };
        // 37 code blocks.
        assert_eq!(command.encoded_length(&Code::Bch), 2 + 37 * 8 + 8);
        let near = Frame { kind: Kind::Proximity1, length: 2048, control_field: false, insert: 0 };
        assert_eq!((near.data(), near.encoded_length(&Code::None)), (2043, 2055));
    }
}
