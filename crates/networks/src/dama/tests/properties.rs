//! Properties that must hold for any traffic.

use super::super::config::Access;
use super::*;

/// Slot assignment of a random scenario's terminals.
fn schemes() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#,
        r#"{"scheme": {"rbdc": {}}}"#,
        r#"{"scheme": {"rbdc": {"gamma": 1.0, "timeout": 1}}, "cra": "0 bit/s", "response": 8}"#,
        r#"{"scheme": {"vbdc": {}}}"#,
        r#"{"scheme": {"vbdc": {}}, "cra": "0 bit/s", "response": 11}"#,
        r#"{"scheme": {"vbdc": {}}, "cra": "128 kbit/s", "processing": "100 ms"}"#,
        r#"{"scheme": {"vbdc": {"timeout": 20, "max": "640 kbit/s"}}, "allocator": {"max-min": {}}}"#,
        r#"{"scheme": {"avbdc": {}}}"#,
        r#"{"scheme": {"avbdc": {}}, "cra": "0 bit/s", "allocator": {"round-robin": {}}, "planning": "just-in-time"}"#,
        r#"{"scheme": {"fca": {}}}"#,
        r#"{"scheme": {"fca": {}}, "cra": "0 bit/s"}"#,
        r#"{"scheme": {"rbdc": {"estimator": {"arrival": {}}}}}"#,
        r#"{"scheme": {"rbdc": {"estimator": {"predictive": {}}}}, "planning": "just-in-time", "cra": "0 bit/s"}"#,
        r#"{"scheme": {"mix": {"rbdc": {"max": "256 kbit/s"}, "vbdc": {"max": "1024 kbit/s"}, "fca": true}},
            "allocator": {"priority": {}}}"#,
        r#"{"scheme": {"mix": {"rbdc": {"max": "64 kbit/s"}, "avbdc": {"max": "1024 kbit/s"}}}, "cra": "0 bit/s"}"#,
    ])
}

/// A discipline that decides at departure.
fn disciplines() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#"{"codel": {"packets": 30}}"#,
        r#"{"fq-codel": {"flows": 8, "packets": 20}}"#,
        r#"{"pie": {}}"#,
        r#"{"drop-front": {"packets": 3}}"#,
        r#"{"priority": {"classes": [{"name": "af", "dscp": [10]}, {"name": "be", "queue": {"codel": {}}}]}}"#,
        r#"{"drr": {"classes": [{"name": "af", "dscp": [10], "weight": 3}, {"name": "be", "queue": {"pie": {}}}]}}"#,
        r#"{"wfq": {"classes": [{"name": "af", "dscp": [10], "weight": 3}, {"name": "be"}]}}"#,
        r#"{"shaper": {"rate": "48 kbit/s", "queue": {"red": {}}}}"#,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn invariants_hold_for_any_traffic(
        dama in schemes(),
        count in 1u32..8,
        traffic in prop::collection::vec((0u32..8, 0u64..60_000, 20u32..1501), 1..150),
        limit in prop::option::of(1u64..20),
        departure in prop::option::of(disciplines()),
        classes in prop::bool::weighted(0.3),
        access in prop::sample::select(vec![Access::Immediate, Access::Superframe]),
        framing in prop::sample::select(vec![r#"{"none": {}}"#, r#"{"none": {}}"#, r#"{"mpe": {}}"#, r#"{"ule": {}}"#,
            r#"{"gse": {}}"#, r#"{"rle": {}}"#]),
    ) {
        let mut config = config(dama, &format!(r#"[{{"prefix": "t", "count": {count}}}]"#));
        config.return_link.framing = serde_json::from_str(framing).unwrap();
        config.return_link.dama.access = access;
        if classes {
            config.return_link.classes = serde_json::from_str(
                r#"[{"name": "af", "dscp": [10], "asks": "rate"}, {"name": "be", "asks": "volume"}]"#,
            )
            .unwrap();
        }
        if let Some(limit) = limit {
            config.return_link.queue =
                serde_json::from_str(&format!(r#"{{"drop-tail": {{"packets": {limit}}}}}"#)).unwrap();
        }
        if let Some(queue) = departure {
            config.return_link.queue = serde_json::from_str(queue).unwrap();
        }
        let mut rig = Rig::new(&config);
        for (terminal, wait, size) in traffic {
            let until = rig.now + Span::from_micros(wait);
            rig.run(until);
            rig.send_marked(terminal % count, size, if size % 3 == 0 { 10 } else { 0 });
            rig.assert_conserved();
        }
        rig.run(ms(if dama.contains("fca") { 30_000 } else { 300_000 }));
        rig.assert_conserved();
        // Every queue is eventually emptied, and all stages then sleep.
        let waits_for_spare = dama.contains("fca");
        // Plans of spare slots never end.
        let done = rig.stages.iter().enumerate().all(|(number, stage)| match waits_for_spare {
            true => number < 2 || stage.held().packets == 0,
            false => stage.held().packets == 0 && stage.next_wake().is_none(),
        });
        prop_assert!(done);
        let drops: u64 = rig.out.totals().dropped.values().map(|drop| drop.packets).sum();
        prop_assert_eq!(rig.arrived.len() as u64 + drops, u64::from(rig.sent));
        if limit.is_none() && departure.is_none() {
            prop_assert_eq!(drops, 0);
        }
        // Each wait is exactly the sum of its parts.
        for (name, row) in rig.waits() {
            let packet = rig.arrived.iter().find(|(_, packet)| f64::from(packet.number) == row[1]);
            let Some((time, _)) = packet else { continue };
            let end = time.as_nanos() as f64 - 250e6;
            prop_assert_eq!(row[4] + row[10..].iter().sum::<f64>(), end, "{}: {:?}", name, row);
            prop_assert!(row[10..].iter().all(|part| *part >= 0.0));
            // With superframe access, a packet leaves after the superframe of its arrival.
            let (arrived, sent) = ((row[4] / 94e6).floor(), row[6]);
            prop_assert!(sent >= arrived + f64::from(u8::from(access == Access::Superframe)));
        }
        // Packets of a terminal and class arrive in order.
        let classes = classes || departure.is_some();
        for (source, dscp) in (1..=count as u16).flat_map(|source| [(source, 0), (source, 10)]) {
            let own = |packet: &Packet| packet.source == NodeId(source) && (!classes || packet.dscp == dscp);
            let numbers: Vec<_> =
                rig.arrived.iter().filter(|(_, packet)| own(packet)).map(|(_, packet)| packet.number).collect();
            prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        }
        // No slot is assigned twice, neither constant slots nor slots of other terminals.
        let constant: u32 = config.members().iter().map(|member| member.constant).sum();
        for plan in &rig.plans {
            let mut next = constant;
            for (_, run) in &plan.entries {
                prop_assert!(u32::from(run.first) >= next && run.count > 0);
                next = run.end();
            }
            prop_assert!(next <= 32);
        }
        prop_assert!(rig.plans.windows(2).all(|pair| pair[0].superframe < pair[1].superframe));
        let report = rig.report();
        let requested = report.value("ncc", "sat", "requested_slots");
        if dama.starts_with(r#"{"scheme": {"vbdc": {}"#) {
            prop_assert_eq!(report.value("ncc", "sat", "granted_slots"), requested);
        }
        for terminal in 1..=count {
            let name = format!("t{terminal}");
            let value = |column| report.value("terminal", &name, column).unwrap();
            prop_assert_eq!(value("late_slots"), 0.0);
            prop_assert!(value("used_bytes") <= value("capacity_bytes"));
        }
    }
}
