//! The cost of TCP itself: both endpoints of a bulk flow, with packets handed from one to the other
//! in memory. One element is one data packet with its acknowledgment, for sender and receiver
//! together.
#![allow(missing_docs, reason = "criterion's macros make public items")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/tcp/reno.rs"]
mod reno;

use bentpipe_core::{Count, Size, Span, Time};
use bentpipe_stage::{Outbox, Packet, Port, Stage};
use bentpipe_testing::bench::stream;
use bentpipe_transport::app::{bulk, Config as AppConfig, End};
use bentpipe_transport::tcp::config::{Config, Recovery};
use bentpipe_transport::tcp::endpoint::{Endpoint, Traces};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use std::collections::VecDeque;

/// Two endpoints with a rate, a delay and a buffer between them. Its time is part of the
/// measurement, so its loop does as little as possible; a `Bench` would do more.
struct Pair {
    now: Time,
    source: Endpoint,
    destination: Endpoint,
    to_destination: VecDeque<(Time, Packet)>,
    to_source: VecDeque<(Time, Packet)>,
    free: Time,
    /// Time of one packet at the bottleneck.
    packet: Span,
    delay: Span,
    /// Maximum number of packets in the bottleneck's queue.
    buffer: u64,
    out: Outbox,
}

impl Pair {
    fn new(config: &Config, packet: Span, delay: Span, buffer: u64) -> Pair {
        let app = AppConfig::Bulk(bulk::Config::default());
        let build = |end: End| {
            let congestion = Box::new(|| Box::<reno::Reno>::default() as _);
            let app = app.build(end, stream("plan"));
            Endpoint::new(common::site(end), config, app, congestion, stream("bench"), Traces::default())
        };
        Pair {
            now: Time::ZERO,
            source: build(End::Source),
            destination: build(End::Destination),
            to_destination: VecDeque::new(),
            to_source: VecDeque::new(),
            free: Time::ZERO,
            packet,
            delay,
            buffer,
            out: Outbox::default(),
        }
    }

    /// Runs until this many data packets have arrived.
    fn run(&mut self, data_packets: u64) {
        while self.destination.delivered().delivered_packets < data_packets {
            let at = |queue: &VecDeque<(Time, Packet)>| queue.front().map_or(Time::MAX, |(time, _)| *time);
            let (data, acks) = (at(&self.to_destination), at(&self.to_source));
            let wake = |end: &Endpoint| end.next_wake().unwrap_or(Time::MAX);
            let (source, destination) = (wake(&self.source), wake(&self.destination));
            self.now = data.min(acks).min(source).min(destination);
            if self.now == data {
                let (_, packet) = self.to_destination.pop_front().unwrap();
                self.destination.receive(self.now, Port(0), packet, &mut self.out);
                self.launch_acknowledgments();
            } else if self.now == acks {
                let (_, packet) = self.to_source.pop_front().unwrap();
                self.source.receive(self.now, Port(0), packet, &mut self.out);
                self.launch_data();
            } else if self.now == source {
                self.source.wake(self.now, &mut self.out);
                self.launch_data();
            } else {
                self.destination.wake(self.now, &mut self.out);
                self.launch_acknowledgments();
            }
        }
    }

    fn launch_data(&mut self) {
        while let Some(sent) = self.out.next_sent() {
            let start = self.free.max(self.now);
            if start.since(self.now) > self.packet * self.buffer {
                continue;
            }
            self.free = start + self.packet;
            self.to_destination.push_back((self.free + self.delay, sent.packet));
        }
    }

    fn launch_acknowledgments(&mut self) {
        while let Some(sent) = self.out.next_sent() {
            self.to_source.push_back((self.now + self.delay, sent.packet));
        }
    }
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("tcp");
    group.sample_size(10);
    let packets = 1_000_000;
    group.throughput(Throughput::Elements(packets));
    let config = Config {
        delayed_ack: false,
        timestamps: false,
        receive_window: None,
        send_memory: None,
        ..Config::default()
    };

    // 10 Mbit/s, 250 ms one way, a window that just fills the pipe.
    let limited = Config { receive_window: Some(Size::from_bytes(417 * 1460)), ..config.clone() };
    group.bench_function("bulk, nothing lost", |b| {
        b.iter(|| Pair::new(&limited, Span::from_micros(1200), Span::from_millis(250), 1000).run(packets))
    });

    // The same with a buffer of one bandwidth-delay product: a sawtooth with a slow-start
    // overshoot.
    group.bench_function("bulk, buffer of one BDP", |b| {
        b.iter(|| Pair::new(&config, Span::from_micros(1200), Span::from_millis(250), 417).run(packets))
    });

    // 1 Gbit/s, 250 ms one way: 42 000 packets in flight and as many lost by the slow-start
    // overshoot.
    for recovery in [Recovery::Sack, Recovery::Newreno] {
        let config = Config { recovery, initial_window: Count::new(10), ..config.clone() };
        group.bench_function(format!("large window, {recovery:?}"), |b| {
            b.iter(|| Pair::new(&config, Span::from_micros(12), Span::from_millis(250), 42_000).run(packets))
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
