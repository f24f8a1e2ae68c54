//! Tests of the link against its specification, to the nanosecond, and against a bit-by-bit
//! computation.

use super::*;
use crate::queue::drop_tail;
use crate::{channel, queue};
use bentpipe_core::{Count, Fraction};
use bentpipe_testing::bench::{packet, stream, Bench};
use proptest::prelude::*;

fn config() -> Config {
    Config {
        jitter: Default::default(),
        reorder: false,
        quick_start: None,
        holds: None,
        trace: None,
        slots: None,
        acm: None,
        rate: Rate::from_bits_per_second(12_000_000).into(),
        delay: Span::from_millis(250),
        queue: queue::Config::DropTail(drop_tail::Config { packets: Some(Count::new(2)), bytes: None }),
        framing: framing::Config::default(),
        error: channel::Config::default(),
    }
}

fn bench(config: &Config) -> Bench<Link> {
    Bench::new(Link::new("l", config, stream("l"), None))
}

/// Hands the link a packet of 1500 bytes.
fn offer(bench: &mut Bench<Link>, at: Time, number: u32) {
    bench.offer(at, 0, Port(0), packet(number, 1500));
}

#[test]
fn packets_leave_in_order_at_the_rate_and_the_full_queue_drops() {
    let mut bench = bench(&config());
    (0..5).for_each(|number| offer(&mut bench, Time::ZERO, number));
    // One packet is in transmission and two are waiting; 1500 bytes take 1 ms.
    assert_eq!(bench.dropped.len(), 2);
    assert_eq!(deliveries(&mut bench), [(0, 251_000_000), (1, 252_000_000), (2, 253_000_000)]);
}

#[test]
fn waiting_packets_are_not_reported_as_transmitted() {
    let mut bench = bench(&config());
    (0..3).for_each(|number| offer(&mut bench, Time::ZERO, number));
    let reported = |millis| {
        let mut report = Report::default();
        bench.network.report(Time::ZERO + Span::from_millis(millis), &mut report);
        ["packets", "bytes", "utilisation"].map(|column| report.value("link", "l", column).unwrap())
    };
    assert_eq!(reported(1), [1.0, 1500.0, 1.0]);
    assert_eq!(reported(2), [2.0, 3000.0, 1.0]);
    assert_eq!(reported(6), [3.0, 4500.0, 0.5]);
}

