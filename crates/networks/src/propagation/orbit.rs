//! Moving satellites as the delay source of a star network: one satellite at a time connects the
//! gateway and all terminals.
//!
//! **Serving satellite.** A satellite can serve while the gateway and every terminal see it above
//! the mask. A policy ([`choice`]) picks one of these satellites by its elevation at the gateway.
//! Rises, sets and handovers happen at the roots of these conditions, as in a
//! [constellation](crate::constellation).
//!
//! **Delays.** The delay of a leg is the slant range divided by the speed of light. The network
//! requests the legs once per superframe, for the time at which the superframe passes the
//! satellite. They apply to the whole superframe. Over 100 ms the range to an O3b satellite changes
//! by at most 250 m, or 0.8 us.
//!
//! **Handover.** A superframe passes the satellite that serves at its start. With `interruption`,
//! superframes that overlap with this time after a handover are not used; the same holds for
//! superframes in which no satellite serves. Packets in flight arrive: gateway and terminals have a
//! second antenna for the setting satellite.
//!
//! **Maximum delays.** The range from a site at distance p from the Earth's centre to a satellite
//! at elevation E and at distance r from the centre is
//!
//! ```text
//! d(E) = sqrt(r^2 - p^2 cos^2 E') - p sin E'
//! ```
//!
//! E' is E minus the angle between the vertical and the line to the centre, at most 0.2 deg.
//! d(mask) is an upper limit of the range for runs of any length, which networks use for planning.
//!
//! Limits: one satellite serves all terminals, so sites that never see the same satellite have no
//! service; Doppler shift is not modelled.

use super::{Legs, Positions};
use crate::constellation::choice;
use crate::constellation::config::{check_mask, default_epoch, default_mask};
use crate::constellation::isl;
use crate::constellation::routes::light_time;
use crate::constellation::serving::{Handover, SiteStatistics};
use crate::constellation::topology::{seconds, Change, Parts, SiteParts, Topology};
use bentpipe_core::{math, Angle, Probe, Problems, Report, Span, Time};
use bentpipe_orbit::earth::{EQUATORIAL_RADIUS, SPEED_OF_LIGHT};
use bentpipe_orbit::epoch::Epoch;
use bentpipe_orbit::observer::{EarthRotation, Observer};
use bentpipe_orbit::shell;
use bentpipe_orbit::site::Site;
use bentpipe_orbit::vector::{dot, length, Vector};
use bentpipe_stage::{facts, Outbox};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Moving satellites that serve a star network, one at a time.
///
/// ```toml
/// [network.sat.propagation]
/// gateway = { latitude = "37.9 deg", longitude = "23.7 deg" }
/// terminals = { latitude = "4.2 deg", longitude = "15.3 deg" }
/// orbit.shell = [{ kind = "walker-delta", altitude = "8062 km", inclination = "0 deg", planes = 1, satellites = 8 }]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Orbit {
    /// Start of the run in UTC, 2000-01-01T12:00:00Z by default. UT1 is taken to equal UTC.
    #[serde(default = "default_epoch")]
    pub epoch: Epoch,
    /// The satellites, as one or more shells: sets of circular orbits or element sets.
    pub shell: Vec<shell::Config>,
    /// Minimum elevation at which the gateway and the terminals use a satellite, 10 deg by default;
    /// -5 deg to below 90 deg.
    #[serde(default = "default_mask")]
    pub mask: Angle,
    /// Policy for choosing one of the satellites that all stations see, from the elevation and the
    /// visibility window at the gateway; the highest satellite by default.
    #[serde(default)]
    pub choice: choice::Config,
    /// Time after a handover during which the new satellite is not used; 0 s by default.
    /// Superframes that overlap with this time are not used.
    #[serde(default)]
    pub interruption: Span,
}

impl Orbit {
    /// Adds the problems of this configuration to `problems`.
    pub fn check(&self, problems: &mut Problems) {
        shell::check(&self.shell, self.epoch, problems);
        check_mask(self.mask, problems);
        problems.within("choice", |problems| self.choice.check(problems));
    }

