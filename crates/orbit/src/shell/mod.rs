//! Shells: sets of satellites that belong together, designed or real.

pub mod elements;
pub mod geo;
pub mod planes;
pub mod walker;
pub mod walker_delta;
pub mod walker_star;

use super::epoch::Epoch;
use super::look::Turning;
use super::satellite::Satellite;
use bentpipe_core::{kinds, Problems, Span};

kinds! {
    /// A set of satellites that belong together, such as one shell of a constellation.
    #[schemars(rename = "Shell")]
    pub enum Config: Shell {
        "walker-delta" => WalkerDelta(walker_delta::Config),
        "walker-star" => WalkerStar(walker_star::Config),
        "geo" => Geo(geo::Config),
        "elements" => Elements(elements::Config),
    }
}

/// The factory of a shell, implemented by its `Config`.
pub trait Shell {
    /// Returns the number of satellites of the shell.
    fn count(&self) -> usize;

    /// Height of the lowest satellite above the equatorial radius, in metres.
    fn height(&self) -> f64;

    /// Creates the satellites for a run that starts at `start`. The configuration has passed
    /// `check`.
    fn satellites(&self, start: Epoch, turning: Turning) -> Vec<Satellite>;

    /// Pairs of satellites, by their indices in `satellites`, that are neighbours in the grid of
    /// inter-satellite links.
    fn neighbours(&self, satellites: &[Satellite]) -> Vec<Neighbours>;

    /// Adds the problems of this configuration for a run that starts at `start`.
    fn check(&self, start: Epoch, problems: &mut Problems);

    /// Warnings about settings that are allowed but probably not intended.
    fn remarks(&self, _start: Epoch, _duration: Span) -> Vec<String> {
        Vec::new()
    }
}

/// Two satellites of a shell that may be linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// Indices of the two satellites in their shell.
    pub places: (u32, u32),
    /// How the two lie to each other: in one plane or in adjacent ones.
    pub kind: Neighbourhood,
}

/// The relative position of two neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbourhood {
    /// Adjacent in one plane.
    InPlane,
    /// Side by side in planes that move in the same direction.
    BetweenPlanes,
    /// On both sides of the seam, where planes move in opposite directions.
    AcrossSeam,
}
