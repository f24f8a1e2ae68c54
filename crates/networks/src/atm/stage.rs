//! One direction of all connections as a stage.
//!
//! Each cell is processed separately, but cells cause no events. All connections pass the shared
//! legs in the same order, so the order of cells is determined at the first shared leg. The arrival
//! times of cells at this leg are known when their packet enters the network, and later arrivals do
//! not affect earlier cells. When the last cell of a frame arrives at the first shared leg, all
//! cells that have arrived so far are therefore processed on all legs in order of time. The
//! delivery time of the frame is then known. The result is exact, and costs two wakes per packet,
//! or one wake with a single connection.
//!
//! If connections have different service categories, or one of them is ABR, later arrivals affect
//! earlier cells. Then each cell causes an event at each port ([`super::switch`]).
//!
//! The RM cells of ABR leave the stage as packets, which the network's other direction receives.
//! With n connections, connection i has the ports i for packets, n + i for forward RM cells, which
//! the other direction returns, and 2n + i for backward RM cells that have reached their source.

use super::abr::RmCell;
use super::config::Config;
use super::connection::Connection;
use super::leaf::{Delivery, Leaf};
use super::leg::Leg;
use super::multicast::{Path, Trees};
use super::switch::Switches;
use crate::signalling;
use bentpipe_core::{NodeId, Probe, Report, Stream, Time};
use bentpipe_link::framing::atm::Encapsulation;
use bentpipe_link::framing::TOO_LONG;
use bentpipe_stage::{Change, Held, Outbox, Packet, Port, Stage};
use std::sync::Arc;

/// The legs that all connections share.
enum Shared {
    /// All cells have the same priority.
    InOrder(Vec<Leg>),
    /// Ports serve cells by their service category.
    ByCategory(Switches),
}

/// One direction of the network.
pub struct Direction {
    name: String,
    encapsulation: Encapsulation,
    connections: Vec<Connection>,
    /// The far end of each connection.
    leaves: Vec<Leaf>,
    trees: Trees,
    shared: Shared,
    /// Probes on the allowed cell rate, one per connection.
    probes: Vec<Option<Probe>>,
    /// True if the legs are passed from the last to the first.
    back: bool,
    stream: Stream,
    /// Packets in the network. Copies are created when they leave.
    held: Held,
    /// Time of the next event of any connection.
    next: Option<Time>,
}

impl Direction {
    /// Creates one direction of the network `config` with idle connections. `probes` has a probe on
    /// the allowed cell rate for each connection.
    pub fn new(
        name: &str,
        config: &Config,
        back: bool,
        stream: Stream,
        probes: Vec<Option<Probe>>,
    ) -> Direction {
        let connections: Vec<Connection> = (0..config.connections())
            .map(|index| Connection::new(connection_name(name, index), config, index))
            .collect();
        let shared = match config.priorities() {
            true => Shared::ByCategory(Switches::new(config, back)),
            false => Shared::InOrder(
                config.legs_towards(back).map(|leg| Leg::new(leg, connections.len())).collect(),
            ),
        };
        Direction {
            name: name.to_owned(),
            encapsulation: config.encapsulation,
            leaves: connections.iter().map(|_| Leaf::new(config)).collect(),
            trees: Trees::default(),
            connections,
            shared,
            probes,
            back,
            stream,
            held: Held::default(),
            next: None,
        }
    }

    /// Sets the point-to-multipoint connections of this direction.
    pub fn copy_by(&mut self, trees: Trees) {
        self.trees = trees;
    }

    /// Handles all cells up to `now`.
    fn advance(&mut self, now: Time) {
        let Direction { connections, leaves, stream, .. } = self;
        match &mut self.shared {
            Shared::InOrder(legs) => advance_in_order(connections, leaves, legs, now, stream),
            Shared::ByCategory(switches) => advance_by_category(connections, leaves, switches, now, stream),
        }
    }

    fn plan(&mut self) {
        let deliveries = self.leaves.iter().filter_map(Leaf::next);
        self.next = match &self.shared {
            Shared::InOrder(_) => {
                self.connections.iter().filter_map(Connection::next_frame).chain(deliveries).min()
            }
            Shared::ByCategory(switches) => {
                let of_connection = |one: &Connection| {
                    let times = [one.next_emission(), one.next_cell(), one.next_rm()];
                    times.into_iter().flatten().min()
                };
                let cells = self.connections.iter().filter_map(of_connection).chain(switches.next());
                cells.chain(deliveries).min()
            }
        };
    }

    /// Handles an RM cell that arrives at a port for RM cells.
    fn receive_rm(&mut self, now: Time, port: usize, packet: Packet, out: &mut Outbox) {
        let packet = out.consume(packet);
        let Some(cell) = packet.body.of::<RmCell>().copied() else { return };
        let (kind, index) = (port / self.connections.len(), port % self.connections.len());
        let connection = &mut self.connections[index];
        if kind == 1 {
            return connection.turn(now, cell);
        }
        let row = connection.feedback(now, cell);
        if let (Some(probe), Some(row)) = (self.probes[index], row) {
            out.record(probe, now, &row);
        }
    }

    /// Passes the RM cells that have arrived by `now` to the other direction.
    fn send_rm(&mut self, now: Time, out: &mut Outbox) {
        let count = self.connections.len();
        for (index, connection) in self.connections.iter_mut().enumerate() {
            while let Some(cell) = connection.take_rm(now) {
                let kind = if cell.backward { 2 } else { 1 };
                let port = Port((kind * count + index) as u16);
                let packet = signalling::packet(now, (UNROUTED, UNROUTED), 0, RM_BYTES, Arc::new(cell));
                out.create(port, packet);
            }
        }
    }
}

