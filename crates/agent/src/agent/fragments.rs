//! Fragments of bundles (RFC 9171, sections 5.8 and 5.9): a bundle that no contact can take whole is divided, and fragments for this node are put
//! together again.
//!
//! Blocks that have to be in every fragment are in every fragment, as are hop count, bundle age and previous node, which every bundle needs on its own; other
//! blocks go with the first fragment. A bundle with security blocks is not divided: its payload could no longer be checked on the way (RFC 9172).

use super::{parse_unchecked, Agent, Target};
use bp7::bpsec::{CONFIDENTIALITY_BLOCK, INTEGRITY_BLOCK};
use bp7::canonical::{
    new_payload_block, BUNDLE_AGE_BLOCK, HOP_COUNT_BLOCK, PAYLOAD_BLOCK, PREVIOUS_NODE_BLOCK,
};
use bp7::flags::{BlockControlFlags, BlockValidation, BundleControlFlags, BundleValidation};
use bp7::{crc, Bundle};
use std::collections::BTreeMap;
use std::io;

/// Bytes of payload below which nothing is divided further.
pub(super) const LEAST: usize = 1000;

/// The fragments of a bundle for this node that have arrived.
#[derive(Default)]
pub(super) struct Partial {
    total: u64,
    /// Numbers in the storage and lengths, by offset.
    parts: BTreeMap<(u64, u64), u64>,
}

/// A bundle that was put together from its fragments.
pub(super) struct Joined {
    /// Identifier of the bundle.
    pub id: String,
    /// The payload as it was before the bundle was divided.
    pub payload: Vec<u8>,
    /// Numbers of its fragments in the storage.
    pub numbers: Vec<u64>,
}

impl Partial {
    /// Whether the fragments cover the whole payload.
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

/// The identifier of a bundle: source, creation time, and place and length of a fragment.
pub(super) fn identifier(bundle: &Bundle) -> String {
    let id = bundle.id();
    match bundle.primary.has_fragmentation() {
        true => format!("{id}-{}", length(bundle)),
        false => id,
    }
}

/// The identifier of the bundle of which another one is a fragment.
fn original(bundle: &Bundle) -> String {
    let id = bundle.id();
    id[..id.rfind('-').unwrap_or(id.len())].to_owned()
}

fn length(bundle: &Bundle) -> u64 {
    bundle.payload().map_or(0, Vec::len) as u64
}

/// Divides a bundle into fragments with payloads of `longest` bytes at most. None if it must not be divided, or is short enough.
pub fn split(bundle: &Bundle, longest: usize) -> Option<Vec<Bundle>> {
    let payload = bundle.payload()?;
    let secured = bundle
        .canonicals
        .iter()
        .any(|block| [INTEGRITY_BLOCK, CONFIDENTIALITY_BLOCK].contains(&block.block_type));
    let flags = bundle.primary.bundle_control_flags.flags();
    if flags.contains(BundleControlFlags::BUNDLE_MUST_NOT_FRAGMENTED)
        || secured
        || longest == 0
        || payload.len() <= longest
    {
        return None;
    }
    let (first, total) = match bundle.primary.has_fragmentation() {
        true => (bundle.primary.fragmentation_offset, bundle.primary.total_data_length),
        false => (0, payload.len() as u64),
    };
    let pieces = payload.chunks(longest).zip(0..).map(|(piece, number): (&[u8], u64)| {
        let offset = first + number * longest as u64;
        let mut primary = bundle.primary.clone();
        primary.bundle_control_flags |= BundleControlFlags::BUNDLE_IS_FRAGMENT.bits();
        (primary.fragmentation_offset, primary.total_data_length) = (offset, total);
        let kept = bundle.canonicals.iter().filter(|block| {
            let everywhere = [BUNDLE_AGE_BLOCK, HOP_COUNT_BLOCK, PREVIOUS_NODE_BLOCK];
            block.block_type != PAYLOAD_BLOCK
                && (number == 0
                    || everywhere.contains(&block.block_type)
                    || block.block_control_flags.flags().contains(BlockControlFlags::BLOCK_REPLICATE))
        });
        let payload = new_payload_block(BlockControlFlags::empty(), piece.to_vec());
        let mut fragment = Bundle::new(primary, kept.cloned().chain([payload]).collect());
        fragment.set_crc(crc::CRC_32);
        fragment
    });
    Some(pieces.collect())
}

impl Agent {
    /// Divides a stored bundle. Returns whether it could be: its fragments are then stored in its place.
    pub(super) fn divide(&mut self, number: u64, longest: usize) -> bool {
        let Ok(stored) = self.store.read(number) else { return false };
        let Some(fragments) = parse_unchecked(&stored).and_then(|bundle| split(&bundle, longest)) else {
            return false;
        };
        let mut added = Vec::new();
        for mut fragment in fragments {
            let bytes = fragment.to_cbor();
            match self.store.add(&bytes) {
                Some(number) => added.push((number, fragment, bytes.len() as u64)),
                // There is no room for both: the bundle stays whole.
                None => {
                    added.iter().for_each(|(number, ..)| self.store.remove(*number));
                    return false;
                }
            }
        }
        self.counters.fragmented += 1;
        self.drop(number);
        for (number, fragment, bytes) in added {
            self.learn(number, &fragment, bytes);
        }
        true
    }

    /// Notes that a fragment for this node has arrived. Returns whether its bundle is whole now.
    pub(super) fn gather(&mut self, number: u64, bundle: &Bundle) -> bool {
        let name = original(bundle);
        let partial = self.partials.entry(name.clone()).or_default();
        partial.total = bundle.primary.total_data_length;
        partial.parts.insert((bundle.primary.fragmentation_offset, length(bundle)), number);
        self.fragments.insert(number, name);
        partial.is_whole()
    }

    /// Forgets a fragment that is no longer stored.
    pub(super) fn forget_fragment(&mut self, number: u64) {
        let Some(name) = self.fragments.remove(&number) else { return };
        if let Some(partial) = self.partials.get_mut(&name) {
            partial.parts.retain(|_, part| *part != number);
            if partial.parts.is_empty() {
                self.partials.remove(&name);
            }
        }
    }

    /// The bundle of which a stored one is a fragment, if all its fragments have arrived.
    pub(super) fn join(&self, number: u64) -> io::Result<Option<Joined>> {
        let Some((name, partial)) =
            self.fragments.get(&number).and_then(|name| self.partials.get_key_value(name))
        else {
            return Ok(None);
        };
        let (mut payload, mut numbers) = (Vec::new(), Vec::new());
        for ((offset, _), part) in &partial.parts {
            numbers.push(*part);
            let Some(bundle) = parse_unchecked(&self.store.read(*part)?) else { continue };
            let piece = bundle.payload().map_or(&[][..], Vec::as_slice);
            let known = (payload.len() as u64).saturating_sub(*offset) as usize;
            payload.extend_from_slice(piece.get(known..).unwrap_or_default());
        }
        Ok(Some(Joined { id: name.clone(), payload, numbers }))
    }

    /// A bundle cannot be sent to its peer as it is: it is divided, or stays until its lifetime is over.
    pub fn hold(&mut self, number: u64, longest: usize) {
        if self.divide(number, longest) {
            return;
        }
        if let Some(known) = self.known.get_mut(&number) {
            known.to = Target::Nowhere;
            if let Some(schedule) = &mut self.schedule {
                schedule.release(number);
            }
        }
    }
}
