//! Explicit congestion notification of a connection: classic (RFC 3168) or accurate (AccECN, RFC
//! 9768).
//!
//! - Classic: the receiver echoes a mark (CE) on all acknowledgments until the sender reports a
//!   reduced window. Only new data is ECN-capable: ECT(0).
//! - Accurate: the receiver counts marked packets and the payload bytes of each code point
//!   ([`feedback`]). Three bits of the packet counter travel in every segment, the byte counters in
//!   an option. The sender decodes the number of marked packets ([`decoder`]). The window is
//!   reduced at most once per round trip (section 3.1.5 refers to RFC 3168, section 6.1), unless
//!   the congestion control is scalable (RFC 9331). A scalable one evaluates the number of marks
//!   itself, and its data has ECT(1).
//! - Negotiation (section 3.1): [`negotiated`].
//!
//! Deviations from RFC 9768: the option travels on pure acknowledgments and SYN-ACKs only, because
//! full data segments have no room for it. Marks on a SYN or SYN-ACK are fed back but cause no
//! reduction, because the model never sends an ECN-capable SYN or SYN-ACK. The sender does not
//! check for continuous marking (section 3.2.2.3), nor for loss of the segments with options
//! (section 3.2.3.2.2).

mod decoder;
mod feedback;

pub use decoder::{Decoder, Report};
pub use feedback::Feedback;

use super::config::Ecn as Kind;
use bentpipe_stage::packet::segment::SegmentFlags;
use bentpipe_stage::Ecn as Field;

/// The flags by which an end requests accurate feedback.
const REQUEST: u8 = 0b111;
/// The flags by which an end requests classic feedback, and by which the other end agrees to it.
const CLASSIC_REQUEST: u8 = 0b011;
const CLASSIC_ANSWER: u8 = 0b001;
/// The flags of a SYN-ACK whose sender only reflects the flags of the SYN.
const REFLECTED: u8 = 0b111;

/// Returns the kind of feedback that follows from the other end's flags AE, CWR and ECE (RFC 9768,
/// section 3.1.2, table 2). `answers` is true for a SYN-ACK, false for a SYN. Reserved combinations
/// count as agreement to accurate feedback (section 3.1.3).
pub fn negotiated(offered: Kind, flags: SegmentFlags, answers: bool) -> Kind {
    let ace = flags.ace();
    // A host without support for AccECN ignores AE (RFC 3168, section 6.1.1).
    let classic = ace & 0b011;
    match (offered, answers) {
        (Kind::Off, _) => Kind::Off,
        (Kind::Classic, false) if classic == CLASSIC_REQUEST => Kind::Classic,
        (Kind::Classic, true) if classic == CLASSIC_ANSWER => Kind::Classic,
        (Kind::Classic, _) => Kind::Off,
        (Kind::Accurate, false) => match ace {
            0 => Kind::Off,
            CLASSIC_REQUEST => Kind::Classic,
            _ => Kind::Accurate,
        },
        (Kind::Accurate, true) => match ace {
            0 | REFLECTED => Kind::Off,
            CLASSIC_ANSWER => Kind::Classic,
            _ => Kind::Accurate,
        },
    }
}

/// Returns the flags of a SYN that requests this kind of feedback.
pub fn request(kind: Kind) -> SegmentFlags {
    SegmentFlags::of_ace(match kind {
        Kind::Off => 0,
        Kind::Classic => CLASSIC_REQUEST,
        Kind::Accurate => REQUEST,
    })
}

/// Returns the flags of a SYN-ACK that agrees to this kind of feedback. Accurate feedback also
/// reports the ECN field of the SYN.
pub fn agreement(kind: Kind, syn: Field) -> SegmentFlags {
    match kind {
        Kind::Off => SegmentFlags::default(),
        Kind::Classic => SegmentFlags::of_ace(CLASSIC_ANSWER),
        Kind::Accurate => SegmentFlags::of_ace(handshake_ace(syn)),
    }
}

/// Returns true if two SYNs of one handshake request different kinds of feedback, so that the
/// connection must be reset (RFC 9768, section 3.1.5).
pub fn is_contradiction(kind: Kind, offered: Kind, flags: SegmentFlags) -> bool {
    let requested = negotiated(offered, flags, false);
    matches!((kind, requested), (Kind::Accurate, Kind::Classic) | (Kind::Classic, Kind::Accurate))
}

/// Returns the ACE field that reports the ECN field of a SYN or SYN-ACK (RFC 9768, table 2, upper
/// block, and table 3).
pub fn handshake_ace(field: Field) -> u8 {
    match field {
        Field::NotEct => 0b010,
        Field::Ect1 => 0b011,
        Field::Ect0 => 0b100,
        Field::Ce => 0b110,
    }
}

/// Returns true if the flags of a SYN-ACK, or the ACE field of its acknowledgment, report that the
/// network changed the ECN field of a packet that was sent without ECT (RFC 9768, section 3.2.2.3).
pub fn reports_change(ace: u8) -> bool {
    [Field::Ect1, Field::Ect0, Field::Ce].map(handshake_ace).contains(&ace)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768, table 2, with the two reserved combinations of section 3.1.3.
    #[test]
    fn the_kind_of_feedback_follows_from_the_flags_of_the_handshake() {
        let client = |ace| negotiated(Kind::Accurate, SegmentFlags::of_ace(ace), true);
        let accurate = [0b010, 0b011, 0b100, 0b110, 0b101];
        assert_eq!(accurate.map(client), [Kind::Accurate; 5]);
        assert_eq!([0b001, 0b000, 0b111].map(client), [Kind::Classic, Kind::Off, Kind::Off]);
        let server = |ace| negotiated(Kind::Accurate, SegmentFlags::of_ace(ace), false);
        assert_eq!([0b111, 0b011, 0b000].map(server), [Kind::Accurate, Kind::Classic, Kind::Off]);
        assert_eq!([0b001, 0b010, 0b100, 0b101, 0b110].map(server), [Kind::Accurate; 5]);
        // A host that knows only RFC 3168 agrees to the classic part of the request.
        let old = negotiated(Kind::Classic, request(Kind::Accurate), false);
        assert_eq!((old, agreement(old, Field::NotEct).ace()), (Kind::Classic, 0b001));
        assert_eq!(negotiated(Kind::Off, request(Kind::Accurate), false), Kind::Off);
    }

    /// RFC 9768, section 3.1.5: a classic and an accurate request in one handshake.
    #[test]
    fn requests_of_both_kinds_contradict_each_other() {
        let contradicts = |kind, ace| is_contradiction(kind, Kind::Accurate, SegmentFlags::of_ace(ace));
        assert!(contradicts(Kind::Accurate, 0b011) && contradicts(Kind::Classic, 0b111));
        assert!(!contradicts(Kind::Accurate, 0b000) && !contradicts(Kind::Accurate, 0b111));
        assert!(!contradicts(Kind::Off, 0b111) && !contradicts(Kind::Classic, 0b011));
    }
}