    /// Returns an upper limit of the propagation delay between a site and a satellite above the
    /// mask.
    pub fn longest(&self, site: &Site) -> Span {
        let (position, vertical) = (site.position(), site.up());
        let radius = length(&position);
        let farthest = self.shell.iter().map(|shell| shell.max_radius()).fold(0.0, f64::max);
        let deflection = math::acos((dot(&position, &vertical) / radius).clamp(-1.0, 1.0));
        let (sin, cos) = math::sin_cos(self.mask.radians() - deflection);
        let range = (farthest * farthest - radius * radius * cos * cos).max(0.0).sqrt() - radius * sin;
        // Rounded up, so that no delay of the run exceeds it.
        Span::from_nanos((range / SPEED_OF_LIGHT * 1e9).ceil() as u64)
    }

    /// Returns a lower limit of the propagation delay between a site and a satellite.
    pub fn shortest(&self, site: &Site) -> Span {
        let lowest = self.shell.iter().map(|shell| shell.min_altitude()).fold(f64::INFINITY, f64::min);
        let range = (EQUATORIAL_RADIUS + lowest - length(&site.position())).max(0.0);
        Span::from_nanos((range / SPEED_OF_LIGHT * 1e9) as u64)
    }
}

/// Latitude, longitude and altitude of a site, as a key.
type Coordinates = [u64; 3];

fn coordinates(site: &Site) -> Coordinates {
    [site.latitude.degrees(), site.longitude.degrees(), site.altitude.metres()].map(f64::to_bits)
}

/// The satellites of a run, shared by the stages of a network.
#[derive(Clone)]
pub struct SharedEphemeris(Arc<Mutex<Ephemeris>>);

/// The delays of one terminal over moving satellites.
#[derive(Clone)]
pub struct Track {
    ephemeris: SharedEphemeris,
    /// Index of the terminal's observer.
    observer: usize,
}

/// A period in which one satellite serves, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ServicePeriod {
    begin: Time,
    satellite: Option<u32>,
}

/// Positions at the last requested time.
#[derive(Clone, Copy)]
struct Snapshot {
    at: Time,
    /// Earth-fixed position of the serving satellite, if any has served yet.
    position: Option<Vector>,
    /// Delay between satellite and gateway.
    gateway: Span,
}

/// Positions of the satellites, and the periods in which they serve.
struct Ephemeris {
    topology: Topology,
    rotation: EarthRotation,
    gateway: Observer,
    /// Index in `observers` of each site.
    sites: BTreeMap<Coordinates, usize>,
    observers: Vec<Observer>,
    /// Maximum legs, which apply until a satellite has served.
    longest: (Vec<Span>, Span),
    interruption: Span,
    /// Service periods up to `known`, in order of time.
    periods: Vec<ServicePeriod>,
    known: Time,
    snapshot: Option<Snapshot>,
}

impl SharedEphemeris {
    /// Creates the satellites of a network whose terminals are at these sites. The configuration
    /// must have passed its check.
    pub fn new(positions: &Positions, orbit: &Orbit, sites: &[Site]) -> SharedEphemeris {
        let rotation = EarthRotation::new(orbit.epoch, 0.0);
        let (mut distinct, mut by_site) = (Vec::new(), BTreeMap::new());
        for site in sites {
            by_site.entry(coordinates(site)).or_insert_with(|| {
                distinct.push(*site);
                distinct.len() - 1
            });
        }
        let observe = |site: &Site| Observer::new(site, rotation);
        let mask = orbit.mask.radians();
        let (satellites, _) = shell::fleet(&orbit.shell, orbit.epoch, rotation);
        let topology = Topology::new(Parts {
            start: orbit.epoch,
            satellites,
            neighbours: Vec::new(),
            sites: vec![SiteParts {
                observer: observe(&positions.gateway),
                mask,
                antennas: 1,
                others: distinct.iter().map(|site| (observe(site), mask)).collect(),
            }],
            isl_rules: isl::Config::None(isl::none::Config {}),
            choice: orbit.choice.clone(),
        });
        let periods = vec![ServicePeriod { begin: Time::ZERO, satellite: topology.sites[0].serving[0] }];
        SharedEphemeris(Arc::new(Mutex::new(Ephemeris {
            gateway: observe(&positions.gateway),
            observers: distinct.iter().map(observe).collect(),
            longest: (
                distinct.iter().map(|site| orbit.longest(site)).collect(),
                orbit.longest(&positions.gateway),
            ),
            sites: by_site,
            interruption: orbit.interruption,
            topology,
            rotation,
            periods,
            known: Time::ZERO,
            snapshot: None,
        })))
    }

