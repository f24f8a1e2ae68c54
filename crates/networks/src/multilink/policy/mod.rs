//! Policies: the times and targets of handovers.

pub mod load;
pub mod random;
pub mod schedule;
pub mod signal;

use super::{Direction, Handover};
use bentpipe_core::{kinds, Problems, Rate, Stream, Time};

kinds! {
    /// The policy of a multilink, which decides when it hands over, and to which link.
    #[schemars(rename = "Policy")]
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

/// The factory of a policy, implemented by its `Config`.
pub trait Choice {
    /// Builds the policy for links of these names. `handover` describes how they follow each other;
    /// `schedule` has the scenario's own handovers.
    fn build(
        &self,
        links: &[String],
        handover: Handover,
        schedule: Vec<(Time, Decision)>,
        stream: Stream,
    ) -> Box<dyn Policy>;

    /// Adds the problems of this configuration, for links of these names.
    fn check(&self, _links: &[String], _problems: &mut Problems) {}
}

/// A handover that starts now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Index of the new link.
    pub to: usize,
    /// The directions of traffic that are handed over.
    pub direction: Direction,
    /// Settings of the handover.
    pub handover: Handover,
}

/// The observations of a policy, for each direction.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Index of the serving link.
    pub serving: [usize; 2],
    /// Bytes offered so far.
    pub offered: [u64; 2],
    /// Rates of the links.
    pub rates: &'a [[Rate; 2]],
}

/// Decides when to hand over.
pub trait Policy: Send {
    /// Returns the time of the next decision, always later than that of the last one.
    fn next(&self) -> Option<Time>;

    /// Returns the handover that starts now, if any.
    fn decide(&mut self, now: Time, view: &View<'_>) -> Option<Decision>;
}
