//! Fragmentation of bundles that are too long for their contact or convergence layer, and
//! reassembly of bundles for this node (RFC 9171, sections 5.8 and 5.9).
//!
//! Each fragment contains the blocks that must be replicated in every fragment, and the hop count,
//! bundle age and previous node blocks. The other blocks go into the first fragment only. A bundle
//! with security blocks is not fragmented, since its payload could then no longer be verified on
//! the path (RFC 9172).

use super::{parse_unchecked, Agent, NextHop};
use bentpipe_dtn::agent::fragments::Fragment;
use bp7::bpsec::{CONFIDENTIALITY_BLOCK, INTEGRITY_BLOCK};
use bp7::canonical::{
    new_payload_block, BUNDLE_AGE_BLOCK, HOP_COUNT_BLOCK, PAYLOAD_BLOCK, PREVIOUS_NODE_BLOCK,
};
use bp7::flags::{BlockControlFlags, BlockValidation, BundleControlFlags, BundleValidation};
use bp7::{crc, Bundle};
use std::io;

/// A bundle that was reassembled from its fragments.
pub(super) struct Reassembled {
    /// Identifier of the bundle.
    pub id: String,
    /// The payload of the original bundle.
    pub payload: Vec<u8>,
    /// Numbers of the fragments in the storage.
    pub numbers: Vec<u64>,
}

/// Returns the identifier of a bundle: its source and creation time, followed by the offset and the
/// length of the payload if the bundle is a fragment.
pub(super) fn identifier(bundle: &Bundle) -> String {
    let id = bundle.id();
    match bundle.primary.has_fragmentation() {
        true => format!("{id}-{}", length(bundle)),
        false => id,
    }
}

/// Returns the offset and the length of a fragment in its original bundle; `None` if the bundle is
/// not a fragment.
pub(super) fn fragment_of(bundle: &Bundle) -> Option<Fragment<String>> {
    let (primary, id) = (&bundle.primary, bundle.id());
    primary.has_fragmentation().then(|| Fragment {
        bundle: id[..id.rfind('-').unwrap_or(id.len())].to_owned(),
        offset: primary.fragmentation_offset,
        length: length(bundle),
        total: primary.total_data_length,
    })
}

fn length(bundle: &Bundle) -> u64 {
    bundle.payload().map_or(0, Vec::len) as u64
}

/// Fragments a bundle into payloads of at most `max_payload` bytes. Returns `None` if the bundle
/// must not be fragmented, or its payload is not longer than `max_payload`.
pub fn split(bundle: &Bundle, max_payload: usize) -> Option<Vec<Bundle>> {
    let payload = bundle.payload()?;
    let secured = bundle
        .canonicals
        .iter()
        .any(|block| [INTEGRITY_BLOCK, CONFIDENTIALITY_BLOCK].contains(&block.block_type));
    let flags = bundle.primary.bundle_control_flags.flags();
    if flags.contains(BundleControlFlags::BUNDLE_MUST_NOT_FRAGMENTED)
        || secured
        || max_payload == 0
        || payload.len() <= max_payload
    {
        return None;
    }
    let (first, total) = match bundle.primary.has_fragmentation() {
        true => (bundle.primary.fragmentation_offset, bundle.primary.total_data_length),
        false => (0, payload.len() as u64),
    };
    let pieces = payload.chunks(max_payload).zip(0..).map(|(piece, number): (&[u8], u64)| {
        let offset = first + number * max_payload as u64;
        let mut primary = bundle.primary.clone();
        primary.bundle_control_flags |= BundleControlFlags::BUNDLE_IS_FRAGMENT.bits();
        (primary.fragmentation_offset, primary.total_data_length) = (offset, total);
        let kept = bundle.canonicals.iter().filter(|block| {
            let replicated = [BUNDLE_AGE_BLOCK, HOP_COUNT_BLOCK, PREVIOUS_NODE_BLOCK];
            block.block_type != PAYLOAD_BLOCK
                && (number == 0
                    || replicated.contains(&block.block_type)
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
    /// Replaces a stored bundle by fragments with payloads of at most `max_payload` bytes. Returns
    /// false, and keeps the bundle, if it cannot be fragmented or its fragments do not fit into the
    /// storage.
    pub(super) fn fragment(&mut self, number: u64, max_payload: usize) -> bool {
        let Ok(bytes) = self.bundles.store().read(number) else { return false };
        let Some(fragments) = parse_unchecked(&bytes).and_then(|bundle| split(&bundle, max_payload)) else {
            return false;
        };
        let encoded = |mut fragment: Bundle| (fragment.to_cbor(), fragment);
        let fragments: Vec<(Vec<u8>, Bundle)> = fragments.into_iter().map(encoded).collect();
        let stored = fragments.iter().map(|(bytes, fragment)| (self.metadata(fragment, bytes), &bytes[..]));
        let Some(numbers) = self.bundles.replace(number, stored.collect()) else { return false };
        self.counters.fragmented += 1;
        self.remove_state(number);
        for (number, (_, fragment)) in numbers.into_iter().zip(fragments) {
            self.choose_next_hop(number, &fragment);
        }
        true
    }

    /// Reassembles the bundle that contains a stored fragment. Returns `None` if the stored bundle
    /// is not a fragment. All fragments of the bundle must have arrived.
    pub(super) fn reassemble(&self, number: u64) -> io::Result<Option<Reassembled>> {
        let Some((name, fragments)) = self.bundles.fragments(number) else { return Ok(None) };
        let (mut payload, mut numbers) = (Vec::new(), Vec::new());
        for (offset, fragment) in fragments {
            numbers.push(fragment);
            let Some(bundle) = parse_unchecked(&self.bundles.store().read(fragment)?) else { continue };
            let piece = bundle.payload().map_or(&[][..], Vec::as_slice);
            let covered = (payload.len() as u64).saturating_sub(offset) as usize;
            payload.extend_from_slice(piece.get(covered..).unwrap_or_default());
        }
        Ok(Some(Reassembled { id: name.clone(), payload, numbers }))
    }

    /// Fragments a bundle that is too long for its peer. A bundle that cannot be fragmented is not
    /// sent, and stays in the storage until its lifetime is over.
    pub fn fragment_or_keep(&mut self, number: u64, max_payload: usize) {
        if self.fragment(number, max_payload) {
            return;
        }
        if let Some(state) = self.route_states.get_mut(&number) {
            state.next_hop = NextHop::Unroutable;
            if let Some(schedule) = &mut self.schedule {
                schedule.release(number);
            }
        }
    }
}
