//! One end of a flow of datagrams (UDP, RFC 768) as a stage. Input port 0, output port 0.
//!
//! There is no connection: an application that opens is connected at once, each send is one
//! datagram, and lost datagrams are not repaired. Datagrams are 28 bytes longer than their payload
//! (IPv4 and UDP headers); the largest has 65507 bytes, and nothing is fragmented.

use super::datagrams::{self, Probes};
use super::flow::{DestinationCounters, SourceCounters};
use super::hosting::{Hosted, Site};
use crate::app::{Actions, App, Arrival, Event, Workload};
use crate::{EndpointParts, Packets, Socket, Supply, Transport};
use bentpipe_core::{Report, Sample, Stream, Table, Tables, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::{Body, DropReason, Outbox, Packet, Port, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Datagrams (UDP, RFC 768) without connections, acknowledgments or rate control. Lost datagrams
/// are not repaired.
///
/// ```toml
/// transport = "udp"
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Transport for Config {
    fn packets(&self, datagram: Option<u32>) -> Packets {
        let payload = datagram.unwrap_or(LARGEST as u32);
        Packets { payload, size: payload + HEADER, answer: 0, responsive: false }
    }

    fn build(&self, parts: EndpointParts, supply: &mut dyn Supply) -> Box<dyn Stage> {
        let EndpointParts { site, app, transactions, measures, stream, .. } = parts;
        let probes = Probes::of(&site, None, (transactions, measures), supply);
        Box::new(Endpoint::new(site, app, stream, probes))
    }

    fn socket(&self) -> Option<Socket<'_>> {
        Some(Socket::Datagram)
    }

    fn multicast(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn mismatch(&self, kind: &str, app: &dyn Workload) -> Option<String> {
        app.is_elastic().then(|| {
            format!(
                "\"{kind}\" needs a transport that controls the rate, such as tcp; allowed over udp: applications that have a \
                 rate of their own, such as cbr"
            )
        })
    }
}

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&datagrams::TRACE];
}

/// Size of the IPv4 and UDP headers, in bytes.
pub const HEADER: u32 = 28;

/// Maximum payload of a datagram over IPv4, in bytes.
pub const LARGEST: u64 = bentpipe_stage::LARGEST_DATAGRAM;

/// Drop reason: a packet that is not a datagram arrived at a UDP endpoint.
pub const NOT_UDP: DropReason = DropReason::new("not a datagram");

/// One end of a flow of datagrams.
pub struct Endpoint {
    site: Site,
    hosted: Hosted,
    probes: Probes,
    number: u32,
    open: bool,
    source: SourceCounters,
    destination: DestinationCounters,
    corrupted: Received,
}

impl Endpoint {
    /// Creates one end of a flow; `stream` belongs to this end alone.
    pub fn new(site: Site, app: Box<dyn App>, stream: Stream, probes: Probes) -> Endpoint {
        let hosted = Hosted::new(&site, app, stream);
        Endpoint {
            destination: DestinationCounters::new(site.details),
            site,
            hosted,
            probes,
            number: 0,
            open: false,
            source: SourceCounters::default(),
            corrupted: Received::default(),
        }
    }

    fn tell(&mut self, now: Time, event: Event, out: &mut Outbox) {
        let mut event = Some(event);
        while let Some(current) = event.take() {
            let actions = self.hosted.on(now, 0, current);
            event = self.act(now, actions, out);
        }
    }

    /// Performs the application's actions, and returns the event that follows from them, if any.
    fn act(&mut self, now: Time, actions: Actions, out: &mut Outbox) -> Option<Event> {
        if actions.send > 0 {
            self.send(now, actions.send.min(LARGEST), out);
        }
        self.probes.record_transaction(now, &actions, out);
        if actions.close || actions.stop {
            self.source.completed = Some(now);
        }
        if actions.connect && !self.open {
            self.open = true;
            self.source.start = Some(now);
            return Some(Event::Connected);
        }
        None
    }

    fn send(&mut self, now: Time, payload: u64, out: &mut Outbox) {
        let written = self.hosted.writes();
        let body = match written.bytes() {
            [] => Body::Datagram,
            _ => Body::layer(written),
        };
        self.site.send(now, (now, self.number, payload as u32 + HEADER), body, out);
        self.number = self.number.wrapping_add(1);
        self.source.start.get_or_insert(now);
        self.source.sent_bytes += payload;
        self.source.sent_packets += 1;
    }

