//! Multilinks: several links between the same two nodes, with handovers between these links. At any
//! time, one of the links carries the packets of each direction.
//!
//! A handover at time t from an old link to a new link:
//!
//! - Packets sent from t + `interruption` on take the new link. Without an interruption, the
//!   handover is make-before-break; with an interruption, it is break-before-make (RFC 3753,
//!   section 4.1).
//! - The old link continues to send its waiting packets until t + `overlap` and is then cut. During
//!   the overlap, both links deliver packets, and packets on the faster link can overtake packets
//!   on the slower link.
//! - The key `packets` determines the fate of packets that wait in a link when it is cut, that are
//!   in flight on this link, or that arrive during the interruption. With `"forward"`, packets in
//!   flight arrive. Waiting packets are sent over the new link as soon as it is available, before
//!   packets that arrived during the interruption. Packets are lost only if the queue of the new
//!   link drops them. With `"lose"`, all these packets are lost.
//!
//! A handover from a link to itself models an outage of this link. If a link is selected again
//! before the end of its overlap, it is not cut. Each link keeps its own queue, rate, delay, errors
//! and changes. The links are parts of this stage, so that the stage can remove their waiting
//! packets.
//!
//! Limit: both ends switch at the same time. The delay of signalling between the ends is not
//! modelled; include it in `interruption`.

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

/// Several links between the same two nodes. At any time, one of them carries the packets of each
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
    /// Name of the multilink in results and messages.
    pub name: String,
    /// Names of the links. All links have the same `from` and the same `to`. The first link carries
    /// traffic at the start.
    pub links: Vec<String>,
    /// The link that carries traffic from `to` to `from` at the start. If unset, this is the first
    /// of `links`.
    #[serde(default, rename = "return", skip_serializing_if = "Option::is_none")]
    pub back: Option<String>,
    /// Settings of handovers, unless a `[[handover]]` sets other values.
    #[serde(default)]
    pub handover: Handover,
    /// Policy that determines the times and targets of handovers. By default, the scenario's
    /// `[[handover]]` entries determine them.
    #[serde(default)]
    pub policy: policy::Config,
}

/// Settings of a handover from one link to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "LinkHandover")]
pub struct Handover {
    /// Time without any link (break before make); 0 s by default.
    pub interruption: Span,
    /// Time for which the old link continues to send its waiting packets (make before break); 0 s
    /// by default.
    pub overlap: Span,
    /// Fate of packets that wait in a link when it is cut, that are in flight on this link, or that
    /// arrive during the interruption: `"forward"` (the default) or `"lose"`.
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
    /// Returns true if this value includes a direction: `side` 0 is from the links' `from` to their
    /// `to`, side 1 is back.
    pub fn includes(self, side: usize) -> bool {
        match self {
            Direction::Both => true,
            Direction::Forward => side == 0,
            Direction::Return => side == 1,
        }
    }
}
