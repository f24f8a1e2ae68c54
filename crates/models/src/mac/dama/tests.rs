//! The network as a whole, on a small event loop of its own (the engine's crate depends on this one).

use super::message::Tbtp;
use super::{build, message, ncc, terminal, Config, Star, Supply};
use bentpipe_core::{
    Body, Ecn, FlowId, NodeId, Outbox, Packet, Port, Probe, Problems, Recorder, Report, Row, Sink, Span,
    Stage, Stream, Streams, Table, Time,
};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

const GATEWAY: NodeId = NodeId(0);

/// Rows of the trace `dama`: terminal and values.
type Rows = Arc<Mutex<Vec<(String, Vec<f64>)>>>;

/// Rows of the traces `dama` and `access`.
struct Collect(Rows, Rows);

impl Sink for Collect {
    fn rows(&mut self, table: &'static Table, entities: &[String], rows: Vec<Row>, values: Vec<f64>) {
        let mut kept = match table.name {
            "dama" => self.0.lock().unwrap(),
            "access" => self.1.lock().unwrap(),
            _ => return,
        };
        for (row, values) in rows.iter().zip(values.chunks(table.columns.len())) {
            kept.push((entities[row.entity as usize].clone(), values.to_vec()));
        }
    }
}

struct Probes<'a>(&'a mut Recorder);

impl Supply for Probes<'_> {
    fn stream(&mut self, name: &str) -> Stream {
        Streams::new(1, 0).stream(name)
    }
    fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe> {
        Some(self.0.open(table, entity))
    }
}

/// The stages in the order control centre, forward link, terminals.
struct Rig {
    stages: Vec<Box<dyn Stage>>,
    calls: Vec<u64>,
    out: Outbox,
    rows: Rows,
    waits: Rows,
    now: Time,
    /// What reached the gateway's router.
    arrived: Vec<(Time, Packet)>,
    plans: Vec<Tbtp>,
    sent: u32,
}

impl Rig {
    fn new(config: &Config) -> Rig {
        let mut problems = Problems::default();
        config.check(&mut problems);
        assert_eq!(problems.into_vec(), []);
        let (rows, waits) = (Rows::default(), Rows::default());
        let mut recorder = Recorder::new(Box::new(Collect(rows.clone(), waits.clone())));
        let count = config.terminal_names().len() as u16;
        let addresses: Vec<_> = (1..=count).map(NodeId).collect();
        let Star { terminals, ncc, forward } =
            build("sat", config, GATEWAY, &addresses, &str::to_owned, &mut Probes(&mut recorder));
        let mut stages: Vec<Box<dyn Stage>> = vec![Box::new(ncc), Box::new(forward)];
        stages.extend(terminals.into_iter().map(|terminal| Box::new(terminal) as Box<dyn Stage>));
        Rig {
            calls: vec![0; stages.len()],
            stages,
            out: Outbox::new(recorder),
            rows,
            waits,
            now: Time::ZERO,
            arrived: Vec::new(),
            plans: Vec::new(),
            sent: 0,
        }
    }

    fn terminals(&self) -> usize {
        self.stages.len() - 2
    }

    fn deliver(&mut self) {
        while let Some(sent) = self.out.next_sent() {
            let (to, port) = match (sent.stage, sent.port.0) {
                (0, 0) => {
                    self.out.consume(sent.packet.clone());
                    self.arrived.push((self.now, sent.packet));
                    continue;
                }
                (0, _) => {
                    self.plans.extend(message::message::<Tbtp>(&sent.packet).cloned());
                    (1, Port(self.terminals() as u16))
                }
                (1, port) => (2 + u32::from(port), terminal::FROM_SATELLITE),
                (_, 1) => (0, Port(0)),
                _ => {
                    self.out.consume(sent.packet);
                    continue;
                }
            };
            self.receive(to, port, sent.packet);
        }
    }

    fn receive(&mut self, stage: u32, port: Port, packet: Packet) {
        self.calls[stage as usize] += 1;
        self.out.begin(stage);
        self.stages[stage as usize].receive(self.now, port, packet, &mut self.out);
    }

