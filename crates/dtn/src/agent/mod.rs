//! Decisions of a bundle agent about its stored bundles (RFC 9171, section 5), in simulations as
//! well as on real hosts.
//!
//! - **Lifetime.** A bundle that comes after its lifetime is not stored, and one whose lifetime
//!   ends is dropped (section 5.5).
//! - **Duplicates.** A stored bundle is not stored a second time. Agents that hand out copies also
//!   remember what they have stored before.
//! - **Storage.** An agent stores a limited number of bytes. Without room it refuses a bundle or
//!   drops others for it ([`Discard`]).
//! - **Hop limit.** A bundle whose hop count would exceed its limit is not forwarded (section
//!   4.4.3).
//! - **Fragments.** A bundle is delivered when all its [fragments](fragments) have come, and its
//!   fragments replace it only if there is room for all of them.
//!
//! The bundles themselves are in a [`Store`]: on disk, or nowhere in simulations, where they have
//! no content. Callers pass the time, which counts from any moment. Routing is elsewhere
//! ([`crate::network::routing`]).

pub mod fragments;

use bentpipe_core::Time;
use fragments::{Part, Partials};
use std::collections::{BTreeMap, BTreeSet};

/// Storage of the bundles of an agent.
pub trait Store {
    /// The stored form of a bundle.
    type Bundle: ?Sized;

    /// Stores a bundle. Returns its number, or `None` if it can never be stored.
    fn add(&mut self, bundle: &Self::Bundle) -> Option<u64>;

    /// Removes a bundle by its number.
    fn remove(&mut self, number: u64);
}

/// The store of a simulated agent, for bundles without content that the simulation has numbered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers;

impl Store for Numbers {
    type Bundle = u64;

    fn add(&mut self, bundle: &u64) -> Option<u64> {
        Some(*bundle)
    }

    fn remove(&mut self, _number: u64) {}
}

/// A name that identifies a bundle.
pub trait Name: Ord + Clone {
    /// Returns the number under which a bundle of this name is stored, if the name contains it.
    fn number(&self) -> Option<u64>;
}

/// The number of a simulated bundle.
impl Name for u64 {
    fn number(&self) -> Option<u64> {
        Some(*self)
    }
}

/// The identifier of a bundle (RFC 9171, section 4.2.6 and following).
impl Name for String {
    fn number(&self) -> Option<u64> {
        None
    }
}

/// The action of an agent without room for a new bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Discard {
    /// Refuses the new bundle.
    #[default]
    Newest,
    /// Drops the oldest bundles.
    Oldest,
    /// Drops the bundles of the lowest priority below the new one's, the oldest first, and
    /// otherwise refuses the new one.
    LowestPriority,
}

/// The rules by which an agent decides.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Most bytes that the agent stores.
    pub storage: u64,
    /// Action of the agent without room.
    pub discard: Discard,
    /// True if the agent remembers what it has stored before, so that it does not accept a second
    /// copy.
    pub remembers: bool,
    /// True if the agent watches for the ends of lifetimes; a simulation does this for all agents
    /// together.
    pub watches: bool,
}

/// The properties of a bundle that decisions need. `N` is the name that identifies a bundle.
#[derive(Clone, Debug)]
pub struct About<N> {
    /// The name of the bundle.
    pub name: N,
    /// Size of the bundle in the store, in bytes.
    pub size: u64,
    /// Priority of the bundle; higher numbers are more urgent.
    pub priority: usize,
    /// Time at which the lifetime of the bundle is over.
    pub expires: Time,
    /// Number of hops that the bundle has passed.
    pub hops: u32,
    /// Largest number of hops, if limited.
    pub most_hops: Option<u32>,
    /// Place in the bundle of which this is a fragment, if its fragments are joined here.
    pub part: Option<Box<Part<N>>>,
}

/// The decision of an agent about a bundle that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The bundle is stored, and others were dropped for it.
    Stored {
        /// Number of the bundle in the store.
        number: u64,
        /// Numbers of the dropped bundles.
        dropped: Vec<u64>,
    },
    /// The lifetime of the bundle is over.
    Expired,
    /// The bundle is stored already, or has been.
    Duplicate,
    /// There is no room for the bundle.
    NoRoom,
}

/// The reason for which a bundle is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The lifetime of the bundle is over.
    Lifetime,
    /// The bundle has used up its hops.
    Hops,
}

struct Held<N> {
    about: About<N>,
    /// Position in the order of arrival.
    order: u64,
}

/// A bundle agent: the bundles that it stores.
pub struct Agent<S, N> {
    store: S,
    rules: Rules,
    held: BTreeMap<u64, Held<N>>,
    /// Stored bundles by priority and arrival.
    order: BTreeSet<(usize, u64, u64)>,
    /// Names of stored bundles that do not contain the number, and of remembered ones.
    names: BTreeSet<N>,
    expiries: BTreeSet<(Time, u64)>,
    partials: Partials<N>,
    bytes: u64,
    next: u64,
}

impl<S: Store, N: Name> Agent<S, N> {
    /// Creates an agent that does not know the contents of its store yet.
    pub fn new(store: S, rules: Rules) -> Agent<S, N> {
        Agent {
            store,
            rules,
            held: BTreeMap::new(),
            order: BTreeSet::new(),
            names: BTreeSet::new(),
            expiries: BTreeSet::new(),
            partials: Partials::default(),
            bytes: 0,
            next: 0,
        }
    }

