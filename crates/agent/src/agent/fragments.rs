//! Fragments of bundles (RFC 9171, sections 5.8 and 5.9): divides bundles that fit no contact, and
//! joins fragments for this node.
//!
//! Every fragment gets the blocks that must be in every fragment, and hop count, bundle age and
//! previous node, which every bundle needs; other blocks go with the first fragment. A bundle with
//! security blocks is not divided, since its payload could no longer be verified on the way (RFC
//! 9172).

use super::{parse_unchecked, Agent, NextHop};
use bentpipe_dtn::agent::fragments::Fragment;
use bp7::bpsec::{CONFIDENTIALITY_BLOCK, INTEGRITY_BLOCK};
use bp7::canonical::{
    new_payload_block, BUNDLE_AGE_BLOCK, HOP_COUNT_BLOCK, PAYLOAD_BLOCK, PREVIOUS_NODE_BLOCK,
};
use bp7::flags::{BlockControlFlags, BlockValidation, BundleControlFlags, BundleValidation};
use bp7::{crc, Bundle};
use std::io;

/// A bundle joined from its fragments.
pub(super) struct Reassembled {
    /// Identifier of the bundle.
    pub id: String,
    /// The payload of the original bundle.
    pub payload: Vec<u8>,
    /// Numbers of its fragments in the storage.
    pub numbers: Vec<u64>,
}

/// Returns the identifier of a bundle: source, creation time, and place and length of a fragment.
pub(super) fn identifier(bundle: &Bundle) -> String {
    let id = bundle.id();
    match bundle.primary.has_fragmentation() {
        true => format!("{id}-{}", length(bundle)),
        false => id,
    }
}

/// Returns the place of a fragment in its bundle, if a bundle is one.
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

/// Divides a bundle into fragments with payloads of at most `longest` bytes. Returns `None` if it
/// must not be divided, or is short enough.
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
    /// Divides a stored bundle. Returns true if this was possible: its fragments then replace it in
    /// the storage.
    pub(super) fn fragment(&mut self, number: u64, longest: usize) -> bool {
        let Ok(bytes) = self.bundles.store().read(number) else { return false };
        let Some(fragments) = parse_unchecked(&bytes).and_then(|bundle| split(&bundle, longest)) else {
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

    /// Returns the bundle of which a stored one is a fragment, if all its fragments have arrived.
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

    /// Handles a bundle that is too long for its peer: it is divided, or stays until its lifetime
    /// is over.
    pub fn fragment_or_keep(&mut self, number: u64, longest: usize) {
        if self.fragment(number, longest) {
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
