//! Classification of packets at an edge (RFC 2475, section 2.3.1) by flow, nodes, protocol and
//! DSCP. Simulated packets have no ports; the number of their connection is used instead. Real
//! packets are classified by their headers.

use bentpipe_core::{address, Dscp, FlowId, NodeId};
use bentpipe_stage::{Body, Content, Packet, TCP, UDP};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The transport protocol that a rule of an edge matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "TransportProtocol")]
pub enum Protocol {
    /// Segments of TCP, with or without data.
    Tcp,
    /// Datagrams of UDP, which also carry TFRC.
    Udp,
}

impl Protocol {
    /// Returns the protocol with this number in the IP header.
    pub fn from_number(number: u8) -> Option<Protocol> {
        match number {
            TCP => Some(Protocol::Tcp),
            UDP => Some(Protocol::Udp),
            _ => None,
        }
    }
}

/// The fields by which packets of a flow are recognised.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnds {
    /// ID of the flow in its packets.
    pub flow: FlowId,
    /// Node of the flow's source.
    pub from: NodeId,
    /// Node of the flow's destination.
    pub to: NodeId,
}

/// One direction of the connection to which a packet belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Connection {
    /// The flow to which the connection belongs.
    pub flow: FlowId,
    /// Node from which the packet comes. It distinguishes the two directions.
    pub source: NodeId,
    /// Number of the connection in its flow; for real packets, a number derived from their
    /// addresses and ports.
    pub number: u32,
}

/// The conditions of a rule. An empty condition matches all packets.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    /// The packet must belong to one of these flows. Empty: any flow.
    pub flows: Vec<FlowEnds>,
    /// The packet must come from one of these nodes. Empty: any node.
    pub from: Vec<NodeId>,
    /// The packet must be destined for one of these nodes. Empty: any node.
    pub to: Vec<NodeId>,
    /// The packet must have this transport protocol. `None`: any protocol.
    pub protocol: Option<Protocol>,
    /// The packet must have one of these code points. Empty: any code point.
    pub dscp: Vec<Dscp>,
}

impl Pattern {
    /// Returns the connection of a packet if the pattern matches it.
    pub fn matches(&self, packet: &Packet) -> Option<Connection> {
        let among = |nodes: &[NodeId], node| nodes.is_empty() || nodes.contains(&node);
        if !among(&self.from, packet.source) || !among(&self.to, packet.destination) {
            return None;
        }
        if !self.dscp.is_empty() && !self.dscp.iter().any(|dscp| dscp.value() == packet.dscp) {
            return None;
        }
        if self.protocol.is_some_and(|protocol| protocol_of(&packet.body) != Some(protocol)) {
            return None;
        }
        let connection =
            Connection { flow: packet.flow, source: packet.source, number: packet.connection.into() };
        if let Body::Frame(bytes) = &packet.body {
            let known = self.flows.iter().find(|known| known.sent(packet, bytes));
            return match known {
                Some(known) => Some(Connection { flow: known.flow, number: packet.flow.0, ..connection }),
                None => self.flows.is_empty().then_some(connection),
            };
        }
        let named = self.flows.is_empty() || self.flows.iter().any(|known| known.flow == packet.flow);
        named.then_some(connection)
    }
}

impl FlowEnds {
    /// Returns true if a real packet belongs to this flow. The port at one end must match, because
    /// further connections of the flow have other ports at the end that opens them. Fragments match
    /// no flow, because only the first fragment of a datagram has ports (RFC 2475, section 2.3.1).
    fn sent(&self, packet: &Packet, bytes: &[u8]) -> bool {
        let at_from = address::port_at(self.flow, self.from, self.to);
        let at_to = address::port_at(self.flow, self.to, self.from);
        let expected = if (packet.source, packet.destination) == (self.from, self.to) {
            (at_from, at_to)
        } else if (packet.source, packet.destination) == (self.to, self.from) {
            (at_to, at_from)
        } else {
            return false;
        };
        let ports = bentpipe_wire::read(bytes).and_then(|headers| headers.ports);
        ports.is_some_and(|(source, destination)| source == expected.0 || destination == expected.1)
    }
}

fn protocol_of(body: &Body) -> Option<Protocol> {
    match body {
        Body::Frame(bytes) => {
            bentpipe_wire::read(bytes).and_then(|headers| Protocol::from_number(headers.protocol))
        }
        body => {
            let payload = body.payload().filter(|payload| payload.content() != Content::Signalling);
            payload.and_then(|payload| Protocol::from_number(payload.protocol()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an IPv4 packet from node 0 to node 1. `fragment` is the 16-bit field with the flags
    /// and the fragment offset.
    fn packet(fragment: u16, protocol: u8, payload: &[u8]) -> Packet {
        let mut bytes = vec![0x45, 0, 0, 20 + payload.len() as u8, 0, 1];
        bytes.extend(fragment.to_be_bytes());
        bytes.extend([64, protocol, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
        bytes.extend(payload);
        // Buffers can be longer than their packets.
        let size = bytes.len() as u32;
        bytes.resize(2000, 0xff);
        let flow = FlowId(FlowId::UNKNOWN | 7);
        Packet { size, flow, destination: NodeId(1), body: Body::Frame(bytes.into()), ..Packet::default() }
    }

    #[test]
    fn fragments_are_classified_by_protocol_and_not_by_ports() {
        let (from, to) = (NodeId(0), NodeId(1));
        let flow = Pattern { flows: vec![FlowEnds { flow: FlowId(0), from, to }], ..Pattern::default() };
        let udp = Pattern { protocol: Some(Protocol::Udp), ..Pattern::default() };
        let tcp = Pattern { protocol: Some(Protocol::Tcp), ..Pattern::default() };
        let (low, high) = address::ports(FlowId(0));
        // The header of a datagram; in a later fragment, these bytes are payload that looks like a
        // header.
        let ports = [low.to_be_bytes(), high.to_be_bytes(), [0, 12], [0, 0], [1, 2]].concat();
        let fits = |pattern: &Pattern, packet: &Packet| pattern.matches(packet).is_some();
        let whole = packet(0, 17, &ports);
        assert_eq!((fits(&flow, &whole), fits(&udp, &whole), fits(&tcp, &whole)), (true, true, false));
        for fragment in [0x2000, 0x2005, 5] {
            let part = packet(fragment, 17, &ports);
            assert_eq!((fits(&flow, &part), fits(&udp, &part), fits(&tcp, &part)), (false, true, false));
        }
        let malformed = packet(0, 6, &ports);
        let Body::Frame(mut bytes) = malformed.body.clone() else { unreachable!() };
        bytes[0] = 0x42;
        let malformed = Packet { body: Body::Frame(bytes), ..malformed };
        assert!(!fits(&flow, &malformed) && !fits(&tcp, &malformed));
    }
}
