//! Requests of terminals and the resulting assignments.

use super::*;

const CLASSES: &str = r#"[{"name": "ef", "dscp": [46], "asks": "nothing"}, {"name": "af", "dscp": [10], "asks": "rate"},
    {"name": "be", "asks": "volume"}]"#;

#[test]
fn rate_requests_follow_equation_13_on_the_air() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"rbdc": {}}, "response": 11}"#, r#"["a"]"#));
    rig.run(ms(93));
    rig.send(0, 752 * 10);
    rig.run(ms(5000));
    // The constant slot carries 752 bytes per superframe: Q = 10, 9, 8, ... 1, 0.
    let mut request = 0.0;
    let mut expected = Vec::new();
    for queue in (0..=10).rev() {
        request = 0.6 * request + 0.4 * f64::from(queue);
        expected.push((request + 0.5) as u64);
    }
    let requests: Vec<_> = rig.trace("a", "request").into_iter().filter(|(n, _)| *n > 0).collect();
    assert_eq!(requests[..11], (1..12).zip(expected.clone()).collect::<Vec<_>>());
    let assigned = rig.trace("a", "assigned");
    // Eleven superframes later, each request is assigned in full, although all data have been sent
    // long before.
    for (n, slots) in (1..).zip(expected) {
        assert!(assigned.contains(&(n + 11, slots)), "superframe {n}: {assigned:?}");
    }
    assert_eq!(rig.stages[0].next_wake(), None, "released");
    assert_eq!(rig.stages[2].next_wake(), None, "asleep");
}

#[test]
fn requested_granted_and_assigned_slots_are_equal() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"vbdc": {}}, "cra": "0 bit/s"}"#, r#"["a", "b", "c"]"#));
    for terminal in 0..3 {
        for _ in 0..(terminal + 1) * 40 {
            rig.send(terminal, 752);
        }
    }
    rig.run(ms(20_000));
    let report = rig.report();
    let sum = |column| {
        ["a", "b", "c"].map(|name| report.value("terminal", name, column).unwrap()).iter().sum::<f64>()
    };
    assert_eq!(report.value("ncc", "sat", "requested_slots"), Some(sum("requested_slots")));
    assert_eq!(report.value("ncc", "sat", "granted_slots"), Some(sum("requested_slots")));
    assert_eq!(sum("assigned_slots"), sum("requested_slots"));
    assert_eq!(sum("capacity_bytes"), sum("requested_slots") * 752.0);
    assert_eq!(sum("used_bytes"), 240.0 * 752.0);
    assert_eq!(rig.arrived.len(), 240);
}

