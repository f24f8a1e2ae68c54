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
//! Deviations: a leaf gets only the packets for which it has receivers. A real leaf gets the cells
//! of all packets of the connection, unless each group has its own connection.

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

/// The path of a packet.
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
