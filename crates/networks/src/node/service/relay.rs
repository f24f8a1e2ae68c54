//! A conference relay, which forwards every datagram of a participant to all other participants.
//!
//! Each flow that ends at the node of the relay belongs to one participant. The relay sends every
//! arriving datagram unchanged to the sources of all other flows (RFC 7667, section 3.5.1, "Relay -
//! Transport Translator"). Such a relay is also called a reflector or, if it selects datagrams, a
//! selective forwarding unit. If n participants send at rate r all the time, the relay receives n r
//! and sends n (n - 1) r, and each participant receives (n - 1) r.
//!
//! In results, the flow `NAME` of a participant counts the datagrams from the participant to the
//! relay. `NAME.reverse` counts the datagrams from the relay to the participant. The delay of
//! `NAME.reverse` starts when the speaking participant sends the datagram, so it is the end-to-end
//! delay.
//!
//! Deviations: the relay adds no delay and has unlimited capacity. There is no procedure to join,
//! so a silent participant also receives all datagrams from the start.
//!
//! ```toml
//! [[service]]
//! name = "conference"
//! node = "gateway"
//! role = "relay"
//! ```

use super::{ServedFlow, ServedPackets, Service, Supply};
use bentpipe_core::{Column, NodeId, Problems, Report, Sample, Table, Tables, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Outbox, Packet, Port, Stage};
use bentpipe_transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_transport::udp::{HEADER, NOT_UDP};
use bentpipe_transport::{names, Config as Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A conference relay: forwards every datagram that arrives on one of its flows to the sources of
/// all its other flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

/// Totals of a relay in a run.
pub static REPORT: Table = Table {
    name: "relay",
    entity: "relay",
    about: "at the end of the run",
    columns: &[
        Column::whole("participants", "1", "flows that end at the relay"),
        Column::whole("received", "packets", "datagrams that came from participants"),
        Column::whole("relayed", "packets", "datagrams sent to participants: one for each other participant"),
    ],
};

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Service for Config {
    fn served_packets(&self) -> ServedPackets {
        ServedPackets::Addressed
    }

    fn incompatibility(&self, transport: &Transport) -> Option<&'static str> {
        (!matches!(transport, Transport::Udp(_))).then_some("is not over udp")
    }

    fn build(&self, name: &str, flows: Vec<ServedFlow>, _: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(Relay::new(name, flows))
    }

    fn check_flows(&self, flows: &[ServedFlow], problems: &mut Problems) {
        if let [only] = flows {
            let message =
                format!("flow \"{}\" alone has nobody to talk to; allowed: two or more flows", only.name);
            problems.add("flows", message);
        }
    }
}

/// A participant with its flow.
struct Participant {
    served: ServedFlow,
    /// Number of the next datagram to the participant.
    number: u32,
    received_counters: SourceCounters,
    sent_counters: DestinationCounters,
    corrupted: Received,
}

/// The relay as a stage, with input port 0 and output port 0.
pub struct Relay {
    name: String,
    node: NodeId,
    participants: Vec<Participant>,
    /// Index in `participants`, by the ID of the flow.
    places: BTreeMap<u32, usize>,
    received: u64,
    relayed: u64,
}

impl Relay {
    /// Creates a relay between the sources of `flows`.
    pub fn new(name: &str, flows: Vec<ServedFlow>) -> Relay {
        let places = flows.iter().enumerate().map(|(place, served)| (served.flow.0, place)).collect();
        let node = flows.first().map_or(NodeId::default(), |served| served.ends[1]);
        let participant = |served| Participant {
            served,
            number: 0,
            received_counters: SourceCounters::default(),
            sent_counters: DestinationCounters::default(),
            corrupted: Received::default(),
        };
        let participants = flows.into_iter().map(participant).collect();
        Relay { name: name.to_owned(), node, participants, places, received: 0, relayed: 0 }
    }

    fn relay(&mut self, now: Time, from: usize, packet: &Packet, out: &mut Outbox) {
        let payload = u64::from(packet.size.saturating_sub(HEADER));
        for (_, to) in self.participants.iter_mut().enumerate().filter(|(place, _)| *place != from) {
            let copy = Packet {
                flow: to.served.flow,
                source: self.node,
                destination: to.served.ends[0],
                number: to.number,
                leg: Leg::BACK,
                dscp: to.served.dscp,
                ..packet.clone()
            };
            to.number = to.number.wrapping_add(1);
            to.received_counters.start.get_or_insert(now);
            to.received_counters.sent_bytes += payload;
            to.received_counters.sent_packets += 1;
            self.relayed += 1;
            out.create(Port(0), copy);
        }
    }
}

impl Stage for Relay {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        let from = self.places[&packet.flow.0];
        let participant = &mut self.participants[from];
        let packet = match packet.body.datagram() {
            Some(_) => packet,
            None => match participant.corrupted.open(packet, NOT_UDP, out) {
                Some(packet) => packet,
                None => return,
            },
        };
        self.received += 1;
        participant.sent_counters.delivered_bytes += u64::from(packet.size.saturating_sub(HEADER));
        participant.sent_counters.delivered_packets += 1;
        participant.sent_counters.last_delivery = Some(now);
        participant.sent_counters.arrive(now, &packet);
        let packet = out.consume(packet);
        self.relay(now, from, &packet, out);
    }

    fn wake(&mut self, _now: Time, _out: &mut Outbox) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn report(&self, _now: Time, report: &mut Report) {
        for Participant { served, received_counters, sent_counters, corrupted, .. } in &self.participants {
            sent_counters.report(&served.name, report);
            if received_counters.sent_packets > 0 {
                received_counters.report(&names::reverse(&served.name), report);
            }
            corrupted.report(&served.name, report);
        }
        let values = [self.participants.len() as f64, self.received as f64, self.relayed as f64];
        report.row(&REPORT, &self.name, &values);
    }
}
