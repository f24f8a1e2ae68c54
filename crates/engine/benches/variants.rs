//! Measures the cost of a data packet and its acknowledgment under each congestion control. One
//! flow fills a GEO link of 10 Mbit/s with a queue of one bandwidth-delay product for 400 s. One
//! element of the throughput is one delivered data packet.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use bentpipe_core::{Recorder, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{instantiate, presets};
use bentpipe_scenario::{load, Source};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};

fn scenario(variant: &str) -> Scenario {
    let text = format!(
        r#"
        name = "bench"
        duration = "400 s"
        [[link]]
        name = "sat"
        from = "a"
        to = "b"
        rate = "10 Mbit/s"
        delay = "250 ms"
        queue = {{ kind = "drop-tail", packets = 417 }}
        return = {{ rate = "10 Mbit/s", delay = "250 ms" }}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        app = "bulk"
        transport = {{ kind = "tcp", congestion = "{variant}" }}
        "#
    );
    let loaded = load(Source::Text { name: "bench.toml", text: &text }, &presets::all(), &[]);
    let mut scenario: Scenario = loaded.unwrap_or_else(|error| panic!("{error}")).value;
    scenario.record.traces.clear();
    scenario
}

/// Runs a scenario and returns the number of data packets that it delivered.
fn run(scenario: &Scenario) -> f64 {
    let end = Time::ZERO + scenario.duration;
    let mut network = instantiate(scenario, 1, 0, Recorder::default());
    network.run_until(end);
    network.report(end).value("flow_destination", "f", "delivered_packets").unwrap_or(f64::NAN)
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("variants");
    group.sample_size(10);
    for variant in ["reno", "cubic", "bbr", "bbr3", "vegas", "hybla", "westwood", "compound"] {
        let scenario = scenario(variant);
        group.throughput(Throughput::Elements(run(&scenario) as u64));
        group.bench_function(variant, |b| b.iter(|| run(&scenario)));
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
