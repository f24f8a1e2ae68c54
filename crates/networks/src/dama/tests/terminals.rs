//! Logon and logoff of terminals, the contents of their slots, and the packets that reach them.

use super::*;

#[test]
fn terminals_log_on_and_off_without_leaving_state() {
    let terminals =
        r#"["a", {"name": "b", "logon": "1 s", "logoff": "5 s", "period": "10 s", "cra": "128 kbit/s"}]"#;
    let mut rig = Rig::new(&config(r#"{"scheme": {"vbdc": {}}, "cra": "64 kbit/s"}"#, terminals));
    let mut number = 0;
    while rig.now < ms(40_000) {
        rig.run(ms(number * 50));
        rig.send(1, 500);
        number += 1;
    }
    rig.run(ms(44_000));
    rig.assert_conserved();
    let report = rig.report();
    assert_eq!(report.value("terminal", "b", "late_slots"), Some(0.0));
    let dropped: u64 = rig.out.totals().dropped.values().map(|drop| drop.packets).sum();
    assert_eq!(rig.arrived.len() as u64 + dropped, u64::from(rig.sent) - rig.stages[3].held().packets);
    assert!(rig.arrived.len() > 300 && dropped < 10, "{} {dropped}", rig.arrived.len());
    // Between logoff and the next logon, no packet reaches the gateway and no plan assigns slots to
    // the terminal.
    for (time, _) in &rig.arrived {
        let phase = time.as_nanos() % 10_000_000_000;
        assert!((1_000_000_000..5_500_000_000).contains(&phase), "{time:?}");
    }
    for plan in &rig.plans {
        let start = plan.superframe * 94 % 10_000;
        assert!(plan.runs_of(1).count() == 0 || (1400..6000).contains(&start), "{start}");
    }
}

#[test]
fn terminal_sends_only_after_logon() {
    let terminals = r#"["a", {"name": "b", "logon": "1 s", "cra": "128 kbit/s"}]"#;
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, terminals));
    rig.send(1, 376);
    rig.run(ms(10_000));
    // The logon is requested at 1 s and arrives at 1.25 s, in superframe 13 of the control centre.
    // The next plan, made at boundary 14, is for superframe 17, at 1598 ms. Slots 1 and 2 end 3 x
    // 734 375 ns later.
    assert_eq!(rig.arrivals(), [(0, 1_598_000_000 + 2_203_125 + 250_000_000)]);
    let report = rig.report();
    // Superframes 17 to 106.
    assert_eq!(report.value("terminal", "b", "capacity_bytes"), Some(90.0 * 2.0 * 752.0));
    rig.assert_conserved();
}

