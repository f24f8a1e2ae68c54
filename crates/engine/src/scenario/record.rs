//! The data that a run records in addition to its summary.

use crate::tables::TRACES;
use bentpipe_core::{Count, Problems, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The data that a run records in addition to its summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Names of the traces to write. Default all; none if the list is empty.
    pub traces: Vec<String>,
    /// Names of the nodes at which packets are captured into `packets.pcapng`. Default none.
    pub capture: Vec<String>,
    /// Number of bytes to keep of each captured packet. Default 128.
    pub capture_bytes: Count<60, 65_535>,
    /// True if destinations also measure delay variation and reordering, and report delays by
    /// class, in the tables `flow_details` and `class`, and if the ends of QUIC flows record their
    /// frames in the trace `quic_frame`. Default false.
    pub details: bool,
}

impl Default for Record {
    fn default() -> Record {
        Record {
            traces: TRACES.iter().map(|table| table.name.to_owned()).collect(),
            capture: Vec::new(),
            capture_bytes: Count::new(128),
            details: false,
        }
    }
}

impl Record {
    pub(crate) fn check(&self, problems: &mut Problems) {
        for name in &self.traces {
            if !TRACES.iter().any(|table| table.name == name) {
                let names: Vec<_> = TRACES.iter().map(|table| table.name).collect();
                problems.add("traces", format!("\"{name}\" is not a trace; allowed: {}", names.join(", ")));
            }
        }
    }

    /// Returns true if rows of `table` are written.
    pub fn writes(&self, table: &Table) -> bool {
        self.traces.iter().any(|name| name == table.name)
    }

    /// Returns the capture interface of a node, if its packets are captured.
    pub(crate) fn interface(&self, node: &str) -> Option<u32> {
        self.capture.iter().position(|name| name == node).map(|index| index as u32)
    }
}
