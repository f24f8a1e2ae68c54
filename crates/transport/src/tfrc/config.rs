//! The configuration of a flow over TFRC.

use bentpipe_core::{Count, Rate, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP-Friendly Rate Control (RFC 5348) over UDP: datagrams at the average rate of a TCP under the
/// same conditions.
///
/// ```toml
/// transport = { kind = "tfrc", quick_start = "1 Mbit/s" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Payload of a datagram in bytes (s of the throughput equation): the size of the application's
    /// datagrams, or of those into which its data is cut. With `small_packets` it is their nominal
    /// size. Default 1460.
    pub segment_size: Count<1, 65_000>,
    /// True for TFRC-SP (RFC 4828), which gives small packets the bit rate of large ones, minus the
    /// fraction of the headers, with at least 10 ms between packets. Default false.
    pub small_packets: bool,
    /// True if the sending rate is modulated by the square root of the round-trip time to prevent
    /// oscillation (RFC 5348, section 4.5). Default true.
    pub damped: bool,
    /// Rate that is requested from the path for the start (Quick-Start, RFC 4782), 80 kbit/s to
    /// 1.31072 Gbit/s. If unset, no request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_start: Option<Rate>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "segment_size = 1000";
}

impl Default for Config {
    fn default() -> Config {
        Config { segment_size: Count::new(1460), small_packets: false, damped: true, quick_start: None }
    }
}
