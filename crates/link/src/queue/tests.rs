//! Tests of the disciplines against their papers and RFCs, packet by packet.

use super::buffer::{Buffer, Effects};
use super::*;
use bentpipe_core::{Dscp, FlowId, Span};
use bentpipe_stage::{Ecn, Held, Outbox, Port, Stage};
use bentpipe_testing::bench::{self, stream, Bench, Left};
use std::collections::BTreeMap;

/// A buffer that is served at a rate, as in front of a link.
struct Served {
    buffer: Box<dyn Buffer>,
    rate: Rate,
    stream: Stream,
    /// The time of the last call, and the time at which the last packet has been sent.
    now: Time,
    free: Time,
}

impl Stage for Served {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        self.now = now;
        self.buffer.enqueue(now, packet, &mut Effects::new(&mut self.stream, out));
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.now = now;
        if let Some((packet, _)) = self.buffer.dequeue(now, &mut Effects::new(&mut self.stream, out)) {
            self.free = now + self.rate.span_of(packet.size.into());
            out.send(Port(0), packet);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.buffer.head(self.now).map(|head| head.at.max(self.free))
    }

    fn held(&self) -> Held {
        self.buffer.held()
    }
}

type Rig = Bench<Served>;

fn served(json: &str, bits_per_second: u64) -> Rig {
    let config: Config = serde_json::from_str(json).unwrap();
    let mut problems = Problems::default();
    config.check(&mut problems);
    assert_eq!(problems.count(), 0, "{problems:?}");
    let rate = Rate::from_bits_per_second(bits_per_second);
    let buffer = config.build(rate).buffer();
    Bench::new(Served { buffer, rate, stream: stream("rig"), now: Time::ZERO, free: Time::ZERO })
}

/// Offers a packet that is created at `now`.
fn arrive(rig: &mut Rig, now: Time, packet: Packet) {
    rig.run(now);
    rig.offer(now, 0, Port(0), Packet { birth: now, ..packet });
}

fn flow(left: &Left) -> u32 {
    left.packet.flow.0
}

/// Returns the number of bytes that left, by flow.
fn by_flow(rig: &Rig) -> BTreeMap<u32, u64> {
    let mut bytes = BTreeMap::new();
    rig.left.iter().for_each(|left| *bytes.entry(flow(left)).or_default() += u64::from(left.packet.size));
    bytes
}

/// Returns the longest wait of a flow's packets.
fn longest(rig: &Rig, of: u32) -> Span {
    rig.left.iter().filter(|left| flow(left) == of).map(Left::age).max().unwrap()
}

fn packet(flow: u32, size: u32, dscp: Dscp) -> Packet {
    Packet { flow: FlowId(flow), dscp: dscp.value(), ..bench::packet(0, size) }
}

/// Offers streams of packets at constant rates (flow, bytes of a packet, bit/s, code point) for a
/// time in milliseconds. Returns the number of packets.
fn load(rig: &mut Rig, streams: &[(u32, u32, u64, Dscp)], millis: u64) -> usize {
    let mut arrivals = Vec::new();
    for &(flow, size, rate, dscp) in streams {
        let gap = Rate::from_bits_per_second(rate).span_of(size.into());
        let mut at = Time::ZERO + Span::from_nanos(u64::from(flow) * 1000);
        while at < Time::ZERO + Span::from_millis(millis) {
            arrivals.push((at, packet(flow, size, dscp)));
            at += gap;
        }
    }
    arrivals.sort_by_key(|(at, _)| *at);
    let count = arrivals.len();
    arrivals.into_iter().for_each(|(at, packet)| arrive(rig, at, packet));
    rig.run(rig.now);
    count
}

const BE: Dscp = Dscp::BEST_EFFORT;

