//! Contact graph routing at one node: its known routes, and its reservations of contacts.
//!
//! The best route stays the best as long as it arrives before the second best did when both were
//! found, since time and promises only delay others. So most bundles need no search.

use super::contact_graph::{follow, Bookings, Query, Route, Search};
use crate::contacts::{Node, Plan};
use bentpipe_core::Time;
use std::collections::BTreeMap;

/// A best route, and the arrival of the second best.
struct Cached {
    route: Route,
    second_arrival: Time,
}

/// The promise of a node for a bundle.
struct Reservation {
    contacts: Vec<u32>,
    bytes: u64,
    priority: usize,
    /// True if the first contact has sent it.
    sent: bool,
}

/// A node's routing state in addition to the plan: its own reservations and its known routes.
pub struct Planner {
    bookings: Bookings,
    routes: BTreeMap<(Node, usize), Cached>,
    reservations: BTreeMap<u64, Reservation>,
    searches: u64,
}

impl Planner {
    /// Creates the planner of a node without promises.
    pub fn new(plan: &Plan, node: Node) -> Planner {
        let mut bookings = Bookings::new(plan);
        bookings.set_view(plan, node);
        Planner { bookings, routes: BTreeMap::new(), reservations: BTreeMap::new(), searches: 0 }
    }

    /// Returns the number of searches so far.
    pub fn searches(&self) -> u64 {
        self.searches
    }

    /// Returns the index of the contact over which a bundle is to leave, if a route leads to its
    /// destination. The bundle is promised to the contacts of its route until it is
    /// [released](Self::release).
    pub fn choose(
        &mut self,
        plan: &Plan,
        search: &mut Search,
        bundle: u64,
        query: &Query<'_>,
    ) -> Option<u32> {
        let key = (query.to, query.priority);
        let cached = self.routes.get(&key).and_then(|cached| {
            let route = follow(plan, &cached.route, query, &self.bookings)?;
            (route.arrival <= cached.second_arrival).then_some(route)
        });
        let route = match cached {
            Some(route) => route,
            None => {
                self.searches += 1;
                let mut routes = search.routes(plan, query, &self.bookings, 2).into_iter();
                let route = routes.next()?;
                // A larger bundle may not fit where a smaller one does, and the bound holds only
                // for later times.
                let second_arrival = routes.next().map_or(Time::MAX, |second_arrival| second_arrival.arrival);
                self.routes.insert(key, Cached { route: route.clone(), second_arrival });
                route
            }
        };
        let contacts: Vec<u32> =
            route.transmissions.iter().map(|transmission| transmission.contact).collect();
        let first = contacts[0];
        for contact in &contacts {
            self.bookings.book(*contact, query.bytes, query.priority);
        }
        let (bytes, priority) = (query.bytes, query.priority);
        self.reservations.insert(bundle, Reservation { contacts, bytes, priority, sent: false });
        Some(first)
    }

    /// Returns true if a route leads to the destination of a query. Nothing is promised.
    pub fn is_reachable(&self, plan: &Plan, search: &mut Search, query: &Query<'_>) -> bool {
        search.best(plan, query, &self.bookings).is_some()
    }

    /// Notes that the first contact of a bundle's route has sent it.
    pub fn departed(&mut self, bundle: u64) {
        let Some(reservation) = self.reservations.get_mut(&bundle) else { return };
        if !std::mem::replace(&mut reservation.sent, true) {
            self.bookings.release(reservation.contacts[0], reservation.bytes, reservation.priority);
        }
    }

    /// Releases a bundle that the node no longer holds. If it was sent, its promises to contacts of
    /// others remain.
    pub fn release(&mut self, bundle: u64) {
        let Some(reservation) = self.reservations.remove(&bundle) else { return };
        if !reservation.sent {
            for contact in reservation.contacts {
                self.bookings.release(contact, reservation.bytes, reservation.priority);
            }
        }
    }
}
