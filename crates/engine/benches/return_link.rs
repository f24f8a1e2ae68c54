//! Simulated seconds per second of an overloaded DVB-RCS return link, by number of terminals.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use bentpipe_core::{FlowId, NodeId, Probe, Span, Stream, Streams, Table, Time};
use bentpipe_engine::{Graph, Network};
use bentpipe_networks::dama::{build, Config, Star};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::Supply;
use bentpipe_stage::{Body, Ecn, Outbox, Packet, Port, Stage};
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};

/// A source of one packet per `interval`.
struct Source {
    node: NodeId,
    next: Time,
    interval: Span,
    number: u32,
}

impl Stage for Source {
    fn receive(&mut self, _now: Time, _port: Port, _packet: Packet, _out: &mut Outbox) {}

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        let packet = Packet {
            birth: now,
            number: self.number,
            size: 1500,
            flow: FlowId(0),
            source: self.node,
            destination: NodeId(0),
            connection: 0,
            leg: Leg::THERE,
            dscp: 0,
            ecn: Ecn::NotEct,
            body: Body::Datagram,
        };
        self.number += 1;
        self.next = now + self.interval;
        out.create(Port(0), packet);
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.next)
    }
}

struct Sink;

impl Stage for Sink {
    fn receive(&mut self, _now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        out.consume(packet);
    }

    fn wake(&mut self, _now: Time, _out: &mut Outbox) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }
}

struct Untraced;

impl Supply for Untraced {
    fn stream(&mut self, name: &str) -> Stream {
        Streams::new(1, 0).stream(name)
    }

    fn probe(&mut self, _table: &'static Table, _entity: &str) -> Option<Probe> {
        None
    }
}

fn network(scheme: &str, count: u16) -> Network {
    let config: Config = serde_json::from_str(&format!(
        r#"{{"forward": {{"rate": "10 Mbit/s"}},
            "return": {{"rate": "2048 kbit/s", "dama": {{"scheme": {{"{scheme}": {{}}}}, "cra": "0 bit/s"}}}},
            "terminals": [{{"prefix": "st", "count": {count}}}], "gateway": "gw"}}"#
    ))
    .expect("the configuration is a constant");
    let addresses: Vec<_> = (1..=count).map(NodeId).collect();
    let Star { terminals, ncc, forward } =
        build("sat", &config, NodeId(0), &addresses, &config.terminal_names(), &mut Untraced);
    let mut graph = Graph::default();
    let ncc = graph.add("sat.ncc", Box::new(ncc));
    let forward = graph.add("sat.forward", Box::new(forward));
    let sink = graph.add("gw", Box::new(Sink));
    graph.wire((ncc, Port(0)), (sink, Port(0)));
    graph.wire((ncc, Port(1)), (forward, Port(count)));
    // A fifth more than the capacity of the link.
    let interval = config.return_link.rate.span_of(1500) * u64::from(count) * 5 / 6;
    for (index, terminal) in terminals.into_iter().enumerate() {
        let mac = graph.add(format!("sat.st{index}"), Box::new(terminal));
        let next = Time::ZERO + interval * index as u64 / u64::from(count);
        let source = Source { node: addresses[index], next, interval, number: 0 };
        let source = graph.add(format!("source {index}"), Box::new(source));
        graph.wire((forward, Port(index as u16)), (mac, Port(1)));
        graph.wire((source, Port(0)), (mac, Port(0)));
        graph.wire((mac, Port(0)), (sink, Port(0)));
        graph.wire((mac, Port(1)), (ncc, Port(0)));
    }
    graph.finish(Outbox::default())
}

const SECONDS: u64 = 100;

fn return_link(criterion: &mut Criterion) {
    for scheme in ["rbdc", "vbdc"] {
        let mut group = criterion.benchmark_group(scheme);
        group.throughput(Throughput::Elements(SECONDS)).sample_size(10);
        for count in [1, 10, 30, 100, 1000] {
            group.bench_function(BenchmarkId::new("simulated seconds, terminals", count), |bencher| {
                bencher.iter(|| {
                    let mut network = network(scheme, count);
                    network.run_until(Time::ZERO + Span::from_secs(SECONDS));
                    network.receives()
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, return_link);
criterion_main!(benches);
