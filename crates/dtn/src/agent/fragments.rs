//! Fragments of bundles (RFC 9171, sections 5.8 and 5.9).

use std::collections::BTreeMap;

/// Minimum payload of a fragment in bytes. Bundles are not fragmented into smaller payloads.
pub const MIN_PAYLOAD: usize = 1000;

/// Position of a fragment in the payload of its bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment<N> {
    /// The name of the original bundle.
    pub bundle: N,
    /// Offset of the fragment's first byte in the payload of the bundle.
    pub offset: u64,
    /// Length of the fragment's payload in bytes.
    pub length: u64,
    /// Length of the original bundle's payload in bytes.
    pub total: u64,
}

/// The received fragments of a bundle.
#[derive(Default)]
struct Reassembly {
    total: u64,
    /// Number of each fragment in the store, by offset and length.
    fragments: BTreeMap<(u64, u64), u64>,
}

impl Reassembly {
    /// Returns true if the fragments cover the complete payload. Fragments may overlap.
    fn is_complete(&self) -> bool {
        let mut end = 0;
        for (offset, length) in self.fragments.keys() {
            if *offset > end {
                return false;
            }
            end = end.max(offset + length);
        }
        end >= self.total
    }
}

/// Bundles with stored fragments.
pub(super) struct Reassemblies<N> {
    by_name: BTreeMap<N, Reassembly>,
    /// Name of the original bundle of each fragment, by the fragment's number in the store.
    names: BTreeMap<u64, N>,
}

impl<N> Default for Reassemblies<N> {
    fn default() -> Reassemblies<N> {
        Reassemblies { by_name: BTreeMap::new(), names: BTreeMap::new() }
    }
}

impl<N: Ord + Clone> Reassemblies<N> {
    /// Records that a fragment is stored under a number.
    pub fn add(&mut self, number: u64, fragment: &Fragment<N>) {
        let reassembly = self.by_name.entry(fragment.bundle.clone()).or_default();
        reassembly.total = fragment.total;
        reassembly.fragments.insert((fragment.offset, fragment.length), number);
        self.names.insert(number, fragment.bundle.clone());
    }

    /// Records that a bundle is no longer stored.
    pub fn remove(&mut self, number: u64) {
        let Some(name) = self.names.remove(&number) else { return };
        if let Some(reassembly) = self.by_name.get_mut(&name) {
            reassembly.fragments.retain(|_, fragment| *fragment != number);
            if reassembly.fragments.is_empty() {
                self.by_name.remove(&name);
            }
        }
    }

    /// Returns true if a bundle is not a fragment, or if the fragments of its original bundle are
    /// complete.
    pub fn is_complete(&self, number: u64) -> bool {
        self.names.get(&number).is_none_or(|name| self.by_name.get(name).is_some_and(Reassembly::is_complete))
    }

    /// Returns the original bundle of a fragment: its name, and the offset and number of each
    /// stored fragment.
    pub fn fragments(&self, number: u64) -> Option<(&N, Vec<(u64, u64)>)> {
        let (name, reassembly) = self.by_name.get_key_value(self.names.get(&number)?)?;
        let fragments = reassembly.fragments.iter().map(|((offset, _), number)| (*offset, *number));
        Some((name, fragments.collect()))
    }
}
