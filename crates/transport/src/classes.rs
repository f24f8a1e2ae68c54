//! Counts of samples by size, in the classes of an HdrHistogram with two significant digits: 256
//! classes of one unit each, then 128 per doubling, so no class is wider than 1/128 of its values.
//!
//! Counting takes a shift and an addition; percentiles are computed on request by the
//! `hdrhistogram` crate from the classes.

use hdrhistogram::Histogram;

/// Binary logarithm of the number of values with a class of their own.
const EXACT_BITS: u32 = 8;

/// Numbers of samples by class.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    total: u64,
    /// Classes of the last samples, not yet added to `counts`, and their number. With thousands of
    /// flows, the counts are not in a nearby cache. Several samples are therefore counted together:
    /// they are mostly in adjacent classes, so reading the counts takes as long as for one sample.
    recent: [u16; RECENT],
    waiting: usize,
    /// Counts of the classes from `first` on. Samples of one kind usually differ by a few
    /// doublings.
    counts: Vec<u32>,
    first: usize,
}

/// Maximum number of samples that wait to be counted.
const RECENT: usize = 16;

/// Number of classes that are allocated together.
const ALLOCATION: usize = 1 << (EXACT_BITS - 1);

#[inline]
fn class_of(value: u64) -> usize {
    let bits = u64::BITS - (value | ((1 << EXACT_BITS) - 1)).leading_zeros() - EXACT_BITS;
    ((u64::from(bits) << (EXACT_BITS - 1)) + (value >> bits)) as usize
}

/// Returns the lowest value of a class.
fn lowest(class: usize) -> u64 {
    let bits = (class >> (EXACT_BITS - 1)).saturating_sub(1);
    ((class - (bits << (EXACT_BITS - 1))) as u64) << bits
}

impl Classes {
    /// Adds one sample to the class into which its value falls.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.total += 1;
        self.recent[self.waiting] = class_of(value) as u16;
        self.waiting += 1;
        if self.waiting == RECENT {
            self.count_recent();
        }
    }

    fn count_recent(&mut self) {
        for class in self.recent {
            let class = usize::from(class);
            if class.wrapping_sub(self.first) >= self.counts.len() {
                self.grow(class);
            }
            let count = &mut self.counts[class - self.first];
            *count = count.saturating_add(1);
        }
        self.waiting = 0;
    }

    /// Allocates the counts of a class and its neighbours.
    #[cold]
    fn grow(&mut self, class: usize) {
        let first = class / ALLOCATION * ALLOCATION;
        if self.counts.is_empty() {
            self.first = first;
        }
        if first < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - first));
            self.first = first;
        }
        self.counts.resize(self.counts.len().max(first + ALLOCATION - self.first), 0);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Classes) {
        if !other.counts.is_empty() {
            self.grow(other.first);
            self.grow(other.first + other.counts.len() - 1);
            for (count, more) in self.counts[other.first - self.first..].iter_mut().zip(&other.counts) {
                *count = count.saturating_add(*more);
            }
        }
        for class in &other.recent[..other.waiting] {
            self.add(lowest(usize::from(*class)));
        }
        self.total += other.total - other.waiting as u64;
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns the middle of the class that contains this percentile (0 to 100) of the samples;
    /// `None` without samples.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let mut histogram = Histogram::<u32>::new(2).expect("the number of digits is a constant");
        for (class, count) in (self.first..).zip(&self.counts).filter(|(_, count)| **count > 0) {
            histogram.record_n(lowest(class), *count).expect("the histogram grows with its samples");
        }
        for class in &self.recent[..self.waiting] {
            histogram.record(lowest(usize::from(*class))).expect("the histogram grows with its samples");
        }
        Some(histogram.median_equivalent(histogram.value_at_percentile(percent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_equal_those_of_the_histogram() {
        let histogram = Histogram::<u32>::new_with_bounds(1, u64::MAX / 2, 2).unwrap();
        for bits in 0..62 {
            for value in [1u64 << bits, (1 << bits) + (1 << bits) / 3, (2 << bits) - 1] {
                let class = class_of(value);
                assert_eq!(lowest(class), histogram.lowest_equivalent(value), "{value}");
                assert_eq!(lowest(class + 1), histogram.next_non_equivalent(value), "{value}");
            }
        }
    }

    proptest! {
        #[test]
        fn percentiles_equal_those_of_the_histogram(
            samples in prop::collection::vec(prop_oneof![0u64..300, 0u64..2_000_000, 0u64..1 << 50], 1..200),
            percent in 0.0f64..=100.0
        ) {
            let (mut classes, mut parts) = (Classes::default(), [Classes::default(), Classes::default()]);
            let mut histogram = Histogram::<u32>::new(2).unwrap();
            for (index, sample) in samples.iter().enumerate() {
                classes.add(*sample);
                parts[index % 2].add(*sample);
                histogram.record(*sample).unwrap();
            }
            let expected = histogram.median_equivalent(histogram.value_at_percentile(percent));
            prop_assert_eq!(classes.percentile(percent), Some(expected));
            let [mut merged, other] = parts;
            merged.merge(&other);
            prop_assert_eq!((merged.percentile(percent), merged.count()), (Some(expected), samples.len() as u64));
        }
    }
}
