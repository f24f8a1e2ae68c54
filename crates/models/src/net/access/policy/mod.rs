//! Policies: when to hand over, and to which link.

pub mod load;
pub mod random;
pub mod schedule;
pub mod signal;

use super::{Direction, Handover};
use bentpipe_core::{kinds, Problems, Rate, Stream, Time};

kinds! {
    /// When to hand over, and to which link.
    pub enum Config: Choice {
        "schedule" => Schedule(schedule::Config),
        "random" => Random(random::Config),
        "signal" => Signal(signal::Config),
        "load" => Load(load::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Schedule(schedule::Config {})
    }
}

/// What the `Config` of a policy can do.
pub trait Choice {
    /// The policy for links of these names; `handover` is how they follow each other, `schedule` what the scenario plans.
    fn build(
        &self,
        links: &[String],
        handover: Handover,
        schedule: Vec<(Time, Order)>,
        stream: Stream,
    ) -> Box<dyn Policy>;

    /// Adds what is wrong, for links of these names.
    fn check(&self, _links: &[String], _problems: &mut Problems) {}
}

/// A handover that is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The new link, by its place among the links.
    pub to: usize,
    /// The directions.
    pub direction: Direction,
    /// How.
    pub handover: Handover,
}

/// What a policy may look at, for each direction.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The link that serves, by its place.
    pub serving: [usize; 2],
    /// Bytes that were to be sent so far.
    pub offered: [u64; 2],
    /// Rates of the links.
    pub rates: &'a [[Rate; 2]],
}

/// Decides when to hand over.
pub trait Policy: Send {
    /// When it next has something to decide. Always later than the last decision's time.
    fn next(&self) -> Option<Time>;

    /// That moment has come: the handover that begins, if one does.
    fn decide(&mut self, now: Time, view: &View<'_>) -> Option<Order>;
}