#[test]
fn cells_fill_slots_and_their_errors_lose_packets() {
    // 100 slots of 53 bytes in 20 ms; one slot is 212 bytes per superframe of four frames.
    let mut config = config(r#"{"scheme": {"avbdc": {}}, "cra": "0 bit/s"}"#, r#"["a"]"#);
    config.return_link.rate = "2120 kbit/s".parse().unwrap();
    config.return_link.slots_per_frame = bentpipe_core::Count::new(100);
    config.return_link.frame = Some(Span::from_millis(20));
    config.return_link.framing = serde_json::from_str(r#"{"atm": {}}"#).unwrap();
    let mut rig = Rig::new(&config);
    for _ in 0..200 {
        rig.send(0, 1500);
    }
    rig.run(ms(20_000));
    let report = rig.report();
    // 32 cells of 53 bytes each.
    assert_eq!(report.value("terminal", "a", "used_bytes"), Some(200.0 * 32.0 * 53.0));
    assert_eq!(rig.arrived.len(), 200);

    config.return_link.error = serde_json::from_str(r#"{"packet": {"probability": 0.01}}"#).unwrap();
    let mut rig = Rig::new(&config);
    for _ in 0..900 {
        rig.send(0, 1500);
    }
    rig.run(ms(60_000));
    // 0.99^33 = 0.7177 of the packets arrive, as on a link. The standard error over 900 packets is
    // 0.015.
    let survived = rig.arrived.len() as f64 / 900.0;
    assert!((survived - 0.7177).abs() < 0.06, "{survived}");
    rig.assert_conserved();
}

#[test]
fn packed_packets_share_slots() {
    // Six acknowledgments of 40 bytes with ULE. Each takes 48 bytes, so the first MPEG packet holds
    // three and the start of the fourth (3 x 48 + 1 = 145). 240 bytes of payload and 48 bytes of
    // overhead are 288, plus 2 pointer fields: two slots of 188 bytes. With padding they would take
    // six.
    for (framing, slots) in [(r#"{"ule": {}}"#, 2.0), (r#"{"ule": {"packing": false}}"#, 6.0)] {
        let mut config = config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, r#"["a"]"#);
        config.return_link.framing = serde_json::from_str(framing).unwrap();
        let mut rig = Rig::new(&config);
        for _ in 0..6 {
            rig.send(0, 40);
        }
        rig.run(ms(2000));
        assert_eq!(rig.report().value("terminal", "a", "used_bytes"), Some(slots * 188.0), "{framing}");
        // The first three packets are complete with the first slot, the others with the second.
        let times: Vec<_> = rig.arrivals().into_iter().map(|(_, time)| time).collect();
        assert_eq!(times.len(), 6);
        if slots == 2.0 {
            assert_eq!(times[2], 734_375 + 250_000_000);
            assert_eq!(times[5], 23_500_000 + 734_375 + 250_000_000);
        }
    }
}

#[test]
fn signal_determines_the_capacity_of_a_slot() {
    let mut config = config(
        r#"{"scheme": {"avbdc": {}}, "cra": "0 bit/s"}"#,
        r#"[{"name": "good", "esn0_db": 20.0}, {"name": "bad", "esn0_db": 0.0}, "mean"]"#,
    );
    config.return_link.slot_bytes = Some(bentpipe_core::Count::new(187));
    config.return_link.framing = serde_json::from_str(r#"{"rle": {}}"#).unwrap();
    config.return_link.acm =
        Some(serde_json::from_str(r#"{"burst": 1616, "margin_db": 0.0, "esn0_db": 6.0}"#).unwrap());
    let mut rig = Rig::new(&config);
    for terminal in 0..3 {
        for _ in 0..100 {
            rig.send(terminal, 1500);
        }
    }
    rig.run(ms(60_000));
    assert_eq!(rig.arrived.len(), 300);
    let report = rig.report();
    // Bursts of 597, 123 and 331 bytes. k bursts hold 4 + 2 k bytes of headers and one byte of
    // trailer. All bursts but the last are full.
    for (name, burst) in [("good", 597.0), ("bad", 123.0), ("mean", 331.0)] {
        let used = report.value("terminal", name, "used_bytes").unwrap();
        let slots = used / burst;
        assert_eq!(slots.fract(), 0.0, "{name}");
        let min_slots = 150_000.0 / burst;
        assert!(
            slots > min_slots && slots < min_slots * 1.05 + 20.0,
            "{name}: {slots} bursts, at least {min_slots}"
        );
    }
}

#[test]
fn forward_data_share_the_link_with_plans_and_reach_their_terminal() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, r#"["a", "b"]"#));
    for (number, terminal) in [(0, 0), (1, 1), (2, 0)] {
        let packet = packet(Time::ZERO, number, 1250, GATEWAY, NodeId(terminal + 1));
        rig.offer(Time::ZERO, 1, Port(terminal), packet);
    }
    // 1250 bytes take 1 ms.
    for (time, reached) in [(251, [1, 0]), (252, [1, 1]), (253, [2, 1])] {
        rig.run(ms(time) + Span::from_nanos(1));
        assert_eq!(rig.reached, reached);
    }
    rig.assert_conserved();
    assert_eq!(rig.report().value("link", "sat.forward", "bytes"), Some(3750.0));
}
