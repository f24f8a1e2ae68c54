//! Several ways at once: a site with several antennas spreads its connections over ways that share no satellite, and lets in no
//! more of them than delay and throughput allow at the moment.
//!
//! The ways from a site to a destination are found one after the other: the shortest, then the shortest over the satellites that
//! are left, as many as there are up to `ways`. They are those of one state of the network, as its trees are. (Pairs of least total
//! length, as Suurballe 1974 finds them, may be shorter together, and there may be two where the shortest leaves no other; with a
//! grid of links that is rare.)
//!
//! A connection (of a flow, towards a destination) is given a way when its first packet comes: of those that admit it the one with
//! the fewest connections, then the least throughput, then the least delay. A way admits a connection while its delay now, which is the
//! propagation and what waits at its ground link, and that link's throughput in the last second are within the limits. The packets of
//! a connection that none admits are dropped, and each asks again. Once admitted it stays, and moves only when its way's first satellite
//! no longer serves the site: then it asks again. A connection that has sent nothing for a minute is forgotten.
//!
//! No packet goes in circles: along a way every hop is a step towards its end; beside it, where the way has changed under packets in
//! flight, they follow the tree, which leads down or onto the way.

use super::routes::{Cost, Hop, Stamp};
use super::stage::NO_PATH;
use crate::{DropReason, Packet};
use bentpipe_core::{Count, Fraction, Problems, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// No way of a site admits a new connection.
pub const REFUSED: DropReason = DropReason::new("no way admits the connection");

/// Spreading connections over several ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Ways at once from a site to a destination, which share no satellite; sites need as many antennas.
    pub ways: Count<1, 16>,
    /// A way takes no new connection while its propagation delay and the wait at its ground link together are longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Span>,
    /// Nor while its ground link had more than this share of its rate to send in the last second.
    #[serde(default = "all")]
    pub max_load: Fraction,
}

fn all() -> Fraction {
    Fraction::thousandths(1000)
}

impl Config {
    /// Adds what is wrong, for a network whose sites have at most this many antennas.
    pub fn check(&self, antennas: usize, problems: &mut Problems) {
        if antennas < 2 && self.ways.value() > 1 {
            problems.add(
                "ways",
                "every site has one antenna, so that there is one way; allowed: 1, or sites with antennas",
            );
        }
    }
}

/// A way from a site down to a destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The antenna by which it goes up, and the satellite that serves it.
    pub first: (u32, u32),
    /// Where it goes on from each of its satellites.
    pub hops: BTreeMap<u32, Hop>,
    /// Of all of it.
    pub cost: Cost,
    /// Propagation delay.
    pub delay: Span,
}

/// Site and destination.
type Ends = (u32, u32);
/// Flow, connection and destination.
type Connection = (u32, u16, u32);

struct Pin {
    site: u32,
    /// The satellite to which its way goes up.
    over: u32,
    last: Time,
}

/// Bytes that a ground link was given in the second that runs and in the one before.
#[derive(Clone, Copy, Default)]
struct Load {
    second: u64,
    now: u64,
    before: u64,
}

/// The ways in use, and who uses them.
pub struct Balance {
    config: Config,
    rate: Rate,
    ways: BTreeMap<Ends, ((Stamp, u64), Vec<Way>)>,
    pins: BTreeMap<Connection, Pin>,
    /// By site and antenna.
    loads: BTreeMap<(u32, u32), Load>,
    /// When the connections that are silent were last forgotten.
    swept: Time,
}

const SILENT: Span = Span::from_secs(60);

impl Balance {
    /// Nobody uses anything yet; `rate` is that of the links from the ground.
    pub fn new(config: Config, rate: Rate) -> Balance {
        let (ways, pins, loads) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Balance { config, rate, ways, pins, loads, swept: Time::ZERO }
    }

    /// Most ways at once.
    pub fn most(&self) -> usize {
        self.config.ways.value() as usize
    }

