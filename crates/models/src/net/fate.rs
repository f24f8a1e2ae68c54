//! What becomes of packets whose link is taken from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to packets of a link that is no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// What has been sent arrives, and what waits takes another way from where it is.
    #[default]
    Forward,
    /// They are lost.
    Lose,
}