/// Size of an RM cell in bytes.
const RM_BYTES: u32 = 53;
/// The source and destination of RM cells, which no router handles.
const UNROUTED: NodeId = NodeId(u16::MAX);

/// Returns the name of connection `index` of the direction `name` in results.
pub(super) fn connection_name(name: &str, index: usize) -> String {
    match index {
        0 => name.to_owned(),
        _ => format!("{name}.{}", index + 1),
    }
}

/// Sends the cells that arrive at the first shared leg by `now` over all legs, in order of time.
/// With a single connection, all cells are sent.
fn advance_in_order(
    connections: &mut [Connection],
    leaves: &mut [Leaf],
    legs: &mut [Leg],
    now: Time,
    stream: &mut Stream,
) {
    let horizon = if connections.len() == 1 { Time::MAX } else { now };
    loop {
        let fronts = connections.iter().enumerate();
        let first = fronts.filter_map(|(index, one)| Some((one.next_cell()?, index))).min();
        let Some((_, index)) = first.filter(|(at, _)| *at <= horizon) else { return };
        let connection = &mut connections[index];
        let Some(mut cell) = connection.take() else { return };
        if connection.has_access() {
            cell = connection.police(cell);
        }
        for (index_on_path, leg) in legs.iter_mut().enumerate() {
            cell = cell.traverse(leg, index, stream);
            // The policer is at the first switch, after the line from the adapter.
            if index_on_path == 0 && !connection.has_access() {
                cell = connection.police(cell);
            }
        }
        connection.leave(now, cell, leaves, stream);
    }
}

/// Handles the events of sources and ports up to `now`, in order of time. Ports come before
/// sources, and sources before cells that arrive at the first port.
fn advance_by_category(
    connections: &mut [Connection],
    leaves: &mut [Leaf],
    switches: &mut Switches,
    now: Time,
    stream: &mut Stream,
) {
    loop {
        let earliest = |next: fn(&Connection) -> Option<Time>| {
            let times = connections.iter().enumerate();
            times.filter_map(|(index, one)| Some((next(one)?, index))).min()
        };
        let emission = earliest(Connection::next_emission);
        let arrival = earliest(Connection::next_cell);
        let time = |event: Option<(Time, usize)>| event.map(|(time, _)| time);
        let port = switches.next();
        let times = [port, time(emission), time(arrival)];
        let Some(at) = times.into_iter().flatten().min().filter(|at| *at <= now) else { return };
        let left = if port == Some(at) {
            switches.step(at, stream)
        } else if let Some((_, index)) = emission.filter(|(time, _)| *time == at) {
            connections[index].emit(at, stream);
            None
        } else if let Some((_, index)) = arrival {
            let connection = &mut connections[index];
            let cell = connection.take().map(|cell| connection.police(cell));
            cell.and_then(|cell| switches.enter(index, cell, stream))
        } else {
            None
        };
        if let Some((index, cell)) = left {
            connections[index].leave(at, cell, leaves, stream);
        }
    }
}

impl Stage for Direction {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        if usize::from(port.0) >= self.connections.len() {
            self.advance(now);
            self.receive_rm(now, usize::from(port.0), packet, out);
            return self.plan();
        }
        if packet.size > self.encapsulation.longest() {
            return out.drop(packet, TOO_LONG);
        }
        let Path { connection, copies } = self.trees.path(usize::from(port.0), &packet);
        let (size, cells) = (packet.size, self.encapsulation.cells(packet.size));
        let connection = &mut self.connections[connection];
        if let Some((packet, reason)) = connection.enter(now, packet, cells, &copies, &mut self.stream) {
            return out.drop(packet, reason);
        }
        self.held.packets += 1;
        self.held.bytes += u64::from(size);
        if self.connections.len() == 1 && matches!(self.shared, Shared::InOrder(_)) {
            self.advance(now);
        }
        self.plan();
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.advance(now);
        self.send_rm(now, out);
        loop {
            let fronts = self.leaves.iter().enumerate();
            let first = fronts.filter_map(|(index, one)| Some((one.next()?, index))).min();
            let Some((_, index)) = first.filter(|(time, _)| *time <= now) else { break };
            let Some(Delivery { reason, packet, created, .. }) = self.leaves[index].take() else { break };
            if created {
                out.create_held(&packet);
            } else {
                self.held.packets -= 1;
                self.held.bytes -= u64::from(packet.size);
            }
            match reason {
                Some(reason) => out.drop(packet, reason),
                None => out.send(Port(index as u16), packet),
            }
        }
        self.plan();
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.next
    }

    fn change(&mut self, now: Time, change: Change<'_>, _out: &mut Outbox) {
        let (before, after) = change.of::<Config>();
        self.advance(now);
        for (index, connection) in self.connections.iter_mut().enumerate() {
            connection.change(before, after, index);
        }
        self.leaves.iter_mut().for_each(|leaf| leaf.change(after));
        let changed = after.legs_towards(self.back);
        match &mut self.shared {
            Shared::InOrder(legs) => {
                legs.iter_mut().zip(changed).for_each(|(leg, config)| leg.change(config))
            }
            Shared::ByCategory(switches) => switches.change(changed),
        }
        self.plan();
    }

    fn held(&self) -> Held {
        self.held
    }

    fn report(&self, now: Time, report: &mut Report) {
        let ends = self.connections.iter().zip(&self.leaves);
        ends.for_each(|(connection, leaf)| connection.report(now, leaf, report));
        let legs: Vec<&Leg> = match &self.shared {
            Shared::ByCategory(switches) => switches.legs().collect(),
            Shared::InOrder(legs) => legs.iter().collect(),
        };
        for (leg, number) in legs.into_iter().zip(1..) {
            leg.report(&format!("{}.{number}", self.name), report);
        }
    }
}
