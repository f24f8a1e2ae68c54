//! Where bundles go next, for each kind of routing.

use super::config::{Prophet, Routing};
use super::Bundle;
use crate::contacts::{Contact, Node, Plan};
use crate::routing::contact_graph::{Query, Search};
use crate::routing::planner::Planner;
use bentpipe_core::Time;
use std::collections::BTreeMap;

pub(crate) struct Router {
    known: Plan,
    search: Search,
    plans: bool,
    planners: Vec<Planner>,
    table: BTreeMap<(u32, u32), u32>,
    is_table: bool,
    /// Bundles that wait for a neighbour, by node and neighbour.
    waiting: BTreeMap<(Node, Node), Vec<u64>>,
    /// Copies that a node may still hand over, by bundle and node.
    copies: BTreeMap<(u64, Node), u32>,
    /// Predictabilities of each node, when they were aged, and when it last met each other.
    chances: Vec<BTreeMap<Node, f64>>,
    aged: Vec<Time>,
    met: BTreeMap<(Node, Node), Time>,
}

impl Router {
    pub fn new(known: Plan, routing: &Routing) -> Router {
        let nodes = known.nodes().len();
        Router {
            planners: (0..nodes).map(|node| Planner::new(&known, Node(node as u32))).collect(),
            search: Search::default(),
            plans: matches!(routing, Routing::ContactGraph | Routing::Static(_)),
            table: match routing {
                Routing::Static(table) => table.clone(),
                _ => BTreeMap::new(),
            },
            is_table: matches!(routing, Routing::Static(_)),
            waiting: BTreeMap::new(),
            copies: BTreeMap::new(),
            chances: vec![BTreeMap::new(); nodes],
            aged: vec![Time::ZERO; nodes],
            met: BTreeMap::new(),
            known,
        }
    }

    /// Whether it decides for each bundle where it goes, rather than for each meeting what is handed over.
    pub fn plans(&self) -> bool {
        self.plans
    }

    pub fn searches(&self) -> u64 {
        self.planners.iter().map(Planner::searches).sum()
    }

    /// A bundle has entered the network.
    pub fn created(&mut self, bundle: u64, from: Node, routing: &Routing) {
        if let Routing::SprayAndWait { copies } = routing {
            self.copies.insert((bundle, from), *copies);
        }
    }

    /// The last copy of a bundle has ended.
    pub fn ended(&mut self, bundle: u64) {
        for key in self
            .copies
            .range((bundle, Node(0))..=(bundle, Node(u32::MAX)))
            .map(|(key, _)| *key)
            .collect::<Vec<_>>()
        {
            self.copies.remove(&key);
        }
    }

    /// The known contact over which a bundle at `node` is to leave, if there is any.
    pub fn choose(
        &mut self,
        now: Time,
        bundle: u64,
        node: Node,
        about: &Bundle,
        bytes: u64,
        expires: Time,
    ) -> Option<Contact> {
        if self.is_table {
            let next = Node(*self.table.get(&(node.0, about.to.0))?);
            let contacts = self.known.contacts();
            let mut open = self.known.leaving(node, now).iter().map(|index| contacts[*index as usize]);
            let fits = |contact: &Contact| {
                contact.to == next && contact.start <= now && now + contact.rate.span_of(bytes) <= contact.end
            };
            let found = open.find(fits);
            if found.is_none() {
                self.waiting.entry((node, next)).or_default().push(bundle);
            }
            return found;
        }
        let query = Query {
            priority: about.priority,
            deadline: Some(expires),
            ..Query::new(node, about.to, now, bytes)
        };
        let planner = &mut self.planners[node.0 as usize];
        let first = planner.choose(&self.known, &mut self.search, bundle, &query)?;
        Some(self.known.contacts()[first as usize])
    }

    /// Bundles that wait for a neighbour whenever it is there.
    pub fn waiting_for(&mut self, node: Node, neighbour: Node) -> Vec<u64> {
        self.waiting.remove(&(node, neighbour)).unwrap_or_default()
    }

    /// The first contact of a bundle's route has sent it.
    pub fn departed(&mut self, bundle: u64, node: Node) {
        self.planners[node.0 as usize].departed(bundle);
    }

    /// A node has no more to do with a bundle. What it has promised to contacts of others stays promised if it was sent.
    pub fn release(&mut self, bundle: u64, node: Node) {
        self.planners[node.0 as usize].release(bundle);
    }

    /// When nodes believe that a contact, which is open, ends.
    pub fn known_end(&self, contact: &Contact, now: Time) -> Time {
        let contacts = self.known.contacts();
        let known = self.known.leaving(contact.from, now).iter().map(|index| &contacts[*index as usize]);
        let mut known = known.filter(|known| known.to == contact.to && known.start <= now);
        known.next().map_or(contact.end, |known| known.end)
    }

    /// Two nodes meet: the first sees the second.
    pub fn met(&mut self, now: Time, node: Node, other: Node, routing: &Routing) {
        let Routing::Prophet(prophet) = routing else { return };
        for node in [node, other] {
            self.age(now, node, prophet);
        }
        let before = self.met.insert((node, other), now);
        let old = self.chance(node, other);
        let share = match before.map(|before| now.since(before)) {
            Some(gap) if gap < prophet.interval => gap.as_secs_f64() / prophet.interval.as_secs_f64(),
            _ => 1.0,
        };
        let chance = match before {
            None => prophet.first.max(old),
            Some(_) => old + (1.0 - old) * prophet.encounter * share,
        };
        let others = self.chances[other.0 as usize].clone();
        let mine = &mut self.chances[node.0 as usize];
        mine.insert(other, chance);
        for (target, theirs) in others.into_iter().filter(|(target, _)| *target != node) {
            let place = mine.entry(target).or_insert(0.0);
            *place = place.max(chance * theirs * prophet.transitive);
        }
    }

    fn age(&mut self, now: Time, node: Node, prophet: &Prophet) {
        let place = node.0 as usize;
        let units = now.since(self.aged[place]).as_secs_f64() / prophet.unit.as_secs_f64();
        self.aged[place] = now;
        self.chances[place].values_mut().for_each(|chance| *chance *= prophet.ageing.powf(units));
    }

    fn chance(&self, node: Node, other: Node) -> f64 {
        self.chances[node.0 as usize].get(&other).copied().unwrap_or(0.0)
    }

    /// Whether a neighbour that has no copy should get one.
    pub fn wants(&self, bundle: u64, node: Node, neighbour: Node, to: Node, routing: &Routing) -> bool {
        neighbour == to
            || match routing {
                Routing::ContactGraph | Routing::Static(_) => false,
                Routing::Epidemic => true,
                Routing::SprayAndWait { .. } => {
                    self.copies.get(&(bundle, node)).is_some_and(|copies| *copies > 1)
                }
                Routing::Prophet(_) => self.chance(neighbour, to) > self.chance(node, to),
            }
    }

    /// A copy is on its way to a neighbour. Returns whether the node keeps one.
    pub fn copied(&mut self, bundle: u64, node: Node, neighbour: Node, to: Node, routing: &Routing) -> bool {
        match routing {
            Routing::ContactGraph | Routing::Static(_) => false,
            _ if neighbour == to => false,
            Routing::Epidemic | Routing::Prophet(_) => true,
            Routing::SprayAndWait { .. } => {
                let copies = self.copies.get(&(bundle, node)).copied().unwrap_or(1);
                self.copies.insert((bundle, node), copies.div_ceil(2));
                self.copies.insert((bundle, neighbour), copies / 2);
                true
            }
        }
    }
}
