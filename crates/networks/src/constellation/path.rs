//! The paths of flows' packets: a trace of their changes, and a summary at the end of the run.

use super::routes::Stamp;
use bentpipe_core::{Column, NodeId, Probe, Report, Span, Table};

/// Trace of the path of a flow's packets.
pub static PATH: Table = Table {
    name: "path",
    entity: "flow",
    about: "when a packet enters the constellation and the path has been recomputed since the previous one",
    columns: &[
        Column::whole(
            "hops",
            "1",
            "number of links on the path, those to and from the ground included; null without a path",
        ),
        Column::real("delay", "s", "propagation delay of the whole path at the present distances"),
    ],
};

/// Summary of the paths of a flow's packets.
pub static FLOW: Table = Table {
    name: "flow_path",
    entity: "flow",
    about: "at the end of the run, of the packets from the flow's source that entered a constellation and had a path",
    columns: &[
        Column::real("path_hops", "1", "mean number of links on the path, those to and from the ground included"),
        Column::real("path_delay", "s", "mean propagation delay of the path, as in the trace `path`"),
        Column::whole("path_handovers", "1", "number of handovers during the run at the two sites of the path"),
    ],
};

/// Trace and summary of a flow's path in one direction.
#[derive(Clone, Debug)]
pub struct FlowPath {
    /// Destination of this direction.
    pub destination: NodeId,
    /// The probe on [`PATH`].
    pub probe: Option<Probe>,
    /// Name of the flow in [`FLOW`], if the summary includes this direction.
    pub flow: Option<String>,
}

/// The path of a flow in one direction.
pub(super) struct PathTrace {
    pub path: FlowPath,
    /// State of tree and site at the last determination of the path.
    pub state: Option<(Stamp, u64)>,
    pub now: Option<Path>,
    packets: u64,
    hops: u64,
    delay: u128,
    /// The sites at which packets last entered and left the constellation.
    sites: Option<[u32; 2]>,
}

/// A path through the constellation.
#[derive(Clone, Copy)]
pub(super) struct Path {
    /// Number of links on the path.
    pub hops: u32,
    /// Propagation delay of the whole path.
    pub delay: Span,
    /// Site at which the path leaves the constellation.
    pub exit: u32,
}

impl PathTrace {
    pub fn new(path: FlowPath) -> PathTrace {
        PathTrace { path, state: None, now: None, packets: 0, hops: 0, delay: 0, sites: None }
    }

    /// Returns true if the path is traced or summarised.
    pub fn is_traced(&self) -> bool {
        self.path.probe.is_some() || self.path.flow.is_some()
    }

    /// Counts a packet that enters the constellation at `site`.
    pub fn count(&mut self, site: u32) {
        let Some(path) = self.now else { return };
        self.packets += 1;
        self.hops += u64::from(path.hops);
        self.delay += u128::from(path.delay.as_nanos());
        self.sites = Some([site, path.exit]);
    }

    /// Writes the row of [`FLOW`]. `handovers` returns the number of handovers of a site.
    pub fn report(&self, handovers: impl Fn(u32) -> u64, report: &mut Report) {
        let (Some(flow), Some(sites)) = (&self.path.flow, self.sites) else { return };
        let packets = self.packets as f64;
        let handovers: u64 = sites.into_iter().map(handovers).sum();
        let values = [self.hops as f64 / packets, self.delay as f64 / packets / 1e9, handovers as f64];
        report.row(&FLOW, flow, &values);
    }
}