    /// Returns the delays of a terminal at one of the network's sites.
    ///
    /// # Panics
    /// If no terminal is at the site.
    pub fn track(&self, site: &Site) -> Track {
        let observer = self.open().sites.get(&coordinates(site)).copied();
        Track { ephemeris: self.clone(), observer: observer.expect("the site belongs to a terminal") }
    }

    fn open(&self) -> MutexGuard<'_, Ephemeris> {
        self.0.lock().expect("no stage panics while it reads positions")
    }

    /// Returns true if a satellite serves from `begin` to `end` without an interruption.
    pub fn serves(&self, begin: Time, end: Time) -> bool {
        self.open().serves(begin, end)
    }

    /// Returns the periods up to `end`. For each period: its end in seconds, and the serving
    /// satellite.
    fn service_periods(&self, end: Time) -> Vec<(f64, Option<u32>)> {
        let mut ephemeris = self.open();
        ephemeris.extend(end);
        let ends = ephemeris.periods.iter().skip(1).map(|period| period.begin).chain([end]);
        let periods = ephemeris.periods.iter().zip(ends).filter(|(period, _)| period.begin < end);
        periods.map(|(period, until)| (seconds(until.min(end)), period.satellite)).collect()
    }

    /// Returns the handovers and outages of a run.
    pub fn facts(&self, run: Span) -> facts::Orbit {
        let periods = self.service_periods(Time::ZERO + run);
        let changes = periods.windows(2).filter(|pair| pair[0].1.is_some() && pair[1].1.is_some());
        let begins = [0.0].into_iter().chain(periods.iter().map(|(end, _)| *end));
        let in_outage = begins.zip(&periods).filter(|(_, (_, satellite))| satellite.is_none());
        let outages = in_outage.map(|(begin, (end, _))| [begin, *end]).collect();
        facts::Orbit { handovers: changes.count() as u64, outages }
    }

    /// Returns the number of the satellite that serves at `at`.
    pub fn satellite(&self, at: Time) -> Option<u32> {
        let mut ephemeris = self.open();
        let period = ephemeris.period(at);
        ephemeris.periods[period].satellite
    }
}

impl Track {
    /// Returns the legs at `at`, which may be in the future. While no satellite serves, these are
    /// the legs at the end of the last period with a satellite.
    pub fn legs(&self, at: Time) -> Legs {
        self.ephemeris.open().legs(at, self.observer)
    }

    /// Returns true if a satellite serves from `begin` to `end` without an interruption.
    pub fn serves(&self, begin: Time, end: Time) -> bool {
        self.ephemeris.serves(begin, end)
    }
}

impl Ephemeris {
    /// Extends the service periods up to `to`.
    fn extend(&mut self, to: Time) {
        if to <= self.known {
            return;
        }
        while let Some((begin, changes)) = self.topology.advance(to) {
            for change in changes {
                if let Change::Handover { to, .. } = change {
                    self.periods.push(ServicePeriod { begin, satellite: to });
                }
            }
        }
        self.known = to;
    }

    /// Returns the index of the period at `at`.
    fn period(&mut self, at: Time) -> usize {
        self.extend(at);
        self.periods.partition_point(|period| period.begin <= at).saturating_sub(1)
    }

