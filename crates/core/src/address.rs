//! Addresses and ports of nodes and flows, for packets with real headers: in captures and on
//! emulated hosts.
//!
//! IPv4 addresses come from 198.18.0.0/15, which RFC 2544 (appendix C.2.2) reserves for network
//! measurements, so they do not collide with the machine's own addresses. IPv6 addresses have a
//! unique local prefix (RFC 4193).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Index of a flow in the scenario, in the order in which flows are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The first number for packets that belong to no known flow of the scenario.
    pub const UNKNOWN: u32 = 1 << 31;
}

/// Index of a node of the network. The last [`NodeId::GROUPS`] numbers are multicast groups.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u16);

impl NodeId {
    /// Maximum number of multicast groups of a network.
    pub const GROUPS: u16 = 256;
    /// The number of the first multicast group, which is also the maximum number of nodes.
    pub const FIRST_GROUP: u16 = u16::MAX - NodeId::GROUPS + 1;

    /// Returns the multicast group with this number; `None` from [`GROUPS`](Self::GROUPS) on.
    pub fn multicast(group: u16) -> Option<NodeId> {
        (group < NodeId::GROUPS).then_some(NodeId(NodeId::FIRST_GROUP + group))
    }

    /// Returns the number of the multicast group; `None` for a node.
    #[inline]
    pub fn group(self) -> Option<u16> {
        self.0.checked_sub(NodeId::FIRST_GROUP)
    }

    /// Returns true for a multicast group.
    #[inline]
    pub fn is_group(self) -> bool {
        self.0 >= NodeId::FIRST_GROUP
    }
}

/// The IPv4 network of plan 0, 198.18.0.0.
const IPV4: u32 = 0xc612_0000;
/// The IPv6 network of plan 0, fd62:656e:7470::.
const IPV6: u128 = 0xfd62_656e_7470_0000_0000_0000_0000_0000;
/// The first IPv4 address of source-specific multicast for local use: 232.0.1.0 in 232.0.0.0/8
/// (RFC 5771, section 8; RFC 4607, section 4.3).
const IPV4_GROUPS: u32 = 0xe800_0100;
/// The first dynamic IPv6 address of source-specific multicast in an organisation: ff38::8000:0
/// (RFC 4607, sections 1 and 4.3).
const IPV6_GROUPS: u128 = 0xff38_0000_0000_0000_0000_0000_8000_0000;

/// The address plan of one network. Networks that can reach each other, or are reachable from the
/// same machine, have different plan numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    number: u8,
}

impl Plan {
    /// Number of address plans, and so the maximum number of networks that can be up at the same
    /// time.
    pub const COUNT: u8 = 32;
    /// Maximum number of nodes with addresses in a network that can reach other networks.
    pub const NODES: u16 = 4093;
    /// Length of the IPv4 prefix that the nodes of a network share.
    pub const IPV4_PREFIX: u8 = 20;
    /// Length of the IPv6 prefix that the nodes of a network share.
    pub const IPV6_PREFIX: u8 = 64;

    /// Creates the plan with this number; `None` if it is not below [`COUNT`](Self::COUNT).
    pub fn new(number: u8) -> Option<Plan> {
        (number < Plan::COUNT).then_some(Plan { number })
    }

    /// Returns the IPv4 network, without host bits.
    pub fn ipv4_network(self) -> Ipv4Addr {
        Ipv4Addr::from(IPV4 | u32::from(self.number) << 12)
    }

    /// Returns the IPv4 address of the machine on the link from the network to the outside: the
    /// last address of the network.
    pub fn ipv4_outside(self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.ipv4_network()) + 1 + u32::from(Plan::NODES))
    }

    /// Returns the IPv4 address of a node. In plan 0, node 0 has 198.18.0.1, and the following
    /// nodes have the following addresses. Multicast groups have addresses from 232.0.1.0 on in
    /// every plan.
    pub fn ipv4(self, node: NodeId) -> Ipv4Addr {
        if let Some(group) = node.group() {
            return Ipv4Addr::from(IPV4_GROUPS + u32::from(group));
        }
        Ipv4Addr::from(u32::from(self.ipv4_network()) + 1 + u32::from(node.0))
    }

    fn ipv6_network(self) -> u128 {
        IPV6 | u128::from(self.number) << 64
    }

    /// Returns the IPv6 address of a node. In plan 0, node 0 has fd62:656e:7470::1, and the
    /// following nodes have the following addresses. Multicast groups have addresses from
    /// ff38::8000:0 on in every plan.
    pub fn ipv6(self, node: NodeId) -> Ipv6Addr {
        if let Some(group) = node.group() {
            return Ipv6Addr::from(IPV6_GROUPS + u128::from(group));
        }
        Ipv6Addr::from(self.ipv6_network() + 1 + u128::from(node.0))
    }

    /// Returns the node with an address, or `None` if the address is not in this plan.
    #[inline]
    pub fn node(self, address: IpAddr) -> Option<NodeId> {
        let number = match address {
            IpAddr::V4(address) => {
                u128::from(u32::from(address).wrapping_sub(u32::from(self.ipv4_network()) + 1))
            }
            IpAddr::V6(address) => u128::from(address).wrapping_sub(self.ipv6_network() + 1),
        };
        u16::try_from(number).ok().filter(|number| *number < Plan::NODES).map(NodeId)
    }
}

