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
use fragments::{Fragment, Reassemblies};
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
    /// True if the agent keeps the names of bundles that it has stored before, and rejects further
    /// copies.
    pub duplicate_history: bool,
    /// True if the agent keeps the expiry times of its bundles. A simulation has timers for all
    /// agents together.
    pub expiry_timers: bool,
}

/// The properties of a bundle that decisions need. `N` is the name that identifies a bundle.
#[derive(Clone, Debug)]
pub struct Metadata<N> {
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
    pub hop_limit: Option<u32>,
    /// Place in the bundle of which this is a fragment, if its fragments are joined here.
    pub fragment: Option<Box<Fragment<N>>>,
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
pub enum Exceeded {
    /// The lifetime of the bundle is over.
    Lifetime,
    /// The bundle has used up its hops.
    HopLimit,
}

struct Entry<N> {
    metadata: Metadata<N>,
    /// Position in the order of arrival.
    order: u64,
}

/// A bundle agent: the bundles that it stores.
pub struct Agent<S, N> {
    store: S,
    rules: Rules,
    entries: BTreeMap<u64, Entry<N>>,
    /// Stored bundles by priority and arrival.
    order: BTreeSet<(usize, u64, u64)>,
    /// Names of stored bundles that do not contain the number, and of remembered ones.
    names: BTreeSet<N>,
    expiries: BTreeSet<(Time, u64)>,
    reassemblies: Reassemblies<N>,
    bytes: u64,
    next: u64,
}

impl<S: Store, N: Name> Agent<S, N> {
    /// Creates an agent that does not know the contents of its store yet.
    pub fn new(store: S, rules: Rules) -> Agent<S, N> {
        Agent {
            store,
            rules,
            entries: BTreeMap::new(),
            order: BTreeSet::new(),
            names: BTreeSet::new(),
            expiries: BTreeSet::new(),
            reassemblies: Reassemblies::default(),
            bytes: 0,
            next: 0,
        }
    }

    /// Decides about a received bundle, and stores it if it is accepted.
    pub fn accept(&mut self, now: Time, metadata: Metadata<N>, bundle: &S::Bundle) -> Verdict {
        if metadata.expires <= now {
            return Verdict::Expired;
        }
        if self.has_seen(&metadata.name) {
            return Verdict::Duplicate;
        }
        let Some(dropped) = self.make_room(metadata.size, metadata.priority) else { return Verdict::NoRoom };
        let Some(number) = self.store.add(bundle) else { return Verdict::NoRoom };
        for number in &dropped {
            self.drop(*number);
        }
        self.insert(number, metadata);
        Verdict::Stored { number, dropped }
    }

    /// Adds a bundle that was in the store before the agent began.
    pub fn insert(&mut self, number: u64, metadata: Metadata<N>) {
        self.next += 1;
        let order = self.next;
        self.bytes += metadata.size;
        if self.rules.duplicate_history || metadata.name.number().is_none() {
            self.names.insert(metadata.name.clone());
        }
        self.order.insert((metadata.priority, order, number));
        if self.rules.expiry_timers {
            self.expiries.insert((metadata.expires, number));
        }
        if let Some(fragment) = &metadata.fragment {
            self.reassemblies.add(number, fragment);
        }
        self.entries.insert(number, Entry { metadata, order });
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
            excess = excess.saturating_sub(self.entries[number].metadata.size);
            if excess == 0 {
                return Some(victims);
            }
        }
        None
    }

    /// Replaces a bundle by its fragments and returns their numbers. If there is no room for them,
    /// the bundle stays whole, and the result is `None`.
    pub fn replace<'a>(
        &mut self,
        number: u64,
        fragments: Vec<(Metadata<N>, &'a S::Bundle)>,
    ) -> Option<Vec<u64>>
    where
        S::Bundle: 'a,
    {
        let size: u64 = fragments.iter().map(|(metadata, _)| metadata.size).sum();
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
        for (number, (metadata, _)) in numbers.iter().zip(fragments) {
            self.insert(*number, metadata);
        }
        Some(numbers)
    }

    /// Drops a bundle, if it is stored.
    pub fn drop(&mut self, number: u64) {
        let Some(Entry { metadata, order }) = self.entries.remove(&number) else { return };
        self.bytes -= metadata.size;
        self.order.remove(&(metadata.priority, order, number));
        if self.rules.expiry_timers {
            self.expiries.remove(&(metadata.expires, number));
        }
        if !self.rules.duplicate_history && metadata.name.number().is_none() {
            self.names.remove(&metadata.name);
        }
        self.reassemblies.remove(number);
        self.store.remove(number);
    }

    /// Returns the stored bundle whose lifetime ended first, if any has ended. Needs the rule
    /// `expiry_timers`.
    pub fn expired(&self, now: Time) -> Option<u64> {
        self.expiries.first().filter(|(expires, _)| *expires <= now).map(|(_, number)| *number)
    }

    /// Checks that a stored bundle may be forwarded.
    ///
    /// # Errors
    /// If it has to be dropped instead; the error is the reason.
    pub fn check_forwarding(&self, number: u64, now: Time) -> Result<(), Exceeded> {
        let Some(Entry { metadata, .. }) = self.entries.get(&number) else { return Ok(()) };
        match metadata.hop_limit {
            _ if metadata.expires <= now => Err(Exceeded::Lifetime),
            Some(limit) if metadata.hops >= limit => Err(Exceeded::HopLimit),
            _ => Ok(()),
        }
    }

    /// Returns the properties of a stored bundle.
    pub fn metadata(&self, number: u64) -> Option<&Metadata<N>> {
        self.entries.get(&number).map(|entry| &entry.metadata)
    }

    /// Returns true if a bundle is stored.
    pub fn contains(&self, number: u64) -> bool {
        self.entries.contains_key(&number)
    }

    /// Returns true if a bundle of this name is stored or remembered.
    pub fn has_seen(&self, name: &N) -> bool {
        name.number().is_some_and(|number| self.contains(number)) || self.names.contains(name)
    }

    /// Returns true if a stored bundle can be delivered: always, unless it is a fragment and others
    /// are missing.
    pub fn is_complete(&self, number: u64) -> bool {
        self.reassemblies.is_complete(number)
    }

    /// Returns the name of the bundle of which a stored one is a fragment, and the fragments of
    /// that bundle by offset, with their numbers.
    pub fn fragments(&self, number: u64) -> Option<(&N, Vec<(u64, u64)>)> {
        self.reassemblies.fragments(number)
    }

    /// Returns the stored bundles in the order of arrival within a priority, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.order.iter().map(|(_, _, number)| *number)
    }

    /// Returns true if all stored bundles have one priority.
    pub fn has_single_priority(&self) -> bool {
        let ends = self.order.first().zip(self.order.last());
        ends.is_none_or(|(first, last)| first.0 == last.0)
    }

    /// Returns the bytes of the stored bundles.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of stored bundles.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
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
