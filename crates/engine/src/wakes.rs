//! The event queue: one pending wake per stage, in an indexed 4-ary heap.
//!
//! Holding one entry per waiting stage rather than one per packet in flight keeps it so small that it stays in
//! the first-level cache. Equal times come out in the order of the stages' numbers.

use bentpipe_core::Time;

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// Time and stage in one number, so that two entries compare without a branch.
type Entry = u128;

#[inline]
fn entry(time: Time, stage: u32) -> Entry {
    (time.as_nanos() as u128) << 32 | stage as u128
}

#[inline]
fn time_of(entry: Entry) -> Time {
    Time::from_nanos((entry >> 32) as u64)
}

#[inline]
fn stage_of(entry: Entry) -> u32 {
    entry as u32
}

/// Pending wakes of stages, which are numbered from 0.
#[derive(Default)]
pub struct Wakes {
    heap: Vec<Entry>,
    /// Position in the heap, by stage.
    position: Vec<u32>,
}

impl Wakes {
    /// An empty queue for `stages` stages.
    pub fn new(stages: usize) -> Wakes {
        Wakes { heap: Vec::with_capacity(stages), position: vec![ABSENT; stages] }
    }

    /// The earliest wake and its stage.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        self.heap.first().map(|&first| (time_of(first), stage_of(first)))
    }

    /// Sets, moves or (with `None`) removes the wake of `stage`.
    #[inline]
    pub fn set(&mut self, stage: u32, wake: Option<Time>) {
        let at = self.position[stage as usize];
        match (at, wake) {
            (ABSENT, None) => {}
            (ABSENT, Some(time)) => {
                self.heap.push(entry(time, stage));
                self.rise(self.heap.len() - 1);
            }
            (at, Some(time)) => {
                let at = at as usize;
                let (before, after) = (self.heap[at], entry(time, stage));
                if after != before {
                    self.heap[at] = after;
                    if after < before {
                        self.rise(at);
                    } else {
                        self.sink(at);
                    }
                }
            }
            (at, None) => {
                let at = at as usize;
                self.position[stage as usize] = ABSENT;
                let last = self.heap.pop().expect("the stage is in the heap");
                if at < self.heap.len() {
                    let gone = std::mem::replace(&mut self.heap[at], last);
                    self.position[stage_of(last) as usize] = at as u32;
                    if last < gone {
                        self.rise(at);
                    } else {
                        self.sink(at);
                    }
                }
            }
        }
    }

    fn rise(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.place(at, self.heap[parent]);
            at = parent;
        }
        self.place(at, entry);
    }

    fn sink(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let first = at * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let last = (first + ARITY).min(self.heap.len());
            let (mut least, mut least_entry) = (first, self.heap[first]);
            for (offset, &child) in self.heap[first + 1..last].iter().enumerate() {
                if child < least_entry {
                    (least, least_entry) = (first + 1 + offset, child);
                }
            }
            if entry <= least_entry {
                break;
            }
            self.place(at, least_entry);
            at = least;
        }
        self.place(at, entry);
    }

    #[inline]
    fn place(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.position[stage_of(entry) as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(
            changes in prop::collection::vec((0u32..40, prop::option::weighted(0.8, 0u64..50)), 1..400)
        ) {
            let mut wakes = Wakes::new(40);
            let mut times = vec![None; 40];
            let mut model = BTreeSet::new();
            for (stage, wake) in changes {
                let wake = wake.map(Time::from_nanos);
                if let Some(old) = std::mem::replace(&mut times[stage as usize], wake) {
                    model.remove(&(old, stage));
                }
                if let Some(new) = wake {
                    model.insert((new, stage));
                }
                wakes.set(stage, wake);
                prop_assert_eq!(wakes.first(), model.first().copied());
            }
        }
    }
}
