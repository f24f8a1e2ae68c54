//! Measures packet-hops per second: datagrams cross a chain of ten links, without TCP.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use bentpipe_core::{NodeId, Rate, Span, Time};
use bentpipe_engine::Graph;
use bentpipe_link::{self as link, channel, queue};
use bentpipe_stage::{Outbox, Port};
use bentpipe_testing::bench::{stream, Sink, Source};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};

const HOPS: u64 = 10;
const PACKETS: u64 = 100_000;

fn chain(delay: Span) -> u64 {
    let config = link::Config {
        jitter: Default::default(),
        reorder: false,
        quick_start: None,
        holds: None,
        trace: None,
        slots: None,
        acm: None,
        rate: Rate::from_bits_per_second(100_000_000).into(),
        delay,
        queue: queue::Config::default(),
        framing: link::framing::Config::default(),
        error: channel::Config::default(),
    };
    let mut graph = Graph::default();
    let interval = config.rate.span_of(1500);
    let mut last = graph.add("source", Box::new(Source::new([NodeId(0), NodeId(1)], Time::ZERO, interval)));
    for hop in 0..HOPS {
        let name = format!("link {hop}");
        let link = graph.add(&name, Box::new(link::Link::new(&name, &config, stream(&name), None)));
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
