//! Access selection: several links between the same two nodes, of which one at a time carries what is sent in each
//! direction, and handovers from one to another under running connections.
//!
//! A handover at a moment t, from an old link to a new one:
//!
//! - What is sent from t + `interruption` on takes the new link: without an interruption the link is made before the other is
//!   broken, with one it is broken before.
//! - The old link goes on to send what waits in it until t + `overlap`, and is cut then. So within the overlap both deliver, and a
//!   packet over the quicker of them overtakes those over the slower.
//! - `packets` says what happens to what waits in a link that is cut, what is under way on it, and what comes while there is no
//!   link. With `"forward"`, what is under way arrives, what waits goes over the new link as soon as it is there, and before what
//!   came in the meantime: nothing is lost but what the new link's queue does not take. With `"lose"` all of that is lost.
//!
//! A handover to the link that serves is an outage of it. When the link that is about to be cut is chosen again, it is not cut.
//! Links keep their own queues, rates, delays, errors and changes; this stage holds them, so that it can take back what waits.
//!
//! The kinds of handover are those of RFC 3753, section 4.1 (make-before-break, break-before-make).
//!
//! Limit: the two ends switch at the same moment, so what was sent before the new link's other end knew is not modelled: give the
//! time that signalling takes as `interruption`.

pub mod policy;
mod stage;

pub use stage::{Access, Links, Parts, SELECTION};

use super::fate::Fate;
use bentpipe_core::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several links between two nodes, of which one at a time carries what is sent in each direction.
///
/// ```toml
/// [[access]]
/// name = "hybrid"
/// links = ["satellite", "wired"]
/// handover = { interruption = "500 ms", packets = "lose" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Its name, in results.
    pub name: String,
    /// The links, all from the same node to the same other node; the first carries at the start.
    pub links: Vec<String>,
    /// The link that carries from `to` to `from` at the start, if it is another one.
    #[serde(default, rename = "return", skip_serializing_if = "Option::is_none")]
    pub back: Option<String>,
    /// How links follow each other, where a `[[handover]]` does not say otherwise.
    #[serde(default)]
    pub handover: Handover,
    /// When to hand over, and to which link.
    #[serde(default)]
    pub policy: policy::Config,
}

/// How one link follows another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Handover {
    /// For how long there is no link to send over: break before make.
    pub interruption: Span,
    /// For how long the old link goes on to send what waits in it: make before break.
    pub overlap: Span,
    /// What happens to packets that wait for a link that is cut or are under way on it, and to those that come while there is no
    /// link.
    pub packets: Fate,
}

/// Which directions a handover is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Both.
    #[default]
    Both,
    /// From the links' `from` to their `to`.
    Forward,
    /// From the links' `to` to their `from`.
    Return,
}

impl Direction {
    /// Whether it is about the direction from the links' `from` (0) or about the other (1).
    pub fn includes(self, side: usize) -> bool {
        match self {
            Direction::Both => true,
            Direction::Forward => side == 0,
            Direction::Return => side == 1,
        }
    }
}
