//! Point-to-multipoint connections: the connections that carry the packets of multicast groups
//! ([`crate::multicast`]).
//!
//! Each node has one point-to-multipoint connection per direction. Its root is the node, and its
//! leaves are the far ends of the connections that begin at the node. Each cell passes the shared
//! legs once, and the last switch copies it for the leaves that lead to receivers of the packet. If
//! only one leaf does, the packet travels in the connection to this leaf, as a unicast packet.
//!
//! A point-to-multipoint connection shares the adapter, the first access line, the category and the
//! contract of the first connection that begins at its root, in the order of `ends` and `others`.
//! The contract then applies to the cells of both, as if their two virtual channels were the
//! content of a virtual path with this contract. The cells of the two channels still belong to
//! different frames: frame discard and reassembly handle each channel separately.
//!
//! A copy that is lost after the last switch is lost only for the receivers behind its leaf. A
//! packet that has lost a cell before is lost for all of them.
//!
//! Deviations:
//!
//! - A leaf gets only the packets for which it has receivers. A real leaf gets the cells of all
//!   packets of the connection, unless each group has its own connection.
//! - Predictions use the contract of the connection to a leaf, not that of the root's first
//!   connection.

use crate::multicast::Copying;
use bentpipe_core::NodeId;
use bentpipe_stage::packet::Leg;
use bentpipe_stage::Packet;
use std::collections::BTreeMap;

/// The point-to-multipoint connections of one direction.
#[derive(Default)]
pub struct Trees {
    copying: Copying,
    /// The root of each connection.
    roots: Vec<NodeId>,
    /// The first connection that begins at each root.
    first: BTreeMap<NodeId, usize>,
    /// The connection from each root to each leaf.
    leaves: BTreeMap<[NodeId; 2], usize>,
}

/// The path of a packet through the network.
pub struct Path {
    /// The connection whose adapter sends the packet.
    pub connection: usize,
    /// The copies after the last switch: the connection of each leaf, and the leg of the copy. The
    /// list is empty for a packet without copies, which leaves at the end of `connection`.
    pub copies: Vec<(usize, Leg)>,
}

impl Trees {
    /// Creates the point-to-multipoint connections over connections with these first and last
    /// nodes.
    pub fn new(copying: Copying, connections: &[[NodeId; 2]]) -> Trees {
        let mut first = BTreeMap::new();
        for ([root, _], index) in connections.iter().zip(0..) {
            first.entry(*root).or_insert(index);
        }
        Trees {
            copying,
            roots: connections.iter().map(|[root, _]| *root).collect(),
            first,
            leaves: connections.iter().copied().zip(0..).collect(),
        }
    }