    /// Does everything before `until`; what is due at `until` itself is left.
    fn run(&mut self, until: Time) {
        loop {
            let due =
                (0u32..).zip(&self.stages).filter_map(|(stage, s)| s.next_wake().map(|wake| (wake, stage)));
            let Some((wake, stage)) = due.min().filter(|(wake, _)| *wake < until) else { break };
            assert!(wake >= self.now, "stage {stage} wakes in the past");
            self.now = wake;
            self.calls[stage as usize] += 1;
            self.out.begin(stage);
            self.stages[stage as usize].wake(wake, &mut self.out);
            self.deliver();
        }
        self.now = until;
    }

    /// Hands a packet to a terminal at the present moment; gives its number.
    fn send(&mut self, terminal: u32, size: u32) -> u32 {
        self.send_marked(terminal, size, 0)
    }

    /// The same with a code point.
    fn send_marked(&mut self, terminal: u32, size: u32, dscp: u8) -> u32 {
        let packet = packet(self.now, self.sent, size, NodeId(terminal as u16 + 1), GATEWAY);
        let packet = Packet { dscp, ..packet };
        self.sent += 1;
        self.out.create_held(&packet);
        self.receive(2 + terminal, terminal::FROM_HOST, packet);
        self.deliver();
        self.sent - 1
    }

    fn arrivals(&self) -> Vec<(u32, u64)> {
        self.arrived.iter().map(|(time, packet)| (packet.number, time.as_nanos())).collect()
    }

    fn report(&self) -> Report {
        let mut report = Report::default();
        self.stages.iter().for_each(|stage| stage.report(self.now, &mut report));
        report
    }

    /// One column of a terminal's trace against the superframes' numbers.
    fn trace(&mut self, terminal: &str, column: &str) -> Vec<(u64, u64)> {
        self.out.recorder().flush();
        let at = terminal::TRACE.columns.iter().position(|c| c.name == column).unwrap();
        let rows = self.rows.lock().unwrap();
        rows.iter()
            .filter(|(name, _)| name == terminal)
            .map(|(_, row)| (row[0] as u64, row[at] as u64))
            .collect()
    }

    fn assert_conserved(&self) {
        let totals = self.out.totals();
        let held = self.stages.iter().map(|stage| stage.held());
        let (packets, bytes) = held.fold((0, 0), |sum, held| (sum.0 + held.packets, sum.1 + held.bytes));
        let dropped = totals.dropped.values();
        let (lost, lost_bytes) = dropped.fold((0, 0), |sum, drop| (sum.0 + drop.packets, sum.1 + drop.bytes));
        assert_eq!(totals.created.packets, totals.consumed.packets + packets + lost);
        assert_eq!(totals.created.bytes, totals.consumed.bytes + bytes + lost_bytes);
    }
}

fn packet(birth: Time, number: u32, size: u32, source: NodeId, destination: NodeId) -> Packet {
    let (flow, body) = (FlowId(0), Body::Datagram);
    Packet { birth, number, size, flow, source, destination, connection: 0, dscp: 0, ecn: Ecn::NotEct, body }
}

fn config(dama: &str, terminals: &str) -> Config {
    serde_json::from_str(&format!(
        r#"{{"forward": {{"rate": "10 Mbit/s"}}, "return": {{"rate": "2048 kbit/s", "dama": {dama}}},
            "terminals": {terminals}, "gateway": "gw"}}"#
    ))
    .unwrap()
}

const fn ms(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

#[test]
fn a_packet_over_one_slot_per_frame() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, r#"["a", "b"]"#));
    rig.send(0, 1500);
    rig.send(1, 1500);
    rig.run(ms(1000));
    // 1500 bytes are 8 slots: the last is slot 0 (for b: slot 1) of the fourth frame of superframe 1, which
    // begins at 94 + 3 x 23.5 = 164.5 ms and lasts 0.734375 ms; then 250 ms of propagation.
    assert_eq!(rig.arrivals(), [(0, 415_234_375), (1, 415_968_750)]);
    let report = rig.report();
    // Superframes 0 to 10 have begun: 11 x 752 bytes.
    assert_eq!(report.value("terminal", "a", "capacity_bytes"), Some(8272.0));
    assert_eq!(report.value("terminal", "a", "used_bytes"), Some(1500.0));
    assert_eq!(report.value("terminal", "a", "packets"), Some(1.0));
    assert!((report.value("terminal", "a", "delay_mean").unwrap() - 0.165_234_375).abs() < 1e-12);
    // Asleep after the end of superframe 1.
    assert_eq!(rig.stages[2].next_wake(), None);
}

