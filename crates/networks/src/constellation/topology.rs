//! The links at a given time: the inter-satellite links that are up, and the satellites that serve
//! each site.
//!
//! Positions are not sampled. For each pair of a site and an invisible satellite, and for each
//! inter-satellite link, there is a time before which the state cannot change (see
//! [`bentpipe_orbit::crossing`]). At this time the pair or link is examined again. Events happen at
//! roots: a satellite rises or sets, a choice is due, or a link comes up or goes down. To find the
//! next event, only the pairs and links are examined for which this time comes before the event.

use super::choice::{self, Sky, Visible};
use super::isl;
use bentpipe_core::Time;
use bentpipe_orbit::crossing::{self, Bound, SignChange};
use bentpipe_orbit::epoch::Epoch;
use bentpipe_orbit::observer::Observer;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::shell::Neighbours;
use bentpipe_orbit::vector::{length, minus};
use bentpipe_orbit::visibility;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub use super::ranging::seconds;

/// A link between two satellites.
pub struct Isl {
    /// Numbers of the two satellites.
    pub ends: (u32, u32),
    /// Relative position of the two satellites: in one plane or in adjacent planes.
    pub neighbours: Neighbours,
    /// True while the link is up.
    pub up: bool,
}

/// A site on the ground, with its position and the satellites that serve it.
pub struct Ground {
    /// The observer at the site.
    pub observer: Observer,
    /// Minimum elevation of visible satellites, in radians.
    pub mask: f64,
    /// Other positions, with their masks, from which a satellite must be visible to serve this
    /// site. In a star network, these are the terminals, which share the satellite of the gateway;
    /// in a constellation the list is empty.
    pub others: Vec<(Observer, f64)>,
    /// Satellites above the masks, in order of rising.
    pub visible: Vec<Visible>,
    /// The satellites that serve the site, by antenna.
    pub serving: Vec<Option<u32>>,
    /// Number of changes of `serving`.
    pub version: u64,
    /// Time of the last change of `serving`.
    pub changed: Time,
    /// Number of choices. It tells whether a review belongs to the latest choice.
    choices: u32,
}

impl Ground {
    /// Returns the elevation of a satellite above the masks, like [`visibility::elevation_margin`]:
    /// the minimum over all positions.
    fn above(&self, satellite: &Satellite, t: f64) -> Bound {
        let others = self
            .others
            .iter()
            .map(|(observer, mask)| visibility::elevation_margin(observer, satellite, *mask, t));
        others.fold(visibility::elevation_margin(&self.observer, satellite, self.mask, t), |all, one| {
            let holds_for = match (all.value >= 0.0, one.value >= 0.0) {
                (true, true) => all.holds_for.min(one.holds_for),
                // A satellite below one mask is not visible, whatever its elevation at the other
                // positions.
                (true, false) => one.holds_for,
                (false, true) => all.holds_for,
                (false, false) => all.holds_for.max(one.holds_for),
            };
            Bound { value: all.value.min(one.value), holds_for }
        })
    }

    /// Returns the time until which a satellite stays on its side of the masks, like
    /// [`visibility::next_change`].
    fn change(&self, satellite: &Satellite, from: f64, to: f64) -> SignChange {
        visibility::next_change_where(satellite, from, to, |t| self.above(satellite, t))
    }
}

/// The two ends of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// A site and a satellite.
    Ground {
        /// Number of the site.
        site: u32,
        /// Number of the satellite.
        satellite: u32,
    },
    /// The two ends of the inter-satellite link with this number.
    Isl(u32),
}

impl Ends {
    /// Returns a number that distinguishes the successive ends of one carrier. Only the satellite
    /// that serves a site changes.
    #[inline]
    pub fn number(self) -> u32 {
        match self {
            Ends::Ground { satellite, .. } => satellite,
            Ends::Isl(isl) => isl,
        }
    }
}

