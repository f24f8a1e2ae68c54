//! The fate of packets whose link is taken away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fate of the packets of a link that goes down or is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Packets in flight arrive, and waiting packets take another path from where they are.
    #[default]
    Forward,
    /// All packets concerned are lost.
    Lose,
}
