//! Packet-hops per second through a chain of links without TCP.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use bentpipe_core::{FlowId, NodeId, Rate, Span, Streams, Time};
use bentpipe_engine::Graph;
use bentpipe_link::{self as link, channel, queue};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Ecn, Held, Outbox, Packet, Port, Stage};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};

/// A source of one packet per `interval`.
struct Source {
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
            source: NodeId(0),
            destination: NodeId(1),
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

    fn held(&self) -> Held {
        Held::default()
    }
}

const HOPS: u64 = 10;
const PACKETS: u64 = 100_000;

fn chain(delay: Span) -> u64 {
    let streams = Streams::new(1, 0);
    let config = link::Config {
        jitter: Default::default(),
        reorder: false,
        quick_start: None,
        holds: None,
        trace: None,
        acm: None,
        rate: Rate::from_bits_per_second(100_000_000).into(),
        delay,
        queue: queue::Config::default(),
        framing: link::framing::Config::default(),
        error: channel::Config::default(),
    };
    let mut graph = Graph::default();
    let interval = config.rate.span_of(1500);
    let mut last = graph.add("source", Box::new(Source { next: Time::ZERO, interval, number: 0 }));
    for hop in 0..HOPS {
        let name = format!("link {hop}");
        let link = graph.add(&name, Box::new(link::Link::new(&name, &config, streams.stream(&name), None)));
        graph.wire((last, Port(0)), (link, Port(0)));
        last = link;
    }
    let sink = graph.add("sink", Box::new(Sink));
    graph.wire((last, Port(0)), (sink, Port(0)));
    let mut network = graph.finish(Outbox::default());
    network.run_until(Time::ZERO + interval * PACKETS);
    network.receives()
}

fn hops(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hops");
    group.throughput(Throughput::Elements(HOPS * PACKETS)).sample_size(10);
    group.bench_function("chain of 10 links, 1 ms", |bencher| bencher.iter(|| chain(Span::from_millis(1))));
    group.bench_function("chain of 10 links, 25 ms", |bencher| bencher.iter(|| chain(Span::from_millis(25))));
    group.finish();
}

criterion_group!(benches, hops);
criterion_main!(benches);
