//! Transmissions in the order of time, and lost segments in the order of the stream: what a scoreboard is asked
//! for without a search.
//!
//! Entries are not removed from the middle. One that no longer says what is true (its segment was acknowledged, or
//! sent again later) is passed by when it comes to the front; so each transmission costs the same, however many
//! are out.

use bentpipe_core::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Transmissions, oldest first: when, and the segment's number.
#[derive(Default, Debug)]
pub(super) struct Transmissions {
    queue: VecDeque<(Time, u64)>,
}

impl Transmissions {
    #[inline]
    pub fn push(&mut self, at: Time, number: u64) {
        self.queue.push_back((at, number));
    }

    #[inline]
    pub fn front(&self) -> Option<(Time, u64)> {
        self.queue.front().copied()
    }

    #[inline]
    pub fn pop(&mut self) {
        self.queue.pop_front();
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
