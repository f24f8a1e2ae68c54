//! A proxy between TCP and bundles. Two such proxies, at nodes of a network of bundle agents, carry
//! the data of TCP connections as bundles: each ends the TCP connections towards its side, and they
//! exchange the data over the network. TCP therefore never waits for a long or interrupted path.
//!
//! - The proxy near the source accepts every connection at once. It divides the data into payloads
//!   of at most `block` bytes and sends an incomplete payload `flush` after its first byte. A
//!   payload has a header of 17 bytes (stream, offset, end of the stream) and becomes one bundle.
//! - The other proxy opens a connection to the destination with the first data of a stream. It
//!   restores the order of the payloads and ignores duplicates.
//! - An end that closes its connection gets the answer at once. The end of the stream is a flag in
//!   the last payload.
//! - A reset or time-out of one end ends the stream after the data received so far. The reset does
//!   not reach the other end.
//! - If a bundle is lost (expired, dropped, or corrupted without a convergence layer that
//!   retransmits), the rest of its stream waits for it at the exit until the end of the run.
//!
//! These are the rules of the real proxy, `bentpipe dtn proxy`. Deviations: the real proxy carries
//! data from the source only, whereas here answers of the destination return by the same rules. The
//! real exit tries again, once per second, to connect to a destination that refuses, whereas here
//! the stream ends. Data is never refused for want of storage: the network drops bundles when its
//! storage is full. The time for passing data to an agent is zero.
//!
//! ```toml
//! [[proxy]]
//! name = "entrance"
//! node = "orbiter"
//! mechanism = { kind = "dtn", over = "long-haul" }
//!
//! [[proxy]]
//! name = "exit"
//! node = "station"
//! mechanism = { kind = "dtn", over = "long-haul" }
//! ```

use super::split::{Accept, Rules, SideConfig, Split, HEADER, REPORT};
use super::Enhancement;
use crate::node::service::{ServedFlow, Supply};
use bentpipe_core::{Problems, Sample, Size, Span, Table, Tables};
use bentpipe_stage::Stage;
use bentpipe_transport::tcp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Carries the data of TCP connections as bundles over a network of kind `bundles`, together with a
/// second such proxy at another node of the network. Each of both ends the TCP connections of its
/// side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the network of kind `bundles` that connects this proxy to the other one.
    pub over: String,
    /// Maximum number of data bytes in a bundle, 10 kB by default.
    #[serde(default = "default_block")]
    pub block: Size,
    /// Time after its first byte at which an incomplete bundle is sent, 100 ms by default.
    #[serde(default = "default_flush")]
    pub flush: Span,
    /// TCP settings of the side that is not `over`. Without `congestion`, the proxy uses the
    /// congestion control of each flow, with its parameters.
    #[serde(default)]
    pub transport: tcp::Side,
}

fn default_block() -> Size {
    Size::from_bytes(10_000)
}

fn default_flush() -> Span {
    Span::from_millis(100)
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"over = "two", block = "3 kB", flush = "20 ms""#;
}

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Enhancement for Config {
    fn build(&self, name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Box<dyn Stage> {
        let side = |served: &ServedFlow, side: usize| {
            if served.links[side] == self.over {
                SideConfig::Bundles(Rules { block: self.block, flush: self.flush })
            } else {
                SideConfig::Tcp(Box::new(self.transport.serving(served.transport.tcp())))
            }
        };
        Box::new(Split::between(name, (Accept::Early, u64::MAX), flows, side, supply))
    }

    fn elsewhere(&self) -> Option<(&'static str, &tcp::Side)> {
        Some(("transport", &self.transport))
    }

    fn over(&self) -> Option<&str> {
        Some(&self.over)
    }

    fn splits(&self) -> bool {
        true
    }

    fn check(&self, problems: &mut Problems) {
        let most = u64::from(u32::MAX - HEADER);
        if !(1..=most).contains(&self.block.bytes()) {
            let message = format!("{} is out of range; allowed: 1 B to {most} B", self.block);
            problems.add("block", message);
        }
    }
}