#[test]
fn codel_drops_at_the_moments_of_its_control_law() {
    // 1000 B at 8 Mbit/s take 1 ms; packets arrive at twice this rate.
    let mut rig = served(r#"{"codel": {"packets": 10000}}"#, 8_000_000);
    load(&mut rig, &[(0, 1000, 16_000_000, BE)], 3000);
    // Packet n arrives at n/2 ms and leaves at n ms, after waiting for n/2 ms. The wait is above
    // the target from packet 10 on, which leaves at 10 ms. The first drop follows 100 ms later
    // (section 5.6).
    assert_eq!(rig.dropped[0].at, Time::ZERO + Span::from_millis(110));
    // Each further drop is due interval / sqrt(count) after the previous one, and happens at the
    // next departure.
    let mut due = 110.0;
    for (index, dropped) in rig.dropped.iter().enumerate().skip(1).take(60) {
        due += 100.0 / (index as f64).sqrt();
        let found = dropped.at.as_secs_f64() * 1e3;
        assert!((due..due + 1.0 + 1e-6).contains(&found), "drop {index} at {found} ms, due at {due}");
    }
    assert!(rig.dropped.len() > 60);
}

#[test]
fn codel_ignores_short_queues_and_resumes_its_drop_rate() {
    let mut rig = served(r#"{"codel": {}}"#, 8_000_000);
    load(&mut rig, &[(0, 1000, 8_000_000, BE)], 3000);
    assert!(rig.dropped.is_empty());
    // Overload, a pause in which the queue empties, and overload again: drops resume with the
    // previous count.
    let mut rig = served(r#"{"codel": {}}"#, 8_000_000);
    for burst in 0..2u64 {
        for n in 0..800 {
            let at = Time::ZERO + Span::from_micros(burst * 800_000 + 500 * n);
            arrive(&mut rig, at, packet(0, 1000, BE));
        }
    }
    let second: Vec<f64> =
        rig.dropped.iter().map(|dropped| dropped.at.as_secs_f64()).filter(|at| *at > 0.8).collect();
    let first: Vec<f64> =
        rig.dropped.iter().map(|dropped| dropped.at.as_secs_f64()).filter(|at| *at <= 0.8).collect();
    assert!(first[1] - first[0] > 0.099, "{first:?}");
    assert!(second[1] - second[0] < 0.08, "{second:?}");
}

#[test]
fn ecn_capable_packets_are_marked_by_codel_red_and_pie() {
    for json in [
        r#"{"codel": {}}"#,
        r#"{"red": {"packets": 1000, "min": 5, "max": 900, "weight": 0.1}}"#,
        r#"{"pie": {}}"#,
    ] {
        let mut rig = served(json, 8_000_000);
        for n in 0..1500u64 {
            let packet = Packet { ecn: Ecn::Ect0, ..packet(0, 1000, BE) };
            arrive(&mut rig, Time::ZERO + Span::from_micros(900 * n), packet);
        }
        let marked = rig.left.iter().filter(|left| left.packet.ecn == Ecn::Ce).count();
        assert!(marked > 0, "{json}");
        // PIE drops packets if the probability is above a tenth, which it reaches under a load that
        // ignores marks.
        assert!(rig.dropped.is_empty() || json.contains("pie"), "{json}: {} dropped", rig.dropped.len());
    }
}

#[test]
fn pie_holds_its_target_and_allows_a_burst() {
    // The load exceeds the link's rate by a quarter: a fifth is dropped, and the delay stays near
    // 15 ms.
    let mut rig = served(r#"{"pie": {}}"#, 8_000_000);
    load(&mut rig, &[(0, 1000, 10_000_000, BE)], 60_000);
    let first = rig.dropped[0].at.as_secs_f64();
    assert!(first > 0.15, "{first}");
    let late = |at: Time| at.as_secs_f64() > 20.0;
    let drops = rig.dropped.iter().filter(|dropped| late(dropped.at)).count() as f64;
    let left: Vec<f64> =
        rig.left.iter().filter(|left| late(left.at)).map(|left| left.age().as_secs_f64()).collect();
    let share = drops / (drops + left.len() as f64);
    assert!((share - 0.2).abs() < 0.005, "{share}");
    let mean = left.iter().sum::<f64>() / left.len() as f64;
    assert!((0.010..0.020).contains(&mean), "{mean}");
}

#[test]
fn fq_codel_isolates_flows_and_serves_new_ones_first() {
    let mut rig = served(r#"{"fq-codel": {}}"#, 8_000_000);
    // Two greedy flows with packets of different sizes, and one packet in 50 ms.
    load(&mut rig, &[(0, 1500, 12_000_000, BE), (1, 300, 12_000_000, BE), (2, 200, 32_000, BE)], 4000);
    let bytes = by_flow(&rig);
    let share = bytes[&0] as f64 / bytes[&1] as f64;
    assert!((share - 1.0).abs() < 0.05, "{bytes:?}");
    assert_eq!(rig.left.iter().filter(|left| flow(left) == 2).count(), 80);
    // A new flow waits at most for the packet in transmission and for a turn in progress: two
    // packets, because 14 B of the credit remain after the first.
    assert!(longest(&rig, 2) < Span::from_micros(4810), "{:?}", longest(&rig, 2));
    let mut short = served(r#"{"fq-codel": {"packets": 100}}"#, 8_000_000);
    load(&mut short, &[(0, 1000, 80_000_000, BE), (1, 100, 100_000, BE)], 1000);
    let lost: u64 = short
        .out
        .totals()
        .lost
        .iter()
        .filter(|(loss, _)| loss.flow == FlowId(1))
        .map(|(_, held)| held.packets)
        .sum();
    assert_eq!(lost, 0, "the longest line makes room");
}

#[test]
fn fq_codel_exempts_short_lines_or_a_short_queue() {
    // Nine flows share the link. Flow 0 sends 0.9 Mbit/s, hardly more than its share of 0.889, so
    // at most one packet waits behind the departing one. Its packets wait for those of the other
    // lines, up to 12 ms, longer than the target. They are exempt by the bytes of their line.
    for (backlog, dropped) in [("line", false), ("all", true)] {
        let json = format!(r#"{{"fq-codel": {{"quantum": "1500 B", "backlog": "{backlog}"}}}}"#);
        let mut rig = served(&json, 8_000_000);
        let greedy = (1..9).map(|flow| (flow, 1500, 4_000_000, BE));
        load(&mut rig, &[(0, 1500, 900_000, BE)].into_iter().chain(greedy).collect::<Vec<_>>(), 1000);
        let lost = rig.out.totals().lost.iter().filter(|(loss, _)| loss.flow == FlowId(0));
        let lost: u64 = lost.map(|(_, held)| held.packets).sum();
        assert_eq!(lost > 0, dropped, "{backlog}: {lost}");
    }
}

/// Returns the shares of three overloading classes under a scheduler, in bytes.
fn shares(json: &str, sizes: [u32; 3]) -> Vec<f64> {
    let mut rig = served(json, 8_000_000);
    let dscp = [Dscp::af(1, 1), Dscp::af(2, 1), BE];
    let streams: Vec<_> = (0..3).map(|n| (n as u32, sizes[n], 8_000_000, dscp[n])).collect();
    load(&mut rig, &streams, 10_000);
    let bytes = by_flow(&rig);
    let all: u64 = bytes.values().sum();
    (0..3).map(|flow| bytes.get(&flow).copied().unwrap_or(0) as f64 / all as f64).collect()
}

fn classes(kind: &str, more: &str, weights: [&str; 3]) -> String {
    let queue = r#""queue": {"drop-tail": {"packets": 50}}"#;
    let [a, b, c] = weights;
    format!(
        r#"{{"{kind}": {{{more} "classes": [{{"name": "a", "dscp": ["af11"], {a} {queue}}},
            {{"name": "b", "dscp": ["af21"], {b} {queue}}}, {{"name": "c", {c} {queue}}}]}}}}"#
    )
}

const WEIGHTS: [&str; 3] = [r#""weight": 5,"#, r#""weight": 3,"#, r#""weight": 2,"#];

#[test]
fn schedulers_divide_the_link_by_their_rules() {
    let table: [(&str, String, [u32; 3], [f64; 3]); 6] = [
        ("priority", classes("priority", "", [""; 3]), [1000; 3], [1.0, 0.0, 0.0]),
        // Packets 5 : 3 : 2.
        (
            "wrr",
            classes("wrr", "", WEIGHTS),
            [500, 1000, 1500],
            [2500.0 / 8500.0, 3000.0 / 8500.0, 3000.0 / 8500.0],
        ),
        ("drr", classes("drr", "", WEIGHTS), [500, 1000, 1500], [0.5, 0.3, 0.2]),
        ("drr, small", classes("drr", r#""quantum": "64 B","#, WEIGHTS), [1500, 40, 700], [0.5, 0.3, 0.2]),
        ("wfq", classes("wfq", "", WEIGHTS), [500, 1000, 1500], [0.5, 0.3, 0.2]),
        ("wfq, small", classes("wfq", "", WEIGHTS), [1500, 40, 700], [0.5, 0.3, 0.2]),
    ];
    for (name, json, sizes, expected) in table {
        let found = shares(&json, sizes);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 0.005, "{name}: {found} for {expected}");
        }
    }
}

#[test]
fn a_class_within_its_fair_share_has_little_delay() {
    // Half of its half: a packet waits for the packet in transmission and for at most one more of
    // the other class.
    for (kind, max) in [("wfq", 3100), ("priority", 1510)] {
        let json = format!(
            r#"{{"{kind}": {{"classes": [{{"name": "a", "dscp": ["ef"]}}, {{"name": "b", "queue": {{"drop-tail": {{"packets": 100}}}}}}]}}}}"#
        );
        let mut rig = served(&json, 8_000_000);
        load(&mut rig, &[(0, 200, 2_000_000, Dscp::EF), (1, 1500, 20_000_000, BE)], 2000);
        assert!(longest(&rig, 0) <= Span::from_micros(max), "{kind}: {:?}", longest(&rig, 0));
    }
}

#[test]
fn a_shaper_conforms_and_a_hierarchy_shares_the_rest() {
    let mut rig = served(r#"{"shaper": {"rate": "1 Mbit/s", "burst": "3 kB"}}"#, 8_000_000);
    load(&mut rig, &[(0, 700, 4_000_000, BE)], 500);
    rig.run(Time::MAX);
    for (index, first) in rig.left.iter().enumerate() {
        let mut bytes = 0.0;
        for left in &rig.left[index..] {
            bytes += f64::from(left.packet.size);
            assert!(bytes <= 3000.0 + 125_000.0 * left.at.since(first.at).as_secs_f64() + 0.01);
        }
    }
    let whole = rig.left.last().unwrap().at.as_secs_f64();
    assert!((rig.left.len() as f64 * 700.0 - 3000.0 - 125_000.0 * whole).abs() < 1400.0);
    // EF is limited to 2 of 8 Mbit/s. AF and BE share the rest 3 : 1, and AF also gets the part
    // that BE does not use.
    let json = r#"{"priority": {"classes": [
        {"name": "ef", "dscp": ["ef"], "queue": {"shaper": {"rate": "2 Mbit/s", "queue": {"drop-tail": {"packets": 20}}}}},
        {"name": "rest", "queue": {"wfq": {"classes": [
            {"name": "af", "dscp": ["af11"], "weight": 3, "queue": {"drop-tail": {"packets": 50}}},
            {"name": "be", "queue": {"drop-tail": {"packets": 50}}}]}}}]}}"#;
    let stream = |flow, rate, dscp| (flow, 1000, rate, dscp);
    for (be, expected) in [(8_000_000, [0.25, 0.5625, 0.1875]), (800_000, [0.25, 0.65, 0.1])] {
        let mut rig = served(json, 8_000_000);
        load(
            &mut rig,
            &[stream(0, 8_000_000, Dscp::EF), stream(1, 8_000_000, Dscp::af(1, 1)), stream(2, be, BE)],
            10_000,
        );
        let bytes = by_flow(&rig);
        let all = bytes.values().sum::<u64>() as f64;
        for (flow, expected) in (0..).zip(expected) {
            assert!((bytes[&flow] as f64 / all - expected).abs() < 0.005, "{bytes:?} for {expected}");
        }
    }
}

#[test]
fn the_usual_behaviours_are_one_queue() {
    let mut rig = served(r#"{"diffserv": {}}"#, 8_000_000);
    let stream = |flow, rate, dscp| (flow, 1000, rate, dscp);
    load(
        &mut rig,
        &[
            stream(0, 1_000_000, Dscp::EF),
            stream(1, 8_000_000, Dscp::af(4, 1)),
            stream(2, 8_000_000, Dscp::af(1, 1)),
            stream(3, 8_000_000, BE),
        ],
        10_000,
    );
    let bytes = by_flow(&rig);
    // EF gets all that it sends; AF4, AF1 and BE share 7 Mbit/s by 8 : 2 : 2.
    for (flow, megabits) in [(0, 1.0), (1, 7.0 * 8.0 / 12.0), (2, 7.0 / 6.0), (3, 7.0 / 6.0)] {
        assert!((bytes[&flow] as f64 * 8e-7 - megabits).abs() < 0.05, "{bytes:?}");
    }
    assert!(longest(&rig, 0) <= Span::from_millis(1));
}

#[test]
fn packets_are_delivered_or_counted_as_dropped() {
    let kinds =
        ["drop-tail", "red", "gentle-red", "ared", "wred", "codel", "fq-codel", "pie", "dualpi2", "diffserv"];
    let nested =
        classes("wrr", "", WEIGHTS).replacen(r#"{"drop-tail": {"packets": 50}}"#, r#"{"codel": {}}"#, 1);
    let all = kinds.map(|kind| format!(r#"{{"{kind}": {{}}}}"#)).into_iter().chain([nested]);
    for json in all {
        let mut rig = served(&json, 8_000_000);
        let arrived = load(
            &mut rig,
            &[
                (0, 1000, 9_000_000, Dscp::af(1, 1)),
                (1, 300, 3_000_000, Dscp::af(1, 3)),
                (2, 90, 90_000, Dscp::EF),
            ],
            5000,
        );
        let held = rig.buffer.held();
        assert_eq!(rig.left.len() + rig.dropped.len() + held.packets as usize, arrived, "{json}");
        let drained = rig.buffer.drain();
        assert_eq!(drained.len() as u64, held.packets, "{json}");
        assert_eq!(drained.iter().map(|packet| u64::from(packet.size)).sum::<u64>(), held.bytes, "{json}");
        assert_eq!((rig.buffer.held().packets, rig.buffer.head(Time::ZERO)), (0, None));
    }
}
