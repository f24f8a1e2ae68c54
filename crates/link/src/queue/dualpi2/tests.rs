//! Tests of DualPI2 against RFC 9332: hand calculations, and shares of many packets at a fixed base
//! probability.

use super::reference::{evaluate, Arrival, Counts};
use super::*;
use bentpipe_stage::Outbox;
use bentpipe_testing::bench;

/// 1000 B at 8 Mbit/s take 1 ms.
const RATE: Rate = Rate::from_bits_per_second(8_000_000);

/// A DualPI2 that is served at a rate.
struct Rig {
    queue: DualPi2,
    stream: Stream,
    out: Outbox,
    free: Time,
    sent: Vec<Sent>,
    drops: u64,
}

/// A packet that started its transmission at `at`.
#[derive(Clone, Debug, PartialEq)]
struct Sent {
    at: Time,
    number: u32,
    size: u32,
    ecn: Ecn,
    sojourn: Span,
}

impl Rig {
    fn new(keys: &str) -> Rig {
        let config: Config = serde_json::from_str(keys).unwrap();
        let (stream, out) = (bench::stream("dualpi2"), Outbox::default());
        Rig { queue: DualPi2::new(&config), stream, out, free: Time::ZERO, sent: Vec::new(), drops: 0 }
    }

    /// Returns a queue whose base probability stays at `base`.
    fn fixed(base: f64) -> Rig {
        let mut rig = Rig::new(r#"{"update": "1000000 s", "min_th": "1000000 s", "packets": 1000000}"#);
        rig.queue.control.base = base;
        rig
    }

    fn arrive(&mut self, now: Time, packet: Packet) {
        self.serve(now);
        self.free = self.free.max(now);
        let mut effects = Effects::new(&mut self.stream, &mut self.out);
        self.queue.enqueue(now, packet, &mut effects);
        self.drops += effects.drops;
    }

    /// Sends packets until a time. A packet that arrives at this time can still be the next one.
    fn serve(&mut self, until: Time) {
        while self.free < until {
            let now = self.free;
            let mut effects = Effects::new(&mut self.stream, &mut self.out);
            let sent = self.queue.dequeue(now, &mut effects);
            self.drops += effects.drops;
            let Some((packet, arrived)) = sent else { break };
            let Packet { number, size, ecn, .. } = packet;
            self.sent.push(Sent { at: now, number, size, ecn, sojourn: now.since(arrived) });
            self.free = now + RATE.span_of(size.into());
        }
    }

    fn numbers(&self) -> Vec<u32> {
        self.sent.iter().map(|sent| sent.number).collect()
    }

    fn marked(&self) -> Vec<bool> {
        self.sent.iter().map(|sent| sent.ecn == Ecn::Ce).collect()
    }
}

fn at_us(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

fn at_ms(millis: u64) -> Time {
    at_us(1000 * millis)
}

fn packet(number: u32, size: u32, ecn: Ecn) -> Packet {
    Packet { ecn, ..bench::packet(number, size) }
}

/// Sends `count` packets through an idle queue with a fixed base probability. Returns the shares
/// that were marked and dropped.
fn shares(base: f64, ecn: Ecn, count: u32) -> (f64, f64) {
    let mut rig = Rig::fixed(base);
    for number in 0..count {
        rig.arrive(at_ms(u64::from(number)), packet(number, 1000, ecn));
    }
    rig.serve(Time::MAX);
    let marked = rig.sent.iter().filter(|sent| sent.ecn == Ecn::Ce).count();
    assert_eq!(rig.sent.len() as u64 + rig.drops, u64::from(count));
    (marked as f64 / f64::from(count), rig.drops as f64 / f64::from(count))
}

/// Asserts that a share of `count` independent draws is within five standard deviations of a
/// probability.
fn assert_share(share: f64, probability: f64, count: u32) {
    let deviation = (probability * (1.0 - probability) / f64::from(count)).sqrt();
    assert!((share - probability).abs() <= 5.0 * deviation, "{share} for {probability} +- {deviation}");
}

#[test]
fn the_base_probability_follows_its_update_by_hand() {
    // 100 packets of 1 ms arrive in C at time 0. The packet that leaves at t ms has waited for
    // t ms, so curq is 16, 32 and 48 ms at the first updates. ECT(0): nothing is dropped.
    let mut rig = Rig::new("{}");
    for number in 0..100 {
        rig.arrive(Time::ZERO, packet(number, 1000, Ecn::Ect0));
    }
    let (alpha, beta) = (41.0 / 256.0, 819.0 / 256.0);
    let steps: [f64; 3] = [
        0.001 * alpha + 0.016 * beta,
        0.001 * alpha + 0.016 * beta + 0.017 * alpha + 0.016 * beta,
        0.001 * alpha + 0.016 * beta + 0.017 * alpha + 0.016 * beta + 0.033 * alpha + 0.016 * beta,
    ];
    assert!((steps[2] - 0.161_730_468_75).abs() < 1e-15);
    for (step, expected) in (1..).zip(steps) {
        rig.serve(at_ms(16 * step));
        assert!((rig.queue.control.base - expected).abs() > 1e-3, "updated before its time");
        rig.serve(at_us(16_000 * step + 1));
        let base = rig.queue.control.base;
        assert!((base - expected).abs() < 1e-12, "{base} for {expected}");
    }
}

#[test]
fn the_longer_wait_of_both_queues_drives_the_controller() {
    // Appendix A.2: curq = max(lq.time(), cq.time()).
    for (first, second) in [(Ecn::Ect1, Ecn::Ect0), (Ecn::Ect0, Ecn::Ect1)] {
        let mut queue = DualPi2::new(&Config::default());
        let (mut stream, mut out) = (bench::stream("dualpi2"), Outbox::default());
        let mut effects = Effects::new(&mut stream, &mut out);
        queue.enqueue(at_ms(4), packet(0, 1000, first), &mut effects);
        queue.enqueue(at_ms(10), packet(1, 1000, second), &mut effects);
        queue.catch_up(at_ms(16));
        let expected = 0.012 * 819.0 / 256.0 - 0.003 * 41.0 / 256.0;
        assert!((queue.control.base - expected).abs() < 1e-12, "{}", queue.control.base);
    }
}

#[test]
fn updates_are_processed_with_the_wait_at_their_due_times() {
    // Without calls in between, five updates are processed at 80 ms, as if at 16, 32, ... 80 ms.
    let mut queue = DualPi2::new(&Config::default());
    let (mut stream, mut out) = (bench::stream("dualpi2"), Outbox::default());
    queue.enqueue(Time::ZERO, packet(0, 1000, Ecn::Ect0), &mut Effects::new(&mut stream, &mut out));
    queue.catch_up(at_ms(80));
    let integral = (0.001 + 0.017 + 0.033 + 0.049 + 0.065) * 41.0 / 256.0;
    let expected = integral + 0.080 * 819.0 / 256.0;
    assert!((queue.control.base - expected).abs() < 1e-12, "{}", queue.control.base);
    // An empty queue lowers p' by beta 80 ms + alpha target, and then by alpha target per update,
    // until it is 0. Updates continue at multiples of 16 ms.
    queue.drain();
    queue.catch_up(at_ms(112));
    let (step, jump) = (0.015 * 41.0 / 256.0, 0.080 * 819.0 / 256.0);
    assert!((queue.control.base - (expected - jump - 2.0 * step)).abs() < 1e-12, "{}", queue.control.base);
    queue.catch_up(Time::ZERO + Span::from_secs(3600));
    assert_eq!((queue.control.base, queue.control.prevq), (0.0, 0.0));
    assert_eq!(queue.control.next.as_nanos() % 16_000_000, 0);
    assert!(queue.control.next > Time::ZERO + Span::from_secs(3600));
    assert!(queue.control.next <= Time::ZERO + Span::from_secs(3600) + Span::from_millis(16));
}

#[test]
fn classic_packets_are_marked_or_dropped_with_the_square_of_the_base_probability() {
    for base in [0.05, 0.2, 0.4] {
        let (marked, dropped) = shares(base, Ecn::Ect0, 100_000);
        assert_share(marked, base * base, 100_000);
        assert_eq!(dropped, 0.0);
        let (marked, dropped) = shares(base, Ecn::NotEct, 100_000);
        assert_eq!(marked, 0.0);
        assert_share(dropped, base * base, 100_000);
    }
}

#[test]
fn l4s_packets_are_marked_with_the_coupled_probability() {
    for base in [0.05, 0.2, 0.4] {
        let (marked, dropped) = shares(base, Ecn::Ect1, 100_000);
        assert_share(marked, 2.0 * base, 100_000);
        assert_eq!(dropped, 0.0);
    }
}

#[test]
fn both_queues_drop_at_overload() {
    // k p' = 1 at p' = 0.5: packets of L are dropped with p'^2 and the others marked, and packets
    // of C are dropped, not marked.
    for base in [0.5, 0.7] {
        let (marked, dropped) = shares(base, Ecn::Ect1, 100_000);
        assert_share(dropped, base * base, 100_000);
        assert_eq!(marked, 1.0 - dropped);
        for ecn in [Ecn::Ect0, Ecn::NotEct] {
            let (marked, dropped) = shares(base, ecn, 100_000);
            assert_eq!(marked, 0.0, "{ecn:?}");
            assert_share(dropped, base * base, 100_000);
        }
    }
    assert_eq!(shares(1.0, Ecn::Ect1, 1000), (0.0, 1.0));
}

#[test]
fn an_unresponsive_load_is_dropped_to_the_link_rate() {
    // Twice the link's rate: p'^2 settles at one half, and the delay at the target.
    for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
        let mut rig = Rig::new("{}");
        for number in 0..120_000u32 {
            rig.arrive(at_us(500 * u64::from(number)), packet(number, 1000, ecn));
        }
        let late: Vec<&Sent> = rig.sent.iter().filter(|sent| sent.at > at_ms(20_000)).collect();
        let offered = 80_000.0;
        assert!((late.len() as f64 / offered - 0.5).abs() < 0.005, "{ecn:?}: {}", late.len());
        let mean = late.iter().map(|sent| sent.sojourn.as_secs_f64()).sum::<f64>() / late.len() as f64;
        assert!((0.013..0.017).contains(&mean), "{ecn:?}: {mean}");
    }
}

#[test]
fn the_step_marks_packets_with_a_sojourn_of_at_least_its_threshold() {
    // A packet leaves every millisecond. Packet 1 arrives 1 us after the others and waits for
    // 0.999 ms, packet 2 for 2 ms.
    let mut rig = Rig::new("{}");
    rig.arrive(at_us(0), packet(0, 1000, Ecn::Ect1));
    rig.serve(at_us(1));
    for number in [1, 2, 3] {
        rig.arrive(at_us(if number == 1 { 1 } else { 2 }), packet(number, 1000, Ecn::Ect1));
    }
    rig.serve(at_ms(10));
    assert_eq!(rig.marked(), [false, false, true, true]);
    // Exactly 1 ms is enough.
    let mut rig = Rig::new("{}");
    rig.arrive(at_us(0), packet(0, 1000, Ecn::Ect1));
    rig.arrive(at_us(0), packet(1, 1000, Ecn::Ect1));
    rig.serve(at_ms(10));
    assert_eq!(rig.marked(), [false, true]);
    // Th_len = 1: the last packet is alone in the queue.
    let mut rig = Rig::new(r#"{"th_len": 1}"#);
    (0..4).for_each(|number| rig.arrive(at_us(0), packet(number, 1000, Ecn::Ect1)));
    rig.serve(at_ms(10));
    assert_eq!(rig.marked(), [false, true, true, false]);
}

#[test]
fn the_ramp_marks_in_proportion_to_the_sojourn_above_its_threshold() {
    // Sojourn times of 0 to 4 ms, a ramp from 1 to 4 ms: probabilities 0, 0, 1/3, 2/3 and 1.
    let mut rig = Rig::new(r#"{"min_th": "1 ms", "range": "3 ms", "update": "1000000 s"}"#);
    let bursts = 20_000;
    for burst in 0..bursts {
        (0..5).for_each(|number| rig.arrive(at_ms(5 * burst), packet(number, 1000, Ecn::Ect1)));
    }
    rig.serve(Time::MAX);
    for (number, probability) in (0..).zip([0.0, 0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]) {
        let marked = rig.sent.iter().filter(|sent| sent.number == number && sent.ecn == Ecn::Ce).count();
        assert_share(marked as f64 / bursts as f64, probability, bursts as u32);
    }
}

#[test]
fn l_has_priority_and_ecn_selects_the_queue() {
    let mut rig = Rig::new("{}");
    for (number, ecn) in (0..).zip([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ect0, Ecn::Ect1]) {
        rig.arrive(Time::ZERO, packet(number, 1000, ecn));
    }
    let waiting: Vec<u32> = rig.queue.waiting().map(|waiting| waiting.size).collect();
    assert_eq!(waiting.len(), 6);
    rig.serve(at_ms(10));
    assert_eq!(rig.numbers(), [2, 3, 5, 0, 1, 4]);
}

#[test]
fn c_gets_its_protected_share_of_the_bytes() {
    // L keeps packets of 1000 B waiting, and C packets of 500 B. A packet of C needs a credit of
    // 0.9 x 500 parts, which 4.5 packets of L earn at 0.1 x 1000 each: a packet of C leaves after
    // five packets of L, then after four, as half a packet's credit is left.
    let mut rig = Rig::new(r#"{"update": "1000000 s", "min_th": "1000000 s"}"#);
    for number in 0..1000 {
        rig.arrive(Time::ZERO, packet(number, 1000, Ecn::Ect1));
        rig.arrive(Time::ZERO, packet(number, 500, Ecn::NotEct));
    }
    rig.serve(at_ms(1000));
    let sizes: Vec<u32> = rig.sent.iter().take(12).map(|sent| sent.size).collect();
    let (l, c) = (1000, 500);
    assert_eq!(sizes, [l, l, l, l, l, c, l, l, l, l, c, l]);
    let bytes = |size| rig.sent.iter().filter(|sent| sent.size == size).count() as f64 * f64::from(size);
    let share = bytes(c) / (bytes(l) + bytes(c));
    assert!((share - 0.1).abs() < 1e-3, "{share}");
    // Credit does not build up while C is empty.
    let mut rig = Rig::new(r#"{"update": "1000000 s", "min_th": "1000000 s"}"#);
    (0..1000).for_each(|number| rig.arrive(Time::ZERO, packet(number, 1000, Ecn::Ect1)));
    rig.serve(at_ms(500));
    (0..10).for_each(|number| rig.arrive(at_ms(500), packet(number, 1000, Ecn::NotEct)));
    rig.serve(at_ms(520));
    let late: Vec<Ecn> = rig.sent[500..].iter().map(|sent| sent.ecn).collect();
    assert_eq!(late.iter().position(|ecn| *ecn == Ecn::NotEct), Some(9));
    assert_eq!(late.iter().skip(10).position(|ecn| *ecn == Ecn::NotEct), Some(9));
}

#[test]
fn a_full_queue_drops_arrivals_of_both_kinds() {
    let mut rig = Rig::new(r#"{"packets": 4}"#);
    for number in 0..4 {
        rig.arrive(Time::ZERO, packet(number, 1000, if number % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 }));
    }
    for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
        rig.arrive(Time::ZERO, packet(9, 1000, ecn));
    }
    assert_eq!((rig.drops, rig.queue.held().packets), (3, 4));
}

#[test]
fn runs_with_the_same_stream_are_equal() {
    let run = |name: &str| {
        let mut rig = Rig::new("{}");
        rig.stream = bench::stream(name);
        for number in 0..5000u32 {
            let ecn = [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct][number as usize % 3];
            rig.arrive(at_us(800 * u64::from(number)), packet(number, 1000, ecn));
        }
        (rig.sent, rig.drops)
    };
    assert_eq!(run("a"), run("a"));
    assert_ne!(run("a").0, run("b").0);
}

/// The RFC's parameters for round-trip times up to 100 ms (appendix A).
const OF_RFC: &str = r#"{"update": "15 ms", "alpha": 0.15, "beta": 3.0, "min_th": "800 us",
    "range": "400 us", "th_len": 1}"#;

/// Returns Poisson arrivals of packets of one ECN field each, with rates in bit/s, in `seconds`.
fn poisson(rates: &[(Ecn, f64, u32)], seconds: f64, stream: &mut Stream) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for &(ecn, rate, bytes) in rates {
        let mean = 8.0 * f64::from(bytes) / rate;
        let mut at = stream.exponential(mean);
        while at < seconds {
            // Both evaluations see the same times, in whole nanoseconds.
            arrivals.push(((at * 1e9).round() / 1e9, bytes, ecn));
            at += stream.exponential(mean);
        }
    }
    arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
    arrivals
}

/// Returns marks and drops of the discipline.
fn count(arrivals: &[Arrival]) -> Counts {
    let mut rig = Rig::new(OF_RFC);
    let mut counts = Counts::default();
    for (number, (at, bytes, ecn)) in (0..).zip(arrivals) {
        counts.dropped[*ecn as usize] += 1;
        rig.arrive(Time::from_nanos((at * 1e9).round() as u64), packet(number, *bytes, *ecn));
    }
    rig.serve(Time::MAX);
    for sent in &rig.sent {
        let ecn = arrivals[sent.number as usize].2;
        counts.dropped[ecn as usize] -= 1;
        counts.marked[ecn as usize] += u32::from(sent.ecn == Ecn::Ce);
    }
    counts
}

#[test]
fn marks_and_drops_equal_those_of_the_pseudo_code() {
    let mut stream = bench::stream("arrivals");
    let (l, c, none) = (Ecn::Ect1, Ecn::Ect0, Ecn::NotEct);
    for (overload, rates) in [
        // Below and near the rate of 8 Mbit/s, above it, and at twice the rate.
        (false, [(l, 3.0e6, 1000), (c, 2.0e6, 1200), (none, 2.4e6, 700)]),
        (false, [(l, 3.5e6, 1000), (c, 2.0e6, 1500), (none, 2.7e6, 700)]),
        (false, [(l, 1.0e6, 1000), (c, 1.0e6, 300), (none, 7.0e6, 700)]),
        (true, [(l, 8.0e6, 1000), (c, 4.0e6, 1200), (none, 4.0e6, 700)]),
    ] {
        let (mut ours, mut theirs) = ([(0.0, 0.0); 4], [(0.0, 0.0); 4]);
        for _ in 0..5 {
            let arrivals = poisson(&rates, 60.0, &mut stream);
            for (sums, counts) in [(&mut ours, count(&arrivals)), (&mut theirs, evaluate(&arrivals, 8e6))] {
                for (sum, (marked, dropped)) in sums.iter_mut().zip(counts.marked.iter().zip(counts.dropped))
                {
                    *sum = (sum.0 + f64::from(*marked), sum.1 + f64::from(dropped));
                }
            }
        }
        // Five per cent, or five standard deviations of few random events.
        let near = |a: f64, b: f64| (a - b).abs() <= f64::max(0.05 * b, 5.0 * b.sqrt());
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            assert!(near(ours.0 + ours.1, theirs.0 + theirs.1), "{rates:?}: {ours:?} for {theirs:?}");
            // Outside sustained overload, p' exceeds 1/k for moments, and more often with random
            // draws than with `recur`, so more ECN-capable packets are dropped instead of marked.
            assert!(!overload || near(ours.1, theirs.1), "{rates:?}: {ours:?} for {theirs:?}");
        }
    }
}
