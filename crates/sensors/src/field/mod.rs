//! A field of motes that runs a plan. It samples, runs operators, and carries tuples over the radio
//! channel to the sink.
//!
//! Every mote samples at multiples of the period after the field's start. Windows are aligned to
//! the clock. The window of an aggregate is closed when it has ended and `wait` has passed for each
//! hop below the node; later data is dropped and counted. A tuple is one message, which is one
//! frame on each hop of the tree.
//!
//! Deviations: the motes' clocks agree; partial aggregates are merged with the precision of the
//! machine and sent in the bytes of [`Function::bytes`](crate::query::Function::bytes); all motes
//! know the query at the start, without messages; motes have memory for every window and join.

mod operators;
mod results;
#[cfg(test)]
mod tests;

pub use results::{MoteResults, Row, Totals};

use crate::ieee802154::{Channel, Failure, Medium, Outcome, Rules};
use crate::measure::Measure;
use crate::plan::{Kind, Network, Plan};
use crate::query::expression::State;
use crate::world;
use bentpipe_core::{Stream, Time};
use operators::{Groups, Pairs};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The data that flows from an operator to the next.
#[derive(Clone, Debug, PartialEq)]
enum Tuple {
    /// A measure of each of the query's streams, or of one of them at its position.
    Measures(Vec<Measure>),
    /// A partial aggregate.
    Partial(Partial),
    /// Values of results.
    Row(Row),
}

/// The states of a group in a window.
#[derive(Clone, Debug, PartialEq)]
struct Partial {
    /// Start of the window, in nanoseconds.
    start: u64,
    /// The mote by which measures are grouped.
    group: Option<u16>,
    states: Vec<State>,
    /// Time of its latest measure.
    latest: Time,
}

/// A tuple on its way to a node.
#[derive(Clone, Debug, PartialEq)]
struct Message {
    /// Operator that sent it.
    from: usize,
    /// Node to which it goes.
    to: usize,
    tuple: Arc<Tuple>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The sampling of an operator.
    Sample(usize),
    /// The end of a window of an operator, by the window's start.
    Close(usize, u64),
}

/// The random streams of a field.
pub struct Streams {
    /// One stream for the signals of each mote.
    pub motes: Vec<Stream>,
    /// The stream of the channel access.
    pub medium: Stream,
}

/// The motes, the channel and the sink.
pub struct Field {
    network: Network,
    plan: Plan,
    medium: Medium<Message>,
    streams: Streams,
    timers: BinaryHeap<Reverse<(Time, Timer)>>,
    /// The groups of each aggregate.
    groups: Vec<Groups>,
    /// The measures that each join remembers.
    pairs: Vec<Pairs>,
    totals: Totals,
    motes: Vec<MoteResults>,
    outcomes: Vec<Outcome<Message>>,
    /// True if motes no longer sample.
    ended: bool,
}

impl Field {
    /// Creates a field whose motes take their first sample at `begin`. `hears` tells which node
    /// hears which.
    ///
    /// # Panics
    /// If the plan has not passed its check.
    pub fn new(
        network: Network,
        plan: Plan,
        rules: Rules,
        hears: Vec<Vec<bool>>,
        begin: Time,
        streams: Streams,
    ) -> Field {
        let samples = plan.operators.iter().enumerate().filter(|(_, operator)| operator.kind == Kind::Sample);
        let timers = samples.map(|(place, _)| Reverse((begin, Timer::Sample(place)))).collect();
        let count = plan.operators.len();
        Field {
            medium: Medium::new(rules, hears),
            streams,
            timers,
            groups: (0..count).map(|_| Groups::default()).collect(),
            pairs: (0..count).map(|_| Pairs::default()).collect(),
            totals: Totals::default(),
            motes: vec![MoteResults::default(); network.motes.len() + 1],
            outcomes: Vec::new(),
            ended: false,
            network,
            plan,
        }
    }

    /// Stops the sampling. Messages on their way still arrive.
    pub fn end(&mut self) {
        self.ended = true;
        let timers = std::mem::take(&mut self.timers);
        self.timers =
            timers.into_iter().filter(|Reverse((_, timer))| matches!(timer, Timer::Close(..))).collect();
    }

    /// Returns the time of the next event.
    pub fn next_wake(&self) -> Option<Time> {
        let timer = self.timers.peek().map(|Reverse((time, _))| *time);
        match (timer, self.medium.next_wake()) {
            (Some(timer), Some(medium)) => Some(timer.min(medium)),
            (timer, medium) => timer.or(medium),
        }
    }

