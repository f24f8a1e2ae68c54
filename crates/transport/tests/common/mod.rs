//! Helpers for the tests of transports.

use bentpipe_core::{FlowId, NodeId, Time};
use bentpipe_transport::app::End;
use bentpipe_transport::hosting::Site;

/// An end of the flow "flow" from node 0 to node 1.
pub fn site(end: End) -> Site {
    let (node, peer) = if end == End::Source { (0, 1) } else { (1, 0) };
    Site {
        flow: FlowId(0),
        name: "flow".to_owned(),
        node: NodeId(node),
        peer: NodeId(peer),
        end,
        start: Time::ZERO,
        dscp: 0,
        details: false,
        capture: None,
    }
}
