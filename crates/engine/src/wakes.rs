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
    /// Nodes 2 i and 2 i + 1 in pairs: the root is node 1, the children of i are the pair i; the lower half are leaves.
    tree: Vec<[Entry; 2]>,
    /// Where the leaf of each stage is. It gets one when it first waits: many stages never do.
    leaves: Vec<u32>,
    /// How many leaves are taken.
    taken: usize,
}

/// The leaf of a stage that has never waited.
const NOWHERE: u32 = u32::MAX;

impl Wakes {
    /// An empty queue for `stages` stages.
    pub fn new(stages: usize) -> Wakes {
        Wakes { tree: vec![[NONE; 2]; 2], leaves: vec![NOWHERE; stages], taken: 0 }
    }

    /// The earliest wake and its stage.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let first = self.tree[0][1];
        (first != NONE).then(|| (Time::from_nanos((first >> 32) as u64), first as u32))
    }

    /// Sets, moves or (with `None`) removes the wake of `stage`.
    #[inline]
    pub fn set(&mut self, stage: u32, wake: Option<Time>) {
        let entry = wake.map_or(NONE, |time| (time.as_nanos() as Entry) << 32 | stage as Entry);
        let mut leaf = self.leaves[stage as usize];
        if leaf == NOWHERE {
            if entry == NONE {
                return;
            }
            leaf = self.take_leaf(stage);
        }
        let tree = &mut self.tree[..];
        let mut at = tree.len() + leaf as usize;
        if tree[at / 2][at % 2] == entry {
            return;
        }
        let mut earlier = entry;
        while at > 0 {
            let pair = &mut tree[at / 2];
            pair[at % 2] = earlier;
            earlier = earlier.min(pair[(at % 2) ^ 1]);
            at /= 2;
        }
    }

    #[cold]
    fn take_leaf(&mut self, stage: u32) -> u32 {
        if self.taken == self.tree.len() {
            self.grow();
        }
        self.leaves[stage as usize] = self.taken as u32;
        self.taken += 1;
        self.taken as u32 - 1
    }

    /// Twice as many leaves.
    fn grow(&mut self) {
        let half = self.tree.len();
        self.tree.resize(2 * half, [NONE; 2]);
        self.tree.copy_within(half / 2..half, half);
        for at in (1..2 * half).rev() {
            let [left, right] = self.tree[at];
            self.tree[at / 2][at % 2] = left.min(right);
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
