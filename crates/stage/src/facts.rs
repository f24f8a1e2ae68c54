//! Facts: the properties of a path in numbers, for equations, `bentpipe check` and reports.
//!
//! Each part of a network computes its own facts, from the configuration of its stages and by the
//! same functions. No other code interprets a scenario. A note in words describes each effect on
//! packets that no number contains.

use bentpipe_core::{Dscp, Rate, Span, Time};
use serde::Serialize;

/// A quantity that may change during a run, in its base unit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Course {
    /// Value at the start of the run.
    pub start: f64,
    /// Mean over the run, weighted by time.
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

    /// Returns the course of a quantity from its values and their durations in seconds, in order;
    /// `None` without values.
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

    /// Applies `change`, an increasing function, to every value.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Course {
        let Course { start, mean, least, greatest } = self;
        Course { start: change(start), mean: change(mean), least: change(least), greatest: change(greatest) }
    }

    /// Returns true if the value changes during the run.
    pub fn varies(&self) -> bool {
        self.least < self.greatest
    }
}

/// Returns the times at which facts sample moving satellites: the start of the run and the ends of
/// twenty equal parts.
pub fn moments(run: Span) -> impl Iterator<Item = Time> {
    const PARTS: u64 = 20;
    (0..=PARTS).map(move |moment| Time::ZERO + Span::from_nanos(run.as_nanos() / PARTS * moment))
}

/// The packets that the facts describe.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Traffic {
    /// Size of the packets at the network layer, in bytes.
    pub bytes: u32,
    /// DiffServ code point of the packets.
    pub dscp: Dscp,
    /// Length of the run.
    pub run: Span,
}

/// A path that crosses a network, and the packets on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crossing<'a> {
    /// The node at which the packets enter the network.
    pub from: &'a str,
    /// The node at which the packets leave the network.
    pub to: &'a str,
    /// The packets on the path.
    pub traffic: Traffic,
}

/// Limits and effects of a queue discipline for the packets of one code point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Queue {
    /// Kind of the discipline, as in a scenario; of nested disciplines, the outermost.
    pub kind: &'static str,
    /// Maximum number of waiting packets; null for no limit.
    pub packets: Option<u64>,
    /// Maximum number of waiting bytes; null for no limit.
    pub bytes: Option<u64>,
    /// Maximum rate of the discipline itself, in bit/s; null if only the link limits the rate.
    pub rate: Option<f64>,
    /// Notes on effects other than storing packets and dropping arrivals at a full queue.
    pub notes: Vec<String>,
}

impl Queue {
    /// Creates the facts of a first-in, first-out queue with these limits.
    pub fn fifo(kind: &'static str, packets: Option<u64>, bytes: Option<u64>) -> Queue {
        Queue { kind, packets, bytes, rate: None, notes: Vec::new() }
    }

    /// Creates the facts of a queue of `packets` packets that drops or marks packets before it is
    /// full.
    pub fn early(kind: &'static str, packets: u64) -> Queue {
        let note = format!("{kind} drops or marks packets before the queue is full");
        Queue { notes: vec![note], ..Queue::fifo(kind, Some(packets), None) }
    }

    /// Returns the time in seconds to send a full queue of packets of `bytes` bytes at `rate`
    /// bit/s; `None` for an unlimited queue.
    pub fn drains_in(&self, bytes: u32, rate: f64) -> Option<f64> {
        let packets = self.packets.map(|packets| packets as f64 * f64::from(bytes));
        let most = packets.into_iter().chain(self.bytes.map(|bytes| bytes as f64)).reduce(f64::min);
        most.map(|most| 8.0 * most / self.rate.map_or(rate, |own| own.min(rate)))
    }
}

/// Demand assignment on a hop.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Dama {
    /// Capacity category of the requests: the scheme, as in a scenario.
    pub scheme: &'static str,
    /// Length of a superframe in seconds.
    pub superframe_s: f64,
    /// L: number of superframes from a request of this terminal to the first slots assigned for it.
    pub response_superframes: u64,
    /// Times of requests and plans: `boundary` or `just-in-time`.
    pub planning: &'static str,
    /// Mean wait in seconds until a packet may use slots: half a superframe if packets wait for the
    /// first superframe after their arrival, else 0.
    pub access_wait_s: f64,
    /// Rate of the constant slots (CRA) in bit/s, after framing.
    pub constant_bit_s: f64,
}

/// Adaptive coding and modulation on a hop.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Acm {
    /// MODCOD at the start of the run; null in an outage.
    pub modcod: Option<&'static str>,
    /// The least efficient MODCOD of the run; null for an outage.
    pub least: Option<&'static str>,
    /// The most efficient MODCOD of the run; null for an outage.
    pub greatest: Option<&'static str>,
    /// Bits per symbol of the MODCOD; 0 in an outage.
    pub efficiency: Course,
    /// Es/N0 in dB as reported to the sender.
    pub esn0_db: Course,
    /// Start and end of each outage, in seconds from the start of the run.
    pub outages: Vec<[f64; 2]>,
}

/// Moving satellites that serve a hop in turn.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Orbit {
    /// Number of changes from one satellite to another during the run.
    pub handovers: u64,
    /// Start and end of each interval without a satellite, in seconds from the start of the run.
    pub outages: Vec<[f64; 2]>,
}

impl Orbit {
    /// Returns the total time without a satellite in seconds.
    pub fn outage_s(&self) -> f64 {
        self.outages.iter().map(|[begin, end]| end - begin).sum()
    }
}

/// A mechanism of a hop's medium, in addition to its rate and delay.
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
    /// Name of the part in which packets wait, as in results.
    pub part: String,
    /// Rate for packets of this size at the network layer, after framing and the queue's own limit,
    /// in bit/s.
    pub rate_bit_s: Course,
    /// One-way propagation delay in seconds.
    pub delay_s: Course,
    /// Expected fraction of packets that the channel corrupts.
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
    /// Multiplies the rate by the efficiency of the framing, and limits it to the queue's own rate.
    #[must_use]
    pub fn within(mut self, framing: f64) -> Hop {
        let own = self.queue.rate.unwrap_or(f64::INFINITY);
        self.rate_bit_s = self.rate_bit_s.map(|rate| (framing * rate).min(own));
        self.shared.iter_mut().for_each(|(_, rate)| *rate *= framing);
        self
    }
}

/// Returns a rate as text, for notes.
pub fn rate(bit_s: f64) -> String {
    Rate::from_bits_per_second(bit_s.round().max(1.0) as u64).to_string()
}
