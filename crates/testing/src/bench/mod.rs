//! A test bench for stages. It offers packets, calls stages at their times, and collects the
//! packets that leave or are dropped.
//!
//! The crate of the engine depends on those of the models, so tests of models cannot use its event
//! loop. A [`Bench`] drives a single [`Stage`], or several stages that a [`Network`] holds and
//! connects. It checks two properties of every stage: no wake is in the past, and packets are
//! conserved.
//!
//! The bench is a separate crate, not a feature of bentpipe-stage. With a feature, tests would
//! compile all crates that depend on bentpipe-stage a second time.

mod network;
mod path;
mod supplies;
#[cfg(test)]
mod tests;
mod traffic;

pub use network::{Network, Wires};
pub use path::Path;
pub use supplies::{stream, Supplies};
pub use traffic::{packet, Sink, Source};

use bentpipe_core::{Report, Span, Time};
use bentpipe_stage::{Change, DropReason, Held, Outbox, Packet, Port, Stage};
use network::Flights;
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

/// A packet that left the bench.
#[derive(Debug)]
pub struct Left {
    /// Time at which the packet left.
    pub at: Time,
    /// The output port of the stage that sent the packet.
    pub port: Port,
    /// The packet as it left the bench.
    pub packet: Packet,
}

impl Left {
    /// Returns the time since the packet was created.
    pub fn age(&self) -> Span {
        self.packet.age(self.at)
    }
}

/// A packet that a stage dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// Time at which the stage dropped the packet.
    pub at: Time,
    /// Reason why the stage dropped the packet.
    pub reason: DropReason,
}

/// A network with its event loop. It dereferences to the network.
pub struct Bench<N> {
    /// The stages under test, and the wires between them.
    pub network: N,
    /// The time of the last call.
    pub now: Time,
    /// The outbox of all calls, with the totals of packets.
    pub out: Outbox,
    /// The packets that left, in the order of leaving.
    pub left: Vec<Left>,
    /// The packets that were dropped, in the order of dropping.
    pub dropped: Vec<Dropped>,
    /// The number of calls of each stage.
    pub calls: Vec<u64>,
    /// Maximum total number of calls of all stages, 100 million by default. A further call panics.
    pub most_calls: u64,
    /// True to check conservation after every call. By default it is checked only at the end of
    /// [`run`](Self::run).
    pub audited: bool,
    all_calls: u64,
    supplies: Supplies,
    flights: Flights,
    /// Packets dropped so far, by stage and reason.
    known: BTreeMap<(u32, DropReason), u64>,
}

impl<N> Deref for Bench<N> {
    type Target = N;

    fn deref(&self) -> &N {
        &self.network
    }
}

impl<N> DerefMut for Bench<N> {
    fn deref_mut(&mut self) -> &mut N {
        &mut self.network
    }
}

impl<N: Network> Bench<N> {
    /// Creates a bench at time 0, without traces.
    pub fn new(network: N) -> Bench<N> {
        Bench::supplied(network, Supplies::default())
    }

    /// Creates a bench at time 0 for a network that was built with these supplies.
    pub fn supplied(network: N, mut supplies: Supplies) -> Bench<N> {
        Bench {
            calls: vec![0; network.stages()],
            network,
            now: Time::ZERO,
            out: Outbox::new(supplies.take_recorder()),
            left: Vec::new(),
            dropped: Vec::new(),
            most_calls: 100_000_000,
            audited: false,
            all_calls: 0,
            supplies,
            flights: Flights::default(),
            known: BTreeMap::new(),
        }
    }

    /// Processes all events before `at`, and then passes a new packet to a stage at `at`.
    pub fn offer(&mut self, at: Time, index: usize, port: Port, packet: Packet) {
        self.advance(at);
        self.out.create_held(&packet);
        self.receive(index, port, packet);
        self.settle();
    }

    /// Processes all events before `at`, and then changes the configuration of a stage at `at`.
    pub fn change<Config: Any>(&mut self, at: Time, index: usize, before: &Config, after: &Config) {
        self.advance(at);
        self.call(index, |stage, now, out| stage.change(now, Change::new(before, after), out));
        self.settle();
    }

    /// Processes all events up to and including `end`. The bench's time is then the time of the
    /// last event.
    pub fn run(&mut self, end: Time) {
        while let Some((time, due)) = self.next().filter(|(time, _)| *time <= end) {
            self.step(time, due);
        }
        self.assert_conserved();
    }