    /// Handles everything until `now`, and adds the rows that have reached the sink.
    pub fn wake(&mut self, now: Time, channel: &mut dyn Channel, rows: &mut Vec<Row>) {
        while let Some(time) = self.next_wake().filter(|time| *time <= now) {
            self.medium.wake(time, channel, &mut self.streams.medium, &mut self.outcomes);
            for outcome in std::mem::take(&mut self.outcomes) {
                self.settle(time, outcome, rows);
            }
            while let Some(&Reverse((due, timer))) = self.timers.peek() {
                if due > time {
                    break;
                }
                self.timers.pop();
                match timer {
                    Timer::Sample(place) => self.sample(time, place, rows),
                    Timer::Close(place, start) => self.close(time, place, start, rows),
                }
            }
        }
    }

    /// Returns the counts of the whole field.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the number of messages on their way: they wait at a node, and the next one does not
    /// have them.
    pub fn in_network(&self) -> u64 {
        (0..=self.network.sink()).map(|node| self.medium.undelivered(node) as u64).sum()
    }

    /// Returns the counts of each node, the sink last.
    pub fn results(&self) -> Vec<MoteResults> {
        let with_radio = |(node, results): (usize, &MoteResults)| MoteResults {
            radio: *self.medium.counters(node),
            waiting: self.medium.waiting(node) as u64,
            ..*results
        };
        self.motes.iter().enumerate().map(with_radio).collect()
    }

    /// Returns the name of a node.
    pub fn name(&self, node: usize) -> &str {
        self.network.name(node)
    }

    /// Returns the plan that the field runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn sample(&mut self, now: Time, place: usize, rows: &mut Vec<Row>) {
        let node = self.plan.operators[place].node;
        let measure = world::sample(node as u16, now, &mut self.streams.motes[node]);
        self.motes[node].samples += 1;
        self.timers.push(Reverse((now + self.network.period, Timer::Sample(place))));
        self.emit(now, place, Tuple::Measures(vec![measure]), rows);
    }

    /// Passes a tuple of an operator to its successors on the node, and in one message to each
    /// other node that has some.
    fn emit(&mut self, now: Time, place: usize, tuple: Tuple, rows: &mut Vec<Row>) {
        let node = self.plan.operators[place].node;
        let tuple = Arc::new(tuple);
        let mut remote: Vec<usize> = Vec::new();
        for index in 0..self.plan.operators[place].outputs.len() {
            let (to, port) = self.plan.operators[place].outputs[index];
            let there = self.plan.operators[to].node;
            if there == node {
                self.process(now, to, port, &tuple, rows);
            } else if !remote.contains(&there) {
                remote.push(there);
            }
        }
        for to in remote {
            self.totals.messages += 1;
            self.motes[node].messages += 1;
            self.forward(now, node, Message { from: place, to, tuple: tuple.clone() });
        }
    }

    /// Sends a message to the next node on its way.
    fn forward(&mut self, now: Time, node: usize, message: Message) {
        let next = self.network.path(node, message.to)[1];
        let bytes = self.plan.operators[message.from].bytes;
        if self.medium.send(now, node, next, bytes, message, &mut self.streams.medium).is_err() {
            self.lost(node, Failure::QueueFull);
        }
    }

    fn lost(&mut self, node: usize, reason: Failure) {
        let (all, own) = (&mut self.totals, &mut self.motes[node]);
        let (all, own) = match reason {
            Failure::ChannelAccess => (&mut all.channel_access, &mut own.channel_access),
            Failure::NoAcknowledgment => (&mut all.no_acknowledgment, &mut own.no_acknowledgment),
            Failure::QueueFull => (&mut all.queue_full, &mut own.queue_full),
        };
        *all += 1;
        *own += 1;
    }

    fn settle(&mut self, now: Time, outcome: Outcome<Message>, rows: &mut Vec<Row>) {
        match outcome {
            Outcome::Received { to, value, .. } if to == value.to => {
                self.totals.arrived += 1;
                for index in 0..self.plan.operators[value.from].outputs.len() {
                    let (next, port) = self.plan.operators[value.from].outputs[index];
                    if self.plan.operators[next].node == to {
                        self.process(now, next, port, &value.tuple, rows);
                    }
                }
            }
            Outcome::Received { to, value, .. } => {
                self.motes[to].forwarded += 1;
                self.forward(now, to, value);
            }
            Outcome::Failed { from, reason, received: false, .. } => self.lost(from, reason),
            Outcome::Failed { .. } | Outcome::Sent { .. } => {}
        }
    }
}