#[test]
fn idle_terminals_never_wake() {
    let terminals = r#"["a", {"prefix": "idle", "count": 1000, "cra": "0 bit/s"}]"#;
    for scheme in ["cra", "rbdc", "vbdc", "avbdc"] {
        let mut rig = Rig::new(&config(&format!(r#"{{"scheme": {{"{scheme}": {{}}}}}}"#), terminals));
        for _ in 0..50 {
            rig.send(0, 1500);
            let until = rig.now + Span::from_millis(77);
            rig.run(until);
        }
        rig.run(ms(30_000));
        assert_eq!(rig.arrived.len(), 50);
        assert!(rig.calls[3..].iter().all(|calls| *calls == 0), "{scheme}");
        assert!(
            rig.stages.iter().all(|stage| stage.next_wake().is_none()),
            "{scheme}: all asleep in the end"
        );
        let report = rig.report();
        assert_eq!(report.value("terminal", "idle7", "capacity_bytes"), Some(0.0));
    }
}

#[test]
fn absolute_volume_requests_exactly_the_queue() {
    // An overload for which VBDC, as printed, assigns almost three times the required slots.
    for (scheme, max_ratio) in [("vbdc", 4.0), ("avbdc", 1.06)] {
        let mut rig = Rig::new(&config(
            &format!(r#"{{"scheme": {{"{scheme}": {{}}}}, "cra": "0 bit/s"}}"#),
            r#"["a"]"#,
        ));
        // 2400 kbit/s for 20 s on a link of 2048 kbit/s.
        for number in 0..4000 {
            rig.run(ms(number * 5));
            rig.send(0, 1500);
        }
        rig.run(ms(300_000));
        let report = rig.report();
        let value = |column| report.value("terminal", "a", column).unwrap();
        assert_eq!(value("used_bytes") as u64, rig.arrived.len() as u64 * 1500);
        let ratio = value("capacity_bytes") / value("used_bytes");
        assert!(ratio < max_ratio && (scheme == "avbdc" || ratio > 1.5), "{scheme}: {ratio}");
    }
}

#[test]
fn spare_slots_go_to_all_terminals_in_turn() {
    let mix = r#"{"scheme": {"mix": {"vbdc": {"max": "2048 kbit/s"}, "fca": true}}, "cra": "64 kbit/s"}"#;
    let mut rig = Rig::new(&config(mix, r#"["a", "b", "c"]"#));
    for _ in 0..400 {
        rig.send(0, 1504);
    }
    rig.run(ms(9400));
    assert!(!rig.plans.is_empty());
    let mut sums = [0; 3];
    for plan in &rig.plans {
        let of = |terminal| plan.runs_of(terminal).map(|run| u32::from(run.count)).sum::<u32>();
        let slots = [0, 1, 2].map(of);
        assert_eq!(slots.iter().sum::<u32>(), 29, "all that is not constant");
        // The other two terminals get equal numbers of spare slots, or none while one terminal
        // requests all slots.
        assert!(slots[1].abs_diff(slots[2]) <= 1);
        sums.iter_mut().zip(slots).for_each(|(sum, slots)| *sum += slots);
    }
    assert!(rig.plans.iter().any(|plan| plan.entries.len() == 1), "the one that asks has all");
    assert!(sums[1].abs_diff(sums[2]) <= 1, "{sums:?}");
    let report = rig.report();
    let value = |column| report.value("ncc", "sat", column).unwrap();
    assert_eq!(value("granted_slots"), value("requested_slots"));
    assert_eq!(value("spare_slots") + value("granted_slots"), f64::from(sums.iter().sum::<u32>()));
}

#[test]
fn guaranteed_slots_come_first_and_no_terminal_exceeds_its_maximum() {
    let terminals = r#"[{"name": "a", "max": "640 kbit/s"}, {"name": "b", "min": "192 kbit/s"}, "c"]"#;
    let dama = r#"{"scheme": {"vbdc": {}}, "cra": "0 bit/s"}"#;
    let mut rig = Rig::new(&config(dama, terminals));
    for _ in 0..1000 {
        rig.send(0, 1504);
        rig.send(2, 1504);
    }
    for _ in 0..20 {
        rig.send(1, 1504);
    }
    rig.run(ms(3000));
    let plan = &rig.plans[0];
    let of = |terminal| plan.runs_of(terminal).map(|run| u32::from(run.count)).sum::<u32>();
    // 40 slots' worth wait in b. It gets 3 guaranteed slots; the other 29 are divided in proportion
    // to 10, 37 and 2000.
    assert_eq!([of(0), of(1), of(2)], [0, 4, 28]);
    let max_count = rig.plans.iter().flat_map(|plan| plan.runs_of(0)).map(|run| run.count).max();
    assert!(max_count.is_some_and(|max_count| max_count <= 10), "{max_count:?}");
}

#[test]
fn lost_messages_delay_without_deadlock() {
    for scheme in ["rbdc", "vbdc", "avbdc"] {
        let mut config = config(
            &format!(r#"{{"scheme": {{"{scheme}": {{}}}}, "cra": "0 bit/s"}}"#),
            r#"["a", {"name": "b", "logon": "0 s"}]"#,
        );
        let error = || serde_json::from_str(r#"{"packet": {"probability": 0.3}}"#).unwrap();
        (config.forward.error, config.return_link.error) = (error(), error());
        let mut rig = Rig::new(&config);
        for _ in 0..100 {
            rig.send(0, 1000);
            rig.send(1, 1000);
        }
        rig.run(ms(100_000));
        rig.assert_conserved();
        let report = rig.report();
        for name in ["a", "b"] {
            assert_eq!(report.value("terminal", name, "packets"), Some(100.0), "{scheme}");
        }
    }
}

#[test]
fn classes_have_priority_and_request_their_own_slots() {
    let mix = r#"{"scheme": {"mix": {"rbdc": {"gamma": 1.0, "max": "512 kbit/s"}, "avbdc": {"max": "2048 kbit/s"}}}}"#;
    let mut config = config(mix, r#"["a"]"#);
    config.return_link.classes = serde_json::from_str(CLASSES).unwrap();
    let mut rig = Rig::new(&config);
    rig.run(ms(1));
    let send = |rig: &mut Rig, dscp, size| rig.send_marked(0, size, dscp);
    // Best effort first, alone for a while; then four packets of AF and one of EF.
    for _ in 0..20 {
        send(&mut rig, 0, 1504);
    }
    for _ in 0..4 {
        send(&mut rig, 10, 752);
    }
    rig.run(ms(30));
    send(&mut rig, 46, 188);
    rig.run(ms(20_000));
    assert_eq!(rig.arrived.len(), 25);
    // EF is sent in the next constant slot, at 47 ms, before all other packets.
    assert_eq!(rig.arrived[0].1.dscp, 46);
    assert_eq!(rig.arrived[0].0.as_nanos(), 47_000_000 + 734_375 + 250_000_000);
    let order: Vec<_> = rig.arrived.iter().map(|(_, packet)| packet.dscp).collect();
    assert_eq!(order[1..], [vec![10; 4], vec![0; 20]].concat(), "AF before best effort");
    // At superframe 1, EF has been sent. Three slots of AF, part of which was sent in superframe 0,
    // and forty slots of best effort are requested.
    assert_eq!(rig.trace("a", "request")[1], (1, 4 + 40));
    assert!(rig.waits().iter().all(|(_, row)| (row[3] == 0.0) == (row[2] == 188.0)));
    rig.assert_conserved();
}

#[test]
fn requests_arrive_over_every_request_path() {
    for (requests, cra) in [
        (r#"{"dedicated": {"every": 7}}"#, "0 bit/s"),
        (r#"{"piggyback": {}}"#, "64 kbit/s"),
        (r#"{"aloha": {"slots": 2}}"#, "0 bit/s"),
        (r#"{"crdsa": {"slots": 5}}"#, "0 bit/s"),
        (r#"{"crdsa": {"slots": 5, "data": 1000}}"#, "0 bit/s"),
    ] {
        for scheme in [r#"{"vbdc": {}}"#, r#"{"avbdc": {}}"#, r#"{"rbdc": {"timeout": 20}}"#] {
            let dama = format!(r#"{{"scheme": {scheme}, "requests": {requests}, "cra": "{cra}"}}"#);
            let mut rig = Rig::new(&config(&dama, r#"[{"prefix": "t", "count": 12}]"#));
            for round in 0..40 {
                rig.run(ms(round * 150));
                for terminal in 0..12 {
                    rig.send(terminal, 300 + 90 * (terminal + round as u32 % 5));
                }
                rig.assert_conserved();
            }
            rig.run(ms(400_000));
            rig.assert_conserved();
            let dropped: u64 = rig.out.totals().dropped.values().map(|drop| drop.packets).sum();
            let report = rig.report();
            let value = |column| report.value("ncc", "sat", column).unwrap();
            if requests.contains("data") {
                // The requests far exceed the capacity of five mini-slots: all lost data collided,
                // and the other data arrived.
                let reasons: Vec<_> =
                    rig.out.totals().dropped.keys().map(|(_, reason)| reason.words()).collect();
                assert!(reasons.iter().all(|reason| *reason == "collision"), "{reasons:?}");
                assert!(rig.arrived.len() > 24, "{dama}: {}", rig.arrived.len());
            } else {
                assert_eq!(rig.arrived.len(), 480, "{dama}");
                assert_eq!(value("collisions"), dropped as f64, "{dama}");
            }
            let shared = requests.contains("aloha") || requests.contains("crdsa");
            assert_eq!(value("tries") > 0.0, shared, "{dama}");
            assert!(
                !requests.contains("aloha") || value("collisions") > 0.0,
                "{dama}: twelve on two mini-slots collide"
            );
            assert!(
                rig.stages.iter().all(|stage| stage.held().packets == 0 && stage.next_wake().is_none()),
                "{dama}"
            );
        }
    }
}

#[test]
fn request_is_piggybacked_on_the_first_burst() {
    let dama = r#"{"scheme": {"vbdc": {}}, "requests": {"piggyback": {}}, "response": 11}"#;
    let mut rig = Rig::new(&config(dama, r#"["b", "a"]"#));
    rig.run(ms(93));
    // More data than the constant slot carries before the request can be served.
    rig.send(1, 15_040);
    rig.run(ms(2000));
    // The request is made at 94 ms and sent in the second slot of the frame: 94 + 2 x 0.734375 +
    // 250 ms.
    let waits = rig.waits();
    let row = &waits[0].1;
    assert_eq!((row[5], row[12]), (94e6, 1e6));
    assert_eq!(row[14], 250e6 + 1_468_750.0 + 250e6, "the burst's end, and both ways");
}

#[test]
fn each_terminal_requests_by_its_own_scheme() {
    let terminals = r#"["rate", {"name": "volume", "scheme": {"vbdc": {}}},
        {"name": "constant", "scheme": {"cra": {}}, "cra": "64 kbit/s"}]"#;
    let mut rig = Rig::new(&config(
        r#"{"scheme": {"rbdc": {"gamma": 1.0}}, "cra": "0 bit/s", "response": 11}"#,
        terminals,
    ));
    rig.run(ms(93));
    for terminal in 0..3 {
        rig.send(terminal, 752 * 31);
    }
    rig.run(ms(30_000));
    assert_eq!(rig.arrived.len(), 3);
    // In superframe 1 the terminals request a rate of 31 slots and a volume of 31 slots. One slot
    // of 32 is constant. In superframe 12, the proportional allocator divides the other 31 slots
    // into 16 and 15: equal requests get 15.5, and the first terminal gets the remaining slot.
    let of = |rig: &mut Rig, terminal: &str, column: &str, superframe: u64| {
        rig.trace(terminal, column).iter().find(|(n, _)| *n == superframe).map(|(_, value)| *value)
    };
    assert_eq!(of(&mut rig, "rate", "request", 1), Some(31));
    assert_eq!(of(&mut rig, "volume", "request", 1), Some(31));
    assert_eq!(of(&mut rig, "rate", "assigned", 12), Some(16));
    assert_eq!(of(&mut rig, "volume", "assigned", 12), Some(15));
    // A rate is repeated while data wait. The volume is requested again when equation 14 no longer
    // counts the first request, in superframe 13 (L = 11): 31 - 15 slots then wait. Constant slots
    // need no request.
    assert_eq!(of(&mut rig, "rate", "request", 2), Some(31));
    assert_eq!(of(&mut rig, "volume", "request", 2), Some(0));
    let report = rig.report();
    let value = |terminal, column| report.value("terminal", terminal, column).unwrap();
    assert_eq!((value("volume", "requested_slots"), value("volume", "assigned_slots")), (47.0, 47.0));
    assert_eq!((value("constant", "requests"), value("constant", "assigned_slots")), (0.0, 0.0));
    assert!(value("rate", "assigned_slots") > 31.0);
}
