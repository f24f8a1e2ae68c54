//! The ways that packets of flows take: traced as they change, and summed up at the end.

use super::routes::Stamp;
use bentpipe_core::{Column, NodeId, Probe, Report, Span, Table};

/// Trace of the way that a flow's packets take.
pub static PATH: Table = Table {
    name: "path",
    entity: "flow",
    about: "when a packet enters the constellation and the way was computed anew since the last",
    columns: &[
        Column::whole(
            "hops",
            "1",
            "links on the way, those to and from the ground included; null without a way",
        ),
        Column::real("delay", "s", "propagation delay of the whole path at the present distances"),
    ],
};

/// The ways that a flow's packets took.
pub static FLOW: Table = Table {
    name: "flow_path",
    entity: "flow",
    about: "at the end of the run, of the packets from the flow's source that entered a constellation and had a way",
    columns: &[
        Column::real("path_hops", "1", "mean number of links on the path, those to and from the ground included"),
        Column::real("path_delay", "s", "mean propagation delay of the path, as in the trace `path`"),
        Column::whole("path_handovers", "1", "number of handovers during the run at the two sites of the path"),
    ],
};

/// Where the way of a flow in one direction is traced and summed up.
#[derive(Clone, Debug)]
pub struct FlowPath {
    /// Where the direction leads.
    pub destination: NodeId,
    /// The probe on [`PATH`].
    pub probe: Option<Probe>,
    /// The flow in [`FLOW`], where this direction counts there.
    pub flow: Option<String>,
}

/// The way of a flow in one direction.
pub(super) struct FlowWay {
    pub path: FlowPath,
    /// The state of tree and site when the way was last looked at.
    pub state: Option<(Stamp, u64)>,
    pub now: Option<Way>,
    packets: u64,
    hops: u64,
    delay: u128,
    /// Where packets last came in and went out.
    sites: Option<[u32; 2]>,
}

/// A way through the constellation.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Links.
    pub hops: u32,
    /// Propagation delay of them all.
    pub delay: Span,
    /// Site at which it leaves.
    pub exit: u32,
}

impl FlowWay {
    pub fn new(path: FlowPath) -> FlowWay {
        FlowWay { path, state: None, now: None, packets: 0, hops: 0, delay: 0, sites: None }
    }

    /// Whether anybody wants to know.
    pub fn is_followed(&self) -> bool {
        self.path.probe.is_some() || self.path.flow.is_some()
    }

    /// A packet comes in.
    pub fn count(&mut self, site: u32) {
        let Some(way) = self.now else { return };
        self.packets += 1;
        self.hops += u64::from(way.hops);
        self.delay += u128::from(way.delay.as_nanos());
        self.sites = Some([site, way.exit]);
    }

    /// The row of [`FLOW`], with the handovers of each site.
    pub fn report(&self, handovers: impl Fn(u32) -> u64, report: &mut Report) {
        let (Some(flow), Some(sites)) = (&self.path.flow, self.sites) else { return };
        let packets = self.packets as f64;
        let handovers: u64 = sites.into_iter().map(handovers).sum();
        let values = [self.hops as f64 / packets, self.delay as f64 / packets / 1e9, handovers as f64];
        report.row(&FLOW, flow, &values);
    }
}
