//! Records of the satellites that serve a site: a trace of the handovers, and counters over a run.

use super::topology::{seconds, Topology};
use bentpipe_core::{Column, Probe, Report, Span, Table, Time};
use bentpipe_stage::Outbox;

/// Trace of the satellites that serve a site.
pub static HANDOVER: Table = Table {
    name: "handover",
    entity: "site",
    about: "when a site is served by another satellite, or by none",
    columns: &[
        Column::whole("antenna", "1", "antenna of the site, from 0"),
        Column::whole("from", "1", "number of the satellite that served before, from 0; null if none did"),
        Column::whole("to", "1", "number of the satellite that serves now; null if none does"),
        Column::real("elevation", "deg", "elevation of the satellite that serves now"),
        Column::real("range", "m", "distance of the satellite that serves now"),
        Column::whole("waiting", "packets", "packets that waited at the satellite that served before"),
    ],
};

/// Counters of a site's links over a run.
pub static SITE: Table = Table {
    name: "site",
    entity: "site",
    about: "at the end of the run",
    columns: &[
        Column::whole("handovers", "1", "number of changes from one satellite to another"),
        Column::real("outage", "s", "total time in which no satellite served the site"),
    ],
};

/// Counters of the handovers of a site.
#[derive(Clone, Copy, Default)]
pub struct SiteStatistics {
    handovers: u64,
    outage: Span,
    /// Start of the present outage, if no satellite serves the site.
    in_outage: Option<Time>,
}

impl SiteStatistics {
    /// Creates the counters at the start of a run. `in_outage` is true if no satellite serves the
    /// site.
    pub fn new(in_outage: bool) -> SiteStatistics {
        SiteStatistics { in_outage: in_outage.then_some(Time::ZERO), ..SiteStatistics::default() }
    }

    /// Counts a change of the serving satellite. `in_outage` is true if no satellite serves the
    /// site afterwards.
    pub fn count_handover(&mut self, now: Time, (from, to): (Option<u32>, Option<u32>), in_outage: bool) {
        self.handovers += u64::from(from.is_some() && to.is_some());
        match (in_outage, self.in_outage) {
            (true, None) => self.in_outage = Some(now),
            (false, Some(since)) => {
                self.outage += now.since(since);
                self.in_outage = None;
            }
            _ => {}
        }
    }

    /// Returns the number of changes from one satellite to another.
    pub fn handovers(&self) -> u64 {
        self.handovers
    }

    /// Adds the row of a site to [`SITE`].
    pub fn report(&self, now: Time, name: &str, report: &mut Report) {
        let outage = self.outage + self.in_outage.map_or(Span::ZERO, |since| now.since(since));
        report.row(&SITE, name, &[self.handovers as f64, outage.as_secs_f64()]);
    }
}

/// A change of the satellite that serves an antenna of a site.
pub struct Handover {
    /// Number of the site, in the order of the topology.
    pub site: u32,
    /// Number of the site's antenna, from 0.
    pub antenna: u32,
    /// The satellite that served before.
    pub from: Option<u32>,
    /// The satellite that serves now.
    pub to: Option<u32>,
    /// Number of packets that waited at the satellite that served before.
    pub waiting: usize,
}

impl Handover {
    /// Adds a row to the trace [`HANDOVER`].
    pub fn record(&self, now: Time, topology: &Topology, probe: Probe, out: &mut Outbox) {
        let number = |satellite: Option<u32>| satellite.map_or(f64::NAN, f64::from);
        let observation = self.to.map(|to| {
            let (site, target) = (&topology.sites[self.site as usize], &topology.satellites[to as usize]);
            site.observer.elevation(target, seconds(now))
        });
        let (elevation, range) = observation.unwrap_or((f64::NAN, f64::NAN));
        let (from, to) = (number(self.from), number(self.to));
        let antenna = f64::from(self.antenna);
        let values = [antenna, from, to, elevation.to_degrees(), range, self.waiting as f64];
        out.record(probe, now, &values);
    }
}
