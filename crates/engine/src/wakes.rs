//! The event queue: one pending wake per stage, in a winner tree.
//!
//! Holding one entry per waiting stage rather than one per packet in flight keeps it so small that it stays in
//! the first-level cache. Each inner node holds the earlier of its two children, so a change walks from its leaf
//! towards the root over a fixed path, without the branches that a heap mispredicts. Equal times come out in the
//! order of the stages' numbers.

use bentpipe_core::Time;

/// Time and stage in one number, so that two entries compare without a branch.
type Entry = u128;

const NONE: Entry = Entry::MAX;

/// Pending wakes of stages, which are numbered from 0.
pub struct Wakes {
    /// The root is at 1, the children of i at 2 i and 2 i + 1, the leaf of a stage at `leaves` plus its number.
    tree: Vec<Entry>,
    leaves: usize,
}

impl Wakes {
    /// An empty queue for `stages` stages.
    pub fn new(stages: usize) -> Wakes {
        let leaves = stages.next_power_of_two().max(2);
        Wakes { tree: vec![NONE; 2 * leaves], leaves }
    }

    /// The earliest wake and its stage.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let first = self.tree[1];
        (first != NONE).then(|| (Time::from_nanos((first >> 32) as u64), first as u32))
    }

    /// Sets, moves or (with `None`) removes the wake of `stage`.
    #[inline]
    pub fn set(&mut self, stage: u32, wake: Option<Time>) {
        let entry = wake.map_or(NONE, |time| (time.as_nanos() as Entry) << 32 | stage as Entry);
        let mut at = self.leaves + stage as usize;
        if self.tree[at] == entry {
            return;
        }
        self.tree[at] = entry;
        while at > 1 {
            let earlier = self.tree[at].min(self.tree[at ^ 1]);
            at /= 2;
            if self.tree[at] == earlier {
                return;
            }
            self.tree[at] = earlier;
        }
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
