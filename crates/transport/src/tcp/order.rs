//! Two orders that let a scoreboard find segments without a search: transmissions by time, and lost
//! segments by position.
//!
//! Entries are not removed from the middle. An outdated entry (its segment was acknowledged, or
//! retransmitted later) is skipped when it reaches the front, so each transmission has the same
//! cost, for any number of outstanding segments.

use bentpipe_core::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// Transmissions in order of time. First transmissions need no entries, because they are in the
/// order of the stream.
#[derive(Default, Debug)]
pub(super) struct Transmissions {
    /// Number of the first segment whose first transmission has not been skipped.
    pub first: u64,
    retransmitted: VecDeque<(Time, u64)>,
}

impl Transmissions {
    /// Records the retransmission of a segment.
    pub fn retransmitted(&mut self, at: Time, number: u64) {
        self.retransmitted.push_back((at, number));
    }

    /// Sets the order again, undoing all skips: the first segment that was sent once, if any, and
    /// all retransmitted segments in order of time.
    pub fn restart(&mut self, first: Option<u64>, retransmitted: Vec<(Time, u64)>) {
        self.first = first.unwrap_or(self.first);
        self.retransmitted = retransmitted.into();
    }

    /// Returns the oldest outstanding retransmission: its time and its first position.
    #[inline]
    pub fn oldest_retransmission(&self) -> Option<(Time, u64)> {
        self.retransmitted.front().copied()
    }

    /// Skips the oldest retransmission.
    #[inline]
    pub fn skip_oldest_retransmission(&mut self) {
        self.retransmitted.pop_front();
    }
}

/// Numbers of segments that wait for retransmission, lowest first. A time-out adds the whole queue
/// in ascending order, of which usually at most one is retransmitted; such a range is stored by its
/// ends.
#[derive(Default, Debug)]
pub(super) struct Waiting {
    range: Range<u64>,
    heap: BinaryHeap<Reverse<u64>>,
}

impl Waiting {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty() && self.heap.is_empty()
    }

    #[inline]
    pub fn push(&mut self, number: u64) {
        if number == self.range.end {
            self.range.end += 1;
        } else if self.range.is_empty() {
            self.range = number..number + 1;
        } else {
            self.heap.push(Reverse(number));
        }
    }

    #[inline]
    pub fn first(&self) -> Option<u64> {
        let scattered = self.heap.peek().map(|number| number.0);
        let range = (!self.range.is_empty()).then_some(self.range.start);
        range.into_iter().chain(scattered).min()
    }

    #[inline]
    pub fn pop(&mut self) {
        if !self.range.is_empty() && self.first() == Some(self.range.start) {
            self.range.start += 1;
        } else {
            self.heap.pop();
        }
    }

    pub fn clear(&mut self) {
        self.range = 0..0;
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn waiting_segments_are_taken_in_ascending_order(steps in prop::collection::vec(prop::option::of((0u64..30, 0u64..9)), 60)) {
            let (mut waiting, mut expected) = (Waiting::default(), Vec::new());
            for step in steps {
                match step {
                    Some((from, count)) => (from..from + count).for_each(|number| {
                        waiting.push(number);
                        expected.push(number);
                    }),
                    None => {
                        waiting.pop();
                        expected.sort_unstable();
                        expected.drain(..usize::from(!expected.is_empty()));
                    }
                }
                prop_assert_eq!(waiting.first(), expected.iter().min().copied());
                prop_assert_eq!(waiting.is_empty(), expected.is_empty());
            }
        }
    }
}
