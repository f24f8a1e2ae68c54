//! A field of motes that runs a plan: it samples, runs operators, and sends tuples over the radio
//! channel to the sink.
//!
//! Each mote samples periodically from the start of the field. Windows start at multiples of their
//! step. An aggregate closes a window n times `wait` after the window's end, where n is the maximum
//! number of hops from a mote to the aggregate's node. Later data is dropped and counted. Each
//! tuple is one message, which is one frame on each hop of the tree.
//!
//! **Deviations.** The clocks of all motes are synchronous. Partial aggregates are merged with the
//! precision of the host, but have the length [`Function::bytes`](crate::query::Function::bytes) in
//! messages. All motes know the query from the start, without messages. The memory of motes for
//! windows and joins is unlimited.

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

/// The data that operators pass to other operators.
#[derive(Clone, Debug, PartialEq)]
enum Tuple {
    /// A measure of one stream, or for joined streams one measure of each.
    Measures(Vec<Measure>),
    /// A partial aggregate.
    Partial(Partial),
    /// A row of results.
    Row(Row),
}

/// The partial aggregates of a group in a window.
#[derive(Clone, Debug, PartialEq)]
struct Partial {
    /// Start of the window, in nanoseconds.
    start: u64,
    /// The mote of the group, if measures are grouped by mote.
    group: Option<u16>,
    states: Vec<State>,
    /// Time of the latest measure in the group.
    latest: Time,
}

/// A message with a tuple for a node.
#[derive(Clone, Debug, PartialEq)]
struct Message {
    /// The operator that sent the tuple.
    from: usize,
    /// The destination node.
    to: usize,
    tuple: Arc<Tuple>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The next sample of a sampling operator.
    Sample(usize),
    /// The closing of a window of an aggregate, by the window's start in nanoseconds.
    Close(usize, u64),
}

/// The random streams of a field.
pub struct Streams {
    /// A stream for the signals of each mote.
    pub motes: Vec<Stream>,
    /// The stream for channel access.
    pub medium: Stream,
}

/// Motes, their radio channel and their sink.
pub struct Field {
    network: Network,
    plan: Plan,
    medium: Medium<Message>,
    streams: Streams,
    timers: BinaryHeap<Reverse<(Time, Timer)>>,
    /// The open windows of each aggregate, by operator.
    groups: Vec<Groups>,
    /// The stored measures of each join, by operator.
    pairs: Vec<Pairs>,
    totals: Totals,
    motes: Vec<MoteResults>,
    outcomes: Vec<Outcome<Message>>,
    /// True if motes have stopped sampling.
    ended: bool,
}

impl Field {
    /// Creates a field whose motes take their first sample at `begin`. `hears[a][b]` is true if
    /// node a hears node b.
    ///
    /// The plan must have passed [`Plan::check`]; otherwise sending a tuple may panic.
    pub fn new(
        network: Network,
        plan: Plan,
        rules: Rules,
        hears: Vec<Vec<bool>>,
        begin: Time,
        streams: Streams,
    ) -> Field {
        let samples = plan.operators.iter().enumerate().filter(|(_, operator)| operator.kind == Kind::Sample);
        let timers = samples.map(|(id, _)| Reverse((begin, Timer::Sample(id)))).collect();
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

    /// Stops sampling. Messages in transit still arrive.
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

    /// Processes all events until `now`, and adds the rows that the sink has delivered to `rows`.
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
                    Timer::Sample(id) => self.sample(time, id, rows),
                    Timer::Close(id, start) => self.close(time, id, start, rows),
                }
            }
        }
    }

    /// Returns the counts of the complete field.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the number of messages in transit: in the queue of a node, and not yet received by
    /// the next node.
    pub fn in_network(&self) -> u64 {
        (0..=self.network.sink()).map(|node| self.medium.undelivered(node) as u64).sum()
    }

    /// Returns the counts of each node. The sink is last.
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

    fn sample(&mut self, now: Time, id: usize, rows: &mut Vec<Row>) {
        let node = self.plan.operators[id].node;
        let measure = world::sample(node as u16, now, &mut self.streams.motes[node]);
        self.motes[node].samples += 1;
        self.timers.push(Reverse((now + self.network.period, Timer::Sample(id))));
        self.emit(now, id, Tuple::Measures(vec![measure]), rows);
    }

    /// Passes a tuple to the operator's successors on the same node, and sends one message to each
    /// other node with successors.
    fn emit(&mut self, now: Time, id: usize, tuple: Tuple, rows: &mut Vec<Row>) {
        let node = self.plan.operators[id].node;
        let tuple = Arc::new(tuple);
        let mut remote: Vec<usize> = Vec::new();
        for index in 0..self.plan.operators[id].outputs.len() {
            let (to, port) = self.plan.operators[id].outputs[index];
            let target = self.plan.operators[to].node;
            if target == node {
                self.process(now, to, port, &tuple, rows);
            } else if !remote.contains(&target) {
                remote.push(target);
            }
        }
        for to in remote {
            self.totals.messages += 1;
            self.motes[node].messages += 1;
            self.forward(now, node, Message { from: id, to, tuple: tuple.clone() });
        }
    }

    /// Sends a message to the next node on its path.
    fn forward(&mut self, now: Time, node: usize, message: Message) {
        let next = self.network.path(node, message.to)[1];
        let bytes = self.plan.operators[message.from].bytes;
        if self.medium.send(now, node, next, bytes, message, &mut self.streams.medium).is_err() {
            self.count_loss(node, Failure::QueueFull);
        }
    }

    fn count_loss(&mut self, node: usize, reason: Failure) {
        let (totals, mote) = (&mut self.totals, &mut self.motes[node]);
        let (total, own) = match reason {
            Failure::ChannelAccess => (&mut totals.channel_access, &mut mote.channel_access),
            Failure::NoAcknowledgment => (&mut totals.no_acknowledgment, &mut mote.no_acknowledgment),
            Failure::QueueFull => (&mut totals.queue_full, &mut mote.queue_full),
        };
        *total += 1;
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
            Outcome::Failed { from, reason, received: false, .. } => self.count_loss(from, reason),
            Outcome::Failed { .. } | Outcome::Sent { .. } => {}
        }
    }
}
