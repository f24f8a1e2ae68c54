//! Transmissions in order of time, and lost segments in order of the stream: what a scoreboard must find
//! without a search.
//!
//! Entries are not removed from the middle. An entry that is outdated (its segment was acknowledged, or sent
//! again later) is skipped when it comes to the front, so each transmission costs the same, however many are
//! outstanding.

use bentpipe_core::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Transmissions in order of time. First transmissions need no entries: their order is that of the stream.
#[derive(Default, Debug)]
pub(super) struct Transmissions {
    /// The first segment whose first transmission has not been skipped.
    pub first: u64,
    again: VecDeque<(Time, u64)>,
}

impl Transmissions {
    /// Records the retransmission of a segment.
    pub fn again(&mut self, at: Time, number: u64) {
        self.again.push_back((at, number));
    }

    /// Forgets what has been skipped: the first segment that was sent once, if any, and all that were retransmitted,
    /// in order of time.
    pub fn restart(&mut self, first: Option<u64>, again: Vec<(Time, u64)>) {
        self.first = first.unwrap_or(self.first);
        self.again = again.into();
    }

    /// The oldest retransmission.
    #[inline]
    pub fn oldest_again(&self) -> Option<(Time, u64)> {
        self.again.front().copied()
    }

    /// Skips the oldest retransmission.
    #[inline]
    pub fn pass_again(&mut self) {
        self.again.pop_front();
    }
}

/// Numbers of segments that wait for retransmission, lowest first.
#[derive(Default, Debug)]
pub(super) struct Waiting {
    heap: BinaryHeap<Reverse<u64>>,
}

impl Waiting {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    #[inline]
    pub fn push(&mut self, number: u64) {
        self.heap.push(Reverse(number));
    }

    #[inline]
    pub fn first(&self) -> Option<u64> {
        self.heap.peek().map(|number| number.0)
    }

    #[inline]
    pub fn pop(&mut self) {
        self.heap.pop();
    }

    pub fn clear(&mut self) {
        self.heap.clear();
    }
}
