//! {Title}: the transport's service to an application, in a sentence. A stage is one end of a flow,
//! with input port 0 and output port 0.
//!
//! Procedure, source, deviations, limits. The skeleton sends UDP datagrams with an additional
//! header, which numbers them from 0. Kernels do not implement the transport, so its models are the
//! endpoints in emulations, too.
//!
//! ```toml
//! transport = "{kebab}"
//! ```

use super::flow::{DestinationCounters, SourceCounters};
use super::hosting::{self, Hosted, Site};
use super::{udp, EndpointParts, Packets, Supply, Transport};
use crate::app::{Actions, Arrival, Event, Workload};
use bentpipe_core::{Probe, Report, Sample, Tables, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::{Body, Content, DropReason, Outbox, Packet, Payload, Port, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: datagrams behind a header that numbers them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Tables for Config {}

impl Transport for Config {
    fn packets(&self, datagram: Option<u32>) -> Packets {
        let payload = datagram.unwrap_or(LARGEST as u32);
        Packets { payload, size: payload + OVERHEAD, answer: 0, responsive: false }
    }

    fn build(&self, parts: EndpointParts, _supply: &mut dyn Supply) -> Box<dyn Stage> {
        let hosted = Hosted::new(&parts.site, parts.app, parts.stream);
        Box::new(Endpoint {
            destination: DestinationCounters::new(parts.site.details),
            site: parts.site,
            hosted,
            transactions: parts.transactions,
            measures: parts.measures,
            number: 0,
            source: SourceCounters::default(),
            corrupted: Received::default(),
        })
    }

    fn mismatch(&self, kind: &str, app: &dyn Workload) -> Option<String> {
        app.is_elastic().then(|| {
            format!("\"{kind}\" needs a transport that controls the rate; allowed over {kebab}: such as cbr")
        })
    }
}

/// The body of a packet: the header of this transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    number: u32,
}

/// Bytes of this transport's header.
const HEADER: u32 = 4;
/// Bytes of all headers of a packet.
const OVERHEAD: u32 = udp::HEADER + HEADER;
/// Largest payload of a packet.
const LARGEST: u64 = udp::LARGEST - HEADER as u64;

impl Payload for Header {
    fn content(&self) -> Content {
        Content::Data
    }

    fn header(&self, packet: &Packet, _notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(&self.number.to_be_bytes());
        packet.size - OVERHEAD
    }
}

/// The drop reason of a packet of another protocol.
const FOREIGN: DropReason = DropReason::new("not a packet of {words}");

struct Endpoint {
    site: Site,
    hosted: Hosted,
    transactions: Option<Probe>,
    measures: Option<Probe>,
    number: u32,
    source: SourceCounters,
    destination: DestinationCounters,
    corrupted: Received,
}

impl Endpoint {
    fn tell(&mut self, now: Time, event: Event, out: &mut Outbox) {
        let actions = self.hosted.on(now, 0, event);
        self.act(now, actions, out);
    }

    fn act(&mut self, now: Time, actions: Actions, out: &mut Outbox) {
        if actions.send > 0 {
            self.send(now, actions.send.min(LARGEST), out);
        }
        if let (Some(over), Some(probe)) = (&actions.over, self.transactions) {
            out.record(probe, now, &hosting::row(now, over));
        }
        if actions.close || actions.stop {
            self.source.completed = Some(now);
        }
        if actions.connect && self.source.start.is_none() {
            self.source.start = Some(now);
            self.tell(now, Event::Connected, out);
        }
    }

    fn send(&mut self, now: Time, payload: u64, out: &mut Outbox) {
        let packet = Packet {
            birth: now,
            number: self.number,
            size: payload as u32 + OVERHEAD,
            flow: self.site.flow,
            source: self.site.node,
            destination: self.site.peer,
            dscp: self.site.dscp,
            body: Body::layer(Header { number: self.number }),
            ..Packet::default()
        };
        self.number = self.number.wrapping_add(1);
        self.source.sent_bytes += payload;
        self.source.sent_packets += 1;
        out.create(Port(0), packet);
    }

    fn take(&mut self, now: Time, packet: Packet, intact: bool, out: &mut Outbox) {
        if packet.body.of::<Header>().is_none() {
            return out.drop(packet, FOREIGN);
        }
        let packet = out.consume(packet);
        let payload = u64::from(packet.size - OVERHEAD);
        self.destination.delivered_bytes += payload;
        self.destination.delivered_packets += 1;
        self.destination.last_delivery = Some(now);
        self.destination.arrive(now, &packet);
        let actions = self.hosted.arrived(now, &Arrival::of(&packet, payload, intact));
        if let (Some(probe), row @ [_, ..]) = (self.measures, self.hosted.row()) {
            out.record(probe, now, row);
        }
        self.act(now, actions, out);
    }
}

impl Stage for Endpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if packet.body.of::<Header>().is_some() {
            self.take(now, packet, true, out);
        } else if let Some(packet) = self.corrupted.open(packet, FOREIGN, out) {
            self.take(now, packet, false, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while let Some(event) = self.hosted.due(now) {
            self.tell(now, event, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let wake = self.hosted.next_wake();
        (wake != Time::MAX).then_some(wake)
    }

    fn report(&self, now: Time, report: &mut Report) {
        self.site.report(&self.source, &self.destination, report);
        self.corrupted.report(&self.site.incoming(), report);
        self.hosted.report(now, &self.site, report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_stage::Damage;

    #[test]
    fn a_packet_has_a_header_of_its_own_and_a_wrong_bit_is_noticed() {
        let body = Body::layer(Header { number: 7 });
        let packet = Packet { size: 100 + OVERHEAD, body, ..Packet::default() };
        let layer = packet.body.payload().unwrap();
        let mut bytes = Vec::new();
        assert_eq!(layer.header(&packet, &mut [0; 2], &mut bytes), 100);
        assert_eq!(bytes, [0, 0, 0, 7]);
        assert_eq!(layer.damage(&packet, false, &mut || 0), Damage::Noticed);
        assert_eq!(packet.body.of::<Header>(), Some(&Header { number: 7 }));
    }
}
