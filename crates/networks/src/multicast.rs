//! Multicast: one flow to several receivers (RFC 1112). The source sends each packet once, to the
//! address of a group, and the network copies the packet where the paths to the receivers part.
//!
//! The tree of a group joins the paths of unicast packets from the source to the receivers, so it
//! is the tree of source-specific multicast (RFC 4607) with routes of minimum delay. Membership
//! does not change during a run: the receivers have joined before it starts, and there is no IGMP.
//!
//! A packet is on its way to a *set* of receivers, which its [`Leg`] names: the set with number 0
//! has all receivers, and every copy gets the number of its own set. A lost packet therefore counts
//! as a loss for each receiver of its set. Each copy beyond the first is a created packet in the
//! balance of packets.
//!
//! Copies are made by
//! - the router of a node, one for each link or network that leads to receivers;
//! - the forward link of a star ([`crate::dama`]): the transmitter sends a packet once, and the
//!   copies for the terminals arise after its transmission;
//! - a constellation ([`crate::constellation`]): each satellite makes one copy for each link on the
//!   paths to the receivers;
//! - the last switch of an ATM network ([`crate::atm`]), one for each node that receives.
//!
//! Numbers of sets are never reused. A network in which satellites move makes new sets during the
//! run. If [`SETS`] are in use, a further copy is made for each receiver.

use bentpipe_core::{Column, FlowId, NodeId, Report, Table, Tables};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::Totals;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Maximum number of sets of receivers in a group.
const SETS: usize = 1 << 15;
/// Maximum number of receivers of a group: each needs a set of its own, and one set has all.
pub const RECEIVERS: usize = SETS / 2;

/// Report of the receivers of multicast flows.
pub static REPORT: Table = Table {
    name: "multicast",
    entity: "receiver",
    about: "at the end of the run, by receiver of a multicast flow, which has the name of its flow",
    columns: &[
        Column::whole("receivers", "1", "number of receivers of the group"),
        Column::whole(
            "lost_copies",
            "packets",
            "data packets that were lost on the way to this receiver, including packets that were lost before they were copied",
        ),
    ],
};

/// A receiver of a group: its flow, its name in results, and its node.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The flow from the source to this receiver.
    pub flow: FlowId,
    /// Name of the flow in results.
    pub name: String,
    /// Node at which the receiver is.
    pub node: NodeId,
}

/// A group with its receivers.
#[derive(Debug)]
struct Group {
    receivers: Vec<Receiver>,
    /// The sets of receivers by number, each in ascending order.
    sets: Vec<Arc<[u16]>>,
    numbers: BTreeMap<Arc<[u16]>, u16>,
    /// The nodes between which packets for a receiver cross a link or network, in the order of the
    /// path, by the index of the link or network and the receiver. A path may cross a network
    /// twice, such as from one terminal of a star to another.
    crossings: BTreeMap<(u32, u16), Vec<[NodeId; 2]>>,
}

impl Group {
    fn number(&mut self, set: Vec<u16>) -> Option<u16> {
        if let Some(number) = self.numbers.get(&set[..]) {
            return Some(*number);
        }
        let number = u16::try_from(self.sets.len()).ok().filter(|_| self.sets.len() < SETS)?;
        let set: Arc<[u16]> = set.into();
        self.sets.push(set.clone());
        self.numbers.insert(set, number);
        Some(number)
    }

    fn set(&self, leg: Leg) -> Arc<[u16]> {
        self.sets[usize::from(leg.proxy())].clone()
    }
}

/// The groups of a network, shared by all parts that copy packets.
#[derive(Clone, Debug, Default)]
pub struct Groups(Arc<Mutex<Vec<Group>>>);

impl Tables for Groups {
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Groups {
    fn open(&self) -> MutexGuard<'_, Vec<Group>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds a group and returns its address.
    ///
    /// # Panics
    /// If there are more than [`NodeId::GROUPS`] groups.
    pub fn add(&self, receivers: Vec<Receiver>) -> NodeId {
        let mut groups = self.open();
        let address = NodeId::multicast(groups.len() as u16).expect("the scenario has been checked");
        let count = receivers.len() as u16;
        let mut group =
            Group { receivers, sets: Vec::new(), numbers: BTreeMap::new(), crossings: BTreeMap::new() };
        // Single receivers always have a number.
        group.number((0..count).collect());
        (0..count).for_each(|receiver| _ = group.number(vec![receiver]));
        groups.push(group);
        address
    }

    /// Adds the nodes between which packets for a receiver cross the link or network `part`. The
    /// crossings of a path are added in their order.
    pub fn add_crossing(&self, address: NodeId, part: u32, receiver: u16, nodes: [NodeId; 2]) {
        self.open()[index(address)].crossings.entry((part, receiver)).or_default().push(nodes);
    }

    /// Returns the leg of the packets for these receivers, in ascending order.
    ///
    /// # Panics
    /// If the group has [`SETS`] sets, which do not exist before a run.
    pub fn leg(&self, address: NodeId, receivers: Vec<u16>) -> Leg {
        let number = self.open()[index(address)].number(receivers);
        Leg::THERE.beyond(number.expect("a tree has fewer sets than there are numbers"))
    }

    /// Divides the receivers of a set by `key`. Returns each key with the leg of its receivers, in
    /// the order of the keys.
    pub fn divide<Key: Ord + Clone>(
        &self,
        address: NodeId,
        leg: Leg,
        mut key: impl FnMut(u16) -> Key,
    ) -> Vec<(Key, Leg)> {
        let mut groups = self.open();
        let group = &mut groups[index(address)];
        let mut sets: BTreeMap<Key, Vec<u16>> = BTreeMap::new();
        for &receiver in group.set(leg).iter() {
            sets.entry(key(receiver)).or_default().push(receiver);
        }
        let mut divided = Vec::new();
        for (key, set) in sets {
            match group.number(set.clone()) {
                Some(number) => divided.push((key, Leg::THERE.beyond(number))),
                None => {
                    let single = set.into_iter().filter_map(|receiver| group.number(vec![receiver]));
                    divided.extend(single.map(|number| (key.clone(), Leg::THERE.beyond(number))));
                }
            }
        }
        divided
    }

    /// Writes the rows of all receivers, from the losses of the whole network.
    pub fn report(&self, totals: &Totals, report: &mut Report) {
        for group in self.open().iter() {
            let mut lost = vec![0; group.receivers.len()];
            let Some(flow) = group.receivers.first().map(|receiver| receiver.flow) else { continue };
            let losses = totals.lost.iter().filter(|(loss, _)| loss.flow == flow && loss.data);
            for (loss, held) in losses.filter(|(loss, _)| !loss.leg.is_back()) {
                group.set(loss.leg).iter().for_each(|receiver| lost[usize::from(*receiver)] += held.packets);
            }
            for (receiver, lost) in group.receivers.iter().zip(lost) {
                report.row(&REPORT, &receiver.name, &[group.receivers.len() as f64, lost as f64]);
            }
        }
    }
}

fn index(address: NodeId) -> usize {
    usize::from(address.group().expect("a multicast packet has the address of a group"))
}

/// The copying of a link or network that routes copies by itself.
#[derive(Clone, Debug, Default)]
pub struct Copying {
    groups: Groups,
    part: u32,
}

impl Copying {
    /// Creates the copying of the link or network with this index.
    pub fn new(groups: Groups, part: u32) -> Copying {
        Copying { groups, part }
    }

