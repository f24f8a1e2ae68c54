//! What a scenario says of a TFRC flow.

use bentpipe_core::{Count, Problems, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A TFRC flow.
///
/// ```toml
/// transport = { kind = "tfrc", quick_start = "1 Mbit/s" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// s of the equation, in bytes of payload: the size of an application's datagrams, or of those that it is cut into. With
    /// small packets it is their nominal size.
    pub segment_size: Count<1, 65_000>,
    /// TFRC-SP (RFC 4828): small packets share as large ones do. The rate is lowered by what headers take, and packets
    /// leave no closer than 10 ms.
    pub small_packets: bool,
    /// Pace by the square root of the round-trip time, against oscillation (RFC 5348, section 4.5).
    pub damped: bool,
    /// Ask the path to begin at this rate (Quick-Start, RFC 4782), 80 kbit/s to 1.31072 Gbit/s; not when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_start: Option<Rate>,
}

impl Default for Config {
    fn default() -> Config {
        Config { segment_size: Count::new(1460), small_packets: false, damped: true, quick_start: None }
    }
}

impl Config {
    /// Adds what is wrong.
    pub fn check(&self, problems: &mut Problems) {
        crate::transport::check_quick_start(self.quick_start, problems);
    }
}
