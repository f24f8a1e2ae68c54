//! Requests for segments, as ranges of segment numbers: the content of NORM_NACK and
//! NORM_CMD(REPAIR_ADV) (RFC 5740, section 4.3.1).

use std::collections::BTreeSet;

/// Size of the header of a list of requests, in bytes: form, flags and length.
const LIST: u32 = 4;
/// Size of an item in bytes. A single segment is one item, and a range is two: first and last.
const ITEM: u32 = 8;

/// Ranges of segments, each with its first and last segment, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// Returns the ranges of these segments, in ascending order, up to `max` bytes of requests.
    pub fn of(segments: impl IntoIterator<Item = u32>, max: u32) -> Ranges {
        let mut ranges = Ranges::default();
        for segment in segments {
            match ranges.0.last_mut() {
                Some((_, last)) if *last + 1 == segment => *last = segment,
                _ => ranges.0.push((segment, segment)),
            }
            if ranges.bytes() > max && ranges.0.len() > 1 {
                ranges.remove_last();
                break;
            }
        }
        ranges
    }

    fn remove_last(&mut self) {
        if let Some((first, last)) = self.0.pop() {
            if first < last {
                self.0.push((first, last - 1));
            }
        }
    }

    /// Returns the ranges, each with its first and last segment.
    pub fn list(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// Returns the segments in ascending order.
    pub fn segments(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// Returns the size of the requests in bytes: a list of items and a list of ranges, those that
    /// are not empty.
    pub fn bytes(&self) -> u32 {
        let single = self.0.iter().filter(|(first, last)| first == last).count() as u32;
        let ranges = self.0.len() as u32 - single;
        let list = |items: u32| if items > 0 { LIST + ITEM * items } else { 0 };
        list(single) + list(2 * ranges)
    }

    /// Returns true if the ranges have all of these segments.
    pub fn has_all(&self, segments: &BTreeSet<u32>) -> bool {
        segments.iter().all(|segment| {
            let after = self.0.partition_point(|(first, _)| first <= segment);
            after > 0 && self.0[after - 1].1 >= *segment
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments 3, 7 to 9 and 12: two items in a list (4 + 16 bytes), and a range in a list (4 + 16
    /// bytes).
    #[test]
    fn segments_become_ranges_up_to_the_size_of_a_message() {
        let segments = [3, 7, 8, 9, 12];
        let ranges = Ranges::of(segments, 1000);
        assert_eq!(ranges.list(), [(3, 3), (7, 9), (12, 12)]);
        assert_eq!(ranges.bytes(), 40);
        assert!(ranges.segments().eq(segments));
        assert!(ranges.has_all(&BTreeSet::from([3, 8, 12])));
        assert!(!ranges.has_all(&BTreeSet::from([3, 10])));
        assert_eq!(Ranges::of(segments, 35).list(), [(3, 3), (7, 9)]);
        assert_eq!(Ranges::of([1, 3, 5], 12).list(), [(1, 1)]);
    }
}