/// A change of the topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Another satellite, or none, serves an antenna of a site.
    Handover {
        /// Number of the site.
        site: usize,
        /// Number of its antenna.
        antenna: usize,
        /// The satellite that served before.
        from: Option<u32>,
        /// The satellite that serves now.
        to: Option<u32>,
    },
    /// An inter-satellite link has come up or gone down.
    Isl {
        /// Number of the link.
        index: usize,
        /// True if the link has come up.
        up: bool,
    },
}

/// Possible events. Simultaneous events happen in the order of their variants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Isl { index: u32 },
    Set { site: u32, satellite: u32 },
    Rise { site: u32, satellite: u32 },
    Review { site: u32, choice: u32 },
}

/// A pair or link to examine again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Examination {
    Isl { index: u32 },
    Pair { site: u32, satellite: u32 },
}

/// The state after the last event, and the pending events and examinations.
pub struct Topology {
    /// All satellites by number.
    pub satellites: Vec<Satellite>,
    /// All links between satellites that are up at any time.
    pub isls: Vec<Isl>,
    /// All sites on the ground, by number.
    pub sites: Vec<Ground>,
    /// Number of changes of the inter-satellite links and of the satellites that serve sites.
    pub changes: u64,
    /// Number of changes of the inter-satellite links.
    pub isl_version: u64,
    /// Time of the last change of the inter-satellite links.
    pub isl_changed: Time,
    start: Epoch,
    isl_rules: isl::Config,
    choice: choice::Config,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    examinations: BinaryHeap<Reverse<(Time, Examination)>>,
}

/// Search range of an examination, in seconds. A root within this time is found at once.
const LOOKAHEAD: f64 = 2.0;
/// Search range for the time at which a satellite sets, in seconds: one day.
const HORIZON: f64 = 86_400.0;
/// Search range for events from the present time, in nanoseconds: one hour.
const SEARCH_RANGE: u64 = 3_600_000_000_000;

/// Returns the first nanosecond that is not before `seconds`, apart from the rounding of `seconds`
/// itself.
fn at_or_after(seconds: f64) -> Time {
    // As in a cast, values that are too large become the maximum.
    Time::from_nanos((seconds * 1e9 - 0.1).ceil() as u64)
}

/// A site of a topology.
pub struct SiteParts {
    /// The observer at the site.
    pub observer: Observer,
    /// Minimum elevation of visible satellites, in radians.
    pub mask: f64,
    /// Number of satellites that serve the site at the same time.
    pub antennas: usize,
    /// Other positions, with their masks, from which a satellite must be visible to serve this
    /// site.
    pub others: Vec<(Observer, f64)>,
}

/// The parts of a topology.
pub struct Parts {
    /// Start of the run.
    pub start: Epoch,
    /// All satellites by number.
    pub satellites: Vec<Satellite>,
    /// Pairs of satellites, by number, that may be linked.
    pub neighbours: Vec<Neighbours>,
    /// The sites.
    pub sites: Vec<SiteParts>,
    /// The rules of inter-satellite links.
    pub isl_rules: isl::Config,
    /// The policy for choosing the serving satellites.
    pub choice: choice::Config,
}

impl Topology {
    /// Creates the state at the start of the run.
    pub fn new(parts: Parts) -> Topology {
        let ground = |SiteParts { observer, mask, antennas, others }: SiteParts| Ground {
            observer,
            mask,
            others,
            visible: Vec::new(),
            serving: vec![None; antennas],
            version: 0,
            changed: Time::ZERO,
            choices: 0,
        };
        let joined = parts.neighbours.into_iter().filter(|neighbours| parts.isl_rules.connects(neighbours));
        let isl = |neighbours: Neighbours| Isl { ends: neighbours.indices, neighbours, up: false };
        let mut topology = Topology {
            isls: joined.map(isl).collect(),
            sites: parts.sites.into_iter().map(ground).collect(),
            satellites: parts.satellites,
            changes: 0,
            isl_version: 0,
            isl_changed: Time::ZERO,
            start: parts.start,
            isl_rules: parts.isl_rules,
            choice: parts.choice,
            events: BinaryHeap::new(),
            examinations: BinaryHeap::new(),
        };
        for index in 0..topology.isls.len() as u32 {
            topology.isls[index as usize].up = topology.margin(index, 0.0).value >= 0.0;
            topology.examine(0.0, Examination::Isl { index });
        }
        for site in 0..topology.sites.len() as u32 {
            for satellite in 0..topology.satellites.len() as u32 {
                let ground = &topology.sites[site as usize];
                let target = &topology.satellites[satellite as usize];
                if ground.above(target, 0.0).value >= 0.0 {
                    topology.add_visible(0.0, site, satellite);
                } else {
                    topology.examine(0.0, Examination::Pair { site, satellite });
                }
            }
            topology.choose(Time::ZERO, site, &mut |_| ());
        }
        topology
    }