    /// Processes all events before `time`, and sets the bench's time to `time`.
    pub fn advance(&mut self, time: Time) {
        while let Some((next, due)) = self.next().filter(|(next, _)| *next < time) {
            self.step(next, due);
        }
        assert!(time >= self.now, "{time:?} has passed");
        self.now = time;
    }

    /// Returns the reports of all stages at the bench's time.
    pub fn report(&mut self) -> Report {
        let mut report = Report::default();
        for index in 0..self.network.stages() {
            self.network.stage(index).report(self.now, &mut report);
        }
        report
    }

    /// Returns the entity and the values of each row of a trace so far. There are none unless the
    /// network was built with [`Supplies::traced`].
    pub fn rows(&mut self, table: &str) -> Vec<(String, Vec<f64>)> {
        self.out.recorder().flush();
        self.supplies.rows(table)
    }

    /// Returns the number and the time in nanoseconds of each packet that left, in the order of
    /// leaving.
    pub fn arrivals(&self) -> Vec<(u32, u64)> {
        self.left.iter().map(|left| (left.packet.number, left.at.as_nanos())).collect()
    }

    /// Returns the number of packets dropped for each reason, in alphabetical order.
    pub fn drops(&self) -> Vec<(DropReason, u64)> {
        let mut drops = BTreeMap::new();
        self.dropped.iter().for_each(|dropped| *drops.entry(dropped.reason).or_default() += 1);
        drops.into_iter().collect()
    }

    /// Checks that all packets and bytes created so far were consumed or dropped, are held by a
    /// stage, or are on a wire. A packet that left the bench counts as consumed.
    ///
    /// # Panics
    /// If a packet is missing or counted twice.
    pub fn assert_conserved(&mut self) {
        let mut accounted_for = self.flights.held();
        let add = |sum: &mut Held, held: Held| {
            sum.packets += held.packets;
            sum.bytes += held.bytes;
        };
        for index in 0..self.network.stages() {
            add(&mut accounted_for, self.network.stage(index).held());
        }
        let totals = self.out.totals();
        totals.dropped.values().chain([&totals.consumed]).for_each(|held| add(&mut accounted_for, *held));
        assert_eq!(totals.created, accounted_for, "created, and accounted for, at {:?}", self.now);
    }

    /// Returns the time of the next call and the stage to wake, or no stage if a packet arrives. At
    /// equal times, packets arrive before stages are woken.
    fn next(&mut self) -> Option<(Time, Option<usize>)> {
        let mut next = self.flights.next().map(|time| (time, None));
        for index in 0..self.network.stages() {
            if let Some(wake) = self.network.stage(index).next_wake() {
                if next.is_none_or(|(time, _)| wake < time) {
                    next = Some((wake, Some(index)));
                }
            }
        }
        next
    }

    fn step(&mut self, time: Time, due: Option<usize>) {
        assert!(time >= self.now, "{due:?} is due at {time:?}, in the past of {:?}", self.now);
        self.now = time;
        match due {
            Some(index) => self.call(index, |stage, now, out| stage.wake(now, out)),
            None => {
                let (index, port, packet) = self.flights.arrive().expect("a packet arrives");
                self.receive(index, port, packet);
            }
        }
    }

    /// Delivers the packets that arrive at the present time.
    fn settle(&mut self) {
        while self.flights.next().is_some_and(|time| time <= self.now) {
            self.step(self.now, None);
        }
    }

    fn receive(&mut self, index: usize, port: Port, packet: Packet) {
        self.network.arriving(self.now, index, &packet);
        self.call(index, |stage, now, out| stage.receive(now, port, packet, out));
    }

    fn call(&mut self, index: usize, action: impl FnOnce(&mut dyn Stage, Time, &mut Outbox)) {
        self.calls[index] += 1;
        self.all_calls += 1;
        assert!(self.all_calls <= self.most_calls, "it never ends");
        self.out.begin(index as u32);
        action(self.network.stage(index), self.now, &mut self.out);
        for (key, held) in &self.out.totals().dropped {
            let known = self.known.entry(*key).or_default();
            let new = held.packets - *known;
            self.dropped.extend((0..new).map(|_| Dropped { at: self.now, reason: key.1 }));
            *known = held.packets;
        }
        let sent = std::iter::from_fn(|| self.out.next_sent()).collect();
        let (now, out, left, flights) = (self.now, &mut self.out, &mut self.left, &mut self.flights);
        self.network.carry(index, sent, &mut Wires { now, out, left, flights });
        if self.audited {
            self.assert_conserved();
        }
    }
}