    /// Decides about a received bundle, and stores it if it is accepted.
    pub fn accept(&mut self, now: Time, about: About<N>, bundle: &S::Bundle) -> Verdict {
        if about.expires <= now {
            return Verdict::Expired;
        }
        if self.knows(&about.name) {
            return Verdict::Duplicate;
        }
        let Some(dropped) = self.make_room(about.size, about.priority) else { return Verdict::NoRoom };
        let Some(number) = self.store.add(bundle) else { return Verdict::NoRoom };
        for number in &dropped {
            self.drop(*number);
        }
        self.hold(number, about);
        Verdict::Stored { number, dropped }
    }

    /// Adds a bundle that was in the store before the agent began.
    pub fn hold(&mut self, number: u64, about: About<N>) {
        self.next += 1;
        let order = self.next;
        self.bytes += about.size;
        if self.rules.remembers || about.name.number().is_none() {
            self.names.insert(about.name.clone());
        }
        self.order.insert((about.priority, order, number));
        if self.rules.watches {
            self.expiries.insert((about.expires, number));
        }
        if let Some(part) = &about.part {
            self.partials.add(number, part);
        }
        self.held.insert(number, Held { about, order });
    }

    /// Returns the bundles to drop so that `size` more bytes fit; `None` if the new one has to be
    /// refused.
    fn make_room(&self, size: u64, priority: usize) -> Option<Vec<u64>> {
        let Rules { storage, discard, .. } = self.rules;
        let mut excess = (self.bytes + size).saturating_sub(storage);
        let mut victims = Vec::new();
        if excess == 0 {
            return Some(victims);
        }
        if size > storage || discard == Discard::Newest {
            return None;
        }
        let mut candidates: Vec<_> = self.order.iter().collect();
        match discard {
            Discard::Oldest => candidates.sort_by_key(|(_, order, _)| *order),
            _ => candidates.retain(|(stored, ..)| *stored < priority),
        }
        for (_, _, number) in candidates {
            victims.push(*number);
            excess = excess.saturating_sub(self.held[number].about.size);
            if excess == 0 {
                return Some(victims);
            }
        }
        None
    }

    /// Replaces a bundle by its fragments and returns their numbers. If there is no room for them,
    /// the bundle stays whole, and the result is `None`.
    pub fn replace<'a>(&mut self, number: u64, fragments: Vec<(About<N>, &'a S::Bundle)>) -> Option<Vec<u64>>
    where
        S::Bundle: 'a,
    {
        let size: u64 = fragments.iter().map(|(about, _)| about.size).sum();
        if self.bytes + size > self.rules.storage {
            return None;
        }
        let mut numbers = Vec::new();
        for (_, bundle) in &fragments {
            let Some(number) = self.store.add(bundle) else {
                numbers.iter().for_each(|number| self.store.remove(*number));
                return None;
            };
            numbers.push(number);
        }
        self.drop(number);
        for (number, (about, _)) in numbers.iter().zip(fragments) {
            self.hold(*number, about);
        }
        Some(numbers)
    }

    /// Drops a bundle, if it is stored.
    pub fn drop(&mut self, number: u64) {
        let Some(Held { about, order }) = self.held.remove(&number) else { return };
        self.bytes -= about.size;
        self.order.remove(&(about.priority, order, number));
        if self.rules.watches {
            self.expiries.remove(&(about.expires, number));
        }
        if !self.rules.remembers && about.name.number().is_none() {
            self.names.remove(&about.name);
        }
        self.partials.forget(number);
        self.store.remove(number);
    }

    /// Returns the stored bundle whose lifetime ended first, if one has ended, for an agent that
    /// watches.
    pub fn overdue(&self, now: Time) -> Option<u64> {
        self.expiries.first().filter(|(expires, _)| *expires <= now).map(|(_, number)| *number)
    }

    /// Checks that a stored bundle may be forwarded.
    ///
    /// # Errors
    /// If it has to be dropped instead; the error is the reason.
    pub fn may_leave(&self, number: u64, now: Time) -> Result<(), Over> {
        let Some(Held { about, .. }) = self.held.get(&number) else { return Ok(()) };
        match about.most_hops {
            _ if about.expires <= now => Err(Over::Lifetime),
            Some(most) if about.hops >= most => Err(Over::Hops),
            _ => Ok(()),
        }
    }

    /// Returns the properties of a stored bundle.
    pub fn about(&self, number: u64) -> Option<&About<N>> {
        self.held.get(&number).map(|held| &held.about)
    }

    /// Returns true if a bundle is stored.
    pub fn contains(&self, number: u64) -> bool {
        self.held.contains_key(&number)
    }

    /// Returns true if a bundle of this name is stored or remembered.
    pub fn knows(&self, name: &N) -> bool {
        name.number().is_some_and(|number| self.contains(number)) || self.names.contains(name)
    }

    /// Returns true if a stored bundle can be delivered: always, unless it is a fragment and others
    /// are missing.
    pub fn is_whole(&self, number: u64) -> bool {
        self.partials.is_whole(number)
    }

    /// Returns the name of the bundle of which a stored one is a fragment, and the fragments of
    /// that bundle by offset, with their numbers.
    pub fn parts(&self, number: u64) -> Option<(&N, Vec<(u64, u64)>)> {
        self.partials.of(number)
    }

    /// Returns the stored bundles in the order of arrival within a priority, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.order.iter().map(|(_, _, number)| *number)
    }

    /// Returns true if all stored bundles have one priority.
    pub fn one_priority(&self) -> bool {
        let ends = self.order.first().zip(self.order.last());
        ends.is_none_or(|(first, last)| first.0 == last.0)
    }

    /// Returns the bytes of the stored bundles.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of stored bundles.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Returns true if nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns the store of the bundles.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns the store, so that a caller can make its bundles permanent.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }
}

#[cfg(test)]
mod tests;