    /// Returns the distance between the ends of a link in metres, `t` seconds after the start.
    pub fn length(&self, ends: Ends, t: f64) -> f64 {
        match ends {
            Ends::Ground { site, satellite } => {
                self.sites[site as usize].observer.range(&self.satellites[satellite as usize], t)
            }
            Ends::Isl(isl) => {
                let (a, b) = self.isls[isl as usize].ends;
                let [a, b] = [a, b].map(|end| self.satellites[end as usize].position(t));
                length(&minus(&a, &b))
            }
        }
    }

    fn margin(&self, index: u32, t: f64) -> crossing::Bound {
        let Isl { ends: (a, b), neighbours, .. } = &self.isls[index as usize];
        self.isl_rules.margin(neighbours, (&self.satellites[*a as usize], &self.satellites[*b as usize]), t)
    }

    /// Searches for the next event of a pair or link from `from` on. Records the event, or the time
    /// at which to search again.
    fn examine(&mut self, from: f64, examination: Examination) {
        let to = from + LOOKAHEAD;
        let (found, event) = match examination {
            Examination::Isl { index } => {
                (crossing::next_crossing(from, to, |t| self.margin(index, t)), Event::Isl { index })
            }
            Examination::Pair { site, satellite } => {
                let (ground, target) = (&self.sites[site as usize], &self.satellites[satellite as usize]);
                (ground.change(target, from, to), Event::Rise { site, satellite })
            }
        };
        match found {
            SignChange::At(moment) => self.events.push(Reverse((at_or_after(moment), event))),
            SignChange::NotBefore(moment) if moment == f64::INFINITY => {}
            SignChange::NotBefore(moment) => {
                self.examinations.push(Reverse((at_or_after(moment), examination)))
            }
        }
    }

    /// Adds a satellite that is visible from `from` on.
    fn add_visible(&mut self, from: f64, site: u32, satellite: u32) {
        let ground = &mut self.sites[site as usize];
        let target = &self.satellites[satellite as usize];
        let found = ground.change(target, from, from + HORIZON);
        let set = match found {
            SignChange::At(moment) => {
                self.events.push(Reverse((at_or_after(moment), Event::Set { site, satellite })));
                moment
            }
            // If the satellite does not set before the horizon, the search continues at the
            // horizon.
            SignChange::NotBefore(moment) if moment.is_finite() => {
                self.events.push(Reverse((at_or_after(moment), Event::Set { site, satellite })));
                moment
            }
            SignChange::NotBefore(moment) => moment,
        };
        ground.visible.push(Visible { satellite, set });
    }

    /// Returns the time of the next event or search, before which the state does not change.
    pub fn next(&mut self, now: Time) -> Option<Time> {
        let end = now + bentpipe_core::Span::from_nanos(SEARCH_RANGE);
        loop {
            let event = self.events.peek().map(|Reverse((at, _))| *at);
            match self.examinations.peek() {
                Some(Reverse((at, examination))) if event.is_none_or(|event| *at <= event) => {
                    if *at > end {
                        return Some(end);
                    }
                    let (at, examination) = (*at, *examination);
                    self.examinations.pop();
                    self.examine(seconds(at), examination);
                }
                _ => return event,
            }
        }
    }

