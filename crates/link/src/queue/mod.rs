//! Queue disciplines: they admit packets to a link's queue and select the next departure.
//!
//! Most disciplines decide at the arrival of a packet, from the backlog that it finds
//! ([`Admission`]). The link then computes the departure at once, so a hop costs one wake (see
//! [links](crate)). Disciplines that decide at departure keep the packets themselves ([`Buffer`]),
//! and the link requests the next packet whenever it has sent the previous one. A DAMA terminal
//! requests it when a slot starts, and a Wi-Fi station when a first transmission begins.

pub mod ared;
pub mod bucket;
pub mod buffer;
pub mod classes;
pub mod codel;
pub mod diffserv;
pub mod drop_front;
pub mod drop_tail;
pub mod drr;
pub mod dualpi2;
pub mod early;
pub mod fq_codel;
pub mod gentle_red;
pub mod limit;
pub mod pie;
pub mod priority;
pub mod red;
pub mod red_bytes;
pub mod shaper;
#[cfg(test)]
mod tests;
pub mod unlimited;
pub mod wfq;
pub mod wred;
pub mod wrr;

use self::buffer::Buffer;
use bentpipe_core::{kinds, Dscp, Problems, Rate, Stream, Time};
use bentpipe_stage::{facts, Packet};

kinds! {
    /// The queue discipline, which admits, drops and marks packets and selects the next departure.
    #[schemars(rename = "Queue")]
    pub enum Config: Discipline {
        "drop-tail" => DropTail(drop_tail::Config),
        "drop-front" => DropFront(drop_front::Config),
        "red" => Red(red::Config),
        "red-bytes" => RedBytes(red_bytes::Config),
        "gentle-red" => GentleRed(gentle_red::Config),
        "ared" => Ared(ared::Config),
        "wred" => Wred(wred::Config),
        "codel" => Codel(codel::Config),
        "fq-codel" => FqCodel(fq_codel::Config),
        "pie" => Pie(pie::Config),
        "dualpi2" => Dualpi2(dualpi2::Config),
        "priority" => Priority(priority::Config),
        "wrr" => Wrr(wrr::Config),
        "drr" => Drr(drr::Config),
        "wfq" => Wfq(wfq::Config),
        "shaper" => Shaper(shaper::Config),
        "diffserv" => Diffserv(diffserv::Config),
        "unlimited" => Unlimited(unlimited::Config),
    }
}

/// The default of every queue that a scenario does not describe: links, terminals, classes, sites
/// and satellites.
impl Default for Config {
    fn default() -> Config {
        Config::DropTail(drop_tail::Config::default())
    }
}

/// The factory of a queue discipline, implemented by its `Config`.
pub trait Discipline {
    /// Builds the discipline for a link of this rate.
    fn build(&self, rate: Rate) -> Queue;

    /// Returns the facts of the queue for packets of a code point, in front of a link with this
    /// rate.
    fn facts(&self, rate: Rate, dscp: Dscp) -> facts::Queue;

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// A queue discipline that decides at arrival or at departure.
pub enum Queue {
    /// Decides when a packet arrives; packets leave in order of arrival.
    Arrival(Box<dyn Admission>),
    /// Decides when a packet leaves.
    Departure(Box<dyn Buffer>),
}

/// The waiting packets of a queue: those whose transmission has not started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Number of waiting packets.
    pub packets: u64,
    /// Total size of the waiting packets in bytes.
    pub bytes: u64,
    /// Time since which the queue has been empty, if it is empty.
    pub empty_since: Time,
}

/// The decision of a discipline about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet joins the queue.
    Admit,
    /// The packet is dropped for this reason.
    Drop(bentpipe_stage::DropReason),
}

/// A discipline that decides at arrival.
pub trait Admission: Send {
    /// Decides if a packet that finds `backlog` waiting is admitted. May set the packet's ECN
    /// field.
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: Backlog, stream: &mut Stream) -> Verdict;

    /// Adopts a new rate of the link.
    fn set_rate(&mut self, _rate: Rate) {}

    /// Returns the fixed limits of this discipline, if it has no other rule. Callers may check them
    /// inline instead of calling `admit`.
    fn limits(&self) -> Option<Limits> {
        None
    }
}

/// The maximum backlog of a queue, with the arriving packet; `u64::MAX` for no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Maximum number of packets.
    pub packets: u64,
    /// Maximum total size in bytes.
    pub bytes: u64,
}

impl Limits {
    /// Returns true if a packet of `size` bytes may join this backlog.
    #[inline]
    pub fn admit(self, backlog: Backlog, size: u32) -> bool {
        backlog.packets < self.packets && backlog.bytes + u64::from(size) <= self.bytes
    }
}