/// A series resets only its own columns: changes of other keys outlive its samples, and do not end
/// its present sample.
#[test]
fn a_change_and_a_series_keep_each_other() {
    let traced = |samples: &str| {
        let json = format!(r#"{{"samples": {samples:?}}}"#);
        Config { trace: Some(serde_json::from_str(&json).unwrap()), ..config() }
    };
    let mut before = traced("time,delay\n0,0.1\n2,0.2\n");
    let after = Config { rate: Rate::from_bits_per_second(24_000_000).into(), ..before.clone() };
    let mut bench = bench(&before);
    change(&mut bench, Time::ZERO + Span::from_secs(1), &mut before, after);
    offer(&mut bench, Time::ZERO + Span::from_secs(3), 0);
    assert_eq!(deliveries(&mut bench), [(0, 3_200_500_000)]);

    let mut before = traced("time,rate\n0,6000000\n");
    let after = Config { delay: Span::from_millis(100), ..before.clone() };
    let mut bench = self::bench(&before);
    change(&mut bench, Time::ZERO + Span::from_secs(1), &mut before, after);
    offer(&mut bench, Time::ZERO + Span::from_millis(1500), 0);
    assert_eq!(deliveries(&mut bench), [(0, 1_602_000_000)]);
}

/// Changes the link's configuration to `after` at `now`.
fn change(bench: &mut Bench<Link>, now: Time, before: &mut Config, after: Config) {
    bench.change(now, 0, before, &after);
    *before = after;
}

/// Returns number and time in nanoseconds of each delivery, until the link is empty.
fn deliveries(bench: &mut Bench<Link>) -> Vec<(u32, u64)> {
    bench.run(Time::MAX);
    bench.arrivals()
}

fn long_queue(rate: u64, delay: Span) -> (Config, Bench<Link>) {
    let rate = Rate::from_bits_per_second(rate);
    let config = Config { rate: rate.into(), delay, queue: queue::Config::default(), ..config() };
    let bench = bench(&config);
    (config, bench)
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

#[test]
fn a_rate_cut_in_the_middle_of_a_packet() {
    // At 12 Mbit/s a packet of 1500 bytes takes 1 ms, at 7 Mbit/s 12000 / 7 us = 1 714 285 ns.
    let (mut before, mut bench) = long_queue(12_000_000, Span::from_millis(250));
    (0..4).for_each(|number| offer(&mut bench, Time::ZERO, number));
    let after = Config { rate: Rate::from_bits_per_second(7_000_000).into(), ..before.clone() };
    change(&mut bench, at(1_400), &mut before, after);
    bench.offer(at(1_500), 0, Port(0), packet(4, 750));
    // Packet 0 has been sent. 0.6 ms x 12 Mbit/s = 7200 bits of packet 1 remain: 1 028 571 ns.
    // Packets of 1500, 1500 and 750 bytes (857 142 ns) follow.
    let sent: [u64; 5] = [1_000_000, 2_428_571, 4_142_856, 5_857_141, 6_714_283];
    assert_eq!(deliveries(&mut bench), [0, 1, 2, 3, 4].map(|n| (n, sent[n as usize] + 250_000_000)));
    // From 3 ms on the rate is 1 Mbit/s: 1 142 856 ns x 7 Mbit/s of packet 2 remain, 7 999 992 ns.
    let (mut before, mut bench) = long_queue(7_000_000, Span::ZERO);
    (0..2).for_each(|number| offer(&mut bench, Time::ZERO, number));
    let after = Config { rate: Rate::from_bits_per_second(1_000_000).into(), ..before.clone() };
    change(&mut bench, Time::from_nanos(571_429), &mut before, after);
    let first = 571_429 + 7 * 1_142_856;
    assert_eq!(deliveries(&mut bench), [(0, first), (1, first + 12_000_000)]);
}

#[test]
fn the_report_counts_the_time_at_each_rate() {
    let (mut before, mut bench) = long_queue(12_000_000, Span::from_millis(250));
    (0..3).for_each(|number| offer(&mut bench, Time::ZERO, number));
    let after = Config { rate: Rate::from_bits_per_second(1_200_000).into(), ..before.clone() };
    // The packets are sent at 1 ms, at 1.5 + 5 = 6.5 ms and at 16.5 ms, after waiting for 0, 1 and
    // 6.5 ms.
    change(&mut bench, at(1_500), &mut before, after);
    let reported = |micros| {
        let mut report = Report::default();
        bench.network.report(at(micros), &mut report);
        ["packets", "utilisation", "wait_mean"].map(|column| report.value("link", "l", column).unwrap())
    };
    let wait = 0.0075 / 3.0;
    assert_eq!(reported(1_500), [1.0, 1.0, wait]);
    assert_eq!(reported(6_500), [2.0, 1.0, wait]);
    assert_eq!(reported(16_499), [2.0, 1.0, wait]);
    assert_eq!(reported(16_500), [3.0, 1.0, wait]);
    assert_eq!(reported(33_000), [3.0, 0.5, wait]);
}

#[test]
fn a_shorter_delay_lets_nothing_overtake() {
    let (mut before, mut bench) = long_queue(12_000_000, Span::from_millis(250));
    (0..3).for_each(|number| offer(&mut bench, Time::ZERO, number));
    // Packet 0 is in flight and arrives at 251 ms; packet 1 is half sent.
    let after = Config { delay: Span::from_millis(10), ..before.clone() };
    change(&mut bench, at(1_500), &mut before, after);
    offer(&mut bench, at(100_000), 3);
    offer(&mut bench, at(239_900), 4);
    offer(&mut bench, at(240_000), 5);
    let arrivals = [251_000_000, 251_000_000, 251_000_000, 251_000_000, 251_000_000, 251_900_000];
    assert_eq!(deliveries(&mut bench), [0, 1, 2, 3, 4, 5].map(|n| (n, arrivals[n as usize])));
}

#[test]
fn a_longer_delay_applies_to_packets_not_yet_sent() {
    let (mut before, mut bench) = long_queue(12_000_000, Span::from_millis(10));
    (0..2).for_each(|number| offer(&mut bench, Time::ZERO, number));
    let after = Config { delay: Span::from_millis(20), ..before.clone() };
    change(&mut bench, at(1_000), &mut before, after);
    assert_eq!(deliveries(&mut bench), [(0, 11_000_000), (1, 22_000_000)]);
}

#[test]
fn new_limits_and_errors_apply_to_later_packets() {
    let mut before = config();
    let mut bench = bench(&before);
    (0..3).for_each(|number| offer(&mut bench, Time::ZERO, number));
    let one = queue::Config::DropTail(drop_tail::Config { packets: Some(Count::new(1)), bytes: None });
    let after = Config { queue: one, ..before.clone() };
    change(&mut bench, Time::ZERO, &mut before, after);
    offer(&mut bench, Time::ZERO, 3);
    assert_eq!(bench.held().packets, 3, "what waits stays, what comes is refused");
    let after = Config { queue: queue::Config::default(), ..before.clone() };
    change(&mut bench, Time::ZERO, &mut before, after);
    offer(&mut bench, Time::ZERO, 4);
    bench.run(at(251_000));
    let all =
        channel::packet::Config { probability: Fraction::new(1.0).unwrap(), effect: channel::Effect::Drop };
    let after = Config { error: channel::Config::Packet(all), ..before.clone() };
    change(&mut bench, at(251_500), &mut before, after);
    let delivered = deliveries(&mut bench);
    assert_eq!(delivered, [(0, 251_000_000)], "what is under way arrives over the new channel");
    assert_eq!((bench.error_drops, bench.held().packets), (3, 0));
}

#[test]
fn time_spent_outside_reduces_the_delay_of_all_packets_in_flight() {
    let mut bench = bench(&config());
    let millis = |millis| Time::ZERO + Span::from_millis(millis);
    (0..2).for_each(|number| offer(&mut bench, Time::ZERO, number));
    assert_eq!(bench.hasten(millis(2), Span::from_millis(30)), Span::from_millis(30));
    assert_eq!(bench.next_wake(), Some(millis(221)));
    bench.run(millis(221));
    assert_eq!(bench.next_wake(), Some(millis(222)));
    // The delay is shortened by less, then by more than its length: packets are never released
    // before the request, nor before they have been sent.
    bench.hasten(millis(222), Span::from_millis(20));
    assert_eq!(bench.next_wake(), Some(millis(232)));
    assert_eq!(bench.hasten(millis(230), Span::from_millis(300)), Span::from_millis(250));
    assert_eq!(bench.next_wake(), Some(millis(230)));
    bench.run(millis(230));
    offer(&mut bench, millis(231), 2);
    assert_eq!(bench.next_wake(), Some(millis(232)));
}

#[test]
fn a_delay_that_exceeds_the_time_outside_again_delivers_nothing_in_the_past() {
    let (mut before, mut bench) = long_queue(12_000_000, Span::from_millis(10));
    (0..2).for_each(|number| offer(&mut bench, Time::ZERO, number));
    // The whole delay passes outside: packet 0 would be released when it has been sent.
    bench.hasten(Time::ZERO, Span::from_millis(300));
    assert_eq!(bench.next_wake(), Some(at(1_000)));
    bench.hasten(at(500), Span::from_millis(5));
    // Packet 0 is in flight and would be released at 6 ms; now 5 ms of 250 pass outside, as before.
    let after = Config { delay: Span::from_millis(250), ..before.clone() };
    change(&mut bench, at(1_500), &mut before, after);
    assert_eq!(bench.next_wake(), Some(at(6_000)));
    bench.hasten(at(1_600), Span::from_millis(300));
    assert_eq!(bench.next_wake(), Some(at(1_600)), "not before it was asked");
    let after = Config { delay: Span::from_millis(400), ..before.clone() };
    // The packet that is due before the change is not counted.
    bench.network.change(at(1_700), Change::new(&before, &after), &mut bench.out);
    assert_eq!(bench.next_wake(), Some(at(1_700)), "nor before the change");
    bench.run(at(1_700));
    // Packet 1 is sent at 2 ms and in flight for 400 ms, 300 of them outside.
    assert_eq!(bench.next_wake(), Some(at(102_000)));
}

#[derive(Clone, Debug)]
enum Step {
    Packet(u32),
    Rate(u64),
    Delay(u64),
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        4 => (40u32..1501).prop_map(Step::Packet),
        1 => (20_000u64..20_000_000).prop_map(Step::Rate),
        1 => (0u64..300_000).prop_map(Step::Delay),
    ];
    prop::collection::vec((prop_oneof![Just(0), 0u64..20_000], step), 1..120)
}

/// Returns the interval in seconds in which each packet is delivered, computed bit by bit and
/// without rounding: for each packet, the changing rate is integrated over time until all of its
/// bits are sent. Rounding in the model may shift a time by `tolerance`, which may select another
/// delay.
fn by_the_bit(steps: &[(u64, Step)], rate: u64, delay: u64, tolerance: f64) -> Vec<(f64, f64)> {
    let mut rates = vec![(0.0, rate as f64)];
    let (mut delays, mut arrivals) = (vec![(0.0, delay as f64 / 1e6)], Vec::new());
    let mut now = 0.0;
    for (pause, step) in steps {
        now += *pause as f64 / 1e6;
        match step {
            Step::Packet(size) => arrivals.push((now, f64::from(*size) * 8.0)),
            Step::Rate(rate) => rates.push((now, *rate as f64)),
            Step::Delay(delay) => delays.push((now, *delay as f64 / 1e6)),
        }
    }
    fn until(list: &[(f64, f64)], index: usize) -> f64 {
        list.get(index + 1).map_or(f64::INFINITY, |next| next.0)
    }
    let (mut free, mut earliest, mut latest) = (0.0f64, 0.0f64, 0.0f64);
    let mut expected = Vec::new();
    for (arrival, mut bits) in arrivals {
        let mut sent = free.max(arrival);
        for (index, (_, rate)) in rates.iter().enumerate() {
            let through = ((until(&rates, index) - sent).max(0.0) * rate).min(bits);
            sent += through / rate;
            bits -= through;
        }
        free = sent;
        let holds = |index: &usize| {
            delays[*index].0 <= sent + tolerance && until(&delays, *index) >= sent - tolerance
        };
        let holding: Vec<f64> = (0..delays.len()).filter(holds).map(|index| delays[index].1).collect();
        earliest = earliest.max(sent + holding.iter().copied().fold(f64::INFINITY, f64::min));
        latest = latest.max(sent + holding.iter().copied().fold(0.0, f64::max));
        expected.push((earliest - tolerance, latest + tolerance));
    }
    expected
}

proptest! {
    #[test]
    fn packets_keep_their_order_and_take_their_transmission_time(
        steps in steps(), rate in 20_000u64..20_000_000, delay in 0u64..300_000,
    ) {
        let (mut config, mut bench) = long_queue(rate, Span::from_micros(delay));
        let (mut now, mut number) = (Time::ZERO, 0);
        // The earliest delivery of each packet, by the state of the link at its arrival or at the
        // last change of the delay.
        let mut earliest: Vec<Time> = Vec::new();
        for (pause, step) in &steps {
            now += Span::from_micros(*pause);
            bench.advance(now);
            match step {
                Step::Packet(size) => {
                    earliest.push(now + bench.least_delay());
                    bench.offer(now, 0, Port(0), packet(number, *size));
                    number += 1;
                }
                Step::Rate(rate) => {
                    let after = Config { rate: Rate::from_bits_per_second(*rate).into(), ..config.clone() };
                    change(&mut bench, now, &mut config, after);
                }
                Step::Delay(delay) => {
                    let after = Config { delay: Span::from_micros(*delay), ..config.clone() };
                    change(&mut bench, now, &mut config, after);
                    earliest.iter_mut().for_each(|time| *time = (*time).min(now + bench.least_delay()));
                }
            }
            prop_assert_eq!(bench.left.len() as u64 + bench.held().packets, u64::from(number));
            prop_assert!(bench.next_wake().is_none_or(|wake| wake >= now));
        }
        let mut report = Report::default();
        bench.network.report(now + Span::from_nanos(1), &mut report);
        let utilisation = report.value("link", "l", "utilisation").unwrap();
        prop_assert!((0.0..=1.0).contains(&utilisation), "{}", utilisation);
        bench.run(Time::MAX);
        let found: Vec<_> = bench.left.iter().map(|left| (left.packet.number, left.at)).collect();
        prop_assert!(found.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0 && pair[0].1 <= pair[1].1));
        prop_assert!(found.iter().all(|(number, time)| *time >= earliest[*number as usize]));
        // Each packet and each change loses up to a nanosecond, multiplied by the ratio of rates,
        // up to 1000.
        let tolerance = 1e-6 * (steps.len() + 2) as f64;
        let expected = by_the_bit(&steps, rate, delay, tolerance);
        prop_assert_eq!(found.len(), expected.len());
        for ((number, arrived), (earliest, latest)) in found.iter().zip(expected) {
            let arrived = arrived.as_secs_f64();
            prop_assert!(earliest <= arrived && arrived <= latest, "{}: {} {} {}", number, earliest, arrived, latest);
        }
    }
}