#[test]
fn packets_at_the_line_rate() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "2048 kbit/s"}"#, r#"["a"]"#));
    for _ in 0..3 {
        rig.send(0, 1500);
    }
    rig.run(ms(1000));
    // 1500, 3000 and 4500 bytes end in the 8th, 16th and 24th slot of 734 375 ns.
    assert_eq!(rig.arrivals(), [(0, 255_875_000), (1, 261_750_000), (2, 267_625_000)]);
}

#[test]
fn a_burst_carries_only_what_was_there_when_its_slot_began() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "2048 kbit/s"}"#, r#"["a"]"#));
    rig.send(0, 100);
    rig.run(Time::from_nanos(1));
    rig.send(0, 40);
    rig.send(0, 148);
    rig.run(Time::from_nanos(2 * 734_375));
    rig.send(0, 10);
    rig.run(ms(1000));
    // The 88 bytes left in slot 0 are lost to what came 1 ns later, which fills slot 1 together; a packet
    // that comes exactly when slot 2 begins is still in time for it.
    let ends = [734_375, 1_468_750, 1_468_750, 2_203_125].map(|end| end + 250_000_000);
    assert_eq!(rig.arrivals(), [(0, ends[0]), (1, ends[1]), (2, ends[2]), (3, ends[3])]);
}

#[test]
fn the_response_emerges_from_the_delays_and_can_be_imposed() {
    // Six superframes by hand in `timing`; the study's eleven imposed.
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
        // At 10 ms the slots of frames 1 to 3 are still to come: 564 bytes go, and ceil(6956 / 752) = 10
        // slots are asked for at the start of superframe 1.
        assert_eq!(rig.trace("a", "request")[1], (1, 10));
        let assigned: Vec<_> =
            rig.trace("a", "assigned").into_iter().filter(|(_, slots)| *slots > 0).collect();
        // Asked for once more when the sum has forgotten it? No: it is served then.
        assert_eq!(assigned, [(1 + response, 10)], "{dama}");
        let report = rig.report();
        assert_eq!(report.value("ncc", "sat", "response"), Some(response as f64));
        assert_eq!(report.value("terminal", "a", "used_bytes"), Some(7520.0));
        assert_eq!(report.value("terminal", "a", "late_slots"), Some(0.0));
    }
}

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
    // Eleven superframes later each is assigned what was asked for, although all has long been sent.
    for (n, slots) in (1..).zip(expected) {
        assert!(assigned.contains(&(n + 11, slots)), "superframe {n}: {assigned:?}");
    }
    assert_eq!(rig.stages[0].next_wake(), None, "released");
    assert_eq!(rig.stages[2].next_wake(), None, "asleep");
}

