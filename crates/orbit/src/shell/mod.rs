//! Shells: sets of satellites of a common design, or sets of real satellites.

pub mod elements;
pub mod geo;
pub mod planes;
pub mod walker;
pub mod walker_delta;
pub mod walker_star;

use super::epoch::Epoch;
use super::observer::EarthRotation;
use super::satellite::Satellite;
use bentpipe_core::{kinds, Problems, Span};

kinds! {
    /// A set of satellites, such as one shell of a constellation.
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

    /// Returns the height of the lowest satellite above the equatorial radius, in metres.
    fn min_altitude(&self) -> f64;

    /// Returns an upper limit of the distance between a satellite and the Earth's centre during a
    /// run, in metres.
    fn max_radius(&self) -> f64;

    /// Creates the satellites for a run that starts at `start`. The configuration must have passed
    /// `check`.
    fn satellites(&self, start: Epoch, rotation: EarthRotation) -> Vec<Satellite>;

    /// Returns the pairs of satellites, by their indices in `satellites`, that are neighbours in
    /// the grid of inter-satellite links.
    fn neighbours(&self, satellites: &[Satellite]) -> Vec<Neighbours>;

    /// Adds the problems of this configuration to `problems`, for a run that starts at `start`.
    fn check(&self, start: Epoch, problems: &mut Problems);

    /// Returns warnings about settings that are allowed but probably unintended.
    fn remarks(&self, _start: Epoch, _duration: Span) -> Vec<String> {
        Vec::new()
    }
}

/// Maximum total number of satellites of all shells.
const SATELLITES: usize = 20_000;

/// Adds the problems of the key `shell` of a network, for a run that starts at `start`.
pub fn check(shells: &[Config], start: Epoch, problems: &mut Problems) {
    if shells.is_empty() {
        problems.add("shell", "has no satellites; allowed: at least one [[...shell]]");
    }
    problems.within("shell", |problems| {
        for (index, shell) in shells.iter().enumerate() {
            problems.within(index.to_string(), |problems| shell.check(start, problems));
        }
    });
    let count: usize = shells.iter().map(|shell| shell.count()).sum();
    if count > SATELLITES {
        problems.add("shell", format!("{count} satellites; allowed: at most {SATELLITES}"));
    }
}

/// Returns the satellites of all shells, in the order of the shells, and the pairs of satellites
/// that may be linked. If there are several shells, names start with the number of the shell.
pub fn fleet(shells: &[Config], start: Epoch, rotation: EarthRotation) -> (Vec<Satellite>, Vec<Neighbours>) {
    let (mut satellites, mut neighbours) = (Vec::new(), Vec::new());
    for (index, shell) in shells.iter().enumerate() {
        let first = satellites.len() as u32;
        let mut own = shell.satellites(start, rotation);
        neighbours.extend(
            shell
                .neighbours(&own)
                .into_iter()
                .map(|pair| Neighbours { indices: (first + pair.indices.0, first + pair.indices.1), ..pair }),
        );
        if shells.len() > 1 {
            own.iter_mut().for_each(|one| one.name = format!("{}:{}", index + 1, one.name));
        }
        satellites.extend(own);
    }
    (satellites, neighbours)
}

/// Two satellites of a shell that may be linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// Indices of the two satellites in their shell.
    pub indices: (u32, u32),
    /// Relative position of the two satellites: in one plane or in adjacent planes.
    pub kind: NeighbourKind,
}

/// The relative position of two neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeighbourKind {
    /// Adjacent satellites in one plane.
    InPlane,
    /// Satellites in adjacent planes that move in the same direction.
    BetweenPlanes,
    /// Satellites on opposite sides of the seam, where the planes move in opposite directions.
    AcrossSeam,
}
