//! Queue disciplines: who is admitted to a link's queue, and who leaves it next.
//!
//! Most decide when a packet arrives, from the backlog that it finds ([`Admission`]); that lets the link compute
//! the departure at once, so that a hop costs one wake (see [`crate::link`]). Those that decide when a packet leaves keep the
//! packets themselves ([`Buffer`]), and the link asks them whenever it has sent the packet before.

pub mod ared;
pub mod bucket;
pub mod buffer;
pub mod classes;
pub mod codel;
pub mod diffserv;
pub mod drop_tail;
pub mod drr;
pub mod early;
pub mod fq_codel;
pub mod gentle_red;
pub mod pie;
pub mod priority;
pub mod red;
pub mod shaper;
#[cfg(test)]
mod tests;
pub mod wfq;
pub mod wred;
pub mod wrr;

use self::buffer::Buffer;
use crate::Packet;
use bentpipe_core::{kinds, Problems, Rate, Stream, Time};

kinds! {
    /// A queue discipline.
    pub enum Config: Discipline {
        "drop-tail" => DropTail(drop_tail::Config),
        "red" => Red(red::Config),
        "gentle-red" => GentleRed(gentle_red::Config),
        "ared" => Ared(ared::Config),
        "wred" => Wred(wred::Config),
        "codel" => Codel(codel::Config),
        "fq-codel" => FqCodel(fq_codel::Config),
        "pie" => Pie(pie::Config),
        "priority" => Priority(priority::Config),
        "wrr" => Wrr(wrr::Config),
        "drr" => Drr(drr::Config),
        "wfq" => Wfq(wfq::Config),
        "shaper" => Shaper(shaper::Config),
        "diffserv" => Diffserv(diffserv::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::DropTail(drop_tail::Config::default())
    }
}

/// What a discipline's `Config` can do.
pub trait Discipline {
    /// The discipline, in front of a link with this rate.
    fn build(&self, rate: Rate) -> Queue;

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// A discipline, by when it decides.
pub enum Queue {
    /// When a packet arrives: packets leave in the order of their arrival.
    Arrival(Box<dyn Admission>),
    /// When a packet leaves.
    Departure(Box<dyn Buffer>),
}

impl Queue {
    /// The discipline, for a queue in which only those that decide at arrival are allowed.
    ///
    /// # Panics
    /// When it is another, which [`Config::check_arrival`] refuses.
    pub fn admission(self) -> Box<dyn Admission> {
        match self {
            Queue::Arrival(admission) => admission,
            Queue::Departure(_) => panic!("the check has refused what decides at departure"),
        }
    }
}

impl Config {
    /// Adds what is wrong, where only disciplines that decide at arrival are allowed.
    pub fn check_arrival(&self, problems: &mut Problems) {
        let before = problems.count();
        self.check(problems);
        let arrival = |config: &Config| {
            matches!(config.build(Rate::from_bits_per_second(1_000_000)), Queue::Arrival(_))
        };
        if problems.count() == before && !arrival(self) {
            let kind = self.kind();
            problems.add(
                "kind",
                format!(
                    "{kind} decides when a packet leaves, but packets get their slots when they come; allowed: drop-tail, red, \
                     gentle-red, ared, wred"
                ),
            );
        }
    }
}

/// What waits in a queue: packets whose transmission has not begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When none do: since when.
    pub empty_since: Time,
}

/// What a discipline says of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It joins the queue.
    Admit,
    /// It does not, for this reason.
    Drop(crate::DropReason),
}

/// A discipline that decides at arrival.
pub trait Admission: Send {
    /// Decides on a packet that finds `backlog` before it; it may set the packet's ECN field.
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: Backlog, stream: &mut Stream) -> Verdict;

    /// The link goes on with another rate.
    fn set_rate(&mut self, _rate: Rate) {}
}
