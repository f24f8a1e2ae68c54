//! Facts about a path in numbers, which equations, `bentpipe check` and reports take from a
//! scenario.
//!
//! Each part of a network says them about itself, from the same configuration and by the same
//! functions as its stages are made from: nobody else interprets a scenario. What a part does to
//! packets and no number says is a note in words.

use bentpipe_core::{Dscp, Rate, Span, Time};
use serde::Serialize;

/// A quantity that may change in the course of a run, in its base unit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Course {
    /// Value at the start of the run.
    pub start: f64,
    /// In the mean over the run.
    pub mean: f64,
    /// Smallest value during the run.
    pub least: f64,
    /// Largest value during the run.
    pub greatest: f64,
}

impl Course {
    /// Returns the course of a value that does not change.
    pub fn constant(value: f64) -> Course {
        Course { start: value, mean: value, least: value, greatest: value }
    }

    /// By the values and for how long each holds, in order. Nothing if there are none.
    pub fn of(parts: impl IntoIterator<Item = (f64, f64)>) -> Option<Course> {
        let (mut course, mut time): (Option<Course>, f64) = (None, 0.0);
        for (value, seconds) in parts {
            let known = course.get_or_insert(Course { mean: 0.0, ..Course::constant(value) });
            known.mean += value * seconds;
            known.least = known.least.min(value);
            known.greatest = known.greatest.max(value);
            time += seconds;
        }
        course.map(|known| Course { mean: if time > 0.0 { known.mean / time } else { known.start }, ..known })
    }

    /// Each value by `change`, which keeps their order.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Course {
        let Course { start, mean, least, greatest } = self;
        Course { start: change(start), mean: change(mean), least: change(least), greatest: change(greatest) }
    }

    /// Returns whether the value changes during the run.
    pub fn varies(&self) -> bool {
        self.least < self.greatest
    }
}

/// Returns times spread evenly over a run, at which facts sample moving satellites: the start and
/// the ends of twenty equal parts.
pub fn moments(run: Span) -> impl Iterator<Item = Time> {
    const PARTS: u64 = 20;
    (0..=PARTS).map(move |moment| Time::ZERO + Span::from_nanos(run.as_nanos() / PARTS * moment))
}

/// The packets that the facts are about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Traffic {
    /// Their size at the network layer, in bytes.
    pub bytes: u32,
    /// DiffServ code point of the packets.
    pub dscp: Dscp,
    /// Length of the run.
    pub run: Span,
}

/// A path that crosses a network, and the packets on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crossing<'a> {
    /// The node where they enter the network.
    pub from: &'a str,
    /// The node where they leave it.
    pub to: &'a str,
    /// The packets on the path.
    pub traffic: Traffic,
}

/// Limits and effects of a queue discipline for the packets of one code point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Queue {
    /// The discipline, as a scenario names it; of nested ones the outermost.
    pub kind: &'static str,
    /// The most packets that wait; no limit if null.
    pub packets: Option<u64>,
    /// The most bytes that wait; no limit if null.
    pub bytes: Option<u64>,
    /// Rate that the discipline itself lets through, in bit/s; null if only the link limits it.
    pub rate: Option<f64>,
    /// Notes on further effects than to hold packets and to drop arrivals at a full queue.
    pub notes: Vec<String>,
}

impl Queue {
    /// First in, first out, with these limits.
    pub fn fifo(kind: &'static str, packets: Option<u64>, bytes: Option<u64>) -> Queue {
        Queue { kind, packets, bytes, rate: None, notes: Vec::new() }
    }

    /// Adds a note on drops or marks before the queue is full.
    pub fn early(kind: &'static str, packets: u64) -> Queue {
        let note = format!("{kind} drops or marks packets before the queue is full");
        Queue { notes: vec![note], ..Queue::fifo(kind, Some(packets), None) }
    }

