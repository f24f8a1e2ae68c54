//! Multipath routing: a site with several antennas distributes its connections over paths that
//! share no satellite, and admits connections only within limits of delay and load.
//!
//! The paths from a site to a destination are found one after another: the shortest path first,
//! then the shortest path over the remaining satellites, up to `paths` paths. Like the trees, they
//! belong to one state of the network. (Pairs of minimum total length, as found by Suurballe 1974,
//! may be shorter in total, and may exist where the shortest path leaves no second path. With a
//! grid of links this is rare.)
//!
//! A connection (of a flow, towards a destination) is assigned a path when its first packet
//! arrives. Of the paths that admit it, it gets the one with the fewest connections, then the
//! minimum load, then the minimum cost. A path admits a connection if its present delay and the
//! load of its ground link in the last second are within the limits. The present delay is the
//! propagation delay plus the wait at the ground link. If no path admits a connection, its packets
//! are dropped, but each further packet tries again. An admitted connection keeps its path until
//! the path's first satellite no longer serves the site; it must then be admitted again. A
//! connection that has sent nothing for a minute is removed.
//!
//! Packets do not loop: along a path every hop leads towards its end. A packet in flight whose path
//! has changed follows the tree, which leads down or back onto the path.

use super::routes::{Hop, Path, Stamp, NO_PATH};
use bentpipe_core::{Count, Fraction, Problems, Rate, Span, Time};
use bentpipe_stage::{DropReason, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// No path of the site admits a new connection.
pub const REFUSED: DropReason = DropReason::new("no path admits the connection");

/// Distributes connections over several paths that share no satellite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Balance")]
pub struct Config {
    /// Number of simultaneous paths from a site to a destination, which share no satellite. Sites
    /// need as many antennas.
    pub paths: Count<1, 16>,
    /// Maximum delay of a path that admits new connections, the propagation delay plus the wait at
    /// its ground link. If unset, the delay is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Span>,
    /// Maximum load of a path that admits new connections, 1 by default: the rate that was offered
    /// to its ground link in the last second, as a fraction of the link's rate.
    #[serde(default = "default_max_load")]
    pub max_load: Fraction,
}

fn default_max_load() -> Fraction {
    Fraction::thousandths(1000)
}

impl Config {
    /// Adds the problems of this configuration to `problems`. `antennas` is the maximum number of
    /// antennas of a site.
    pub fn check(&self, antennas: usize, problems: &mut Problems) {
        if antennas < 2 && self.paths.value() > 1 {
            problems.add(
                "paths",
                "every site has one antenna and thus one path; allowed: 1, or sites with several antennas",
            );
        }
    }
}

/// Index of the site at which packets enter, and index of their destination's tree.
type Ends = (u32, u32);
/// Flow, connection and destination's tree.
type Connection = (u32, u16, u32);

/// The path to which a connection is assigned.
struct PathAssignment {
    site: u32,
    /// The first satellite of the connection's path.
    first_satellite: u32,
    last_packet: Time,
}

/// Bytes offered to a ground link in the current second and in the previous second.
#[derive(Clone, Copy, Default)]
struct Load {
    second: u64,
    current: u64,
    previous: u64,
}

/// The paths in use and the connections on them.
pub struct Balance {
    config: Config,
    rate: Rate,
    paths: BTreeMap<Ends, ((Stamp, u64), Vec<Path>)>,
    assignments: BTreeMap<Connection, PathAssignment>,
    /// Loads by site and antenna.
    loads: BTreeMap<(u32, u32), Load>,
    /// Time of the last removal of idle connections.
    last_removal: Time,
}

/// Time without packets after which a connection is removed.
const IDLE_TIMEOUT: Span = Span::from_secs(60);

impl Balance {
    /// Creates the state without connections. `rate` is the rate of the links from the ground.
    pub fn new(config: Config, rate: Rate) -> Balance {
        let (paths, assignments, loads) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Balance { config, rate, paths, assignments, loads, last_removal: Time::ZERO }
    }

    /// Returns the maximum number of simultaneous paths.
    pub fn max_paths(&self) -> usize {
        self.config.paths.value() as usize
    }

    /// Returns true if the paths between these ends belong to an earlier state of the network.
    pub fn is_outdated(&self, ends: Ends, state: (Stamp, u64)) -> bool {
        self.paths.get(&ends).is_none_or(|(of, _)| *of != state)
    }

    /// Sets the paths between these ends in this state.
    pub fn set(&mut self, ends: Ends, state: (Stamp, u64), paths: Vec<Path>) {
        self.paths.insert(ends, (state, paths));
    }

    /// Returns the site at which a packet's connection towards a destination entered the
    /// constellation.
    pub fn origin(&self, packet: &Packet, destination: u32) -> Option<u32> {
        self.assignments.get(&connection(packet, destination)).map(|assignment| assignment.site)
    }

    /// Returns the next hop of a packet's connection from a satellite on its path.
    pub fn hop(&self, packet: &Packet, destination: u32, satellite: u32) -> Option<Hop> {
        let assignment = self.assignments.get(&connection(packet, destination))?;
        let (_, paths) = self.paths.get(&(assignment.site, destination))?;
        paths.iter().find(|path| path.first.1 == assignment.first_satellite)?.hops.get(&satellite).copied()
    }

    /// Chooses the path of a packet from a site. `wait` returns the present wait at an antenna.
    ///
    /// # Errors
    /// Fails with the reason why no path admits the packet's connection.
    pub fn choose(
        &mut self,
        now: Time,
        (site, destination): Ends,
        packet: &Packet,
        wait: impl Fn(u32) -> Span,
    ) -> Result<&Path, DropReason> {
        self.remove_idle(now);
        let key = connection(packet, destination);
        let paths = self.paths.get(&(site, destination)).map_or(&[][..], |(_, paths)| paths);
        if paths.is_empty() {
            return Err(NO_PATH);
        }
        let assigned = self
            .assignments
            .get(&key)
            .filter(|assignment| assignment.site == site)
            .map(|assignment| assignment.first_satellite);
        let index = match paths.iter().position(|path| Some(path.first.1) == assigned) {
            Some(index) => index,
            None => {
                let users = |first_satellite: u32| {
                    self.assignments
                        .iter()
                        .filter(|(of, assignment)| {
                            **of != key
                                && (assignment.site, assignment.first_satellite) == (site, first_satellite)
                        })
                        .count()
                };
                let max_rate =
                    (self.config.max_load.value() * self.rate.bits_per_second() as f64 / 8.0) as u64;
                let admits = |path: &Path| {
                    let delay = path.delay + wait(path.first.0);
                    self.config.max_delay.is_none_or(|longest| delay <= longest)
                        && self.load(now, (site, path.first.0)) <= max_rate
                };
                let admitted = (0..paths.len()).filter(|index| admits(&paths[*index]));
                let best = admitted.min_by_key(|index| {
                    let (antenna, first_satellite) = paths[*index].first;
                    (users(first_satellite), self.load(now, (site, antenna)), paths[*index].cost)
                });
                best.ok_or(REFUSED)?
            }
        };
        let (antenna, first_satellite) = paths[index].first;
        self.assignments.insert(key, PathAssignment { site, first_satellite, last_packet: now });
        let second = now.as_nanos() / 1_000_000_000;
        let load = self.loads.entry((site, antenna)).or_default();
        if load.second != second {
            let previous = if load.second + 1 == second { load.current } else { 0 };
            *load = Load { second, current: 0, previous };
        }
        load.current += u64::from(packet.size);
        Ok(&paths[index])
    }

    /// Returns the bytes per second offered to a ground link: in the last complete second or in the
    /// current second, whichever is more.
    fn load(&self, now: Time, link: (u32, u32)) -> u64 {
        let Some(load) = self.loads.get(&link) else { return 0 };
        match now.as_nanos() / 1_000_000_000 - load.second {
            0 => load.current.max(load.previous),
            1 => load.current,
            _ => 0,
        }
    }

    fn remove_idle(&mut self, now: Time) {
        if now.since(self.last_removal) >= IDLE_TIMEOUT {
            self.last_removal = now;
            self.assignments.retain(|_, assignment| now.since(assignment.last_packet) < IDLE_TIMEOUT);
        }
    }
}

fn connection(packet: &Packet, destination: u32) -> Connection {
    (packet.flow.0, packet.connection, destination)
}
