//! Inter-satellite links: the satellites that they connect, and the times at which they are up.

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
    /// Returns true if two neighbours have a link at any time.
    fn connects(&self, neighbours: &Neighbours) -> bool;

    /// Returns the state of an existing link at time `t` in seconds, positive if the link is up,
    /// and a time for which the state cannot change.
    fn margin(&self, kind: &Neighbours, ends: (&Satellite, &Satellite), t: f64) -> Bound;

    /// Returns the rate, queue and errors of each link, or `None` if there are no links.
    fn link(&self) -> Option<super::carrier::CarrierConfig>;

    /// Adds the problems of this configuration to `problems`.
    fn check(&self, _problems: &mut Problems) {}
}
