//! The fate of packets on a link that goes down or is removed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fate of the packets on a link that goes down or is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Packets in flight arrive. Waiting packets take another path from their present node.
    #[default]
    Forward,
    /// All packets on the link are lost.
    Lose,
}