    /// Whether the ways between these ends are those of another state of the network.
    pub fn is_outdated(&self, ends: Ends, state: (Stamp, u64)) -> bool {
        self.ways.get(&ends).is_none_or(|(of, _)| *of != state)
    }

    /// The ways between these ends, in this state.
    pub fn set(&mut self, ends: Ends, state: (Stamp, u64), ways: Vec<Way>) {
        self.ways.insert(ends, (state, ways));
    }

    /// The site from which a packet's connection towards a destination went up.
    pub fn origin(&self, packet: &Packet, destination: u32) -> Option<u32> {
        self.pins.get(&connection(packet, destination)).map(|pin| pin.site)
    }

    /// Where the way of a packet's connection goes on from a satellite that is on it.
    pub fn hop(&self, packet: &Packet, destination: u32, satellite: u32) -> Option<Hop> {
        let pin = self.pins.get(&connection(packet, destination))?;
        let (_, ways) = self.ways.get(&(pin.site, destination))?;
        ways.iter().find(|way| way.first.1 == pin.over)?.hops.get(&satellite).copied()
    }

    /// The way of a packet that comes from a site, at whose antennas one waits now as `wait` says.
    ///
    /// # Errors
    /// Why there is none.
    pub fn choose(
        &mut self,
        now: Time,
        (site, destination): Ends,
        packet: &Packet,
        wait: impl Fn(u32) -> Span,
    ) -> Result<&Way, DropReason> {
        self.sweep(now);
        let key = connection(packet, destination);
        let ways = self.ways.get(&(site, destination)).map_or(&[][..], |(_, ways)| ways);
        if ways.is_empty() {
            return Err(NO_PATH);
        }
        let pinned = self.pins.get(&key).filter(|pin| pin.site == site).map(|pin| pin.over);
        let index = match ways.iter().position(|way| Some(way.first.1) == pinned) {
            Some(index) => index,
            None => {
                let users = |over: u32| {
                    self.pins
                        .iter()
                        .filter(|(of, pin)| **of != key && (pin.site, pin.over) == (site, over))
                        .count()
                };
                let most = (self.config.max_load.value() * self.rate.bits_per_second() as f64 / 8.0) as u64;
                let admits = |way: &Way| {
                    let delay = way.delay + wait(way.first.0);
                    self.config.max_delay.is_none_or(|longest| delay <= longest)
                        && self.load(now, (site, way.first.0)) <= most
                };
                let admitted = (0..ways.len()).filter(|index| admits(&ways[*index]));
                let best = admitted.min_by_key(|index| {
                    let (antenna, over) = ways[*index].first;
                    (users(over), self.load(now, (site, antenna)), ways[*index].cost)
                });
                best.ok_or(REFUSED)?
            }
        };
        let (antenna, over) = ways[index].first;
        self.pins.insert(key, Pin { site, over, last: now });
        let second = now.as_nanos() / 1_000_000_000;
        let load = self.loads.entry((site, antenna)).or_default();
        if load.second != second {
            let before = if load.second + 1 == second { load.now } else { 0 };
            *load = Load { second, now: 0, before };
        }
        load.now += u64::from(packet.size);
        Ok(&ways[index])
    }

    /// Bytes per second that a ground link was given: of the last whole second, or of this one where that is more already.
    fn load(&self, now: Time, link: (u32, u32)) -> u64 {
        let Some(load) = self.loads.get(&link) else { return 0 };
        match now.as_nanos() / 1_000_000_000 - load.second {
            0 => load.now.max(load.before),
            1 => load.now,
            _ => 0,
        }
    }

    fn sweep(&mut self, now: Time) {
        if now.since(self.swept) >= SILENT {
            self.swept = now;
            self.pins.retain(|_, pin| now.since(pin.last) < SILENT);
        }
    }
}

fn connection(packet: &Packet, destination: u32) -> Connection {
    (packet.flow.0, packet.connection, destination)
}