    /// Takes a datagram; `intact` if its payload is unchanged.
    fn take(&mut self, now: Time, packet: Packet, intact: bool, out: &mut Outbox) {
        let packet = self.site.take(now, packet, out);
        let payload = u64::from(packet.size.saturating_sub(HEADER));
        let delay = packet.age(now);
        self.destination.delivered_bytes += payload;
        self.destination.delivered_packets += 1;
        self.destination.last_delivery = Some(now);
        self.destination.arrive(now, &packet);
        let received = self.destination.delivered_bytes as f64;
        let row = [f64::from(packet.number), delay.as_secs_f64(), payload as f64, received];
        self.probes.record_arrival(now, row, out);
        let actions = self.hosted.arrived(now, &Arrival::of(&packet, payload, intact));
        self.probes.record_measures(now, &self.hosted, out);
        if let Some(event) = self.act(now, actions, out) {
            self.tell(now, event, out);
        }
    }
}

impl Stage for Endpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if packet.body.datagram().is_some() {
            self.take(now, packet, true, out);
        } else if let Some(packet) = self.corrupted.open(packet, NOT_UDP, out) {
            match packet.body.datagram() {
                Some(_) => self.take(now, packet, false, out),
                None => out.drop(packet, NOT_UDP),
            }
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
    use crate::app::{cbr, Config as AppConfig, End};
    use bentpipe_core::{FlowId, NodeId, Span, Streams};
    use bentpipe_testing::bench::Bench;

    #[test]
    fn a_constant_bit_rate_flow_is_sent_on_time_and_its_delay_measured() {
        let config: cbr::Config =
            serde_json::from_str(r#"{"rate": "80 kbit/s", "datagram": "1 kB"}"#).unwrap();
        let app = AppConfig::Cbr(config);
        let build = |end| {
            let (node, peer) = if end == End::Source { (0, 1) } else { (1, 0) };
            let site = Site {
                flow: FlowId(0),
                name: "voice".to_owned(),
                node: NodeId(node),
                peer: NodeId(peer),
                end,
                start: Time::from_nanos(5_000),
                dscp: 46,
                details: false,
                capture: None,
            };
            let app = app.build(end, Streams::new(1, 0).stream("plan"));
            Endpoint::new(site, app, Streams::new(1, 0).stream("test"), Probes::default())
        };
        let (mut source, mut destination) =
            (Bench::new(build(End::Source)), Bench::new(build(End::Destination)));
        source.run(Time::ZERO + Span::from_millis(401));
        let births: Vec<_> = source.left.iter().map(|left| left.at.as_nanos() / 1_000_000).collect();
        assert_eq!(births, [0, 100, 200, 300, 400]);
        assert!(source.left.iter().all(|left| left.packet.size == 1028 && left.packet.dscp == 46));
        for left in source.left.drain(..) {
            destination.offer(left.at + Span::from_millis(250), 0, Port(0), left.packet);
        }
        assert_eq!(source.report().value("flow_source", "voice", "sent_bytes"), Some(5000.0));
        let report = destination.report();
        assert_eq!(report.value("flow_destination", "voice", "delivered_bytes"), Some(5000.0));
        assert_eq!(report.value("flow_destination", "voice", "delay_max"), Some(0.25));
        assert_eq!(source.out.totals().created.bytes, 5140);
        assert_eq!(destination.out.totals().consumed.packets, 5);
        assert!(destination.next_wake().is_none());
    }

    #[test]
    fn cbr_counts_missing_overtaken_and_corrupted_packets() {
        let config: cbr::Config = serde_json::from_str(r#"{"rate": "80 kbit/s"}"#).unwrap();
        let mut app = config.build(End::Destination, Streams::new(1, 0).stream("plan"));
        let mut stream = Streams::new(1, 0).stream("test");
        for (number, intact) in [(0, true), (3, true), (1, false), (6, true)] {
            let stamp = Some(crate::app::Stamp { number, sent: Time::ZERO });
            let arrival = Arrival { bytes: 1000, stamp, intact, content: &[] };
            app.arrived(Time::ZERO, 0, &arrival, &mut Vec::new(), &mut stream, &mut Actions::default());
        }
        let mut report = Report::default();
        app.report("f", Span::ZERO, &mut report);
        let value = |column: &str| report.value("flow_datagrams", "f", column).unwrap();
        // 2, 4 and 5 are missing; 1 arrived after 3.
        assert_eq!(
            ["missing", "overtaken", "corrupted"].map(|name| value(&format!("datagrams_{name}"))),
            [3.0, 1.0, 1.0]
        );
    }
}
