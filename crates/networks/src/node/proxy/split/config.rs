//! The configuration of a splitting proxy.

use super::Split;
use crate::node::proxy::{Enhancement, RealForm};
use crate::node::service::{ServedFlow, Supply};
use bentpipe_core::{Problems, Sample, Size};
use bentpipe_stage::Stage;
use bentpipe_transport::tcp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Splits TCP connections in two (RFC 3135, section 2.4), each with its own congestion control,
/// retransmissions and window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Time at which the proxy completes the handshake with the source: after the destination has
    /// accepted the connection (`"late"`, the default) or at once (`"early"`).
    pub accept: Accept,
    /// Maximum number of bytes in the proxy for each direction of a connection; 4 MiB by default,
    /// at least one segment. These bytes have been received from one side and are not yet
    /// acknowledged by the other.
    pub buffer: Size,
    /// TCP settings of each side, by the name of its link or network. A side without `congestion`
    /// uses the congestion control of each flow, with its parameters. With `profile = "scps"`, it
    /// uses Vegas.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sides: BTreeMap<String, tcp::Side>,
    /// TCP settings of the sides that `sides` does not name, by the same rules.
    pub transport: tcp::Side,
}

/// Time at which the handshake with a connection's source is completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Accept {
    /// After the destination has accepted. A refusal by the destination reaches the source as a
    /// refusal.
    #[default]
    Late,
    /// At once, which saves a round trip. A refusal by the destination reaches the source as a
    /// reset.
    Early,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            accept: Accept::default(),
            // The default limit of a socket's send buffer in Linux (ip-sysctl.rst, tcp_wmem).
            buffer: Size::from_bytes(4 << 20),
            sides: BTreeMap::new(),
            transport: tcp::Side::default(),
        }
    }
}

impl Config {
    /// Returns the TCP settings towards a link or network for a flow whose ends use `flow`. The
    /// receive window is limited to the size of the buffer.
    pub fn side(&self, link: &str, flow: Option<&tcp::Config>) -> tcp::Config {
        let config = self.sides.get(link).unwrap_or(&self.transport).serving(flow);
        let least = |size: Option<Size>| size.map_or(self.buffer, |size| size.min(self.buffer));
        tcp::Config {
            receive_window: Some(least(config.receive_window)),
            receive_window_start: config.receive_window_start.map(|start| least(Some(start))),
            ..config
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"buffer = "200 kB", sides.two = { congestion = "hybla" }"#;
}

impl Enhancement for Config {
    fn build(&self, name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(Split::new(name, self, flows, supply))
    }

    fn sides(&self) -> Vec<(&str, &tcp::Side)> {
        self.sides.iter().map(|(link, config)| (link.as_str(), config)).collect()
    }

    fn elsewhere(&self) -> Option<(&'static str, &tcp::Side)> {
        Some(("transport", &self.transport))
    }

    fn splits(&self) -> bool {
        true
    }

    fn real_form(&self) -> Option<RealForm<'_>> {
        Some(RealForm::Sockets(self))
    }

    fn check(&self, problems: &mut Problems) {
        let segment = |side: &tcp::Side| side.config().segment_size.value();
        let least = self.sides.values().map(segment).fold(segment(&self.transport), u64::max);
        if self.buffer.bytes() < least {
            let message =
                format!("{} is out of range; allowed: at least one segment ({least} B)", self.buffer);
            problems.add("buffer", message);
        }
    }
}
