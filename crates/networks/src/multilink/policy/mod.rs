//! Policies: the times and targets of handovers.

pub mod load;
pub mod random;
pub mod schedule;
pub mod signal;

use super::{Direction, Handover};
use bentpipe_core::{kinds, Problems, Rate, Stream, Time};

kinds! {
    /// The policy of a multilink, which determines the times and targets of handovers.
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
    /// Builds the policy for links with these names. `handover` has the default settings of
    /// handovers. `schedule` has the handovers of the scenario's `[[handover]]` entries.
    fn build(
        &self,
        links: &[String],
        handover: Handover,
        schedule: Vec<(Time, Decision)>,
        stream: Stream,
    ) -> Box<dyn Policy>;

    /// Checks the configuration for links with these names and adds its problems to `problems`.
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

/// The observations on which a policy bases its decisions, for each direction.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Index of the serving link.
    pub serving: [usize; 2],
    /// Number of bytes offered since the start of the run.
    pub offered: [u64; 2],
    /// Rates of the links.
    pub rates: &'a [[Rate; 2]],
}

/// A policy, which starts handovers.
pub trait Policy: Send {
    /// Returns the time of the next decision. It is later than the time of the previous decision.
    fn next(&self) -> Option<Time>;

    /// Returns the handover that starts now, if any.
    fn decide(&mut self, now: Time, view: &View<'_>) -> Option<Decision>;
}
