//! Which satellites serve a site.

pub mod highest_elevation;
pub mod least_handovers;
pub mod longest_visibility;
pub mod schedule;

use crate::orbit::crossing::Found;
use crate::orbit::epoch::Epoch;
use crate::orbit::look::Observer;
use crate::orbit::satellite::Satellite;
use crate::orbit::visibility::overtaking;
use bentpipe_core::{kinds, Problems};

kinds! {
    /// Which satellites serve a site.
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

/// What the `Config` of a choice can do.
pub trait Choice {
    /// Whether the choice is made anew only when it said so, not whenever a satellite rises or sets.
    fn only_when_due(&self) -> bool {
        false
    }

    /// The satellites to be served by from now on, the best first and at most `sky.links`, and when to choose again at the
    /// latest. Serving satellites that have set are no longer in view.
    fn choose(&self, sky: &Sky<'_>, serving: &[u32]) -> (Vec<u32>, f64);

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// A satellite above the mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visible {
    /// Its number.
    pub satellite: u32,
    /// When it sets, in seconds since the start.
    pub set: f64,
}

/// What a site sees.
pub struct Sky<'a> {
    /// Now, in seconds since the start.
    pub now: f64,
    /// The moment of the start.
    pub start: Epoch,
    /// How many satellites serve the site at once.
    pub links: usize,
    /// In order of rising.
    pub visible: &'a [Visible],
    /// Who looks.
    pub observer: &'a Observer,
    /// All satellites by number.
    pub satellites: &'a [Satellite],
}

impl Sky<'_> {
    /// Elevation in radians.
    pub fn elevation(&self, satellite: u32) -> f64 {
        self.observer.elevation(&self.satellites[satellite as usize], self.now).0
    }

    /// When `other` comes to stand higher than `satellite` by `margin`, sought up to `until`.
    fn overtaking(&self, satellite: u32, other: u32, margin: f64, until: f64) -> f64 {
        let (a, b) = (&self.satellites[satellite as usize], &self.satellites[other as usize]);
        match overtaking(self.observer, a, b, margin, self.now, until) {
            Found::At(moment) => moment,
            Found::NotBefore(_) => f64::INFINITY,
        }
    }

    /// The visible satellites with the largest `value`, the best first; of equal ones the one that serves.
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
