//! Multilinks: several links between the same two nodes, one of which at a time carries the packets
//! of each direction, and handovers from one to another under running connections.
//!
//! A handover at a moment t, from an old link to a new one:
//!
//! - Packets sent from t + `interruption` on take the new link: without an interruption the new
//!   link is made before the old one is broken, with one the old link is broken first.
//! - The old link continues to send what waits in it until t + `overlap` and is then cut. During
//!   the overlap both links deliver, and a packet on the faster link overtakes those on the slower.
//! - `packets` decides about packets that wait in a link that is cut, packets in flight on it, and
//!   packets that arrive while there is no link. With `"forward"`, those in flight arrive, and
//!   those that wait go over the new link as soon as it is up, ahead of what arrived in the
//!   meantime: nothing is lost except what the new link's queue drops. With `"lose"` all of them
//!   are lost.
//!
//! A handover to the serving link is an outage of it. A link that is about to be cut is not cut if
//! it is chosen again. Links keep their own queues, rates, delays, errors and changes. This stage
//! holds them so that it can take back the waiting packets.
//!
//! The kinds of handover are those of RFC 3753, section 4.1 (make-before-break, break-before-make).
//!
//! Limit: both ends switch at the same moment. What one end sent before the other knew is not
//! modelled; give the time that signalling takes as `interruption`.

pub mod policy;
mod stage;

pub use stage::{Links, Multilink, Parts, SELECTION};

use super::fate::Fate;
use bentpipe_core::{Span, Table, Tables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&SELECTION];
}

/// Several links between the same two nodes, one of which at a time carries the packets of each
/// direction.
///
/// ```toml
/// [[multilink]]
/// name = "hybrid"
/// links = ["satellite", "wired"]
/// handover = { interruption = "500 ms", packets = "lose" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Multilink")]
pub struct Config {
    /// Name of the multilink, in results and messages.
    pub name: String,
    /// Names of the links, all from the same node to the same other node. The first one carries
    /// traffic at the start.
    pub links: Vec<String>,
    /// The link that carries traffic from `to` to `from` at the start, if it is not the first of
    /// `links`.
    #[serde(default, rename = "return", skip_serializing_if = "Option::is_none")]
    pub back: Option<String>,
    /// Handover from one link to another, unless a `[[handover]]` specifies otherwise.
    #[serde(default)]
    pub handover: Handover,
    /// Policy that decides the time and target of handovers; by default the scenario's
    /// `[[handover]]`s.
    #[serde(default)]
    pub policy: policy::Config,
}

/// Handover from one link to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "LinkHandover")]
pub struct Handover {
    /// Time for which there is no link to send over (break before make); 0 s by default.
    pub interruption: Span,
    /// Time for which the old link continues to send what waits in it (make before break); 0 s by
    /// default.
    pub overlap: Span,
    /// Fate of packets that wait for a link that is cut, that are in flight on it, or that arrive
    /// while there is no link; forwarded by default.
    pub packets: Fate,
}

/// The directions that a handover affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "HandoverDirection")]
pub enum Direction {
    /// Both directions of the multilink.
    #[default]
    Both,
    /// The direction from the links' `from` to their `to`.
    Forward,
    /// The direction from the links' `to` to their `from`.
    Return,
}

impl Direction {
    /// Returns true if it affects the direction from the links' `from` (side 0) or back (side 1).
    pub fn includes(self, side: usize) -> bool {
        match self {
            Direction::Both => true,
            Direction::Forward => side == 0,
            Direction::Return => side == 1,
        }
    }
}
