//! Tests of the whole network on a small event loop (the crate of the engine depends on this one).

mod access;
mod configuration;
mod orbits;
mod properties;
mod queues;
mod requests;
mod slots;
mod terminals;

use super::message::Tbtp;
use super::{build, ncc, terminal, Config, Star};
use bentpipe_core::{NodeId, Problems, Span, Time};
use bentpipe_stage::{Packet, Port, Sent, Stage};
use bentpipe_testing::bench::{self, Bench, Network, Supplies, Wires};
use proptest::prelude::*;
use std::ops::{Deref, DerefMut};

const GATEWAY: NodeId = NodeId(0);

/// The stages in the order control centre, forward link, terminals.
struct Hub {
    stages: Vec<Box<dyn Stage>>,
    /// Packets that reached the gateway's router, with their times.
    arrived: Vec<(Time, Packet)>,
    /// Number of packets that the forward link delivered, by terminal, including those that
    /// bypassed the terminal.
    reached: Vec<u64>,
    plans: Vec<Tbtp>,
    sent: u32,
}

impl Hub {
    fn terminals(&self) -> usize {
        self.stages.len() - 2
    }
}

impl Network for Hub {
    fn stages(&self) -> usize {
        self.stages.len()
    }

    fn stage(&mut self, index: usize) -> &mut dyn Stage {
        &mut *self.stages[index]
    }

    fn carry(&mut self, from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>) {
        for Sent { port, packet, .. } in sent {
            if from == 1 {
                let terminal = usize::from(port.0) % self.terminals();
                self.reached[terminal] += 1;
            }
            let (to, port) = match (from, port.0) {
                (0, 0) | (2.., 2) => {
                    wires.discard(packet.clone());
                    self.arrived.push((wires.now, packet));
                    continue;
                }
                (0, _) => {
                    self.plans.extend(packet.body.of::<Tbtp>().cloned());
                    (1, Port(self.terminals() as u16))
                }
                (1, port) if usize::from(port) < self.terminals() => {
                    (2 + usize::from(port), terminal::FROM_SATELLITE)
                }
                (2.., 1) => (0, Port(0)),
                _ => {
                    wires.discard(packet);
                    continue;
                }
            };
            wires.to(to, port, packet);
        }
    }
}

struct Rig(Bench<Hub>);

impl Deref for Rig {
    type Target = Bench<Hub>;

    fn deref(&self) -> &Bench<Hub> {
        &self.0
    }
}

impl DerefMut for Rig {
    fn deref_mut(&mut self) -> &mut Bench<Hub> {
        &mut self.0
    }
}

impl Rig {
    fn new(config: &Config) -> Rig {
        let mut problems = Problems::default();
        config.check(&mut problems);
        assert_eq!(problems.into_vec(), []);
        let mut supplies = Supplies::traced();
        let count = config.terminal_names().len();
        let addresses: Vec<_> = (1..=count as u16).map(NodeId).collect();
        let Star { terminals, ncc, forward } =
            build("sat", config, GATEWAY, &addresses, &config.terminal_names(), &mut supplies);
        let mut stages: Vec<Box<dyn Stage>> = vec![Box::new(ncc), Box::new(forward)];
        stages.extend(terminals.into_iter().map(|terminal| Box::new(terminal) as Box<dyn Stage>));
        let hub = Hub { stages, arrived: Vec::new(), reached: vec![0; count], plans: Vec::new(), sent: 0 };
        Rig(Bench::supplied(hub, supplies))
    }

    /// Processes all events before `until`, but none at `until`.
    fn run(&mut self, until: Time) {
        self.advance(until);
    }

    /// Passes a packet to a terminal at the present time and returns the packet's number.
    fn send(&mut self, terminal: u32, size: u32) -> u32 {
        self.send_marked(terminal, size, 0)
    }

    /// Same as `send`, with a code point.
    fn send_marked(&mut self, terminal: u32, size: u32, dscp: u8) -> u32 {
        let packet = packet(self.now, self.sent, size, NodeId(terminal as u16 + 1), GATEWAY);
        self.sent += 1;
        let now = self.now;
        self.offer(now, 2 + terminal as usize, terminal::FROM_HOST, Packet { dscp, ..packet });
        self.sent - 1
    }

    fn arrivals(&self) -> Vec<(u32, u64)> {
        self.arrived.iter().map(|(time, packet)| (packet.number, time.as_nanos())).collect()
    }

    /// Returns one column of a terminal's trace, with the numbers of the superframes.
    fn trace(&mut self, terminal: &str, column: &str) -> Vec<(u64, u64)> {
        let at = terminal::TRACE.columns.iter().position(|c| c.name == column).unwrap();
        let rows = self.rows("dama").into_iter().filter(|(name, _)| name == terminal);
        rows.map(|(_, row)| (row[0] as u64, row[at] as u64)).collect()
    }

    /// Returns the rows of the trace `waits`: terminal and values.
    fn waits(&mut self) -> Vec<(String, Vec<f64>)> {
        self.rows("waits")
    }
}

fn packet(birth: Time, number: u32, size: u32, source: NodeId, destination: NodeId) -> Packet {
    Packet { birth, source, destination, ..bench::packet(number, size) }
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
