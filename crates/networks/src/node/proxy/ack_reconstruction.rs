//! ACK reconstruction (RFC 3449, section 5.3.1). Acknowledgments that were removed before a slow
//! link are recreated after the link and sent at even intervals. The sender's bursts then stay
//! short, and its window grows as if no acknowledgment had been removed.
//!
//! If an acknowledgment acknowledges more than `every` bytes (the section's ack_thresh) after the
//! previous one, further acknowledgments are created at steps of `every` and sent before it. Their
//! spacing is `every` divided by the rate of acknowledged bytes, which is smoothed with a gain of
//! 1/8 (ack_interval; H. Balakrishnan, V. Padmanabhan, R. Katz, "The Effects of Asymmetry on TCP
//! Performance", MobiCom 1997, section 4.3). No acknowledgment is held for longer than `longest`,
//! which could otherwise happen after a pause.
//!
//! Duplicates, selective acknowledgments and data are not held. Waiting acknowledgments are sent at
//! once before them.

use super::acknowledgments::{self, pure, sequence_difference, Counters};
use super::frames::with_acknowledgment;
use super::{Enhancement, RealForm};
use crate::node::service::{ServedFlow, Supply};
use bentpipe_core::{FlowId, Problems, Report, Sample, Size, Span, Table, Tables, Time};
use bentpipe_stage::{Held, Outbox, Packet, Port, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// ACK reconstruction (RFC 3449, section 5.3.1): recreates acknowledgments after a slow link and
/// spaces them evenly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the slow link or network from which the acknowledgments come.
    pub over: String,
    /// Number of bytes per acknowledgment, 2920 B (two full segments) by default; at least 1 B.
    #[serde(default = "default_every")]
    pub every: Size,
    /// Maximum time for which an acknowledgment is held, 200 ms by default.
    #[serde(default = "default_longest")]
    pub longest: Span,
}

fn default_every() -> Size {
    Size::from_bytes(2 * 1460)
}

fn default_longest() -> Span {
    Span::from_millis(200)
}

/// Maximum number of acknowledgments that are created for one arriving acknowledgment.
const MAX_GENERATED: u32 = 1000;

/// Weight of the latest rate in the smoothed rate.
const GAIN: f64 = 1.0 / 8.0;

/// One direction of a connection: flow, number of the connection, and index of the sending end.
type Key = (FlowId, u16, usize);

/// The state of one direction of a connection.
#[derive(Default)]
struct State {
    /// The number of the last acknowledgment, and its arrival time.
    last: Option<(u32, Time)>,
    /// Acknowledged bytes per second.
    rate: Option<f64>,
    waiting: VecDeque<Packet>,
    interval: Span,
    /// Time at which the first waiting acknowledgment is sent.
    next: Time,
}

/// The stage, with input port 0 and output port 0.
pub struct Reconstruction {
    name: String,
    every: u32,
    longest: Span,
    /// Flows, each with a flag per end that is true if the end is beyond the slow link, and with
    /// its counters.
    flows: BTreeMap<FlowId, (ServedFlow, [bool; 2], Counters)>,
    states: BTreeMap<Key, State>,
    due: BTreeSet<(Time, Key)>,
}

impl Reconstruction {
    fn new(name: &str, config: &Config, flows: Vec<ServedFlow>) -> Reconstruction {
        let flow = |passing: ServedFlow| {
            let slow = passing.links.each_ref().map(|link| *link == config.over);
            (passing.flow, (passing, slow, Counters::default()))
        };
        Reconstruction {
            name: name.to_owned(),
            every: config.every.bytes().min(u64::from(u32::MAX / 2)) as u32,
            longest: config.longest,
            flows: flows.into_iter().map(flow).collect(),
            states: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Sends all waiting acknowledgments of a connection.
    fn flush(&mut self, key: Key, out: &mut Outbox) {
        let Some(state) = self.states.get_mut(&key) else { return };
        if !state.waiting.is_empty() {
            self.due.remove(&(state.next, key));
            state.waiting.drain(..).for_each(|packet| out.send(Port(0), packet));
        }
    }
}

impl State {
    /// Handles an acknowledgment with the number `number`. Returns the number of newly acknowledged
    /// bytes, if any.
    fn arrived(&mut self, now: Time, number: u32) -> Option<u32> {
        let Some((last, at)) = self.last else {
            self.last = Some((number, now));
            return None;
        };
        let advance = u32::try_from(sequence_difference(number, last)).ok().filter(|advance| *advance > 0)?;
        self.last = Some((number, now));
        let seconds = now.since(at).as_secs_f64();
        if seconds > 0.0 {
            let rate = f64::from(advance) / seconds;
            self.rate = Some(self.rate.map_or(rate, |before| before + GAIN * (rate - before)));
        }
        Some(advance)
    }
}

impl Stage for Reconstruction {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        let Some((passing, slow, counters)) = self.flows.get_mut(&packet.flow) else {
            return out.send(Port(0), packet);
        };
        let side = passing.side(packet.source);
        if !slow[side] {
            return out.send(Port(0), packet);
        }
        let key = (packet.flow, packet.connection, side);
        let state = self.states.entry(key).or_default();
        let number = pure(&packet).map(|segment| segment.acknowledgment);
        let Some((number, advance)) = number.and_then(|number| Some((number, state.arrived(now, number)?)))
        else {
            self.flush(key, out);
            return out.send(Port(0), packet);
        };
        counters.arrived += 1;
        let made = ((advance - 1) / self.every).min(MAX_GENERATED);
        if made == 0 && state.waiting.is_empty() {
            return out.send(Port(0), packet);
        }
        let starts = state.waiting.is_empty();
        for step in 1..=made {
            let reached = number.wrapping_sub(advance).wrapping_add(step * self.every);
            let copy = with_acknowledgment(&packet, reached);
            out.create_held(&copy);
            state.waiting.push_back(copy);
        }
        counters.generated += u64::from(made);
        state.waiting.push_back(packet);
        let spacing = state.rate.map_or(Span::ZERO, |rate| Span::from_secs_f64(f64::from(self.every) / rate));
        state.interval = spacing.min(self.longest / state.waiting.len() as u64);
        if !starts {
            self.due.remove(&(state.next, key));
        }
        let next = if starts { now } else { state.next.min(now + state.interval) };
        state.next = next;
        self.due.insert((next, key));
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while let Some(&(time, key)) = self.due.first().filter(|(time, _)| *time <= now) {
            self.due.remove(&(time, key));
            let Some(state) = self.states.get_mut(&key) else { continue };
            if let Some(packet) = state.waiting.pop_front() {
                out.send(Port(0), packet);
            }
            if !state.waiting.is_empty() {
                state.next = now + state.interval;
                self.due.insert((state.next, key));
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| *time)
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        self.states.values().flat_map(|state| &state.waiting).for_each(|packet| held.add(packet));
        held
    }

    fn report(&self, _now: Time, report: &mut Report) {
        for (passing, _, counters) in self.flows.values() {
            counters.report(&passing.name, &self.name, report);
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"over = "two""#;
}

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&acknowledgments::REPORT];
}

impl Enhancement for Config {
    fn build(&self, name: &str, flows: Vec<ServedFlow>, _: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(Reconstruction::new(name, self, flows))
    }

    fn over(&self) -> Option<&str> {
        Some(&self.over)
    }

    fn real_form(&self) -> Option<RealForm<'_>> {
        Some(RealForm::Frames)
    }

    fn check(&self, problems: &mut Problems) {
        if self.every.bytes() == 0 {
            problems.add("every", format!("{} is out of range; allowed: at least 1 B", self.every));
        }
    }
}
