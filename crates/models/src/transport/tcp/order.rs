//! Transmissions in the order of time, and lost segments in the order of the stream: what a scoreboard is asked
//! for without a search.
//!
//! Entries are not removed from the middle. One that no longer says what is true (its segment was acknowledged, or
//! sent again later) is passed by when it comes to the front; so each transmission costs the same, however many
//! are out.

use bentpipe_core::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Transmissions in the order of time. First ones need no entries: their order is that of the stream.
#[derive(Default, Debug)]
pub(super) struct Transmissions {
    /// The first segment whose first transmission has not been passed by.
    pub first: u64,
    again: VecDeque<(Time, u64)>,
}

impl Transmissions {
    /// A segment was sent again.
    pub fn again(&mut self, at: Time, number: u64) {
        self.again.push_back((at, number));
    }

    /// The oldest retransmission.
    #[inline]
    pub fn oldest_again(&self) -> Option<(Time, u64)> {
        self.again.front().copied()
    }

    /// Passes by the oldest retransmission.
    #[inline]
    pub fn pass_again(&mut self) {
        self.again.pop_front();
    }
}

/// Numbers of segments that wait to be sent again, lowest first.
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
