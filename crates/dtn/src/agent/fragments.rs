//! Fragments of bundles (RFC 9171, sections 5.8 and 5.9).

use std::collections::BTreeMap;

/// Bytes of payload below which no bundle is divided further.
pub const LEAST: usize = 1000;

/// Place of a fragment in its bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<N> {
    /// The name of the bundle.
    pub of: N,
    /// Position of its first byte in the payload.
    pub offset: u64,
    /// Bytes of payload in the fragment.
    pub length: u64,
    /// Bytes of the whole bundle's payload.
    pub total: u64,
}

/// The received fragments of a bundle.
#[derive(Default)]
struct Partial {
    total: u64,
    /// Numbers in the store, by offset and length.
    parts: BTreeMap<(u64, u64), u64>,
}

impl Partial {
    /// Returns true if the fragments cover the whole payload; they may overlap.
    fn is_whole(&self) -> bool {
        let mut end = 0;
        for (offset, length) in self.parts.keys() {
            if *offset > end {
                return false;
            }
            end = end.max(offset + length);
        }
        end >= self.total
    }
}

/// Bundles of which fragments have been received.
pub(super) struct Partials<N> {
    by_name: BTreeMap<N, Partial>,
    /// The bundle of each fragment, by number.
    names: BTreeMap<u64, N>,
}

impl<N> Default for Partials<N> {
    fn default() -> Partials<N> {
        Partials { by_name: BTreeMap::new(), names: BTreeMap::new() }
    }
}

impl<N: Ord + Clone> Partials<N> {
    /// Records that a fragment is stored under a number.
    pub fn add(&mut self, number: u64, part: &Part<N>) {
        let partial = self.by_name.entry(part.of.clone()).or_default();
        partial.total = part.total;
        partial.parts.insert((part.offset, part.length), number);
        self.names.insert(number, part.of.clone());
    }

    /// Records that a bundle is no longer stored.
    pub fn forget(&mut self, number: u64) {
        let Some(name) = self.names.remove(&number) else { return };
        if let Some(partial) = self.by_name.get_mut(&name) {
            partial.parts.retain(|_, part| *part != number);
            if partial.parts.is_empty() {
                self.by_name.remove(&name);
            }
        }
    }

    /// Returns true if a bundle is not a fragment, or if all its fragments have been received.
    pub fn is_whole(&self, number: u64) -> bool {
        self.names.get(&number).is_none_or(|name| self.by_name.get(name).is_some_and(Partial::is_whole))
    }

    /// Returns the bundle of a fragment, and the offsets and numbers of all received ones.
    pub fn of(&self, number: u64) -> Option<(&N, Vec<(u64, u64)>)> {
        let (name, partial) = self.by_name.get_key_value(self.names.get(&number)?)?;
        let parts = partial.parts.iter().map(|((offset, _), number)| (*offset, *number));
        Some((name, parts.collect()))
    }
}
