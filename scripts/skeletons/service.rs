//! {Title}: the service's response to received packets, in a sentence.
//!
//! Procedure, source, deviations, limits. The skeleton returns every datagram to its sender.
//!
//! ```toml
//! [[service]]
//! name = "one"
//! node = "gateway"
//! role = "{kebab}"
//! ```

use super::{ServedFlow, ServedPackets, Service, Supply};
use bentpipe_core::{Sample, Tables, Time};
use bentpipe_stage::{Outbox, Packet, Port, Stage};
use bentpipe_transport::Config as Transport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the service's response to received packets, in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Tables for Config {}

impl Service for Config {
    fn served_packets(&self) -> ServedPackets {
        ServedPackets::Addressed
    }

    fn incompatibility(&self, transport: &Transport) -> Option<&'static str> {
        (!matches!(transport, Transport::Udp(_))).then_some("is not over udp")
    }

    fn build(&self, _name: &str, _flows: Vec<ServedFlow>, _supply: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new({Camel})
    }
}

struct {Camel};

impl Stage for {Camel} {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        let packet = out.consume(packet);
        let answer = Packet { birth: now, source: packet.destination, destination: packet.source, ..packet };
        out.create(Port(0), answer);
    }

    fn wake(&mut self, _now: Time, _out: &mut Outbox) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }
}