    /// Divides the receivers of a packet by `key`, from the node at which the packets for a
    /// receiver finally leave the network. Returns each key with the leg of its copy.
    pub fn divide<Key: Ord + Clone>(
        &self,
        address: NodeId,
        leg: Leg,
        key: impl FnMut(NodeId) -> Key,
    ) -> Vec<(Key, Leg)> {
        self.divide_crossings(address, leg, |crossings| crossings.last(), key)
    }

    /// Divides the receivers of a packet that entered the network at node `from` by `key`, from the
    /// next node on the path to a receiver. Returns each key with the leg of its copy.
    pub fn divide_from<Key: Ord + Clone>(
        &self,
        address: NodeId,
        leg: Leg,
        from: NodeId,
        key: impl FnMut(NodeId) -> Key,
    ) -> Vec<(Key, Leg)> {
        let here = |nodes: &&[NodeId; 2]| nodes[0] == from;
        self.divide_crossings(address, leg, |crossings| crossings.iter().find(here), key)
    }

    fn divide_crossings<Key: Ord + Clone>(
        &self,
        address: NodeId,
        leg: Leg,
        present: impl Fn(&[[NodeId; 2]]) -> Option<&[NodeId; 2]>,
        mut key: impl FnMut(NodeId) -> Key,
    ) -> Vec<(Key, Leg)> {
        let exits = {
            let groups = self.groups.open();
            let group = &groups[index(address)];
            let exit = |receiver: &u16| {
                let crossing = present(&group.crossings[&(self.part, *receiver)]);
                (*receiver, crossing.expect("a packet crosses the network on its path")[1])
            };
            group.set(leg).iter().map(exit).collect::<BTreeMap<u16, NodeId>>()
        };
        self.groups.divide(address, leg, |receiver| key(exits[&receiver]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_stage::{DropReason, Held, Packet};

    /// Receivers 0, 1 and 2; 0 and 1 leave the network at node 5, and 2 at node 6.
    #[test]
    fn sets_are_divided_by_exits_and_losses_count_for_every_receiver_of_a_set() {
        let groups = Groups::default();
        let receiver = |number: u16| Receiver {
            flow: FlowId(u32::from(number) + 4),
            name: format!("r{number}"),
            node: NodeId(number),
        };
        let address = groups.add((0..3).map(receiver).collect());
        for (receiver, exit) in [(0, 5), (1, 5), (2, 6)] {
            groups.add_crossing(address, 9, receiver, [NodeId(4), NodeId(exit)]);
        }
        let copying = Copying::new(groups.clone(), 9);
        let both = copying.divide(address, Leg::THERE, |exit| exit.0);
        assert_eq!(both.iter().map(|(exit, _)| *exit).collect::<Vec<_>>(), [5, 6]);
        let again = copying.divide(address, both[0].1, |exit| exit.0);
        assert_eq!(again, [both[0]]);

        // The packets for receiver 2 cross the network again from node 6 to node 7.
        groups.add_crossing(address, 9, 2, [NodeId(6), NodeId(7)]);
        assert_eq!(copying.divide_from(address, Leg::THERE, NodeId(4), |exit| exit.0), both);
        assert_eq!(copying.divide_from(address, both[1].1, NodeId(6), |exit| exit.0), [(7, both[1].1)]);

        // One packet is lost before it is copied, two on the way to 0 and 1, and one to 2.
        let mut out = bentpipe_stage::Outbox::default();
        for (leg, count) in [(Leg::THERE, 1), (both[0].1, 2), (both[1].1, 1)] {
            for _ in 0..count {
                let packet = Packet { flow: FlowId(4), leg, destination: address, ..Packet::default() };
                out.drop(packet, DropReason::new("test"));
            }
        }
        let mut report = Report::default();
        groups.report(out.totals(), &mut report);
        let lost = ["r0", "r1", "r2"].map(|name| report.value("multicast", name, "lost_copies"));
        assert_eq!(lost, [Some(3.0), Some(3.0), Some(2.0)]);
        assert_eq!(out.totals().created, Held::default());
    }
}