#[test]
fn volume_is_balanced_to_the_byte() {
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
fn absolute_volume_asks_for_what_waits_and_no_more() {
    // The overload that VBDC as printed answers with almost three times the slots.
    for (scheme, most) in [("vbdc", 4.0), ("avbdc", 1.06)] {
        let mut rig = Rig::new(&config(
            &format!(r#"{{"scheme": {{"{scheme}": {{}}}}, "cra": "0 bit/s"}}"#),
            r#"["a"]"#,
        ));
        // 2400 kbit/s for 20 s over 2048 kbit/s.
        for number in 0..4000 {
            rig.run(ms(number * 5));
            rig.send(0, 1500);
        }
        rig.run(ms(300_000));
        let report = rig.report();
        let value = |column| report.value("terminal", "a", column).unwrap();
        assert_eq!(value("used_bytes") as u64, rig.arrived.len() as u64 * 1500);
        let ratio = value("capacity_bytes") / value("used_bytes");
        assert!(ratio < most && (scheme == "avbdc" || ratio > 1.5), "{scheme}: {ratio}");
    }
}

#[test]
fn spare_slots_go_to_all_in_turn_and_only_when_they_are_spare() {
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
        // The others get spare slots alike, none while one asks for all.
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
fn guaranteed_slots_come_first_and_nobody_gets_more_than_the_most() {
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
    // 40 slots wait in b: 3 guaranteed, and of the other 29 in proportion to 10, 37 and 2000.
    assert_eq!([of(0), of(1), of(2)], [0, 4, 28]);
    let most = rig.plans.iter().flat_map(|plan| plan.runs_of(0)).map(|run| run.count).max();
    assert!(most.is_some_and(|most| most <= 10), "{most:?}");
}

#[test]
fn terminals_come_and_go_and_leave_nothing() {
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
    // Nothing reaches the gateway between logoff and the next logon, and no plan names the terminal then.
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
fn carriers_are_shared_and_a_terminal_is_on_one_at_a_time() {
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
        for (place, (terminal, run)) in plan.entries.iter().enumerate() {
            for (other, beside) in &plan.entries[..place] {
                if terminal == other || run.carrier == beside.carrier {
                    assert!(!run.overlaps(*beside));
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
fn a_terminal_logs_on_and_then_sends() {
    let terminals = r#"["a", {"name": "b", "logon": "1 s", "cra": "128 kbit/s"}]"#;
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, terminals));
    rig.send(1, 376);
    rig.run(ms(10_000));
    // Asked at 1 s; heard at 1.25 s, in superframe 13 of the control centre; the next plan, made at boundary
    // 14, is for superframe 17, at 1598 ms. Slots 1 and 2 end 3 x 734 375 ns later.
    assert_eq!(rig.arrivals(), [(0, 1_598_000_000 + 2_203_125 + 250_000_000)]);
    let report = rig.report();
    // Superframes 17 to 106.
    assert_eq!(report.value("terminal", "b", "capacity_bytes"), Some(90.0 * 2.0 * 752.0));
    rig.assert_conserved();
}

#[test]
fn terminals_at_different_places_are_aligned_at_the_satellite() {
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
fn lost_messages_delay_and_do_not_lock() {
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
fn cells_fill_slots_and_their_errors_lose_packets() {
    // Slots of 53 bytes, 100 of them in 20 ms: 212 bytes a superframe of four for each.
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
    // 0.99^33 = 0.7177 as on a link; the standard error over 900 packets is 0.015.
    let survived = rig.arrived.len() as f64 / 900.0;
    assert!((survived - 0.7177).abs() < 0.06, "{survived}");
    rig.assert_conserved();
}

#[test]
fn packed_packets_share_slots() {
    // Six acknowledgments of 40 bytes by ULE: 3 x 48 + 1 = 145 in the first MPEG packet, the fourth begins in it; 240 bytes of
    // payload and 48 of overhead are 288, and 2 pointer fields: two slots of 188 bytes, where padding would take six.
    for (framing, slots) in [(r#"{"ule": {}}"#, 2.0), (r#"{"ule": {"packing": false}}"#, 6.0)] {
        let mut config = config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, r#"["a"]"#);
        config.return_link.framing = serde_json::from_str(framing).unwrap();
        let mut rig = Rig::new(&config);
        for _ in 0..6 {
            rig.send(0, 40);
        }
        rig.run(ms(2000));
        assert_eq!(rig.report().value("terminal", "a", "used_bytes"), Some(slots * 188.0), "{framing}");
        // The first three are through with the first slot, the others with the second.
        let times: Vec<_> = rig.arrivals().into_iter().map(|(_, time)| time).collect();
        assert_eq!(times.len(), 6);
        if slots == 2.0 {
            assert_eq!(times[2], 734_375 + 250_000_000);
            assert_eq!(times[5], 23_500_000 + 734_375 + 250_000_000);
        }
    }
}

const CLASSES: &str = r#"[{"name": "ef", "dscp": [46], "asks": "nothing"}, {"name": "af", "dscp": [10], "asks": "rate"},
    {"name": "be", "asks": "volume"}]"#;

#[test]
fn classes_go_before_each_other_and_ask_each_for_their_own() {
    let mix = r#"{"scheme": {"mix": {"rbdc": {"gamma": 1.0, "max": "512 kbit/s"}, "avbdc": {"max": "2048 kbit/s"}}}}"#;
    let mut config = config(mix, r#"["a"]"#);
    config.return_link.classes = serde_json::from_str(CLASSES).unwrap();
    let mut rig = Rig::new(&config);
    rig.run(ms(1));
    let send = |rig: &mut Rig, dscp, size| rig.send_marked(0, size, dscp);
    // Best effort first, for a while; then four packets of AF and one of EF.
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
    // EF in the next constant slot, at 47 ms, in front of all others.
    assert_eq!(rig.arrived[0].1.dscp, 46);
    assert_eq!(rig.arrived[0].0.as_nanos(), 47_000_000 + 734_375 + 250_000_000);
    let order: Vec<_> = rig.arrived.iter().map(|(_, packet)| packet.dscp).collect();
    assert_eq!(order[1..], [vec![10; 4], vec![0; 20]].concat(), "AF before best effort");
    // At superframe 1 EF is gone; three slots of AF, of which one went in superframe 0 but for the slot that EF took, and forty
    // of best effort are asked for.
    assert_eq!(rig.trace("a", "request")[1], (1, 4 + 40));
    rig.out.recorder().flush();
    assert!(rig.waits.lock().unwrap().iter().all(|(_, row)| (row[3] == 0.0) == (row[2] == 188.0)));
    rig.assert_conserved();
}

#[test]
fn the_signal_decides_what_a_slot_carries() {
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
    // Bursts of 597, 123 and 331 bytes; 4 + 2 k bytes of headers and one of trailer in k bursts that are filled but for the last.
    for (name, burst) in [("good", 597.0), ("bad", 123.0), ("mean", 331.0)] {
        let used = report.value("terminal", name, "used_bytes").unwrap();
        let slots = used / burst;
        assert_eq!(slots.fract(), 0.0, "{name}");
        let least = 150_000.0 / burst;
        assert!(slots > least && slots < least * 1.05 + 20.0, "{name}: {slots} bursts, at least {least}");
    }
}

#[test]
fn requests_find_their_way_on_every_path() {
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
                // Far more than five mini-slots can carry: what is lost was lost in collisions, and the rest came.
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
fn a_request_rides_in_the_first_burst() {
    let dama = r#"{"scheme": {"vbdc": {}}, "requests": {"piggyback": {}}, "response": 11}"#;
    let mut rig = Rig::new(&config(dama, r#"["b", "a"]"#));
    rig.run(ms(93));
    rig.send(1, 7520);
    rig.run(ms(2000));
    rig.out.recorder().flush();
    // Asked for at 94 ms in the second slot of the frame: 94 + 2 x 0.734375 + 250 ms.
    let waits = rig.waits.lock().unwrap();
    let row = &waits[0].1;
    assert_eq!((row[5], row[10]), (94e6, 1e6));
    assert_eq!(row[12], 250e6 + 1_468_750.0 + 250e6, "the burst's end, and both ways");
}

/// How a random scenario's terminals get their slots.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn what_holds_for_any_traffic(
        dama in schemes(),
        count in 1u32..8,
        traffic in prop::collection::vec((0u32..8, 0u64..60_000, 20u32..1501), 1..150),
        limit in prop::option::of(1u64..20),
        classes in prop::bool::weighted(0.3),
        framing in prop::sample::select(vec![r#"{"none": {}}"#, r#"{"none": {}}"#, r#"{"mpe": {}}"#, r#"{"ule": {}}"#,
            r#"{"gse": {}}"#, r#"{"rle": {}}"#]),
    ) {
        let mut config = config(dama, &format!(r#"[{{"prefix": "t", "count": {count}}}]"#));
        config.return_link.framing = serde_json::from_str(framing).unwrap();
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
        let mut rig = Rig::new(&config);
        for (terminal, wait, size) in traffic {
            let until = rig.now + Span::from_micros(wait);
            rig.run(until);
            rig.send_marked(terminal % count, size, if size % 3 == 0 { 10 } else { 0 });
            rig.assert_conserved();
        }
        rig.run(ms(if dama.contains("fca") { 30_000 } else { 300_000 }));
        rig.assert_conserved();
        // Every queue is served in the end, and everyone sleeps.
        let waits_for_spare = dama.contains("fca");
        // Plans of spare slots go on for ever.
        let done = rig.stages.iter().enumerate().all(|(number, stage)| match waits_for_spare {
            true => number < 2 || stage.held().packets == 0,
            false => stage.held().packets == 0 && stage.next_wake().is_none(),
        });
        prop_assert!(done);
        let drops: u64 = rig.out.totals().dropped.values().map(|drop| drop.packets).sum();
        prop_assert_eq!(rig.arrived.len() as u64 + drops, u64::from(rig.sent));
        if limit.is_none() {
            prop_assert_eq!(drops, 0);
        }
        // Each wait is the sum of its parts, to the nanosecond.
        rig.out.recorder().flush();
        for (name, row) in rig.waits.lock().unwrap().iter() {
            let packet = rig.arrived.iter().find(|(_, packet)| f64::from(packet.number) == row[1]);
            let Some((time, _)) = packet else { continue };
            let end = time.as_nanos() as f64 - 250e6;
            prop_assert_eq!(row[4] + row[10..16].iter().sum::<f64>(), end, "{}: {:?}", name, row);
            prop_assert!(row[10..16].iter().all(|part| *part >= 0.0));
        }
        // First in, first out for each terminal and class.
        for (source, dscp) in (1..=count as u16).flat_map(|source| [(source, 0), (source, 10)]) {
            let own = |packet: &Packet| packet.source == NodeId(source) && (!classes || packet.dscp == dscp);
            let numbers: Vec<_> =
                rig.arrived.iter().filter(|(_, packet)| own(packet)).map(|(_, packet)| packet.number).collect();
            prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        }
        // No slot is used twice: neither the constant ones nor another terminal's.
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

#[test]
fn forward_data_share_the_link_with_plans_and_reach_their_terminal() {
    let mut rig = Rig::new(&config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s"}"#, r#"["a", "b"]"#));
    for (number, terminal) in [(0, 0), (1, 1), (2, 0)] {
        let packet = packet(Time::ZERO, number, 1250, GATEWAY, NodeId(terminal + 1));
        rig.out.create_held(&packet);
        rig.receive(1, Port(terminal), packet);
    }
    // 1250 bytes take 1 ms.
    for (time, calls) in [(251, [1, 0]), (252, [1, 1]), (253, [2, 1])] {
        rig.run(ms(time) + Span::from_nanos(1));
        assert_eq!(rig.calls[2..], calls);
    }
    rig.assert_conserved();
    assert_eq!(rig.report().value("link", "sat.forward", "bytes"), Some(3750.0));
}

#[test]
fn what_cannot_be_is_refused_with_the_arithmetic() {
    let good = || config(r#"{"scheme": {"rbdc": {}}}"#, r#"["a"]"#);
    let wrong = |change: fn(&mut Config)| {
        let mut config = good();
        change(&mut config);
        let mut problems = Problems::default();
        config.check(&mut problems);
        let found = problems.into_vec();
        assert_eq!(found.len(), 1, "{found:?}");
        format!("{}: {}", found[0].path.join("."), found[0].message)
    };
    let parse = |message: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    parse(
        wrong(|c| c.return_link.rate = "1 Mbit/s".parse().unwrap()),
        &["return.frame", "91.797 bytes", "23.552 ms"],
    );
    parse(wrong(|c| c.return_link.frame = Some(Span::ZERO)), &["return.frame", "above 0 s"]);
    parse(
        wrong(|c| c.return_link.dama.cra = Some("100 kbit/s".parse().unwrap())),
        &["return.dama.cra", "1.562 slots of 64.000 kbit/s", "128 kbit/s"],
    );
    parse(
        wrong(|c| c.terminals = serde_json::from_str(r#"[{"prefix": "t", "count": 33}]"#).unwrap()),
        &["terminals", "33 terminals take 33 slots", "has 32"],
    );
    parse(
        wrong(|c| c.return_link.dama.response = Some(bentpipe_core::Count::new(5))),
        &["return.dama.response", "5 superframes of 94 ms", "(3 superframes)", "6 or more"],
    );
    parse(wrong(|c| c.terminals = serde_json::from_str(r#"["a", "a"]"#).unwrap()), &["\"a\" occurs twice"]);
    parse(wrong(|c| c.terminals = serde_json::from_str(r#"["gw"]"#).unwrap()), &["gateway's"]);
    parse(wrong(|c| c.terminals.clear()), &["at least one"]);
    parse(
        wrong(|c| c.return_link.framing = serde_json::from_str(r#"{"atm": {}}"#).unwrap()),
        &["return.framing", "188 bytes", "3 ATM cells of 53 bytes and 29 bytes more", "212 bytes"],
    );
    parse(
        wrong(|c| {
            c.return_link.acm =
                serde_json::from_str(r#"{"burst": 536, "margin_db": 2.0, "esn0_db": 1.0}"#).unwrap();
        }),
        &["return.acm.esn0_db", "1 dB less a margin of 2 dB", "0.22 dB", "2.22 dB"],
    );
    parse(
        wrong(|c| c.return_link.classes = serde_json::from_str(r#"[{"name": "a"}, {"name": "b"}]"#).unwrap()),
        &["return.classes.0.dscp", "no packets belong to it"],
    );
    parse(
        wrong(|c| {
            c.return_link.dama.requests =
                serde_json::from_str(r#"{"crdsa": {"slots": 2, "replicas": 4}}"#).unwrap()
        }),
        &["return.dama.requests.replicas", "4 replicas", "at most 2"],
    );
    for (terminals, parts) in [
        (r#"[{"name": "a", "min": "100 kbit/s"}]"#, &["terminals.0.min", "1.562 slots"][..]),
        (
            r#"[{"prefix": "t", "count": 3, "min": "1024 kbit/s"}]"#,
            &["48 slots besides 3 constant", "has 32"],
        ),
        (r#"[{"name": "a", "logon": "5 s", "logoff": "4 s"}]"#, &["terminals.0.logoff", "more than 5 s"]),
        (
            r#"[{"name": "a", "logoff": "9 s", "period": "8 s"}]"#,
            &["terminals.0.period", "log on at 8 s", "until 9 s"],
        ),
        (r#"[{"name": "a", "period": "8 s"}]"#, &["terminals.0.period", "not given"]),
    ] {
        let mut config = good();
        config.terminals = serde_json::from_str(terminals).unwrap();
        let mut problems = Problems::default();
        config.check(&mut problems);
        let found = problems.into_vec();
        assert_eq!(found.len(), 1, "{found:?}");
        parse(format!("{}: {}", found[0].path.join("."), found[0].message), parts);
    }
    parse(
        wrong(|c| c.return_link.carriers = serde_json::from_str(r#"[{"rate": "1000 kbit/s"}]"#).unwrap()),
        &["return.carriers.0.rate", "15.625 slots", "1024 kbit/s"],
    );
    parse(
        wrong(|c| {
            c.return_link.carriers = serde_json::from_str(r#"[{"rate": "64 kbit/s", "count": 3}]"#).unwrap();
            c.return_link.dama.cra = Some("128 kbit/s".parse().unwrap());
        }),
        &["take 2 slots, each terminal's in a row on one carrier", "3 carriers have 3"],
    );
    parse(
        wrong(|c| c.terminals = serde_json::from_str(r#"[{"count": 3}]"#).unwrap()),
        &["terminals.0", "prefix"],
    );
    parse(
        wrong(|c| {
            c.propagation = serde_json::from_str(
                r#"{"satellite": "13 deg", "gateway": {"latitude": "51.5 deg", "longitude": "170 deg"},
                    "terminals": {"latitude": "41.9 deg", "longitude": "12.5 deg"}}"#,
            )
            .unwrap();
        }),
        &["propagation.gateway", "below the horizon"],
    );
    for text in [r#"{"scheme": {"rbdc": {"gama": 0.4}}}"#, r#"{"schem": "x"}"#, r#"{"cra": "64 kbits"}"#] {
        let full = format!(
            r#"{{"forward": {{"rate": "10 Mbit/s"}}, "return": {{"rate": "2048 kbit/s", "dama": {text}}},
                "terminals": ["a"], "gateway": "gw"}}"#
        );
        assert!(serde_json::from_str::<Config>(&full).is_err(), "{text}");
    }
}

#[test]
fn the_configuration_prints_what_it_read() {
    let config = config(
        r#"{"scheme": {"rbdc": {}}, "response": 11}"#,
        r#"["a", {"name": "b", "cra": "128 kbit/s"}, {"prefix": "c", "count": 3, "logon": "2 s"}]"#,
    );
    let printed = serde_json::to_value(&config).unwrap();
    assert_eq!(printed["terminals"][0], "a");
    assert_eq!(printed["terminals"][2], serde_json::json!({"prefix": "c", "count": 3, "logon": "2 s"}));
    assert_eq!(printed["propagation"], "250 ms");
    assert_eq!(
        printed["return"]["dama"]["scheme"],
        serde_json::json!({"kind": "rbdc", "gamma": 0.4, "timeout": 2})
    );
    assert_eq!(config.terminal_names(), ["a", "b", "c1", "c2", "c3"]);
    assert_eq!(config.members()[1].constant, 2);
    let schema = serde_json::to_string(&schemars::schema_for!(Config)).unwrap();
    assert!(schema.contains("frames_per_superframe") && schema.contains("rbdc"));
    assert_eq!(ncc::REPORT.columns.len(), 9);
}

#[test]
fn with_constant_slots_alone_what_is_not_given_is_shared() {
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
