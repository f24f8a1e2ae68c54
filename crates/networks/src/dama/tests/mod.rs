//! The network as a whole, on a small event loop of its own (the engine's crate depends on this one).

mod configuration;
mod orbits;
mod properties;
mod requests;
mod slots;
mod terminals;

use super::message::Tbtp;
use super::{build, ncc, terminal, Config, Star};
use bentpipe_core::{
    FlowId, NodeId, Probe, Problems, Recorder, Report, Row, Sink, Span, Stream, Streams, Table, Time,
};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::Supply;
use bentpipe_stage::{Body, Ecn, Outbox, Packet, Port, Stage};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

const GATEWAY: NodeId = NodeId(0);

/// Rows of the trace `dama`: terminal and values.
type Rows = Arc<Mutex<Vec<(String, Vec<f64>)>>>;

/// Rows of the traces `dama` and `waits`.
struct Collect(Rows, Rows);

impl Sink for Collect {
    fn rows(&mut self, table: &'static Table, entities: &[String], rows: Vec<Row>, values: Vec<f64>) {
        let mut kept = match table.name {
            "dama" => self.0.lock().unwrap(),
            "waits" => self.1.lock().unwrap(),
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
    /// Packets that reached the gateway's router, with their times.
    arrived: Vec<(Time, Packet)>,
    /// Number of packets that the forward link delivered, by terminal, to it or past it.
    reached: Vec<u64>,
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
            build("sat", config, GATEWAY, &addresses, &config.terminal_names(), &mut Probes(&mut recorder));
        let mut stages: Vec<Box<dyn Stage>> = vec![Box::new(ncc), Box::new(forward)];
        stages.extend(terminals.into_iter().map(|terminal| Box::new(terminal) as Box<dyn Stage>));
        Rig {
            calls: vec![0; stages.len()],
            reached: vec![0; stages.len() - 2],
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
            if sent.stage == 1 {
                let terminal = usize::from(sent.port.0) % self.terminals();
                self.reached[terminal] += 1;
            }
            let (to, port) = match (sent.stage, sent.port.0) {
                (0, 0) | (2.., 2) => {
                    self.out.consume(sent.packet.clone());
                    self.arrived.push((self.now, sent.packet));
                    continue;
                }
                (0, _) => {
                    self.plans.extend(sent.packet.body.of::<Tbtp>().cloned());
                    (1, Port(self.terminals() as u16))
                }
                (1, port) if usize::from(port) < self.terminals() => {
                    (2 + u32::from(port), terminal::FROM_SATELLITE)
                }
                (2.., 1) => (0, Port(0)),
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
    Packet {
        birth,
        number,
        size,
        flow,
        source,
        destination,
        connection: 0,
        leg: Leg::THERE,
        dscp: 0,
        ecn: Ecn::NotEct,
        body,
    }
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
