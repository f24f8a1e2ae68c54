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
    /// A set of satellites.
    pub enum Config: Shell {
        "walker-delta" => WalkerDelta(walker_delta::Config),
        "walker-star" => WalkerStar(walker_star::Config),
        "geo" => Geo(geo::Config),
        "elements" => Elements(elements::Config),
    }
}

/// What a shell's `Config` can do.
pub trait Shell {
    /// How many satellites there are.
    fn count(&self) -> usize;

    /// How high they are above the equatorial radius, in metres: the lowest of them.
    fn height(&self) -> f64;

    /// The satellites for a run that starts at `start`. Nothing is wrong with the configuration.
    fn satellites(&self, start: Epoch, turning: Turning) -> Vec<Satellite>;

    /// Which satellites, by their places in `satellites`, are neighbours in the grid that inter-satellite links make.
    fn neighbours(&self, satellites: &[Satellite]) -> Vec<Neighbours>;

    /// Adds what is wrong for a run that starts at `start`.
    fn check(&self, start: Epoch, problems: &mut Problems);

    /// What is allowed but probably not meant.
    fn remarks(&self, _start: Epoch, _duration: Span) -> Vec<String> {
        Vec::new()
    }
}

/// Two satellites of a shell that a link may join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// The places of both.
    pub places: (u32, u32),
    /// How they stand to each other.
    pub kind: Neighbourhood,
}

/// How two neighbours stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbourhood {
    /// One behind the other in one plane.
    InPlane,
    /// Side by side in planes that turn the same way.
    BetweenPlanes,
    /// On both sides of the seam, where planes turn against each other.
    AcrossSeam,
}
