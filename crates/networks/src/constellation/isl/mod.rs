//! Inter-satellite links: which satellites they connect, and when they are up.

pub mod grid;
pub mod none;

use bentpipe_core::{kinds, Problems};
use bentpipe_orbit::crossing::Bound;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::shell::Neighbours;

kinds! {
    /// The inter-satellite links of a constellation.
    #[schemars(rename = "Isl")]
    pub enum Config: Links {
        "none" => None(none::Config),
        "grid" => Grid(grid::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::None(none::Config {})
    }
}

/// The factory of inter-satellite links, implemented by their `Config`.
pub trait Links {
    /// Returns true if two neighbours ever have a link.
    fn connects(&self, neighbours: &Neighbours) -> bool;

    /// State of an existing link at a time, positive if the link is up, and the time for which the
    /// state certainly lasts.
    fn margin(&self, kind: &Neighbours, ends: (&Satellite, &Satellite), t: f64) -> Bound;

    /// Rate, queue and errors of each link; `None` if there are no links.
    fn link(&self) -> Option<super::carrier::CarrierConfig>;

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}
