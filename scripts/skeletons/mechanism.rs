//! {Title}: the proxy's effect on passing connections, in a sentence.
//!
//! Procedure, source, deviations, limits.
//!
//! ```toml
//! mechanism = { kind = "{kebab}" }
//! ```

use super::Enhancement;
use crate::node::service::{ServedFlow, Supply};
use bentpipe_core::{Sample, Tables, Time};
use bentpipe_stage::{Outbox, Packet, Port, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the proxy's effect on passing connections, in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Tables for Config {}

impl Enhancement for Config {
    fn build(&self, _name: &str, _flows: Vec<ServedFlow>, _supply: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new({Camel})
    }
}

/// Forwards every packet unchanged.
struct {Camel};

impl Stage for {Camel} {
    fn receive(&mut self, _now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        out.send(Port(0), packet);
    }

    fn wake(&mut self, _now: Time, _out: &mut Outbox) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }
}
