//! Sets of integers as disjoint ranges, such as the received bytes of a block or bundle.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// The end of each range, by its start. Ranges neither overlap nor touch.
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds a range, and returns the number of integers that were not in the set before.
    pub fn add(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let (mut start, mut end, mut known) = (range.start, range.end, 0);
        while let Some((&from, &to)) = self.ends.range(..=end).next_back().filter(|(_, to)| **to >= start) {
            known += to.min(range.end).saturating_sub(from.max(range.start));
            start = start.min(from);
            end = end.max(to);
            self.ends.remove(&from);
        }
        self.ends.insert(start, end);
        range.end - range.start - known
    }

    /// Removes all integers of a range.
    pub fn remove(&mut self, range: Range<u64>) {
        let parts: Vec<_> = self.within(range.clone()).collect();
        for part in parts {
            let (start, end) = match self.ends.range(..=part.start).next_back() {
                Some((&start, &end)) => (start, end),
                None => continue,
            };
            self.ends.remove(&start);
            if start < part.start {
                self.ends.insert(start, part.start);
            }
            if part.end < end {
                self.ends.insert(part.end, end);
            }
        }
    }

    /// Returns true if the set contains every integer of a range.
    pub fn contains(&self, range: &Range<u64>) -> bool {
        range.is_empty()
            || self.ends.range(..=range.start).next_back().is_some_and(|(_, end)| *end >= range.end)
    }

    /// Returns the parts of a range that the set contains.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let first = self.ends.range(..=range.start).next_back().map_or(range.start, |(start, _)| *start);
        let parts = self.ends.range(first..range.end.max(first));
        parts
            .map(move |(start, end)| range.start.max(*start)..range.end.min(*end))
            .filter(|part| part.start < part.end)
    }

    /// Returns the parts of a range that are missing in the set.
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut from = range.start;
        for part in self.within(range.clone()) {
            if part.start > from {
                missing.push(from..part.start);
            }
            from = part.end;
        }
        if from < range.end {
            missing.push(from..range.end);
        }
        missing
    }

    /// Returns the number of integers in the set.
    pub fn count(&self) -> u64 {
        self.ends.iter().map(|(start, end)| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_agree_with_a_set_of_integers(added in prop::collection::vec((0..60_u64, 0..12_u64), 0..20), asked in (0..60_u64, 0..20_u64)) {
            let (mut ranges, mut set) = (Ranges::default(), std::collections::BTreeSet::new());
            for (start, length) in added {
                let before = set.len();
                set.extend(start..start + length);
                prop_assert_eq!(ranges.add(start..start + length), (set.len() - before) as u64);
            }
            let asked = asked.0..asked.0 + asked.1;
            let contained: Vec<u64> = ranges.within(asked.clone()).flatten().collect();
            prop_assert_eq!(contained, asked.clone().filter(|number| set.contains(number)).collect::<Vec<_>>());
            let missing: Vec<u64> = ranges.missing(asked.clone()).into_iter().flatten().collect();
            prop_assert_eq!(missing, asked.clone().filter(|number| !set.contains(number)).collect::<Vec<_>>());
            prop_assert_eq!(ranges.contains(&asked), asked.clone().all(|number| set.contains(&number)));
            prop_assert_eq!(ranges.count(), set.len() as u64);
        }
    }
}
