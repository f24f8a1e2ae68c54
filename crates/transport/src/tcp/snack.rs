//! Selective negative acknowledgments of SCPS-TP (CCSDS 714.0-B-2, "Space Communications Protocol
//! Specification - Transport Protocol", 2006; as used by its profile for DVB-RCS, ETSI TS 102 463,
//! I-PEP): the receiver names missing data, and the sender retransmits it at once, without waiting
//! for three later segments.
//!
//! The option describes a hole by its offset from the acknowledged position and its size. Both are
//! in units of a full segment; the offset is rounded down, the end up. A vector of bits follows,
//! one for each unit of the data after the hole, up to 128 here (next to timestamps, the header has
//! room for 176).
//!
//! On a long path, one option covers only a part of the data in flight. Each acknowledgment
//! therefore starts with the first hole that the previous one did not cover, and after the last
//! hole with the first one again. For the sender, only named data is missing and only data with a
//! bit has been received: a lost acknowledgment may have covered the data in between.

use crate::sending::ranges::Ranges;
use bentpipe_stage::packet::segment::Snack;

/// Maximum number of bits in the vector.
const MAX_BITS: u64 = 128;

/// Returns the option of a receiver that expects `next` and has `received`, in units of `unit`
/// bytes, and the position at which the following option starts. The option starts with the first
/// hole at or above `from`, or else with the first hole. Returns `None` without a hole.
pub(super) fn encode(next: u64, received: &Ranges, unit: u64, from: u64) -> Option<(Snack, u64)> {
    let unit = unit.max(1);
    let (lowest, _) = received.iter().next()?;
    let within = |&(begin, _): &(u64, u64)| (begin - next) / unit <= u64::from(u16::MAX);
    let later = if from > next { received.gap(from).filter(within) } else { None };
    let (begin, end) = later.unwrap_or((next, lowest));
    let offset = (begin - next) / unit;
    let size = (end - next - offset * unit).div_ceil(unit).min(u64::from(u16::MAX));
    let base = next + (offset + size) * unit;
    let (mut vector, mut bits) = (0u128, 0);
    for (start, stop) in received.above(end).take_while(|(start, _)| *start < base + MAX_BITS * unit) {
        let to = (stop.saturating_sub(base) / unit).min(MAX_BITS);
        for bit in start.saturating_sub(base).div_ceil(unit)..to {
            vector |= 1 << bit;
            bits = bit as u8 + 1;
        }
    }
    let covered = if bits > 0 { base + u64::from(bits) * unit } else { end };
    let next_start = if received.gap(covered).is_some() { covered } else { 0 };
    Some((Snack { offset: offset as u16, size: size as u16, vector, bits }, next_start))
}

/// Returns the meaning of the option for a sender whose data is acknowledged up to `position`:
/// ranges, lowest first, each with true if it has been received.
pub(super) fn decode(
    snack: &Snack,
    position: u64,
    unit: u64,
) -> impl Iterator<Item = ((u64, u64), bool)> + '_ {
    let begin = position + u64::from(snack.offset) * unit;
    let base = begin + u64::from(snack.size) * unit;
    let is_there = |bit: u8| snack.vector >> bit & 1 == 1;
    let mut bit = 0;
    let following = std::iter::from_fn(move || {
        let (from, there) = (bit, bit < snack.bits && is_there(bit));
        while bit < snack.bits && is_there(bit) == there {
            bit += 1;
        }
        (from < bit).then(|| ((base + u64::from(from) * unit, base + u64::from(bit) * unit), there))
    });
    std::iter::once(((begin, base), false)).chain(following)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hole_has_offset_and_size_and_each_later_segment_a_bit() {
        let mut ranges = Ranges::default();
        assert_eq!(encode(1, &ranges, 100, 0), None);
        ranges.insert(301, 501, |_, _, _| ());
        ranges.insert(701, 801, |_, _, _| ());
        let (snack, next_start) = encode(1, &ranges, 100, 0).unwrap();
        assert_eq!((&snack, next_start), (&Snack { offset: 0, size: 3, vector: 0b10011, bits: 5 }, 0));
        assert_eq!(snack.bytes(), 7);
        let decode: Vec<_> = decode(&snack, 1, 100).collect();
        assert_eq!(decode, [((1, 301), false), ((301, 501), true), ((501, 701), false), ((701, 801), true)]);
    }

    #[test]
    fn later_holes_are_named_in_turn_by_their_offset() {
        let mut ranges = Ranges::default();
        ranges.insert(201, 20_001, |_, _, _| ());
        ranges.insert(20_101, 20_201, |_, _, _| ());
        let (first, next_start) = encode(1, &ranges, 100, 0).unwrap();
        assert_eq!((first.offset, first.size, first.bits, next_start), (0, 2, 128, 13_001));
        let (second, next_start) = encode(1, &ranges, 100, next_start).unwrap();
        assert_eq!((second, next_start), (Snack { offset: 200, size: 1, vector: 1, bits: 1 }, 0));
    }

    proptest! {
        /// For any received data, in segments of any size: consecutive options name every hole
        /// completely, and data with a bit has been received. If segments are full, no received
        /// data is named.
        #[test]
        fn every_hole_is_named_in_turn(
            lengths in prop::collection::vec((1u64..400, 1u64..90), 1..40), full in any::<bool>(), next in 1u64..9
        ) {
            let unit = 7;
            let mut ranges = Ranges::default();
            let (mut at, mut holes) = (next, Vec::new());
            for (hold, hole) in lengths {
                let (hold, hole) = if full { (hold * unit, hole * unit) } else { (hold, hole) };
                holes.push((at, at + hole));
                ranges.insert(at + hole, at + hole + hold, |_, _, _| ());
                at += hole + hold;
            }
            let is_held = |position: u64| {
                position < at && position >= next && !holes.iter().any(|hole| (hole.0..hole.1).contains(&position))
            };
            let (mut named, mut from) = (std::collections::BTreeSet::new(), 0);
            loop {
                let (snack, next_start) = encode(next, &ranges, unit, from).unwrap();
                prop_assert!(next_start == 0 || next_start > from, "it does not go on");
                for ((begin, end), there) in decode(&snack, next, unit) {
                    if there {
                        prop_assert!((begin..end).all(is_held));
                    } else {
                        prop_assert!(!full || !(begin..end).any(is_held));
                        named.extend(begin..end);
                    }
                }
                from = next_start;
                if from == 0 {
                    break;
                }
            }
            for (begin, end) in holes {
                prop_assert!((begin..end).all(|position| named.contains(&position)), "{begin} to {end}");
            }
        }
    }
}
