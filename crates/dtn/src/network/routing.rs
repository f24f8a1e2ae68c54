//! Where bundles go next, for each kind of routing.

use super::config::{Prophet, Routing};
use super::Bundle;
use crate::contacts::{Contact, Node, Plan};
use crate::routing::contact_graph::{follow, Bookings, Query, Route, Search};
use bentpipe_core::Time;
use std::collections::BTreeMap;

/// What a node knows of the contact graph: its own promises, and the routes that it has found.
struct View {
    bookings: Bookings,
    routes: BTreeMap<(Node, usize), Cached>,
}

/// A route that was the best, and the arrival of the second best: as long as the first arrives earlier it is the best, since time
/// and promises only make others later.
struct Cached {
    route: Route,
    other: Time,
}

/// What a node has promised for a bundle.
struct Promise {
    contacts: Vec<u32>,
    bytes: u64,
    priority: usize,
    /// Whether the first contact has sent it.
    sent: bool,
}

pub(crate) struct Router {
    known: Plan,
    search: Search,
    searches: u64,
    plans: bool,
    views: Vec<View>,
    promises: BTreeMap<(u64, Node), Promise>,
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
        let view = |node: usize| {
            let mut bookings = Bookings::new(&known);
            bookings.seen_by(&known, Node(node as u32));
            View { bookings, routes: BTreeMap::new() }
        };
        Router {
            views: (0..nodes).map(view).collect(),
            search: Search::default(),
            searches: 0,
            plans: matches!(routing, Routing::ContactGraph | Routing::Static(_)),
            promises: BTreeMap::new(),
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
        self.searches
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
        let view = &mut self.views[node.0 as usize];
        let key = (about.to, about.priority);
        let cached = view.routes.get(&key).and_then(|cached| {
            let route = follow(&self.known, &cached.route, &query, &view.bookings)?;
            (route.arrival <= cached.other).then_some(route)
        });
        let route = match cached {
            Some(route) => route,
            None => {
                self.searches += 1;
                let mut routes = self.search.routes(&self.known, &query, &view.bookings, 2).into_iter();
                let route = routes.next()?;
                // A larger bundle may not fit where a smaller one does, and the bound holds for later times only.
                let other = routes.next().map_or(Time::MAX, |other| other.arrival);
                view.routes.insert(key, Cached { route: route.clone(), other });
                route
            }
        };
        let contacts: Vec<u32> = route.passages.iter().map(|passage| passage.contact).collect();
        let first = self.known.contacts()[contacts[0] as usize];
        for contact in &contacts {
            view.bookings.book(*contact, bytes, about.priority);
        }
        self.promises
            .insert((bundle, node), Promise { contacts, bytes, priority: about.priority, sent: false });
        Some(first)
    }

    /// Bundles that wait for a neighbour whenever it is there.
    pub fn waiting_for(&mut self, node: Node, neighbour: Node) -> Vec<u64> {
        self.waiting.remove(&(node, neighbour)).unwrap_or_default()
    }

    /// The first contact of a bundle's route has sent it.
    pub fn departed(&mut self, bundle: u64, node: Node) {
        let Some(promise) = self.promises.get_mut(&(bundle, node)) else { return };
        if !std::mem::replace(&mut promise.sent, true) {
            self.views[node.0 as usize].bookings.release(
                promise.contacts[0],
                promise.bytes,
                promise.priority,
            );
        }
    }

    /// A node has no more to do with a bundle. What it has promised to contacts of others stays promised if it was sent.
    pub fn release(&mut self, bundle: u64, node: Node) {
        let Some(promise) = self.promises.remove(&(bundle, node)) else { return };
        if !promise.sent {
            for contact in promise.contacts {
                self.views[node.0 as usize].bookings.release(contact, promise.bytes, promise.priority);
            }
        }
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
