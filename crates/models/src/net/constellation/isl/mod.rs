//! Inter-satellite links: which satellites they join, and when they are up.

pub mod grid;
pub mod none;

use crate::orbit::crossing::Bound;
use crate::orbit::satellite::Satellite;
use crate::orbit::shell::Neighbours;
use bentpipe_core::{kinds, Problems};

kinds! {
    /// Inter-satellite links.
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

/// What the `Config` of inter-satellite links can do.
pub trait Links {
    /// Whether two neighbours have a link at all.
    fn joins(&self, neighbours: &Neighbours) -> bool;

    /// Whether a link that there is is up at a moment (positive) or down (negative), and how long that surely stays.
    fn margin(&self, kind: &Neighbours, ends: (&Satellite, &Satellite), t: f64) -> Bound;

    /// Rate, queue and errors of each; none where there are no links.
    fn link(&self) -> Option<super::carrier::Kind>;

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}
