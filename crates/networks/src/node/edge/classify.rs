//! The fields by which an edge distinguishes packets (RFC 2475, section 2.3.1): flow, nodes,
//! protocol, DSCP. Packets of the model have no ports; the connection's number stands for them.
//! Real packets are distinguished by their headers.

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

/// A flow in the form by which packets are recognised.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnds {
    /// Number of the flow in packets.
    pub flow: FlowId,
    /// Node of its source.
    pub from: NodeId,
    /// Node of its destination.
    pub to: NodeId,
}

/// The stream to which a packet belongs: its flow, if known, and its connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Connection {
    /// The flow to which the connection belongs.
    pub flow: FlowId,
    /// Node from which it comes, which distinguishes directions.
    pub source: NodeId,
    /// Number in the flow; for real packets, a number derived from their addresses and ports.
    pub number: u32,
}

/// The conditions of a rule on packets; an empty one matches everything.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    /// Flows, to one of which the packet must belong; all if empty.
    pub flows: Vec<FlowEnds>,
    /// Nodes from one of which the packet comes; all if empty.
    pub from: Vec<NodeId>,
    /// Nodes to one of which the packet goes; all if empty.
    pub to: Vec<NodeId>,
    /// Transport protocol; any if absent.
    pub protocol: Option<Protocol>,
    /// Code points, one of which the packet has; all if empty.
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
    /// Returns true if a real packet belongs to this flow, by the port at either end: further
    /// connections have others at the end that opens them. Fragments belong to no known flow, since
    /// only the first of a datagram has ports (RFC 2475, section 2.3.1).
    fn sent(&self, packet: &Packet, bytes: &[u8]) -> bool {
        let (low, high) = address::ports(self.flow);
        let (at_from, at_to) = if self.from < self.to { (low, high) } else { (high, low) };
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

    /// Returns an IPv4 packet from node 0 to node 1 with this word of flags and fragment offset,
    /// protocol and payload.
    fn packet(fragment: u16, protocol: u8, payload: &[u8]) -> Packet {
        let mut bytes = vec![0x45, 0, 0, 20 + payload.len() as u8, 0, 1];
        bytes.extend(fragment.to_be_bytes());
        bytes.extend([64, protocol, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
        bytes.extend(payload);
        // Buffers are longer than their packets.
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
        // The header of a datagram; in a later fragment, payload that looks like one.
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
