//! Queue disciplines: who is admitted to a link's queue.
//!
//! The disciplines here decide when a packet arrives, from the backlog that it finds; that lets the link compute
//! the departure at once, so that a hop costs one wake (see [`crate::link`]).

pub mod drop_tail;

use bentpipe_core::{kinds, Packet, Problems, Stream, Time};

kinds! {
    /// A queue discipline.
    pub enum Config: Discipline {
        "drop-tail" => DropTail(drop_tail::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::DropTail(drop_tail::Config::default())
    }
}

/// What a discipline's `Config` can do.
pub trait Discipline {
    /// The discipline.
    fn build(&self) -> Box<dyn Admission>;

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// What waits in a queue: packets whose transmission has not begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
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
}