/// Returns the IPv4 address of a node of a network that cannot reach any other network (plan 0).
pub fn ipv4(node: NodeId) -> Ipv4Addr {
    Plan::default().ipv4(node)
}

/// The first dynamic port (RFC 6335, section 6).
const FIRST_PORT: u32 = 49152;
/// Number of ports for flows: the dynamic ports except the last, which control messages use in
/// captures.
const PORTS: u32 = 65535 - FIRST_PORT;

/// Returns the ports of a flow at its two ends, first at the end with the lower node number. Both
/// are 49152 plus the flow's number. From flow 16383 on, they are a different unique pair.
pub fn ports(flow: FlowId) -> (u16, u16) {
    let (turn, position) = (flow.0 / PORTS, flow.0 % PORTS);
    let port = |offset: u32| (FIRST_PORT + offset % PORTS) as u16;
    (port(position + turn), port(position))
}

/// The first user port (RFC 6335, section 6). The ports of a flow's further connections start here.
const FIRST_USER_PORT: u16 = 1024;

/// Returns the port of a flow at the end `own`; the other end is at `other`.
pub fn port_at(flow: FlowId, own: NodeId, other: NodeId) -> u16 {
    let (low, high) = ports(flow);
    if own < other {
        low
    } else {
        high
    }
}

/// Returns the port of a connection of a flow at one end. `first` is the port of connection 0 at
/// this end. Further connections use user ports at this end, while the other end keeps its port.
pub fn port_of(connection: u16, first: u16) -> u16 {
    match connection.checked_sub(1) {
        None => first,
        Some(further) => FIRST_USER_PORT + further % (FIRST_PORT as u16 - FIRST_USER_PORT),
    }
}

/// Returns the connection with this port at one end, among the first 48129 connections. `first` is
/// the port of connection 0 at this end. This is the inverse of [`port_of`].
pub fn connection_of(port: u16, first: u16) -> u16 {
    match port == first {
        true => 0,
        false => port.wrapping_sub(FIRST_USER_PORT).wrapping_add(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn only_addresses_of_the_plan_map_back_to_nodes() {
        for plan in [0, 1, 31].map(|number| Plan::new(number).unwrap()) {
            for number in [0, 1, 253, 254, Plan::NODES - 1] {
                let id = NodeId(number);
                assert_eq!(plan.node(plan.ipv4(id).into()), Some(id));
                assert_eq!(plan.node(plan.ipv6(id).into()), Some(id));
            }
            for other in ["198.17.255.255", "198.18.0.0", "198.20.0.1", "10.0.0.1", "fd62:656e:7470::", "::1"]
            {
                assert_eq!(plan.node(other.parse().unwrap()), None, "{other}");
            }
        }
        let plan = Plan::default();
        assert_eq!(plan.ipv4(NodeId(0)).to_string(), "198.18.0.1");
        assert_eq!(plan.ipv6(NodeId(15)).to_string(), "fd62:656e:7470::10");
        let last = Plan::new(31).unwrap();
        assert_eq!(last.ipv4(NodeId(0)).to_string(), "198.19.240.1");
        assert_eq!(plan.node(last.ipv4(NodeId(0)).into()), None);
        assert_eq!(plan.node(last.ipv6(NodeId(0)).into()), None);
        assert_eq!(
            (last.ipv4_outside().to_string(), last.node(last.ipv4_outside().into())),
            ("198.19.255.254".into(), None)
        );
        assert_eq!(Plan::new(32), None);
    }

    #[test]
    fn groups_have_source_specific_multicast_addresses() {
        let group = NodeId::multicast(3).unwrap();
        assert_eq!(ipv4(group).to_string(), "232.0.1.3");
        assert_eq!(Plan::default().ipv6(group).to_string(), "ff38::8000:3");
        assert!(Plan::default().ipv4(group).is_multicast() && Plan::default().ipv6(group).is_multicast());
        assert_eq!((group.group(), NodeId(7).group(), NodeId::multicast(256)), (Some(3), None, None));
    }

    #[test]
    fn ports_of_flows_are_distinct() {
        let flows = [0, 1, PORTS - 1, PORTS, PORTS + 1, 2 * PORTS, 3 * PORTS + 7, 100_000, 1_000_000];
        let pairs: BTreeSet<_> = flows.iter().map(|flow| ports(FlowId(*flow))).collect();
        assert_eq!(pairs.len(), flows.len());
        assert_eq!(ports(FlowId(3)), (49155, 49155));
        assert!(pairs.iter().all(|(low, high)| *low >= 49152 && *high < 65535));
        let connections: BTreeSet<_> = (0..40_000).map(|number| port_of(number, 49155)).collect();
        assert!((0..40_000).all(|number| connection_of(port_of(number, 49155), 49155) == number));
        assert_eq!((connections.len(), port_of(0, 49155), port_of(1, 49155)), (40_000, 49155, 1024));
    }
}
