//! A node of the network. It forwards by destination, and gives packets for itself to the endpoints
//! of their flows. It takes no time; queues and rates are those of the links. It is not a stage,
//! since it never holds a packet: the event loop asks it for the output port and moves nothing.
//!
//! An edge ([`super::edge`]) conditions packets that leave for other nodes. A real host at the node
//! receives packets that are for none of the endpoints. Output ports: links first, in the order in
//! which they were attached, then the endpoints and the host, and the proxies ([`super::proxy`]),
//! which receive packets that only pass, after the edge.

use super::edge::Edge;
use bentpipe_core::{FlowId, NodeId, Report, Time};
use bentpipe_stage::{DropReason, Outbox, Packet, Port};

/// The router has no route to the packet's destination.
pub const NO_ROUTE: DropReason = DropReason::new("no route");
/// No endpoint of the packet's flow is at this node.
pub const NO_ENDPOINT: DropReason = DropReason::new("no endpoint");

/// Returns the name of the second router of a node, by which packets of its services leave.
pub fn beyond_name(node: &str) -> String {
    format!("{node}.beyond")
}

/// The node's tables. Arriving packets are treated equally on all ports.
pub struct Router {
    node: NodeId,
    /// Output port by destination, from the destination `first` on; nodes outside use the default.
    routes: Vec<Option<Port>>,
    first: u16,
    default: Option<Port>,
    /// Endpoints at this node, sorted by flow.
    endpoints: Vec<(FlowId, Port)>,
    host: Option<Port>,
    /// Services that take passing packets, sorted by flow.
    services: Vec<(FlowId, Port)>,
    interface: Option<u32>,
    edge: Option<Box<Edge>>,
}

impl Router {
    /// Creates the router of `node`, whose packets are captured at `interface`, if given.
    pub fn new(node: NodeId, interface: Option<u32>) -> Router {
        Router {
            node,
            routes: Vec::new(),
            first: 0,
            default: None,
            endpoints: Vec::new(),
            host: None,
            services: Vec::new(),
            interface,
            edge: None,
        }
    }

    /// Sets the output port for all destinations without a route.
    pub fn set_default(&mut self, port: Port) {
        self.default = Some(port);
    }

    /// Sets the output port for `destination`.
    pub fn set_route(&mut self, destination: NodeId, port: Port) {
        if self.routes.is_empty() {
            self.first = destination.0;
        } else if destination.0 < self.first {
            let missing = usize::from(self.first - destination.0);
            self.routes.splice(0..0, std::iter::repeat_n(None, missing));
            self.first = destination.0;
        }
        let index = usize::from(destination.0 - self.first);
        if self.routes.len() <= index {
            self.routes.resize(index + 1, None);
        }
        self.routes[index] = Some(port);
    }

    /// Sets the output port for packets of `flow` that are for this node.
    pub fn set_endpoint(&mut self, flow: FlowId, port: Port) {
        let at = self.endpoints.partition_point(|(other, _)| *other < flow);
        self.endpoints.insert(at, (flow, port));
    }

    /// Sets the output port for packets for this node that are for none of its endpoints.
    pub fn set_host(&mut self, port: Port) {
        self.host = Some(port);
    }

    /// Sets the edge that conditions packets leaving for other nodes.
    pub fn set_edge(&mut self, edge: Edge) {
        self.edge = Some(Box::new(edge));
    }

    /// Writes the rows of the edge, if any.
    pub fn report(&self, report: &mut Report) {
        if let Some(edge) = &self.edge {
            edge.report(report);
        }
    }

    /// Returns the router for packets of the node's proxies: the same, without proxies and without
    /// the edge.
    pub fn beyond(&self) -> Router {
        Router {
            node: self.node,
            routes: self.routes.clone(),
            first: self.first,
            default: self.default,
            endpoints: self.endpoints.clone(),
            host: self.host,
            services: Vec::new(),
            interface: self.interface,
            edge: None,
        }
    }

    /// Sets the output port for passing packets of `flow`.
    pub fn set_service(&mut self, flow: FlowId, port: Port) {
        let at = self.services.partition_point(|(other, _)| *other < flow);
        self.services.insert(at, (flow, port));
    }

    /// Captures an arriving packet and returns the output port for it, or the reason to drop it.
    #[inline]
    pub fn forward(&mut self, now: Time, packet: &mut Packet, out: &mut Outbox) -> Result<Port, DropReason> {
        if let Some(interface) = self.interface {
            out.capture(interface, now, packet);
        }
        if packet.destination == self.node {
            return port_of(&self.endpoints, packet.flow).or(self.host).ok_or(NO_ENDPOINT);
        }
        if let Some(edge) = &mut self.edge {
            edge.condition(now, packet)?;
        }
        if !self.services.is_empty() {
            if let Some(port) = port_of(&self.services, packet.flow) {
                return Ok(port);
            }
        }
        let route =
            self.routes.get(usize::from(packet.destination.0.wrapping_sub(self.first))).copied().flatten();
        route.or(self.default).ok_or(NO_ROUTE)
    }
}

#[inline]
fn port_of(sorted: &[(FlowId, Port)], flow: FlowId) -> Option<Port> {
    match sorted {
        [(only, port)] => (*only == flow).then_some(*port),
        all => all.binary_search_by_key(&flow, |(flow, _)| *flow).ok().map(|at| all[at].1),
    }
}
