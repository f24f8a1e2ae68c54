//! The shared legs of one direction, whose ports serve cells by priority: CBR first, then VBR, ABR
//! and UBR (ATM Forum Traffic Management 4.1 leaves the scheduler to the switch; this is the
//! simplest one in which a category is not delayed by a lower one, except by the cell in
//! transmission).
//!
//! The port sends the oldest waiting cell of the highest category when its line becomes free.
//! Therefore, unlike with a single category, a cell's departure is not known at its arrival, and
//! each cell causes an event at each port.

use super::config::Config;
use super::contract::Category;
use super::leg::Leg;
use super::marking::{Arrival, Bits, Marker};
use super::transit::Cell;
use bentpipe_core::{Stream, Time};
use std::collections::VecDeque;

/// A cell, after the index of its connection.
type Owned = (usize, Cell);

/// The ports of all switches on the path, and the lines after them.
pub struct Switches {
    ports: Vec<Port>,
    /// The category of each connection.
    categories: Vec<Category>,
}

/// The output port of a switch and the line after it.
struct Port {
    leg: Leg,
    line_rate: f64,
    /// Waiting cells by priority.
    queues: [VecDeque<Owned>; Category::COUNT],
    /// Time at which the port sends the next waiting cell.
    start: Option<Time>,
    /// Cells on the line, with `at` as their time of arrival at the next port.
    line: VecDeque<Owned>,
    marker: Box<dyn Marker>,
}

impl Switches {
    /// Creates the idle ports of one direction. `back` is true for the direction from the second
    /// node to the first.
    pub fn new(config: &Config, back: bool) -> Switches {
        let categories: Vec<Category> =
            (0..config.connections()).map(|index| config.contract_of(index).category).collect();
        let port = |leg: &super::leg::Config| Port {
            leg: Leg::new(leg, categories.len()),
            line_rate: leg.mean_rate(),
            queues: Default::default(),
            start: None,
            line: VecDeque::new(),
            marker: leg.marking.clone().unwrap_or_default().build(categories.len()),
        };
        Switches { ports: config.legs_towards(back).map(port).collect(), categories }
    }

    /// Returns the time of the next event: a port sends a cell, or a cell arrives at a port.
    pub fn next(&self) -> Option<Time> {
        let of_port = |port: &Port| {
            let arrival = port.line.front().map(|(_, cell)| cell.at);
            port.start.into_iter().chain(arrival).min()
        };
        self.ports.iter().filter_map(of_port).min()
    }

    /// Handles the next event, which is due at `now`. Returns the cell that leaves the last port or
    /// is lost, if any. Ports send before cells arrive.
    pub fn step(&mut self, now: Time, stream: &mut Stream) -> Option<Owned> {
        if let Some(index) = self.ports.iter().position(|port| port.start == Some(now)) {
            self.ports[index].start = None;
            return self.send(index, now, stream);
        }
        let due = |port: &Port| port.line.front().is_some_and(|(_, cell)| cell.at == now);
        let index = self.ports.iter().position(due)?;
        let (connection, cell) = self.ports[index].line.pop_front()?;
        self.arrive(index + 1, connection, cell, stream)
    }

    /// Handles the arrival of a cell at the first port at `cell.at`. Returns the cell if it is lost
    /// or leaves the last port.
    pub fn enter(&mut self, connection: usize, cell: Cell, stream: &mut Stream) -> Option<Owned> {
        self.arrive(0, connection, cell, stream)
    }

    fn arrive(
        &mut self,
        index: usize,
        connection: usize,
        mut cell: Cell,
        stream: &mut Stream,
    ) -> Option<Owned> {
        if cell.lost {
            return Some((connection, cell));
        }
        let category = self.categories[connection];
        let port = &mut self.ports[index];
        let now = cell.at;
        let waiting = port.queues[Category::Abr.priority()].len();
        let arrival = Arrival { now, connection, category, waiting, line_rate: port.line_rate };
        port.marker.arrive(arrival, Bits { efci: &mut cell.efci, rm: cell.rm.as_mut() });
        let queue = &mut port.queues[category.priority()];
        let channel = cell.channel(connection);
        let refused = port.leg.refuse(now, channel, cell.end_of_frame(), cell.low_priority, queue.len());
        if let Some(fate) = refused {
            cell.meet(fate);
            return Some((connection, cell));
        }
        queue.push_back((connection, cell));
        if port.start.is_none() {
            let start = port.leg.reserve(now);
            if start == now {
                return self.send(index, now, stream);
            }
            port.start = Some(start);
        }
        let waiting = port.queues.iter().map(VecDeque::len).sum();
        port.leg.note_waiting(waiting);
        None
    }

    /// Sends the first waiting cell of the highest category at `now`. Returns the cell if it leaves
    /// the last port or the line loses it.
    fn send(&mut self, index: usize, now: Time, stream: &mut Stream) -> Option<Owned> {
        let last = index + 1 == self.ports.len();
        let port = &mut self.ports[index];
        let (connection, mut cell) = port.queues.iter_mut().find_map(VecDeque::pop_front)?;
        let fate = port.leg.begin(cell.at, now, stream);
        if port.queues.iter().any(|queue| !queue.is_empty()) {
            port.start = Some(port.leg.reserve(port.leg.free_at()));
        }
        cell.meet(fate);
        if last || cell.lost {
            return Some((connection, cell));
        }
        port.line.push_back((connection, cell));
        None
    }

    /// Applies changed configurations of the legs, in the order of this direction, to cells that
    /// arrive from now on.
    pub fn change<'a>(&mut self, legs: impl Iterator<Item = &'a super::leg::Config>) {
        for (port, leg) in self.ports.iter_mut().zip(legs) {
            port.leg.change(leg);
            port.line_rate = leg.mean_rate();
        }
    }

    /// Returns the legs in the order of this direction.
    pub fn legs(&self) -> impl Iterator<Item = &Leg> {
        self.ports.iter().map(|port| &port.leg)
    }
}
