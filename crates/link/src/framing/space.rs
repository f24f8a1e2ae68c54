//! Transfer frames of space links: TM (CCSDS 132.0-B), AOS (732.0-B), USLP (732.1-B) and
//! Proximity-1 (211.0-B), with a channel code.
//!
//! Each packet is wrapped in an encapsulation packet with a header of 4 bytes (133.1-B) or in a
//! space packet with 6 (133.0-B). These are concatenated into the data fields of frames and may
//! span frame boundaries. All frames have one length. If a frame must be sent before it is full, an
//! idle packet fills the rest. A frame is sent with its sync marker and the symbols of the code,
//! and is lost as a whole if it cannot be decoded. The link's rate counts all sent bits.
//!
//! With m bytes of sync marker, L bytes of frame and c check bytes of the code, m + L + c bytes are
//! sent for L - h bytes of packets, where h are the headers and checks within the frame: 1279 for
//! 1103 for a TM frame of 1115 bytes with a control field and RS(255,223) at depth 5.
//!
//! With `idle_frames`, frames follow each other without a pause, as on a real long-haul link. When
//! there is nothing to send, an idle frame is sent. A packet that arrives meanwhile begins with the
//! next frame, on average half a frame later.
//!
//! **Deviations.** Without `idle_frames`, a frame begins when there is something to send. Frames of
//! Proximity-1 have variable length; here they have one length, unless the link retransmits them
//! ([`crate::arq`]): then each frame carries one packet and is as long as the packet requires, up
//! to `length`.
//!
//! ```toml
//! framing = { kind = "space", frame = "tm", length = 1115, code = { kind = "reed-solomon" } }
//! ```

use super::{Added, Framer, Framing};
use crate::channel::code::Code;
use bentpipe_core::{Count, Problems, Sample};
use bentpipe_dtn::frames::{self, ENCAPSULATION, SPACE_PACKET};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transfer frames of space links (TM, AOS, USLP, Proximity-1; CCSDS) with a channel code. The
/// link's rate counts all sent bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "SpaceFraming")]
pub struct Config {
    /// Kind of frame: `"tm"` (the default), `"aos"`, `"uslp"` or `"proximity-1"`.
    pub frame: Kind,
    /// Length of a frame in bytes, without sync marker and code, 16 to 65536. Default 1115, which
    /// is five codewords of RS(255,223). With `arq`, the maximum length.
    pub length: Count<16, 65_536>,
    /// True if frames end with an operational control field of 4 bytes. Default false.
    pub control_field: bool,
    /// True if idle frames are sent when there is nothing to send, as on real links with TM, AOS
    /// and USLP frames. A packet then waits for the end of the frame in transmission. Default
    /// false.
    pub idle_frames: bool,
    /// Header of each packet: `"encapsulation"` (the default), 4 bytes, or `"space-packet"`, 6
    /// bytes.
    pub packets: Packets,
    /// Channel code of the frames. Default none. The link's `error` of kind `coded` uses the same
    /// code.
    pub code: Code,
}

/// The transfer frames of a space link, by their CCSDS standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SpaceFrame")]
pub enum Kind {
    /// Telemetry frames, TM (CCSDS 132.0-B).
    #[default]
    Tm,
    /// Frames of advanced orbiting systems, AOS (CCSDS 732.0-B).
    Aos,
    /// Frames of the unified space link protocol, USLP (CCSDS 732.1-B).
    Uslp,
    /// Frames of Proximity-1 (CCSDS 211.0-B).
    #[serde(rename = "proximity-1")]
    Proximity1,
}

/// The header of each packet in the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SpacePackets")]
pub enum Packets {
    /// The header of an encapsulation packet, 4 bytes (CCSDS 133.1-B).
    #[default]
    Encapsulation,
    /// The header of a space packet, 6 bytes (CCSDS 133.0-B).
    SpacePacket,
}

impl Packets {
    /// Returns the size of the header in bytes.
    pub fn header(self) -> u32 {
        match self {
            Packets::Encapsulation => ENCAPSULATION,
            Packets::SpacePacket => SPACE_PACKET,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            frame: Kind::default(),
            length: Count::new(1115),
            control_field: false,
            idle_frames: false,
            packets: Packets::default(),
            code: Code::default(),
        }
    }
}

impl Config {
    fn layout(&self) -> frames::Frame {
        let kind = match self.frame {
            Kind::Tm => frames::Kind::Tm,
            Kind::Aos => frames::Kind::Aos,
            Kind::Uslp => frames::Kind::Uslp,
            Kind::Proximity1 => frames::Kind::Proximity1,
        };
        frames::Frame {
            kind,
            length: self.length.value() as u32,
            control_field: self.control_field,
            insert: 0,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"frame = "aos", length = 892, code = { kind = "concatenated", interleave = 4 }"#;
}

impl Framing for Config {
    fn build(&self, _carrier: Option<u32>) -> Option<Box<dyn Framer>> {
        let layout = self.layout();
        let header = self.packets.header();
        Some(Box::new(Frames {
            unit: layout.encoded_length(&self.code.code()),
            data: layout.data(),
            header,
            idles: self.idle_frames,
            room: 0,
        }))
    }

    fn longest(&self) -> u32 {
        match self.packets {
            // The length field of two bytes counts the header.
            Packets::Encapsulation => 65_535 - ENCAPSULATION,
            // The field contains the length of the data minus one.
            Packets::SpacePacket => 65_536,
        }
    }

    fn check(&self, carrier: Option<u32>, problems: &mut Problems) {
        if carrier.is_some() {
            problems.add("", "transfer frames do not fit into the slots of a return link; allowed: on links");
        }
        if let Some(refusal) = self.layout().incompatibility(&self.code.code()) {
            problems.add("length", refusal);
        }
    }
}

/// A stream of frames of one length.
struct Frames {
    /// Number of bytes sent for a frame.
    unit: u32,
    /// Size of a frame's data field in bytes.
    data: u32,
    /// Size of a packet's header in bytes.
    header: u32,
    /// True if idle frames are sent.
    idles: bool,
    /// Free bytes in the last frame.
    room: u32,
}

impl Framer for Frames {
    fn unit(&self) -> u32 {
        self.unit
    }

    fn idles(&self) -> bool {
        self.idles
    }

    fn add(&mut self, size: u32, open: bool) -> Added {
        let bytes = size + self.header;
        let room = if open { self.room } else { 0 };
        let rest = bytes.saturating_sub(room);
        let units = rest.div_ceil(self.data);
        self.room = if units == 0 { room - bytes } else { units * self.data - rest };
        Added { units, shares: room > 0 }
    }

    fn has_room(&self) -> bool {
        self.room > 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::units;
    use super::*;

    /// Worked example of CCSDS 132.0-B and 131.0-B: a frame of 1115 bytes has 6 bytes of header, 4
    /// of control field and 2 of check; it is sent with a marker of 4 bytes and 5 x 32 check bytes.
    #[test]
    fn worked_examples() {
        let config: Config =
            serde_json::from_str(r#"{"control_field": true, "code": {"reed-solomon": {}}}"#).unwrap();
        assert_eq!(config.build(None).unwrap().unit(), 1279);
        // 1103 bytes of data: one packet of 1099 and its header of 4, exactly.
        assert_eq!(units(&config, None, &[1099, 1099]), [(1, false), (1, false)]);
        assert_eq!(units(&config, None, &[1100, 1099]), [(2, false), (1, true)]);
        // Three packets of 300 in one frame, and 191 bytes of the fourth.
        assert_eq!(units(&config, None, &[300; 4]), [(1, false), (0, true), (0, true), (1, true)]);
    }
}
