//! Disciplines that decide at departure, at terminals: hand calculations, and comparison with
//! classes whose discipline decides at arrival.

use super::super::config::Access;
use super::*;
use bentpipe_core::FlowId;
use bentpipe_stage::Ecn;
use std::collections::BTreeMap;

/// One slot of 188 bytes in each frame of 23.5 ms: 64 kbit/s.
const ONE_SLOT: &str = r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#;
/// Eight slots in each frame: 512 kbit/s.
const EIGHT_SLOTS: &str = r#"{"scheme": {"cra": {}}, "cra": "512 kbit/s"}"#;
const EF: u8 = 46;

fn with_queue(dama: &str, queue: &str) -> Config {
    let mut config = config(dama, r#"["a"]"#);
    config.return_link.queue = serde_json::from_str(queue).unwrap();
    config
}

/// Returns the numbers of the packets that reached the gateway, in order.
fn numbers(rig: &Rig) -> Vec<u32> {
    rig.arrived.iter().map(|(_, packet)| packet.number).collect()
}

#[test]
fn codel_drops_an_interval_after_the_sojourn_exceeds_the_target() {
    // 40 packets that fill a slot each arrive at time 0. Slot k starts at k x 23.5 ms, and the
    // sojourn of its packet is as long. Slot 1 is the first above the target of 10 ms, so packets
    // may be dropped from 23.5 + 100 = 123.5 ms on: at slot 6, 141 ms. The control law then gives
    // 141 + 100 = 241 ms (slot 11, 258.5 ms), 241 + 100 / sqrt 2 = 311.7 ms (slot 14, 329 ms) and
    // 311.7 + 100 / sqrt 3 = 369.4 ms (slot 16, 376 ms).
    let queue = r#"{"codel": {"target": "10 ms", "interval": "100 ms"}}"#;
    let mut rig = Rig::new(&with_queue(ONE_SLOT, queue));
    for _ in 0..40 {
        rig.send(0, 188);
    }
    rig.run(Time::from_nanos(16 * 23_500_000 + 251_000_000));
    let sent: Vec<u32> = (0..21).filter(|number| ![6, 12, 16, 19].contains(number)).collect();
    assert_eq!(numbers(&rig), sent);
    for (slot, (time, _)) in rig.arrived.iter().enumerate() {
        assert_eq!(time.as_nanos(), slot as u64 * 23_500_000 + 734_375 + 250_000_000);
    }
    rig.assert_conserved();
}

#[test]
fn drr_shares_constant_slots_in_the_ratio_of_the_quanta() {
    let classes = r#"[{"name": "gold", "dscp": ["ef"], "weight": 3}, {"name": "rest"}]"#;
    for (kind, keys) in [("drr", r#""quantum": "188 B", "#), ("wrr", ""), ("wfq", "")] {
        let queue = format!(r#"{{"{kind}": {{{keys}"classes": {classes}}}}}"#);
        let mut rig = Rig::new(&with_queue(EIGHT_SLOTS, &queue));
        for _ in 0..400 {
            rig.send_marked(0, 188, EF);
            rig.send_marked(0, 188, 0);
        }
        rig.run(ms(250 + 40 * 47 / 2));
        // 40 frames of eight slots. The first packet leaves at its arrival, before the others.
        let gold = rig.arrived.iter().filter(|(_, packet)| packet.dscp == EF).count();
        assert_eq!(rig.arrived.len(), 320, "{kind}");
        assert!(gold.abs_diff(240) <= 1, "{kind}: {gold}");
        rig.assert_conserved();
    }
}

/// Returns the mean and the maximum wait of a thin flow's packets until the gateway, in ms, without
/// propagation, in the second half of a minute. It shares the queue of a terminal with 512 kbit/s
/// with a load of 614 kbit/s.
fn thin_beside_bulk(queue: &str) -> (f64, f64) {
    let mut rig = Rig::new(&with_queue(EIGHT_SLOTS, queue));
    let mut waits = BTreeMap::new();
    for step in 0..24_500u64 {
        rig.run(Time::from_nanos(step * 2_449_000));
        rig.send(0, 188);
        if step % 41 == 0 {
            let packet = packet(rig.now, rig.sent, 100, NodeId(1), GATEWAY);
            rig.sent += 1;
            waits.insert(packet.number, rig.now);
            let now = rig.now;
            rig.offer(now, 2, terminal::FROM_HOST, Packet { flow: FlowId(7), ..packet });
        }
    }
    rig.assert_conserved();
    let wait = |(time, packet): &(Time, Packet)| {
        let arrival = waits.get(&packet.number).filter(|arrival| **arrival > ms(30_000))?;
        Some((time.since(*arrival).as_nanos() as f64 - 250e6) / 1e6)
    };
    let waits: Vec<f64> = rig.arrived.iter().filter_map(wait).collect();
    assert!(waits.len() > 150, "{}", waits.len());
    (waits.iter().sum::<f64>() / waits.len() as f64, waits.into_iter().fold(0.0, f64::max))
}

#[test]
fn a_thin_flow_waits_for_the_next_slot_beside_a_bulk_load_with_fq_codel() {
    // At most until the next frame, and half a slot is left by the previous thin packet.
    let (_, longest) = thin_beside_bulk(r#"{"fq-codel": {"packets": 1000}}"#);
    assert!(longest <= 23.5 + 0.734_375, "{longest}");
    // PIE holds the delay of the shared queue near its target of 15 ms; the slots of a frame follow
    // each other, which adds up to 17.6 ms.
    let (mean, _) = thin_beside_bulk(r#"{"pie": {"packets": 1000}}"#);
    assert!((10.0..60.0).contains(&mean), "{mean}");
    // The tail drop queue of 1000 packets takes 1000 x 188 B / 64 kB/s = 2.94 s.
    let (mean, _) = thin_beside_bulk(r#"{"drop-tail": {"packets": 1000}}"#);
    assert!((2700.0..3000.0).contains(&mean), "{mean}");
}

#[test]
fn dualpi2_sends_and_marks_l4s_packets_in_the_next_slots() {
    // Ten packets of C and then two of L, which fill a slot each, arrive at time 0. The first one
    // leaves in slot 0. Those of L leave in slots 1 and 2, after 23.5 and 47 ms, longer than the
    // step of 1 ms. Without an update p' is 0.
    let mut rig = Rig::new(&with_queue(ONE_SLOT, r#"{"dualpi2": {"update": "1000 s"}}"#));
    for number in 0..12 {
        let ecn = if number < 10 { Ecn::Ect0 } else { Ecn::Ect1 };
        let packet = packet(rig.now, number, 188, NodeId(1), GATEWAY);
        let now = rig.now;
        rig.offer(now, 2, terminal::FROM_HOST, Packet { ecn, ..packet });
    }
    rig.run(ms(600));
    assert_eq!(numbers(&rig), [0, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let marked = rig.arrived.iter().filter(|(_, packet)| packet.ecn == Ecn::Ce);
    assert_eq!(marked.map(|(_, packet)| packet.number).collect::<Vec<_>>(), [10, 11]);
    rig.assert_conserved();
}

#[test]
fn a_shaper_leaves_slots_empty_until_it_has_tokens() {
    // 32 kbit/s are half of the slots. The bucket of 3000 B is full at first: 3000 + 4000 t bytes
    // have left by time t.
    let queue = r#"{"shaper": {"rate": "32 kbit/s", "burst": "3 kB"}}"#;
    let mut rig = Rig::new(&with_queue(EIGHT_SLOTS, queue));
    for _ in 0..400 {
        rig.send(0, 188);
    }
    rig.run(ms(10_250));
    let bytes = rig.arrived.len() as f64 * 188.0;
    assert!((bytes - 43_000.0).abs() <= 2.0 * 188.0, "{bytes}");
    rig.run(ms(100_000));
    assert_eq!(rig.arrived.len(), 400);
}

#[test]
fn a_change_of_the_discipline_keeps_the_waiting_packets() {
    let drop_tail = with_queue(ONE_SLOT, r#"{"drop-tail": {"packets": 50}}"#);
    let drop_front = with_queue(ONE_SLOT, r#"{"drop-front": {"packets": 50}}"#);
    for (before, after) in [(&drop_tail, &drop_front), (&drop_front, &drop_tail), (&drop_front, &drop_front)]
    {
        let mut rig = Rig::new(before);
        for _ in 0..20 {
            rig.send(0, 500);
        }
        rig.run(ms(300));
        let changed = with_queue(ONE_SLOT, r#"{"drop-front": {"packets": 49}}"#);
        let after = if before == after { &changed } else { after };
        let now = rig.now;
        rig.0.change(now, 2, before, after);
        rig.assert_conserved();
        for _ in 0..20 {
            rig.send(0, 500);
        }
        rig.run(ms(10_000));
        assert_eq!(numbers(&rig), (0..40).collect::<Vec<_>>());
        rig.assert_conserved();
        // 40 packets fill at least 107 slots without a gap.
        let last = rig.arrived.last().unwrap().0;
        assert_eq!(last.as_nanos(), 106 * 23_500_000 + 734_375 + 250_000_000);
    }
}

#[test]
fn disciplines_learn_the_granted_rate() {
    // The average of RED decays in idle times by the packets that the link could have sent. Without
    // the granted rate, 16 times as many would count.
    let queue = |rate: &str| {
        let red = r#"{"red": {"packets": 60, "min": 4, "max": 12, "weight": 0.05, "typical": "188 B"}}"#;
        let inner = format!(r#"[{{"name": "all", "queue": {red}}}]"#);
        let mut config = with_queue(ONE_SLOT, &format!(r#"{{"priority": {{"classes": {inner}}}}}"#));
        config.return_link.rate = rate.parse().unwrap();
        config.return_link.slots_per_frame =
            bentpipe_core::Count::new(config.return_link.rate.bits_per_second() / 64_000);
        config
    };
    // The same slots of a carrier with 2 and with 4 Mbit/s give the same drops.
    let drops = |config: &Config| {
        let mut rig = Rig::new(config);
        for round in 0..40u64 {
            rig.run(ms(round * 1410));
            (0..40).for_each(|_| assert!(rig.send(0, 188) < 2000));
        }
        rig.run(ms(60_000));
        let drops = rig.report().value("terminal", "a", "queue_drops").unwrap();
        assert!(drops > 10.0, "{drops}");
        drops
    };
    assert_eq!(drops(&queue("2048 kbit/s")), drops(&queue("4096 kbit/s")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// A queue that decides at departure, but never differs from drop-tail, gives the result of
    /// drop-tail in a terminal that fills its slots one by one.
    #[test]
    fn drop_front_without_drops_equals_drop_tail(
        dama in prop::sample::select(vec![ONE_SLOT, EIGHT_SLOTS,
            r#"{"scheme": {"vbdc": {}}}"#,
            r#"{"scheme": {"rbdc": {"estimator": {"arrival": {}}}}, "cra": "0 bit/s"}"#,
            r#"{"scheme": {"avbdc": {}}, "planning": "just-in-time"}"#]),
        framing in prop::sample::select(vec!["none", "atm", "mpe", "ule", "rle", "gse"]),
        superframe in any::<bool>(),
        traffic in prop::collection::vec((0u64..60_000, 20u32..1501), 1..150),
    ) {
        // Requests count packets that share units to at most one unit too many.
        let exact = dama.contains("cra\": {}") || framing == "none";
        let arrivals = |queue: &str| {
            let mut config = with_queue(dama, queue);
            config.return_link.framing = serde_json::from_str(&format!(r#"{{"{framing}": {{}}}}"#)).unwrap();
            if framing == "atm" {
                config.return_link.rate = "2120 kbit/s".parse().unwrap();
                config.return_link.slots_per_frame = bentpipe_core::Count::new(100);
                config.return_link.frame = Some(Span::from_millis(20));
                config.return_link.dama.cra = Some("212 kbit/s".parse().unwrap());
            }
            // With access per superframe, drop-tail frames a packet at its arrival, when it cannot
            // share a unit with a packet that is being sent.
            if superframe && ["none", "atm"].contains(&framing) {
                config.return_link.dama.access = Access::Superframe;
            }
            config.return_link.classes =
                serde_json::from_str(r#"[{"name": "all"}]"#).unwrap();
            let mut rig = Rig::new(&config);
            for (wait, size) in &traffic {
                let until = rig.now + Span::from_micros(*wait);
                rig.run(until);
                rig.send(0, *size);
            }
            rig.run(ms(300_000));
            rig.assert_conserved();
            rig
        };
        let tail = arrivals(r#"{"drop-tail": {"packets": 1000}}"#);
        let front = arrivals(r#"{"drop-front": {"packets": 1000}}"#);
        prop_assert_eq!(numbers(&tail), numbers(&front));
        if exact {
            prop_assert_eq!(tail.arrivals(), front.arrivals());
        }
    }
}
