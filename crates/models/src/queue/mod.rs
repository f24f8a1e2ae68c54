//! Queue disciplines: who is admitted to a link's queue, and who leaves it next.
//!
//! Most decide when a packet arrives, from the backlog that it finds ([`Admission`]); that lets the link compute
//! the departure at once, so that a hop costs one wake (see [`crate::link`]). Those that decide when a packet leaves keep the
//! packets themselves ([`Buffer`]), and the link asks them whenever it has sent the packet before.

pub mod ared;
pub mod bucket;
pub mod drop_tail;
pub mod early;
pub mod gentle_red;
pub mod red;
pub mod wred;

use bentpipe_core::{kinds, Packet, Problems, Rate, Stream, Time};

kinds! {
    /// A queue discipline.
    pub enum Config: Discipline {
        "drop-tail" => DropTail(drop_tail::Config),
        "red" => Red(red::Config),
        "gentle-red" => GentleRed(gentle_red::Config),
        "ared" => Ared(ared::Config),
        "wred" => Wred(wred::Config),
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
}

impl Queue {
    /// The discipline, for a queue in which only those that decide at arrival are allowed.
    pub fn admission(self) -> Box<dyn Admission> {
        let Queue::Arrival(admission) = self;
        admission
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
    Drop(bentpipe_core::DropReason),
}

/// A discipline that decides at arrival.
pub trait Admission: Send {
    /// Decides on a packet that finds `backlog` before it; it may set the packet's ECN field.
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: Backlog, stream: &mut Stream) -> Verdict;

    /// The link goes on with another rate.
    fn set_rate(&mut self, _rate: Rate) {}
}
