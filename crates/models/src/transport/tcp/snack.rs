//! Selective negative acknowledgments of SCPS-TP (CCSDS 714.0-B-2, "Space Communications Protocol Specification - Transport
//! Protocol", 2006; as its profile for DVB-RCS uses them, ETSI TS 102 463, I-PEP): the receiver names what is missing, and the
//! sender sends it again at once, without three segments above it to prove the loss.
//!
//! The option has the first hole by offset and size, and then a bit for each full segment's length of what follows, up to 128
//! of them here (the header has room for 176 beside timestamps). A hole's size is rounded up to the unit.

use super::ranges::Ranges;
use bentpipe_core::Snack;

/// Most bits of a vector.
const MOST_BITS: u64 = 128;

/// What a receiver that expects `next` and holds `held` says in units of `unit` bytes; nothing without a hole.
pub(super) fn say(next: u64, held: &Ranges, unit: u64) -> Option<Snack> {
    let unit = unit.max(1);
    let (first, _) = held.iter().next()?;
    let size = (first - next).div_ceil(unit).min(u64::from(u16::MAX));
    let base = next + size * unit;
    let (mut vector, mut bits) = (0u128, 0);
    for (start, end) in held.iter() {
        let from = start.saturating_sub(base).div_ceil(unit);
        let to = (end.saturating_sub(base) / unit).min(MOST_BITS);
        for bit in from..to {
            vector |= 1 << bit;
            bits = bit as u8 + 1;
        }
    }
    Some(Snack { offset: 0, size: size as u16, vector, bits })
}

/// The stretches that are there, lowest first, as a sender hears of them whose data is acknowledged up to `position`.
pub(super) fn held(snack: &Snack, position: u64, unit: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let base = position + (u64::from(snack.offset) + u64::from(snack.size)) * unit;
    let mut bit = 0;
    std::iter::from_fn(move || {
        let is_there = |bit: u8| snack.vector >> bit & 1 == 1;
        while bit < snack.bits && !is_there(bit) {
            bit += 1;
        }
        let from = bit;
        while bit < snack.bits && is_there(bit) {
            bit += 1;
        }
        (from < bit).then(|| (base + u64::from(from) * unit, base + u64::from(bit) * unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hole_has_offset_and_size_and_the_rest_a_bit_for_each_segment() {
        let mut ranges = Ranges::default();
        assert_eq!(say(1, &ranges, 100), None);
        ranges.insert(301, 501, |_, _, _| ());
        ranges.insert(701, 801, |_, _, _| ());
        let snack = say(1, &ranges, 100).unwrap();
        assert_eq!(snack, Snack { offset: 0, size: 3, vector: 0b10011, bits: 5 });
        assert_eq!(snack.bytes(), 7);
        assert_eq!(held(&snack, 1, 100).collect::<Vec<_>>(), [(301, 501), (701, 801)]);
    }

    proptest! {
        /// What is heard is held, and of the first 128 segments above the first hole all that is held is heard.
        #[test]
        fn what_is_said_is_heard(units in prop::collection::btree_set(1u64..140, 1..60)) {
            let mut ranges = Ranges::default();
            for &unit in &units {
                ranges.insert(1 + unit * 7, 8 + unit * 7, |_, _, _| ());
            }
            let snack = say(1, &ranges, 7).unwrap();
            let heard: Vec<u64> =
                held(&snack, 1, 7).flat_map(|(from, to)| (from..to).step_by(7)).map(|at| (at - 1) / 7).collect();
            let first = *units.first().unwrap();
            let within: Vec<u64> = units.iter().copied().filter(|unit| unit - first < MOST_BITS).collect();
            prop_assert_eq!(heard, within);
        }
    }
}
