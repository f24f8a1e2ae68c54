//! One direction of all connections as a stage.
//!
//! Each cell is processed separately, but cells cause no events. All connections pass the shared
//! legs in the same order, so the order of cells is determined at the first shared leg. The arrival
//! times of cells at this leg are known when their packet enters the network, and later arrivals do
//! not affect earlier cells. When the last cell of a frame arrives at the first shared leg, all
//! cells that have arrived so far are therefore processed on all legs in order of time. The
//! delivery time of the frame is then known. The result is exact, and costs two wakes per packet,
//! or one wake with a single connection.

use super::config::Config;
use super::connection::Connection;
use super::leg::Leg;
use bentpipe_core::{Report, Stream, Time};
use bentpipe_link::framing::atm::Encapsulation;
use bentpipe_link::framing::TOO_LONG;
use bentpipe_stage::{Change, Held, Outbox, Packet, Port, Stage};

/// One direction of the network. The input port and the output port of a connection have the index
/// of the connection.
pub struct Direction {
    name: String,
    encapsulation: Encapsulation,
    connections: Vec<Connection>,
    legs: Vec<Leg>,
    /// True if the legs are passed from the last to the first.
    back: bool,
    stream: Stream,
    held_bytes: u64,
    /// Time of the next event of any connection.
    next: Option<Time>,
}

impl Direction {
    /// Creates one direction of the network `config` with idle connections.
    pub fn new(name: &str, config: &Config, back: bool, stream: Stream) -> Direction {
        let connections = (0..config.connections()).map(|index| {
            let name = match index {
                0 => name.to_owned(),
                _ => format!("{name}.{}", index + 1),
            };
            Connection::new(name, config, index)
        });
        let connections: Vec<Connection> = connections.collect();
        let legs = config.legs_towards(back).map(|leg| Leg::new(leg, connections.len())).collect();
        Direction {
            name: name.to_owned(),
            encapsulation: config.encapsulation,
            connections,
            legs,
            back,
            stream,
            held_bytes: 0,
            next: None,
        }
    }

    /// Sends the cells that arrive at the first shared leg by `now` over all legs, in order of
    /// time. With a single connection, all cells are sent.
    fn advance(&mut self, now: Time) {
        let horizon = if self.connections.len() == 1 { Time::MAX } else { now };
        let Direction { connections, legs, stream, .. } = self;
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
            connection.leave(now, cell, stream);
        }
    }

    fn plan(&mut self) {
        self.next = self.connections.iter().filter_map(Connection::next).min();
    }
}

impl Stage for Direction {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        if packet.size > self.encapsulation.longest() {
            return out.drop(packet, TOO_LONG);
        }
        let (size, cells) = (packet.size, self.encapsulation.cells(packet.size));
        let connection = &mut self.connections[usize::from(port.0)];
        if let Some((packet, reason)) = connection.enter(now, packet, cells, &mut self.stream) {
            return out.drop(packet, reason);
        }
        self.held_bytes += u64::from(size);
        if self.connections.len() == 1 {
            self.advance(now);
        }
        self.plan();
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.advance(now);
        loop {
            let fronts = self.connections.iter().enumerate();
            let first = fronts.filter_map(|(index, one)| Some((one.delivery()?, index))).min();
            let Some((_, index)) = first.filter(|(time, _)| *time <= now) else { break };
            let Some((reason, packet)) = self.connections[index].deliver() else { break };
            self.held_bytes -= u64::from(packet.size);
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
        self.legs.iter_mut().zip(after.legs_towards(self.back)).for_each(|(leg, config)| leg.change(config));
        self.plan();
    }

    fn held(&self) -> Held {
        let packets: usize = self.connections.iter().map(Connection::held).sum();
        Held { packets: packets as u64, bytes: self.held_bytes }
    }

    fn report(&self, _now: Time, report: &mut Report) {
        self.connections.iter().for_each(|connection| connection.report(report));
        for (index, leg) in self.legs.iter().enumerate() {
            leg.report(&format!("{}.{}", self.name, index + 1), report);
        }
    }
}
