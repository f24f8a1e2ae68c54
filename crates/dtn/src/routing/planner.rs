//! Contact graph routing at one node, with cached routes and reservations of contacts.
//!
//! Later departures and new reservations can only delay routes. So a cached best route remains the
//! best while its arrival is not later than the arrival of the second best route at the time of the
//! search. Most bundles therefore need no search.

use super::contact_graph::{follow, Bookings, Query, Route, Search};
use crate::contacts::{Node, Plan};
use bentpipe_core::Time;
use std::collections::BTreeMap;

/// A cached best route.
struct Cached {
    route: Route,
    /// Arrival of the second best route when both routes were found.
    second_arrival: Time,
}

/// The reservation of contacts for a bundle.
struct Reservation {
    /// Indices of the contacts of the bundle's route.
    contacts: Vec<u32>,
    bytes: u64,
    priority: usize,
    /// True if the bundle was sent over the first contact.
    sent: bool,
}

/// The routing state of a node: its reservations and cached routes.
pub struct Planner {
    bookings: Bookings,
    routes: BTreeMap<(Node, usize), Cached>,
    reservations: BTreeMap<u64, Reservation>,
    searches: u64,
}

impl Planner {
    /// Creates the planner of a node, without reservations.
    pub fn new(plan: &Plan, node: Node) -> Planner {
        let mut bookings = Bookings::new(plan);
        bookings.set_view(plan, node);
        Planner { bookings, routes: BTreeMap::new(), reservations: BTreeMap::new(), searches: 0 }
    }

    /// Returns the number of searches so far.
    pub fn searches(&self) -> u64 {
        self.searches
    }

    /// Chooses a route for a bundle and returns the index of its first contact, or `None` if no
    /// route exists. The contacts of the route are reserved for the bundle until it is
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
                // The bound holds only for later times. A larger bundle may not fit where a smaller
                // one does; `follow` checks this.
                let second_arrival = routes.next().map_or(Time::MAX, |second| second.arrival);
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

    /// Returns true if a route exists. Reserves no contacts.
    pub fn is_reachable(&self, plan: &Plan, search: &mut Search, query: &Query<'_>) -> bool {
        search.best(plan, query, &self.bookings).is_some()
    }

    /// Records that a bundle was sent over the first contact of its route, and releases the
    /// reservation of that contact.
    pub fn departed(&mut self, bundle: u64) {
        let Some(reservation) = self.reservations.get_mut(&bundle) else { return };
        if !std::mem::replace(&mut reservation.sent, true) {
            self.bookings.release(reservation.contacts[0], reservation.bytes, reservation.priority);
        }
    }

    /// Releases the reservations for a bundle. If the bundle was sent, its reservations of later
    /// contacts remain.
    pub fn release(&mut self, bundle: u64) {
        let Some(reservation) = self.reservations.remove(&bundle) else { return };
        if !reservation.sent {
            for contact in reservation.contacts {
                self.bookings.release(contact, reservation.bytes, reservation.priority);
            }
        }
    }
}
