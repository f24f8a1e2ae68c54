//! Times of slots and their assignment to terminals.

use super::*;

#[test]
fn packet_is_sent_in_one_slot_per_frame() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, r#"["a", "b"]"#));
    rig.send(0, 1500);
    rig.send(1, 1500);
    rig.run(ms(1000));
    // 1500 bytes take 8 slots. The last one is slot 0 (slot 1 for b) of the fourth frame of
    // superframe 1, which starts at 94 + 3 x 23.5 = 164.5 ms. The slot lasts 0.734375 ms and is
    // followed by 250 ms of propagation.
    assert_eq!(rig.arrivals(), [(0, 415_234_375), (1, 415_968_750)]);
    let report = rig.report();
    // Superframes 0 to 10 have started: 11 x 752 bytes.
    assert_eq!(report.value("terminal", "a", "capacity_bytes"), Some(8272.0));
    assert_eq!(report.value("terminal", "a", "used_bytes"), Some(1500.0));
    assert_eq!(report.value("terminal", "a", "packets"), Some(1.0));
    assert!((report.value("terminal", "a", "delay_mean").unwrap() - 0.165_234_375).abs() < 1e-12);
    // The terminal sleeps after the end of superframe 1.
    assert_eq!(rig.stages[2].next_wake(), None);
}

#[test]
fn packets_are_sent_at_the_line_rate() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "2048 kbit/s"}"#, r#"["a"]"#));
    for _ in 0..3 {
        rig.send(0, 1500);
    }
    rig.run(ms(1000));
    // 1500, 3000 and 4500 bytes end in the 8th, 16th and 24th slot of 734 375 ns.
    assert_eq!(rig.arrivals(), [(0, 255_875_000), (1, 261_750_000), (2, 267_625_000)]);
}

#[test]
fn burst_carries_only_packets_that_arrived_before_its_slot() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "2048 kbit/s"}"#, r#"["a"]"#));
    rig.send(0, 100);
    rig.run(Time::from_nanos(1));
    rig.send(0, 40);
    rig.send(0, 148);
    rig.run(Time::from_nanos(2 * 734_375));
    rig.send(0, 10);
    rig.run(ms(1000));
    // The 88 bytes left in slot 0 are not available to the packets that arrive 1 ns later, which
    // share slot 1. A packet that arrives exactly when slot 2 starts is still in time for it.
    let ends = [734_375, 1_468_750, 1_468_750, 2_203_125].map(|end| end + 250_000_000);
    assert_eq!(rig.arrivals(), [(0, ends[0]), (1, ends[1]), (2, ends[2]), (3, ends[3])]);
}

#[test]
fn response_follows_from_the_delays_unless_it_is_imposed() {
    // Six superframes, as computed by hand in `timing`, and the study's eleven imposed.
    for (dama, response) in [
        (r#"{"scheme": {"vbdc": {}}}"#, 6),
        (r#"{"scheme": {"vbdc": {}}, "processing": "450 ms"}"#, 11),
        (r#"{"scheme": {"vbdc": {}}, "response": 11}"#, 11),
        (r#"{"scheme": {"vbdc": {}}, "response": 6}"#, 6),
    ] {
        let mut rig = Rig::new(&config(dama, r#"["a"]"#));
        rig.run(ms(10));
        rig.send(0, 7520);
        rig.run(ms(5000));
        // At 10 ms, the slots of frames 1 to 3 are still available: 564 bytes are sent, and
        // ceil(6956 / 752) = 10 slots are requested at the start of superframe 1.
        assert_eq!(rig.trace("a", "request")[1], (1, 10));
        let assigned: Vec<_> =
            rig.trace("a", "assigned").into_iter().filter(|(_, slots)| *slots > 0).collect();
        // The data are not requested a second time: when the sum drops the request, it is served.
        assert_eq!(assigned, [(1 + response, 10)], "{dama}");
        let report = rig.report();
        assert_eq!(report.value("ncc", "sat", "response"), Some(response as f64));
        assert_eq!(report.value("terminal", "a", "used_bytes"), Some(7520.0));
        assert_eq!(report.value("terminal", "a", "late_slots"), Some(0.0));
    }
}

#[test]
fn terminals_use_one_carrier_at_a_time() {
    let mut config = config(
        r#"{"scheme": {"avbdc": {}}, "cra": "64 kbit/s", "allocator": {"max-min": {}}}"#,
        r#"[{"prefix": "t", "count": 7}]"#,
    );
    config.return_link.carriers =
        serde_json::from_str(r#"[{"rate": "2048 kbit/s", "count": 2}, {"rate": "4096 kbit/s"}]"#).unwrap();
    let mut rig = Rig::new(&config);
    for _ in 0..600 {
        for terminal in 0..7 {
            rig.send(terminal, 1504);
        }
    }
    rig.run(ms(60_000));
    assert_eq!(rig.arrived.len(), 4200);
    let full =
        rig.plans.iter().filter(|plan| plan.entries.iter().map(|(_, run)| run.count).sum::<u16>() >= 120);
    let sums: Vec<u16> =
        rig.plans.iter().map(|plan| plan.entries.iter().map(|(_, run)| run.count).sum()).collect();
    assert!(full.count() > 30, "{sums:?} the 121 slots of the three carriers are used");
    for plan in &rig.plans {
        for (index, (terminal, run)) in plan.entries.iter().enumerate() {
            for (other, earlier) in &plan.entries[..index] {
                if terminal == other || run.carrier == earlier.carrier {
                    assert!(!run.overlaps(*earlier));
                }
            }
        }
    }
    let report = rig.report();
    for terminal in 1..=7 {
        assert_eq!(report.value("terminal", &format!("t{terminal}"), "used_bytes"), Some(600.0 * 1504.0));
    }
}

#[test]
fn bursts_of_distant_terminals_are_aligned_at_the_satellite() {
    let mut config = config(
        r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#,
        r#"[{"name": "rome", "site": {"latitude": "41.9 deg", "longitude": "12.5 deg"}},
            {"name": "oslo", "site": {"latitude": "59.9 deg", "longitude": "10.8 deg"}}]"#,
    );
    config.propagation = serde_json::from_str(
        r#"{"satellite": "13 deg", "gateway": {"latitude": "51.5 deg", "longitude": "0 deg"}}"#,
    )
    .unwrap();
    let mut rig = Rig::new(&config);
    rig.send(0, 188);
    rig.send(1, 188);
    rig.run(ms(1000));
    let times: Vec<_> = rig.arrivals().iter().map(|(_, time)| *time).collect();
    assert_eq!(times[1] - times[0], 734_375, "slot 0 and slot 1 arrive one after the other");
}

#[test]
fn scheme_cra_shares_the_remaining_slots() {
    let slots = |dama: &str, terminals: &str| -> Vec<u32> {
        config(dama, terminals).members().iter().map(|member| member.constant).collect()
    };
    assert_eq!(slots(r#"{"scheme": {"cra": {}}}"#, r#"["a"]"#), [32]);
    assert_eq!(slots(r#"{"scheme": {"cra": {}}}"#, r#"["a", "b", "c"]"#), [10, 10, 10]);
    let mixed = r#"["a", {"prefix": "b", "count": 2, "cra": "128 kbit/s"}, "c"]"#;
    assert_eq!(slots(r#"{"scheme": {"cra": {}}}"#, mixed), [14, 2, 2, 14]);
    assert_eq!(slots(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, mixed), [1, 2, 2, 1]);
    assert_eq!(slots(r#"{"scheme": {"rbdc": {}}}"#, mixed), [1, 2, 2, 1]);
}