    /// Returns the path of a packet that arrives at the root of connection `entry`.
    pub fn path(&self, entry: usize, packet: &Packet) -> Path {
        if packet.destination.group().is_none() {
            return Path { connection: entry, copies: Vec::new() };
        }
        let root = self.roots[entry];
        let leaf = |node| self.leaves[&[root, node]];
        let copies = self.copying.divide_from(packet.destination, packet.leg, root, leaf);
        match copies[..] {
            [(connection, _)] => Path { connection, copies: Vec::new() },
            _ => Path { connection: self.first[&root], copies },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atm::leaf::MERGED;
    use crate::atm::stage::Direction;
    use crate::atm::Config;
    use crate::multicast::{Groups, Receiver};
    use bentpipe_core::{FlowId, Span, Time};
    use bentpipe_stage::{DropReason, Port};
    use bentpipe_testing::bench::{packet, stream, Bench};
    use proptest::prelude::*;

    /// Deliveries by number of the packet and time in nanoseconds, and drops by reason.
    type Fates = (Vec<(u32, u64)>, Vec<(DropReason, u64)>);

    /// Sends packets, each with its time in microseconds and its size in bytes, from node 1 to the
    /// group of nodes 3 and 4, or to node 2 as unicast packets. Returns their fates at the leaves,
    /// which are the ports 1 and 2, or port 0. The bench checks after every call that packets are
    /// conserved.
    fn run(config: &Config, packets: &[(u64, u32)], multicast: bool) -> Vec<Fates> {
        let groups = Groups::default();
        let receivers = [3, 4].map(|node| Receiver {
            flow: FlowId(u32::from(node)),
            name: format!("to {node}"),
            node: NodeId(node),
        });
        let address = groups.add(receivers.to_vec());
        for (receiver, node) in [(0, 3), (1, 4)] {
            groups.add_crossing(address, 0, receiver, [NodeId(1), NodeId(node)]);
        }
        let mut stage = Direction::new("wan", config, false, stream("wan"), vec![None; 3]);
        let connections = [2, 3, 4].map(|leaf| [NodeId(1), NodeId(leaf)]);
        stage.copy_by(Trees::new(Copying::new(groups, 0), &connections));
        let mut bench = Bench::new(stage);
        bench.audited = true;
        // Routers use the port of any connection to a receiver.
        let (destination, port) = if multicast { (address, Port(2)) } else { (NodeId(2), Port(0)) };
        for ((time, size), number) in packets.iter().zip(0..) {
            let sent = Packet { destination, leg: Leg::THERE, ..packet(number, *size) };
            bench.offer(Time::ZERO + Span::from_micros(*time), 0, port, sent);
        }
        bench.run(Time::MAX);
        let at = |port: u16| {
            let left = bench.left.iter().filter(|left| left.port == Port(port));
            left.map(|left| (left.packet.number, left.at.as_nanos())).collect()
        };
        let leaves = if multicast { 1..=2 } else { 0..=0 };
        leaves.map(|port| (at(port), bench.drops())).collect()
    }

    proptest! {
        /// Each leaf gets a packet when the first connection would deliver it as a unicast packet.
        /// A packet that is lost on the legs is dropped once. With connections of another category,
        /// each cell causes an event at each port.
        #[test]
        fn copies_arrive_as_packets_of_the_first_connection(
            gaps in prop::collection::vec((0u64..2000, 20u32..1500), 1..60), buffer in 5u32..200,
            partial: bool, shaping: bool, other in prop::sample::select(vec!["ubr", "vbr"]), lost in 1u32..200,
        ) {
            let vbr = r#""peak": "106 Mbit/s", "sustainable": "20 Mbit/s", "burst": 100, "tolerance": "10 us""#;
            let contract = |category: &str| match category {
                "vbr" => format!(r#"{{"category": "vbr", {vbr}, "shaping": {shaping}}}"#),
                _ => "{}".to_owned(),
            };
            let text = format!(
                r#"{{"ends": ["a", "b"], "encapsulation": "vc", "access": {{"rate": "424 Mbit/s"}}, "lan": "100 Mbit/s", "contract": {},
                   "legs": [{{"rate": "53 Mbit/s", "buffer": {buffer}, "error": {{"list": {{"packets": [{lost}]}}}}}},
                            {{"rate": "30 Mbit/s", "delay": "1 ms", "partial": {partial}}}],
                   "others": [{{"ends": ["a", "c"], "contract": {other}}}, {{"ends": ["a", "d"], "contract": {other}}}]}}"#,
                contract("vbr"),
                other = contract(other),
            );
            let config: Config = serde_json::from_str(&text).unwrap();
            let mut time = 0;
            let packets: Vec<(u64, u32)> = gaps.iter().map(|(gap, size)| { time += gap; (time, *size) }).collect();
            let unicast = run(&config, &packets, false);
            let copies = run(&config, &packets, true);
            prop_assert_eq!(&copies[0].0, &unicast[0].0);
            prop_assert_eq!(&copies[1].0, &unicast[0].0);
            // Each leaf drops the frames that it merged with a frame before.
            let merged = |drops: &[(DropReason, u64)]| drops.iter().filter(|(reason, _)| *reason == MERGED).map(|(_, count)| *count).sum::<u64>();
            let others = |drops: &[(DropReason, u64)]| drops.iter().filter(|(reason, _)| *reason != MERGED).copied().collect::<Vec<_>>();
            prop_assert_eq!(others(&copies[0].1), others(&unicast[0].1));
            prop_assert_eq!(merged(&copies[0].1), 2 * merged(&unicast[0].1));
        }
    }
}
