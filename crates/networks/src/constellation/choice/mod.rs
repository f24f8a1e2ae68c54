//! Policies for choosing the satellites that serve a site.

pub mod highest_elevation;
pub mod least_handovers;
pub mod longest_visibility;
pub mod schedule;

use bentpipe_core::{kinds, Problems};
use bentpipe_orbit::crossing::SignChange;
use bentpipe_orbit::epoch::Epoch;
use bentpipe_orbit::observer::Observer;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::visibility::overtaking;

kinds! {
    /// The policy for choosing the satellites that serve a site.
    #[schemars(rename = "Choice")]
    pub enum Config: Choice {
        "highest-elevation" => HighestElevation(highest_elevation::Config),
        "longest-visibility" => LongestVisibility(longest_visibility::Config),
        "least-handovers" => LeastHandovers(least_handovers::Config),
        "schedule" => Schedule(schedule::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::HighestElevation(highest_elevation::Config::default())
    }
}

/// The factory of a choice, implemented by its `Config`.
pub trait Choice {
    /// Returns true for a policy that chooses only at the times that it has requested, and not
    /// whenever a satellite rises or sets.
    fn only_when_due(&self) -> bool {
        false
    }

    /// Returns the satellites that serve from now on, and the latest time at which to choose again.
    /// The satellites are in order of preference, at most `sky.links`. Serving satellites that have
    /// set are no longer visible.
    fn choose(&self, sky: &Sky<'_>, serving: &[u32]) -> (Vec<u32>, f64);

    /// Adds the problems of this configuration to `problems`.
    fn check(&self, _problems: &mut Problems) {}
}

/// A satellite above the mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visible {
    /// Number of the satellite.
    pub satellite: u32,
    /// Time at which the satellite sets, in seconds since the start.
    pub set: f64,
}

/// The sky as seen from a site.
pub struct Sky<'a> {
    /// Present time, in seconds since the start.
    pub now: f64,
    /// Start of the run.
    pub start: Epoch,
    /// Number of satellites that serve the site at the same time.
    pub links: usize,
    /// Visible satellites, in order of rising.
    pub visible: &'a [Visible],
    /// The observer at the site.
    pub observer: &'a Observer,
    /// All satellites by number.
    pub satellites: &'a [Satellite],
}

impl Sky<'_> {
    /// Returns the elevation of a satellite in radians.
    pub fn elevation(&self, satellite: u32) -> f64 {
        self.observer.elevation(&self.satellites[satellite as usize], self.now).0
    }

    /// Returns the time at which `other` becomes higher than `satellite` by `margin`, searching up
    /// to `until`.
    fn overtaking(&self, satellite: u32, other: u32, margin: f64, until: f64) -> f64 {
        let (a, b) = (&self.satellites[satellite as usize], &self.satellites[other as usize]);
        match overtaking(self.observer, a, b, margin, self.now, until) {
            SignChange::At(moment) => moment,
            SignChange::NotBefore(_) => f64::INFINITY,
        }
    }

    /// Returns the visible satellites with the largest `value`, the best first. Of equal
    /// satellites, serving ones come first.
    fn best(&self, serving: &[u32], value: impl Fn(&Visible) -> f64) -> Vec<u32> {
        let mut rated: Vec<_> = self
            .visible
            .iter()
            .map(|visible| (value(visible), serving.contains(&visible.satellite), visible.satellite))
            .collect();
        rated.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
        rated.truncate(self.links);
        rated.into_iter().map(|(_, _, satellite)| satellite).collect()
    }
}