    /// The time that it takes to send all that it can hold of packets of so many bytes at a rate in
    /// bit/s; no limit if none.
    pub fn drains_in(&self, bytes: u32, rate: f64) -> Option<f64> {
        let packets = self.packets.map(|packets| packets as f64 * f64::from(bytes));
        let most = packets.into_iter().chain(self.bytes.map(|bytes| bytes as f64)).reduce(f64::min);
        most.map(|most| 8.0 * most / self.rate.map_or(rate, |own| own.min(rate)))
    }
}

/// Demand assignment on a hop.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Dama {
    /// Capacity category of the requests, as a scenario names the scheme.
    pub scheme: &'static str,
    /// Length of a superframe in seconds.
    pub superframe_s: f64,
    /// L: superframes from a request to the first slots that answer it, for this terminal.
    pub response_superframes: u64,
    /// Times of requests and plans: `boundary` or `just-in-time`.
    pub planning: &'static str,
    /// Rate of the constant slots (CRA) in bit/s, after framing.
    pub constant_bit_s: f64,
}

/// Adaptive coding and modulation on a hop.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Acm {
    /// MODCOD at the start of the run; null in an outage.
    pub modcod: Option<&'static str>,
    /// The least efficient MODCOD of the run; null is an outage.
    pub least: Option<&'static str>,
    /// The most efficient MODCOD of the run; null is an outage.
    pub greatest: Option<&'static str>,
    /// Bits per symbol of the MODCOD; 0 in an outage.
    pub efficiency: Course,
    /// Es/N0 in dB as reported to the sender.
    pub esn0_db: Course,
    /// The outages: start and end of each, in seconds from the start of the run.
    pub outages: Vec<[f64; 2]>,
}

/// Moving satellites that serve a hop one after the other.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Orbit {
    /// Number of changes from one satellite to another during the run.
    pub handovers: u64,
    /// The times without a satellite: start and end of each, in seconds from the start of the run.
    pub outages: Vec<[f64; 2]>,
}

impl Orbit {
    /// Returns the total time without a satellite in seconds.
    pub fn outage_s(&self) -> f64 {
        self.outages.iter().map(|[begin, end]| end - begin).sum()
    }
}

/// A mechanism of a hop's medium, beside its rate and delay.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Access {
    /// Demand assignment.
    Dama(Dama),
    /// Adaptive coding and modulation.
    Acm(Acm),
    /// Moving satellites.
    Orbit(Orbit),
}

/// One hop of a path: from a node to the next over one link or network.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Hop {
    /// Name in results of the part in which packets wait.
    pub part: String,
    /// Rate for packets of this size at the network layer, after framing and the queue's own limit,
    /// in bit/s.
    pub rate_bit_s: Course,
    /// One-way propagation delay in seconds.
    pub delay_s: Course,
    /// Part of the packets that the channel is expected to spoil.
    pub loss: f64,
    /// The queue before the hop.
    pub queue: Queue,
    /// Mechanisms of the hop's medium, one entry each; empty for a plain link.
    pub access: Vec<Access>,
    /// Media that packets of several paths share: name, and rate in bit/s for packets of this size.
    pub shared: Vec<(String, f64)>,
    /// Notes on effects that none of these numbers contain.
    pub notes: Vec<String>,
}

impl Hop {
    /// Multiplies the rate by what framing leaves of it, and bounds it by what the queue lets
    /// through.
    #[must_use]
    pub fn within(mut self, framing: f64) -> Hop {
        let own = self.queue.rate.unwrap_or(f64::INFINITY);
        self.rate_bit_s = self.rate_bit_s.map(|rate| (framing * rate).min(own));
        self.shared.iter_mut().for_each(|(_, rate)| *rate *= framing);
        self
    }
}

/// Text of a rate, for notes.
pub fn rate(bit_s: f64) -> String {
    Rate::from_bits_per_second(bit_s.round().max(1.0) as u64).to_string()
}
