//! Disjoint, non-adjacent ranges of positions, in order: the out-of-order data of a receiver, and
//! the SACKed data of a sender. The cost of an insertion grows with the logarithm of the number of
//! ranges and with the number of newly covered ranges.

use std::collections::BTreeMap;

#[derive(Default, Debug)]
pub(crate) struct Ranges {
    /// End of each range by its start.
    ends: BTreeMap<u64, u64>,
    /// Number of positions in all ranges.
    bytes: u64,
}

impl Ranges {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Iterates over start and end of each range, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ends.iter().map(|(&start, &end)| (start, end))
    }

    /// Iterates over start and end of each range that starts at or above `position`, lowest first.
    pub fn above(&self, position: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ends.range(position..).map(|(&start, &end)| (start, end))
    }

    /// Returns the first gap between two ranges that starts at or above `from`.
    pub fn gap(&self, from: u64) -> Option<(u64, u64)> {
        let before = self.ends.range(..=from).next_back().map(|(_, &end)| end).filter(|end| *end >= from);
        let begin = before.or_else(|| self.above(from).next().map(|(_, end)| end))?;
        let (end, _) = self.above(begin).next()?;
        Some((begin, end))
    }

    /// Returns the number of positions in all ranges.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn clear(&mut self) {
        self.ends.clear();
        self.bytes = 0;
    }

    /// Adds `[start, end)` and returns the range that contains it then. Calls `fresh` with each
    /// newly covered part and that range.
    pub fn insert(
        &mut self,
        start: u64,
        end: u64,
        mut fresh: impl FnMut(u64, u64, (u64, u64)),
    ) -> (u64, u64) {
        debug_assert!(start < end);
        let (mut left, mut covered) = (start, start);
        if let Some((&before, &before_end)) = self.ends.range(..=start).next_back() {
            if before_end >= end {
                return (before, before_end);
            }
            if before_end >= start {
                (left, covered) = (before, before_end);
            }
        }
        let right = match self.ends.range(..=end).next_back() {
            Some((_, &last)) if last > end => last,
            _ => end,
        };
        while let Some((&next, &next_end)) = self.ends.range(left + 1..=end).next() {
            if next > covered {
                self.bytes += next - covered;
                fresh(covered, next, (left, right));
            }
            covered = next_end;
            self.ends.remove(&next);
        }
        if covered < end {
            self.bytes += end - covered;
            fresh(covered, end, (left, right));
        }
        self.ends.insert(left, right);
        (left, right)
    }

    /// Removes the first range if it starts at or before `position`, and returns its end.
    pub fn take_first(&mut self, position: u64) -> Option<u64> {
        let first = self.ends.first_entry()?;
        let start = *first.key();
        (start <= position).then(|| {
            let end = first.remove();
            self.bytes -= end - start;
            end
        })
    }

    /// Removes everything below `position`.
    pub fn remove_below(&mut self, position: u64) {
        while let Some(end) = self.take_first(position) {
            if end > position {
                self.ends.insert(position, end);
                self.bytes += end - position;
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_agree_with_a_set_of_positions(
            operations in prop::collection::vec((0u64..60, 1u64..12, any::<bool>()), 1..60)
        ) {
            let mut ranges = Ranges::default();
            let mut set = [false; 80];
            for (start, length, forget) in operations {
                if forget && start % 4 == 0 {
                    ranges.remove_below(start);
                    set[..start as usize].fill(false);
                    continue;
                }
                let mut parts = Vec::new();
                let whole = ranges.insert(start, start + length, |a, b, whole| parts.push((a, b, whole)));
                for (a, b, part_of) in parts {
                    prop_assert!(a < b);
                    prop_assert_eq!(part_of, whole);
                    for position in a..b {
                        prop_assert!(!std::mem::replace(&mut set[position as usize], true));
                    }
                }
                prop_assert!((start..start + length).all(|position| set[position as usize]));
                prop_assert!((whole.0..whole.1).all(|position| set[position as usize]));
                prop_assert!(!set[whole.1 as usize]);
                let total: u64 = ranges.ends.iter().map(|(start, end)| end - start).sum();
                prop_assert_eq!(ranges.bytes(), total);
                prop_assert_eq!(total, set.iter().filter(|&&covered| covered).count() as u64);
            }
        }
    }
}