/// Returns the delivery time of each packet, in microseconds after the delay. Packets are offered
/// at the given microseconds.
fn framed(framing: &str, packets: &[(u64, u32)]) -> Vec<u64> {
    let mut config = config();
    config.queue = queue::Config::default();
    config.framing = serde_json::from_str(framing).unwrap();
    let mut bench = bench(&config);
    for (number, (micros, size)) in (0..).zip(packets) {
        bench.offer(at(*micros), 0, Port(0), packet(number, *size));
    }
    bench.run(Time::MAX);
    bench.left.iter().map(|left| left.at.since(Time::ZERO + config.delay).as_micros()).collect()
}

#[test]
fn a_framed_packet_is_complete_with_its_last_unit() {
    // 12 Mbit/s: a cell takes 35.3 us, an MPEG packet 125.3 us. 40 bytes with LLC/SNAP are two
    // cells.
    assert_eq!(framed(r#"{"atm": {}}"#, &[(0, 40), (0, 1500)]), [70, 34 * 53 * 8 / 12]);
    // Both are in the first transport stream packet. The third arrives during its transmission and
    // gets one of its own.
    let ule = r#"{"ule": {}}"#;
    assert_eq!(framed(ule, &[(0, 40), (0, 40)]), [125, 125]);
    assert_eq!(framed(ule, &[(0, 40), (1, 40)]), [125, 250]);
    // The second waits, so the third finds its unit open.
    assert_eq!(framed(ule, &[(0, 40), (1, 40), (100, 40)]), [125, 250, 250]);
    assert_eq!(framed(r#"{"gse": {"frame": 1504}}"#, &[(0, 1500), (0, 20), (10, 1472)]), [1002, 2005, 2005]);
}

/// TM frames of 1496 bytes, which take 1 ms with their sync marker; 1488 bytes are for packets,
/// each with a header of 4.
const TM: &str = r#"{"space": {"length": 1496, "idle_frames": true}}"#;

#[test]
fn a_packet_waits_for_the_end_of_an_idle_frame() {
    // The third shares the frame of the second, which begins at 3 ms. 1280 bytes of it remain for
    // the fourth.
    let packets = [(0, 100), (2300, 100), (2400, 100), (2600, 2000)];
    assert_eq!(framed(TM, &packets), [1000, 4000, 4000, 5000]);
    assert_eq!(framed(&TM.replace("true", "false"), &packets), [1000, 3300, 4300, 5300]);
}

#[test]
fn an_idle_frame_is_completed_at_its_own_rate() {
    let mut config = config();
    config.queue = queue::Config::default();
    config.framing = serde_json::from_str(TM).unwrap();
    let contacts: contacts::Config = serde_json::from_str(
        r#"{"when": {"windows": {"windows": [["10 ms", "12500 us"], ["20 ms", "1 s"]]}}}"#,
    )
    .unwrap();
    let openings = contacts.openings("a", "b", stream("c"));
    let mut contact = Bench::new(Link::new("l", &config, stream("l"), None).open_in(openings));
    contact.offer(at(12_200), 0, Port(0), packet(0, 100));
    // The frame would begin at 13 ms: it begins with the next contact.
    contact.run(at(500_000));
    assert_eq!((contact.arrivals(), contact.drops()), (vec![(0, 271_000_000)], vec![]));
    let mut bench = bench(&config);
    bench.offer(at(2300), 0, Port(0), packet(1, 100));
    let slower = Config { rate: Rate::from_bits_per_second(6_000_000).into(), ..config.clone() };
    change(&mut bench, at(2500), &mut config, slower);
    // The idle frame ends at 3 ms, and the next one takes 2 ms.
    bench.run(at(500_000));
    assert_eq!(bench.arrivals(), [(1, 255_000_000)]);
}

#[test]
fn errors_act_on_the_units_that_are_sent() {
    // 1500 bytes by AAL5 are 32 cells, each lost with 1 %. A packet is intact if its 32 cells and
    // the last cell of the previous packet arrive: 0.99^33 = 0.7177.
    let config: Config = serde_json::from_str(
        r#"{"rate": "100 Mbit/s", "delay": "1 ms", "framing": {"atm": {}}, "error": {"packet": {"probability": 0.01}},
            "queue": {"unlimited": {}}}"#,
    )
    .unwrap();
    // The expectation of the facts equals the simulation below.
    let framed = config.framing.framed(None, 1500);
    assert!((framed.loss(&config.error, 1500, 20_000) - (1.0 - 0.7177)).abs() < 1e-4);
    let mut bench = bench(&config);
    (0..20_000).for_each(|number| offer(&mut bench, Time::ZERO, number));
    let delivered = deliveries(&mut bench).len();
    // The standard error is 0.0032.
    assert!((delivered as f64 / 20_000.0 - 0.7177).abs() < 0.013, "{delivered}");
}

#[test]
fn packets_too_long_for_the_framing_are_dropped_with_a_reason() {
    let mut config = config();
    config.framing = serde_json::from_str(r#"{"mpe": {}}"#).unwrap();
    let mut bench = bench(&config);
    bench.offer(Time::ZERO, 0, Port(0), packet(0, 4080));
    bench.offer(Time::ZERO, 0, Port(0), packet(1, 4081));
    assert_eq!(
        bench.drops().iter().map(|(reason, _)| reason.words()).collect::<Vec<_>>(),
        ["longer than the framing can carry"]
    );
    assert_eq!(bench.held().packets, 1);
}

fn in_nanoseconds((number, millis): (u32, u64)) -> (u32, u64) {
    (number, millis * 1_000_000)
}

#[test]
fn a_link_sends_in_contacts_and_packets_sent_in_time_arrive() {
    let contacts: contacts::Config = serde_json::from_str(
        r#"{"when": {"windows": {"windows": [["10 ms", "12500 us"], ["20 ms", "21 ms"]], "repeat": "100 ms"}}}"#,
    )
    .unwrap();
    let mut config = config();
    config.queue = serde_json::from_str(r#"{"drop-tail": {"packets": 10}}"#).unwrap();
    let openings = contacts.openings("a", "b", stream("c"));
    let mut bench = Bench::new(Link::new("l", &config, stream("l"), None).open_in(openings));
    (0..6).for_each(|number| offer(&mut bench, Time::ZERO, number));
    // 1500 bytes take 1 ms: two packets fit into the first contact, the third is cut off; one fits
    // into the second, exactly.
    bench.run(at(500_000));
    assert_eq!(bench.arrivals(), [(0, 261), (1, 262), (3, 271), (4, 361), (5, 362)].map(in_nanoseconds));
    assert_eq!(bench.drops(), [(contacts::CUT_OFF, 1)]);
    assert_eq!(bench.held(), Held::default());
}

#[test]
fn contacts_of_a_plan_have_rates_and_light_times_and_outages_shorten_them() {
    let contacts: contacts::Config = serde_json::from_str(
        r#"{"when": {"plan": {"plan": "src,dst,start,end,rate_bps,owlt_s\na,b,0,1,12000000,2\nb,a,0,1,8000,1\na,b,5,6,6000000,3\n"}},
            "outages": [{"start": "1 ms", "end": "5001 ms"}, {"start": "5004 ms", "end": "5005 ms", "announced": true}]}"#,
    )
    .unwrap();
    let seconds = |time: Time| time.as_secs_f64();
    let known = contacts.known("a", "b", Time::MAX).unwrap();
    let known: Vec<_> = known.iter().map(|opening| (seconds(opening.start), seconds(opening.end))).collect();
    assert_eq!(known, [(0.0, 1.0), (5.0, 5.004), (5.005, 6.0)]);
    let mut config = config();
    config.queue = serde_json::from_str(r#"{"drop-tail": {"packets": 10}}"#).unwrap();
    let openings = contacts.openings("a", "b", stream("c"));
    let mut bench = Bench::new(Link::new("l", &config, stream("l"), None).open_in(openings));
    bench.run(Time::ZERO);
    (0..4).for_each(|number| offer(&mut bench, Time::ZERO, number));
    // The first leaves as the outage begins. At 6 Mbit/s packets take 2 ms: the second fills 5.001
    // to 5.003 s, the third is cut off.
    bench.run(at(20_000_000));
    assert_eq!(bench.arrivals(), [(0, 2_001), (1, 8_003), (3, 8_007)].map(in_nanoseconds));
    assert!(contacts.known("x", "b", Time::MAX).unwrap().is_empty());
}

/// The limit of netem: packets of 1 ms every 10 ms over a delay of 250 ms, of which at most five
/// are in the link.
#[test]
fn a_link_with_five_packets_in_flight_drops_further_packets() {
    let mut config = config();
    config.holds = Some(bentpipe_core::Count::new(5));
    let mut bench = bench(&config);
    for number in 0..30 {
        let now = Time::ZERO + Span::from_millis(10) * u64::from(number);
        bench.run(now);
        offer(&mut bench, now, number);
    }
    bench.run(at(1_000_000));
    let delivered: Vec<u32> = bench.left.iter().map(|left| left.packet.number).collect();
    // The first leaves at 251 ms, in time for the one of 260 ms.
    assert_eq!(delivered, [0, 1, 2, 3, 4, 26, 27, 28, 29]);
    assert_eq!(bench.drops(), [(HOLDS_TOO_MANY, 21)]);
}

proptest! {
    /// If only the size of a packet matters, `offer_size` decides like `offer`, and leaves the
    /// same state.
    #[test]
    fn a_size_is_queued_like_a_packet(
        packets in prop::option::of(1u64..6), bytes in prop::option::of(1500u64..9000),
        arrivals in prop::collection::vec((0u64..3_000_000, 40u32..9000), 1..200),
    ) {
        let queue = queue::Config::DropTail(drop_tail::Config {
            packets: packets.map(Count::new),
            bytes: bytes.map(bentpipe_core::Size::from_bytes),
        });
        let rate = Rate::from_bits_per_second(12_000_000);
        let stream = || stream("l");
        let [mut by_size, mut by_packet] = [(); 2].map(|()| Transmitter::new(rate, queue.build(rate), None, stream(), None));
        let (mut now, mut out) = (Time::ZERO, Outbox::default());
        let report = |transmitter: &Transmitter, now| {
            let mut report = Report::default();
            transmitter.report("l", now, Held::default(), 0, &mut report);
            format!("{:?}", report.rows())
        };
        for (number, (wait, size)) in (0..).zip(arrivals) {
            now += Span::from_nanos(wait);
            let mut arriving = packet(number, size);
            let sent = by_packet.offer(now, &mut arriving, &mut out).ok();
            prop_assert_eq!(by_size.offer_size(now, size), sent);
            prop_assert_eq!(by_size.unsent(now), by_packet.unsent(now));
            if sent.is_none() {
                // The packet counts as dropped where the packet itself was offered.
                prop_assert!(by_size.offer(now, &mut arriving, &mut out).is_err());
            }
        }
        prop_assert_eq!(report(&by_size, now), report(&by_packet, now));
    }
}
