//! Decisions of a bundle agent about its stored bundles (RFC 9171, section 5), for simulations and
//! real hosts.
//!
//! - **Lifetime.** A bundle that arrives after its lifetime is not stored, and a stored bundle is
//!   dropped when its lifetime ends (section 5.5).
//! - **Duplicates.** A stored bundle is not stored a second time. Agents that hand out copies also
//!   keep the names of all bundles that they have stored before.
//! - **Storage.** An agent stores a limited number of bytes. If its storage is full, it refuses a
//!   new bundle or drops other bundles ([`Discard`]).
//! - **Hop limit.** A bundle whose hop count would exceed its limit is not forwarded (section
//!   4.4.3).
//! - **Fragments.** A bundle is delivered when all its [fragments](fragments) have arrived.
//!   Fragments replace a stored bundle only if the storage has room for the bundle and all its
//!   fragments.
//!
//! A [`Store`] contains the bundles: on disk on a real host, or as numbers without content in a
//! simulation. Callers pass the time, which may count from any epoch. [`crate::network::routing`]
//! contains the routing.

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

/// The store of a simulated agent. Bundles have no content, and the simulation assigns their
/// numbers.
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
    /// Returns the number of the bundle in the store, if the name determines the number.
    fn number(&self) -> Option<u64>;
}

/// The name of a simulated bundle, which is also its number in the store.
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

/// The action of an agent that has no room for a new bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Discard {
    /// Refuses the new bundle.
    #[default]
    Newest,
    /// Drops the oldest bundles.
    Oldest,
    /// Drops bundles with a lower priority than the new bundle: first those of the lowest priority,
    /// and among equals the oldest. Refuses the new bundle if this does not free enough room.
    LowestPriority,
}

/// The rules by which an agent decides.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Maximum size of all stored bundles together, in bytes.
    pub storage: u64,
    /// Action of the agent if a new bundle exceeds `storage`.
    pub discard: Discard,
    /// True if the agent keeps the names of all bundles that it has stored before, and rejects
    /// further copies of them.
    pub duplicate_history: bool,
    /// True if the agent keeps the expiry times of its bundles. A simulation instead has one set of
    /// timers for all its agents.
    pub expiry_timers: bool,
}

/// The properties of a bundle on which decisions depend. `N` is the type of the bundle's name.
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
    /// Maximum number of hops; `None` for unlimited.
    pub hop_limit: Option<u32>,
    /// Position in the original bundle, if this is a fragment that the agent must reassemble.
    pub fragment: Option<Box<Fragment<N>>>,
}

/// The decision of an agent about a bundle that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The bundle is stored. Other bundles may have been dropped to make room.
    Stored {
        /// Number of the bundle in the store.
        number: u64,
        /// Numbers of the dropped bundles.
        dropped: Vec<u64>,
    },
    /// The lifetime of the bundle is over.
    Expired,
    /// The bundle is already stored, or was stored before.
    Duplicate,
    /// The store has no room for the bundle.
    NoRoom,
}

/// The limit that prevents a bundle from being forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The lifetime of the bundle is over.
    Lifetime,
    /// The bundle has used up its hops.
    HopLimit,
}

struct Entry<N> {
    metadata: Metadata<N>,
    /// Sequence number in the order of arrival.
    order: u64,
}

/// A bundle agent: the bundles that it stores.
pub struct Agent<S, N> {
    store: S,
    rules: Rules,
    entries: BTreeMap<u64, Entry<N>>,
    /// Stored bundles as priority, sequence number of arrival, and number in the store.
    order: BTreeSet<(usize, u64, u64)>,
    /// Names of stored bundles, unless the name determines the number, and names in the duplicate
    /// history.
    names: BTreeSet<N>,
    expiries: BTreeSet<(Time, u64)>,
    reassemblies: Reassemblies<N>,
    bytes: u64,
    next: u64,
}

impl<S: Store, N: Name> Agent<S, N> {
    /// Creates an agent without bundles. [`insert`](Self::insert) adds those that are already in
    /// the store.
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

    /// Adds a bundle that is already in the store.
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

    /// Returns the bundles to drop so that a new bundle of `size` bytes fits; `None` if the new
    /// bundle must be refused.
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

    /// Replaces a bundle by its fragments and returns their numbers. Returns `None`, and keeps the
    /// bundle, if the storage has no room for the bundle and its fragments together.
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

    /// Returns the stored bundle whose lifetime ended first; `None` if no lifetime has ended.
    /// Requires the rule `expiry_timers`.
    pub fn expired(&self, now: Time) -> Option<u64> {
        self.expiries.first().filter(|(expires, _)| *expires <= now).map(|(_, number)| *number)
    }

    /// Checks that a stored bundle may be forwarded.
    ///
    /// # Errors
    /// If the bundle has exceeded a limit and must be dropped.
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

    /// Returns true if a bundle of this name is stored or in the duplicate history.
    pub fn has_seen(&self, name: &N) -> bool {
        name.number().is_some_and(|number| self.contains(number)) || self.names.contains(name)
    }

    /// Returns true if a stored bundle can be delivered: it is not a fragment, or all fragments of
    /// its bundle have arrived.
    pub fn is_complete(&self, number: u64) -> bool {
        self.reassemblies.is_complete(number)
    }

    /// Returns the original bundle of a stored fragment: its name, and the offset and number of
    /// each stored fragment. Returns `None` for a bundle that is not a fragment.
    pub fn fragments(&self, number: u64) -> Option<(&N, Vec<(u64, u64)>)> {
        self.reassemblies.fragments(number)
    }

    /// Returns the stored bundles by ascending priority, and in the order of arrival within a
    /// priority.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.order.iter().map(|(_, _, number)| *number)
    }

    /// Returns true if all stored bundles have the same priority.
    pub fn has_single_priority(&self) -> bool {
        let ends = self.order.first().zip(self.order.last());
        ends.is_none_or(|(first, last)| first.0 == last.0)
    }

    /// Returns the total size of the stored bundles in bytes.
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

    /// Returns the store for changes, such as committing it.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }
}

#[cfg(test)]
mod tests;
