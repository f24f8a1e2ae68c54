//! The frames of links with retransmission: those of Proximity-1 (CCSDS 211.0-B), whose length
//! follows from the packet, with the link's channel code.
//!
//! A frame of a packet of n bytes has a header of 5 bytes, a packet header of h bytes and the
//! packet. A sync marker of 3 bytes precedes it, and a CRC of 4 bytes follows. A code of rate r
//! sends (3 + 5 + h + n + 4) / r bytes for it. Without a framing, h is 0 and nothing is coded: n +
//! 12 bytes.

use crate::channel::code::Code;
use crate::framing::space::Kind;
use crate::framing::{self, Framed};
use bentpipe_dtn::{coding, frames};

/// Size of the control word in a report (PLCW), in bytes.
const CONTROL_WORD: u32 = 2;

/// The frame sizes of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    code: coding::Code,
    /// Size of a packet's header within the frame, in bytes.
    header: u32,
    /// Size of the longest frame in bytes, without sync marker, CRC and code.
    max: u32,
}

impl Frames {
    /// Returns the frames of a link with this framing, which [`refused`] must not refuse.
    pub fn of(framing: &framing::Config) -> Frames {
        match framing {
            framing::Config::Space(space) => Frames {
                code: space.code.code(),
                header: space.packets.header(),
                max: space.length.value() as u32,
            },
            _ => Frames { code: coding::Code::None, header: 0, max: frames::Kind::Proximity1.max_length() },
        }
    }

    /// Returns the bytes sent for a frame with `data` bytes after its header.
    fn with(&self, data: u32) -> u32 {
        let kind = frames::Kind::Proximity1;
        frames::Frame { kind, length: kind.header() + data, control_field: false, insert: 0 }
            .encoded_length(&self.code)
    }

    /// Returns the bytes sent for a packet.
    pub fn packet(&self, bytes: u32) -> u32 {
        self.with(self.header + bytes)
    }

    /// Returns the bytes sent for a report.
    pub fn report(&self) -> u32 {
        self.with(CONTROL_WORD)
    }

    /// Returns the size of the longest packet in bytes.
    pub fn longest(&self) -> u32 {
        self.max - frames::Kind::Proximity1.header() - self.header
    }

    /// Returns the framing of packets of one size.
    pub fn framed(&self, bytes: u32) -> Framed {
        let unit = self.packet(bytes);
        Framed { efficiency: f64::from(bytes) / f64::from(unit), unit: Some(unit), units: 1.0 }
    }
}

/// Returns the key of a framing that does not support retransmission, and the reason; `None` if it
/// does.
pub fn refused(framing: &framing::Config) -> Option<(&'static str, String)> {
    let space = match framing {
        framing::Config::None(_) => return None,
        framing::Config::Space(space) => space,
        other => {
            let message = format!(
                "{} cannot be combined with arq; allowed: none, or space with frame = \"proximity-1\"",
                other.kind()
            );
            return Some(("", message));
        }
    };
    if space.frame != Kind::Proximity1 {
        return Some((
            "frame",
            "cannot be combined with arq, since frames of this kind are not retransmitted; allowed: \"proximity-1\""
                .to_owned(),
        ));
    }
    if space.idle_frames {
        return Some((
            "idle_frames",
            "cannot be combined with arq, since Proximity-1 sends no idle frames; allowed: false".to_owned(),
        ));
    }
    if space.control_field {
        return Some((
            "control_field",
            "cannot be combined with arq, whose reports are frames of their own; allowed: false".to_owned(),
        ));
    }
    match space.code {
        Code::None(_) | Code::Convolutional(_) | Code::Ldpc(_) => None,
        Code::ReedSolomon(_) | Code::Bch(_) | Code::Concatenated(_) | Code::Turbo(_) => {
            let message = format!(
                "{} is not a code of Proximity-1, whose frames vary in length (arq); allowed: none, convolutional, ldpc",
                space.code.kind()
            );
            Some(("code", message))
        }
    }
}