    /// Processes the next event if it happens by `now`. Returns its time and the changes.
    pub fn advance(&mut self, now: Time) -> Option<(Time, Vec<Change>)> {
        while self.next(now).is_some_and(|at| at <= now) {
            let Reverse((at, event)) = self.events.pop()?;
            let mut changes = Vec::new();
            self.process_event(at, event, &mut |change| changes.push(change));
            if !changes.is_empty() {
                return Some((at, changes));
            }
        }
        None
    }

    fn process_event(&mut self, at: Time, event: Event, report: &mut dyn FnMut(Change)) {
        let t = seconds(at);
        match event {
            Event::Isl { index } => {
                let up = self.margin(index, t).value >= 0.0;
                let isl = &mut self.isls[index as usize];
                if isl.up != up {
                    isl.up = up;
                    self.changes += 1;
                    self.isl_version += 1;
                    self.isl_changed = at;
                    report(Change::Isl { index: index as usize, up });
                }
                self.examine(t, Examination::Isl { index });
            }
            Event::Rise { site, satellite } => {
                self.add_visible(t, site, satellite);
                self.review(at, site, report);
            }
            Event::Set { site, satellite } => {
                let ground = &mut self.sites[site as usize];
                ground.visible.retain(|visible| visible.satellite != satellite);
                let target = &self.satellites[satellite as usize];
                if ground.above(target, t).value >= 0.0 {
                    self.add_visible(t, site, satellite);
                } else {
                    self.examine(t, Examination::Pair { site, satellite });
                }
                self.review(at, site, report);
            }
            Event::Review { site, choice } => {
                if self.sites[site as usize].choices == choice {
                    self.choose(at, site, report);
                }
            }
        }
    }

    /// Processes a change of the satellites that are visible from a site: chooses again, or only
    /// removes the satellites that have set.
    fn review(&mut self, at: Time, site: u32, report: &mut dyn FnMut(Change)) {
        if !self.choice.only_when_due() {
            return self.choose(at, site, report);
        }
        let ground = &mut self.sites[site as usize];
        for antenna in 0..ground.serving.len() {
            let Some(from) = ground.serving[antenna] else { continue };
            if !ground.visible.iter().any(|visible| visible.satellite == from) {
                ground.serving[antenna] = None;
                ground.version += 1;
                ground.changed = at;
                self.changes += 1;
                report(Change::Handover { site: site as usize, antenna, from: Some(from), to: None });
            }
        }
    }

    fn choose(&mut self, at: Time, site: u32, report: &mut dyn FnMut(Change)) {
        let ground = &self.sites[site as usize];
        let current: Vec<u32> = ground.serving.iter().flatten().copied().collect();
        let sky = Sky {
            now: seconds(at),
            start: self.start,
            links: ground.serving.len(),
            visible: &ground.visible,
            observer: &ground.observer,
            satellites: &self.satellites,
        };
        let (chosen, review) = self.choice.choose(&sky, &current);
        let ground = &mut self.sites[site as usize];
        ground.choices += 1;
        if review.is_finite() {
            let due = at_or_after(review).max(at + bentpipe_core::Span::from_nanos(1));
            let event = Event::Review { site, choice: ground.choices };
            self.events.push(Reverse((due, event)));
        }
        // Antennas keep satellites that still serve. The new satellites are assigned to the other
        // antennas, in order.
        let mut new = chosen.iter().copied().filter(|satellite| !current.contains(satellite));
        let mut changed = false;
        for antenna in 0..ground.serving.len() {
            let from = ground.serving[antenna];
            if from.is_some_and(|satellite| chosen.contains(&satellite)) {
                continue;
            }
            let to = new.next();
            if from != to {
                ground.serving[antenna] = to;
                changed = true;
                report(Change::Handover { site: site as usize, antenna, from, to });
            }
        }
        if changed {
            ground.version += 1;
            ground.changed = at;
            self.changes += 1;
        }
    }
}
