//! The storage of a node.

use super::Discard;
use std::collections::{BTreeMap, BTreeSet};

struct Stored {
    order: u64,
    size: u64,
    priority: usize,
    hops: u32,
}

/// The storage of a node.
#[derive(Default)]
pub(crate) struct Store {
    bundles: BTreeMap<u64, Stored>,
    /// Bundles by priority and arrival.
    order: BTreeSet<(usize, u64, u64)>,
    /// Bundles that have been here, so that copies are not taken twice.
    seen: BTreeSet<u64>,
    bytes: u64,
    next: u64,
    /// Whether it remembers what has been here.
    remembers: bool,
}

impl Store {
    /// An empty storage, which may remember what has been in it.
    pub fn new(remembers: bool) -> Store {
        Store { remembers, ..Store::default() }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn contains(&self, bundle: u64) -> bool {
        self.bundles.contains_key(&bundle)
    }

    pub fn has_seen(&self, bundle: u64) -> bool {
        self.seen.contains(&bundle)
    }

    pub fn hops(&self, bundle: u64) -> u32 {
        self.bundles.get(&bundle).map_or(0, |stored| stored.hops)
    }

    pub fn priority(&self, bundle: u64) -> usize {
        self.bundles.get(&bundle).map_or(0, |stored| stored.priority)
    }

    /// Whether all stored bundles have one priority.
    pub fn one_priority(&self) -> bool {
        let ends = self.order.first().zip(self.order.last());
        ends.is_none_or(|(first, last)| first.0 == last.0)
    }

    /// The stored bundles in the order of arrival within a priority, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.order.iter().map(|(_, _, bundle)| *bundle)
    }

    /// The bundles to be dropped so that `size` more bytes fit. None if the new one has to go.
    pub fn make_room(&self, size: u64, priority: usize, limit: u64, discard: Discard) -> Option<Vec<u64>> {
        let mut excess = (self.bytes + size).saturating_sub(limit);
        let mut victims = Vec::new();
        if excess == 0 {
            return Some(victims);
        }
        if size > limit || discard == Discard::Newest {
            return None;
        }
        let mut candidates: Vec<_> = self.order.iter().collect();
        match discard {
            Discard::Oldest => candidates.sort_by_key(|(_, order, _)| *order),
            _ => candidates.retain(|(stored, ..)| *stored < priority),
        }
        for (_, _, bundle) in candidates {
            victims.push(*bundle);
            excess = excess.saturating_sub(self.bundles[bundle].size);
            if excess == 0 {
                return Some(victims);
            }
        }
        None
    }

    pub fn add(&mut self, bundle: u64, size: u64, priority: usize, hops: u32) {
        self.next += 1;
        let order = self.next;
        self.bytes += size;
        if self.remembers {
            self.seen.insert(bundle);
        }
        self.order.insert((priority, order, bundle));
        self.bundles.insert(bundle, Stored { order, size, priority, hops });
    }

    pub fn remove(&mut self, bundle: u64) {
        if let Some(stored) = self.bundles.remove(&bundle) {
            self.bytes -= stored.size;
            self.order.remove(&(stored.priority, stored.order, bundle));
        }
    }
}
