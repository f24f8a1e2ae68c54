//! The router of a node. It forwards packets by destination, and delivers packets for its own node
//! to the endpoints of their flows. Routing takes no time; queues and rates belong to the links.
//! The router is not a stage, because it never holds a packet: the event loop only requests an
//! output port from it.
//!
//! An edge ([`super::edge`]) conditions packets that leave for other nodes. A real host at the node
//! receives packets that match none of the endpoints. A packet of a multicast group is copied to
//! several ports ([`Router::copies`], [`crate::multicast`]). A proxy ([`super::proxy`]) receives
//! transit packets of its flows after the edge. The output ports are the links in the order in
//! which they were attached, then the endpoints, the host, and the proxies.

use super::edge::Edge;
use bentpipe_core::{FlowId, NodeId, Report, Time};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, DropReason, Outbox, Packet, Port, TCP};
use std::sync::Arc;

/// Drop reason: the router has no route to the packet's destination.
pub const NO_ROUTE: DropReason = DropReason::new("no route");
/// Drop reason: the packet's destination node has no endpoint of the packet's flow.
pub const NO_ENDPOINT: DropReason = DropReason::new("no endpoint");

/// The output ports for the copies of a multicast packet, each with the leg of its copy.
pub type Copies = Arc<[(Port, Leg)]>;

/// Returns the name of the second router of a node, which forwards packets from the node's
/// services.
pub fn beyond_name(node: &str) -> String {
    format!("{node}.beyond")
}

/// The tables of a node's router. Packets are treated in the same way on all input ports.
pub struct Router {
    node: NodeId,
    /// Output ports by destination, from the destination `first` on. All other destinations use the
    /// default.
    routes: Vec<Option<Port>>,
    first: u16,
    default: Option<Port>,
    /// Output ports of the endpoints at this node, sorted by flow.
    endpoints: Vec<(FlowId, Port)>,
    host: Option<Port>,
    /// Output ports of the services that receive transit packets, sorted by flow.
    services: Vec<(FlowId, Port)>,
    /// Output ports of the proxies that receive TCP packets of real hosts, sorted by source and
    /// destination.
    proxies: Vec<((NodeId, NodeId), Port)>,
    interface: Option<u32>,
    edge: Option<Box<Edge>>,
    /// Output ports by multicast group, each with the leg of its copy.
    groups: Vec<(NodeId, Copies)>,
}

impl Router {
    /// Creates the router of `node`. Its packets are captured at `interface`, if given.
    pub fn new(node: NodeId, interface: Option<u32>) -> Router {
        Router {
            node,
            routes: Vec::new(),
            first: 0,
            default: None,
            endpoints: Vec::new(),
            host: None,
            services: Vec::new(),
            proxies: Vec::new(),
            interface,
            edge: None,
            groups: Vec::new(),
        }
    }

    /// Sets the output ports for packets of a multicast group, each with the leg of its copy.
    pub fn set_copies(&mut self, group: NodeId, copies: Vec<(Port, Leg)>) {
        self.groups.push((group, copies.into()));
    }

    /// Captures an arriving packet of a multicast group, and returns the output ports for its
    /// copies, each with the leg of the copy, or the reason to drop the packet. An edge conditions
    /// the packet before it is copied.
    ///
    /// # Errors
    /// Returns the reason to drop the packet.
    pub fn copies(&mut self, now: Time, packet: &mut Packet, out: &mut Outbox) -> Result<Copies, DropReason> {
        if let Some(interface) = self.interface {
            out.capture(interface, now, packet);
        }
        if let Some(edge) = &mut self.edge {
            edge.condition(now, packet)?;
        }
        let copies = self.groups.iter().find(|(group, _)| *group == packet.destination);
        copies.map(|(_, copies)| copies.clone()).ok_or(NO_ROUTE)
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

    /// Sets the output port for packets of `flow` that are destined for this node.
    pub fn set_endpoint(&mut self, flow: FlowId, port: Port) {
        let at = self.endpoints.partition_point(|(other, _)| *other < flow);
        self.endpoints.insert(at, (flow, port));
    }

    /// Returns the output port for packets of `flow` that are destined for this node.
    pub fn endpoint(&self, flow: FlowId) -> Option<Port> {
        port_of(&self.endpoints, flow)
    }

    /// Sets the output port for packets to this node that match none of its endpoints.
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

    /// Returns the router for packets from the node's proxies: a copy of this router without
    /// proxies and without the edge.
    pub fn beyond(&self) -> Router {
        Router {
            node: self.node,
            routes: self.routes.clone(),
            first: self.first,
            default: self.default,
            endpoints: self.endpoints.clone(),
            host: self.host,
            services: Vec::new(),
            proxies: Vec::new(),
            interface: self.interface,
            edge: None,
            groups: self.groups.clone(),
        }
    }

    /// Sets the output port for transit packets of `flow`.
    pub fn set_service(&mut self, flow: FlowId, port: Port) {
        let at = self.services.partition_point(|(other, _)| *other < flow);
        self.services.insert(at, (flow, port));
    }

    /// Sets the output port for transit packets over TCP from one real host to another.
    pub fn set_proxy(&mut self, ends: (NodeId, NodeId), port: Port) {
        let at = self.proxies.partition_point(|(other, _)| *other < ends);
        self.proxies.insert(at, (ends, port));
    }

    /// Returns the output port to the proxy of a packet of real hosts, if there is one.
    #[cold]
    fn proxy(&self, packet: &Packet) -> Option<Port> {
        let Body::Frame(bytes) = &packet.body else { return None };
        let ends = (packet.source, packet.destination);
        let at = self.proxies.binary_search_by_key(&ends, |(ends, _)| *ends).ok()?;
        let headers = bentpipe_wire::read(&bytes[..packet.size as usize])?;
        (headers.protocol == TCP && headers.source.is_ipv4()).then_some(self.proxies[at].1)
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
        if !self.proxies.is_empty() {
            if let Some(port) = self.proxy(packet) {
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