    fn serves(&mut self, begin: Time, end: Time) -> bool {
        self.extend(end);
        let first = self.period(begin);
        let mut periods = (first..).zip(&self.periods[first..]).take_while(|(_, period)| period.begin < end);
        periods.all(|(index, period)| {
            // The start of the run is not a handover.
            let interruption = if index == 0 { Span::ZERO } else { self.interruption };
            let free = period.begin + interruption;
            period.satellite.is_some() && (free <= begin || interruption == Span::ZERO)
        })
    }

    fn legs(&mut self, at: Time, observer: usize) -> Legs {
        let snapshot = match self.snapshot {
            Some(snapshot) if snapshot.at == at => snapshot,
            _ => self.take_snapshot(at),
        };
        match snapshot.position {
            Some(position) => Legs {
                terminal: light_time(self.observers[observer].distance(&position)),
                gateway: snapshot.gateway,
            },
            None => Legs { terminal: self.longest.0[observer], gateway: self.longest.1 },
        }
    }

    fn take_snapshot(&mut self, at: Time) -> Snapshot {
        let index = self.period(at);
        let served = self.periods[..=index].iter().rposition(|period| period.satellite.is_some());
        let position = served.map(|served| {
            let moment = if served == index { at } else { self.periods[served + 1].begin };
            let satellite =
                self.periods[served].satellite.expect("the search found a period with a satellite");
            let position = self.topology.satellites[satellite as usize].position(seconds(moment));
            self.rotation.earth_fixed(&position, seconds(moment))
        });
        let gateway =
            position.map_or(self.longest.1, |position| light_time(self.gateway.distance(&position)));
        let snapshot = Snapshot { at, position, gateway };
        self.snapshot = Some(snapshot);
        snapshot
    }
}

/// Reports the handovers of a network as they happen.
pub struct Handovers {
    ephemeris: SharedEphemeris,
    /// Name of the gateway in results.
    name: String,
    statistics: SiteStatistics,
    probe: Option<Probe>,
    /// Index of the next period to report.
    next: usize,
    /// Earliest time of the next handover.
    due: Option<Time>,
}

impl Handovers {
    /// Creates the report of a run that has not started. `probe` is the probe of the trace
    /// [`HANDOVER`](crate::constellation::HANDOVER), if it is recorded.
    pub fn new(ephemeris: SharedEphemeris, name: String, probe: Option<Probe>) -> Handovers {
        let in_outage = ephemeris.satellite(Time::ZERO).is_none();
        let mut handovers = Handovers {
            ephemeris,
            name,
            statistics: SiteStatistics::new(in_outage),
            probe,
            next: 1,
            due: None,
        };
        handovers.due = handovers.next_handover(Time::ZERO);
        handovers
    }

    /// Returns the earliest time of the next handover.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// Reports the handovers up to `now`. `waiting` is the number of packets that wait at the
    /// gateway.
    pub fn catch_up(&mut self, now: Time, waiting: u64, out: &mut Outbox) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        let mut ephemeris = self.ephemeris.open();
        ephemeris.extend(now);
        while let Some(&ServicePeriod { begin, satellite: to }) =
            ephemeris.periods.get(self.next).filter(|period| period.begin <= now)
        {
            let from = ephemeris.periods[self.next - 1].satellite;
            self.statistics.count_handover(begin, (from, to), to.is_none());
            if let Some(probe) = self.probe {
                let handover = Handover { site: 0, antenna: 0, from, to, waiting: waiting as usize };
                handover.record(begin, &ephemeris.topology, probe, out);
            }
            self.next += 1;
        }
        drop(ephemeris);
        self.due = self.next_handover(now);
    }

    fn next_handover(&self, now: Time) -> Option<Time> {
        let mut ephemeris = self.ephemeris.open();
        let known = ephemeris.periods.get(self.next).map(|period| period.begin);
        known.or_else(|| {
            let from = ephemeris.known.max(now);
            ephemeris.topology.next(from)
        })
    }

    /// Adds the row of the gateway to [`SITE`](crate::constellation::SITE).
    pub fn report(&self, now: Time, report: &mut Report) {
        self.statistics.report(now, &self.name, report);
    }
}
