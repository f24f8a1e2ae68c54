//! Measures simulated seconds per second of an overloaded DVB-RCS return link, by number of
//! terminals.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use bentpipe_core::{NodeId, Span, Time};
use bentpipe_engine::{Graph, Network};
use bentpipe_networks::dama::{build, Config, Star};
use bentpipe_stage::{Outbox, Port};
use bentpipe_testing::bench::{Sink, Source, Supplies};
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};

fn network(scheme: &str, count: u16) -> Network {
    let config: Config = serde_json::from_str(&format!(
        r#"{{"forward": {{"rate": "10 Mbit/s"}},
            "return": {{"rate": "2048 kbit/s", "dama": {{"scheme": {{"{scheme}": {{}}}}, "cra": "0 bit/s"}}}},
            "terminals": [{{"prefix": "st", "count": {count}}}], "gateway": "gw"}}"#
    ))
    .expect("the configuration of this benchmark is valid");
    let addresses: Vec<_> = (1..=count).map(NodeId).collect();
    let Star { terminals, ncc, forward } =
        build("sat", &config, NodeId(0), &addresses, &config.terminal_names(), &mut Supplies::default());
    let mut graph = Graph::default();
    let ncc = graph.add("sat.ncc", Box::new(ncc));
    let forward = graph.add("sat.forward", Box::new(forward));
    let sink = graph.add("gw", Box::new(Sink));
    graph.wire((ncc, Port(0)), (sink, Port(0)));
    graph.wire((ncc, Port(1)), (forward, Port(count)));
    // The terminals together offer a fifth more than the capacity of the link.
    let interval = config.return_link.rate.span_of(1500) * u64::from(count) * 5 / 6;
    for (index, terminal) in terminals.into_iter().enumerate() {
        let mac = graph.add(format!("sat.st{index}"), Box::new(terminal));
        let next = Time::ZERO + interval * index as u64 / u64::from(count);
        let source = Source::new([addresses[index], NodeId(0)], next, interval);
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
