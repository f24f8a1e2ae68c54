//! The event queue: one pending wake per stage, in a winner tree. A stage with many parts can also
//! use such a queue internally.
//!
//! The queue has one entry per waiting stage, not one per packet in flight, so it fits into the
//! first-level cache. Each inner node holds the earlier of its two children. A change therefore
//! follows a fixed path from a leaf towards the root, without mispredicted branches, unlike in a
//! heap. Wakes of equal time leave in the order of the stages' numbers.

use crate::Time;

/// Time and stage packed into one number, so that entries are compared without a branch.
type Entry = u128;

/// The entry of a leaf without a wake.
const NONE: Entry = Entry::MAX;

/// Pending wakes of stages, which are numbered from 0.
pub struct Wakes {
    /// The wake of each stage, or `Time::MAX`. Most calls do not change it and return early.
    wakes: Vec<Time>,
    /// The nodes: node 1 is the root, nodes 2 i and 2 i + 1 are the children of node i, and the
    /// upper half of the nodes are leaves.
    tree: Vec<Entry>,
    /// The leaf of each stage, assigned at the stage's first wake, because many stages never have a
    /// wake.
    leaves: Vec<u32>,
    /// Number of assigned leaves.
    taken: usize,
}

/// Number of nodes above which an update stops as soon as it has no effect. In larger trees, a
/// branch that is often mispredicted costs less than reading nodes outside the first-level cache.
const LARGE: usize = 512;

/// The leaf of a stage that has never had a wake.
const UNASSIGNED: u32 = u32::MAX;

impl Wakes {
    /// Creates an empty queue for `stages` stages.
    pub fn new(stages: usize) -> Wakes {
        Wakes {
            wakes: vec![Time::MAX; stages],
            tree: vec![NONE; 4],
            leaves: vec![UNASSIGNED; stages],
            taken: 0,
        }
    }

    /// Returns the earliest wake and its stage.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let first = self.tree[1];
        (first != NONE).then(|| (Time::from_nanos((first >> 32) as u64), first as u32))
    }

    /// Returns the earliest wake of the stages other than `stage`, or `Time::MAX` if there is none.
    pub fn others(&self, stage: u32) -> Time {
        let mut first = NONE;
        let mut at = match self.leaves[stage as usize] {
            UNASSIGNED => {
                first = self.tree[1];
                1
            }
            leaf => self.tree.len() / 2 + leaf as usize,
        };
        while at > 1 {
            first = first.min(self.tree[at ^ 1]);
            at /= 2;
        }
        // An empty entry yields `Time::MAX`.
        Time::from_nanos((first >> 32) as u64)
    }

    /// Sets, moves or (with `None`) removes the wake of `stage`.
    #[inline(always)]
    pub fn set(&mut self, stage: u32, wake: Option<Time>) {
        let wake = wake.unwrap_or(Time::MAX);
        if std::mem::replace(&mut self.wakes[stage as usize], wake) != wake {
            self.move_to(stage, wake);
        }
    }

    fn move_to(&mut self, stage: u32, wake: Time) {
        let entry = match wake {
            Time::MAX => NONE,
            time => (time.as_nanos() as Entry) << 32 | stage as Entry,
        };
        let mut leaf = self.leaves[stage as usize];
        if leaf == UNASSIGNED {
            leaf = self.take_leaf(stage);
        }
        let tree = &mut self.tree[..];
        let mut at = tree.len() / 2 + leaf as usize;
        let mut earlier = entry;
        tree[at] = entry;
        let large = tree.len() > LARGE;
        while at > 1 {
            earlier = earlier.min(tree[at ^ 1]);
            at /= 2;
            if large && tree[at] == earlier {
                break;
            }
            tree[at] = earlier;
        }
    }

    #[cold]
    fn take_leaf(&mut self, stage: u32) -> u32 {
        if self.taken == self.tree.len() / 2 {
            self.grow();
        }
        self.leaves[stage as usize] = self.taken as u32;
        self.taken += 1;
        self.taken as u32 - 1
    }

    /// Doubles the number of leaves.
    fn grow(&mut self) {
        let before = self.tree.len();
        let leaves = self.tree.split_off(before / 2);
        self.tree = vec![NONE; 2 * before];
        self.tree[before..before + leaves.len()].copy_from_slice(&leaves);
        for at in (1..before).rev() {
            self.tree[at] = self.tree[2 * at].min(self.tree[2 * at + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Applies changes to the wakes of some stages, after each stage has had a wake at time 25, and
    /// compares with a model.
    fn agree(stages: u32, changes: Vec<(u32, Option<u64>)>) -> Result<(), TestCaseError> {
        let mut wakes = Wakes::new(stages as usize);
        let mut times = vec![None; stages as usize];
        let mut model = BTreeSet::new();
        for (stage, wake) in (0..stages).map(|stage| (stage, Some(25))).chain(changes) {
            let wake = wake.map(Time::from_nanos);
            if let Some(old) = std::mem::replace(&mut times[stage as usize], wake) {
                model.remove(&(old, stage));
            }
            if let Some(new) = wake {
                model.insert((new, stage));
            }
            wakes.set(stage, wake);
            prop_assert_eq!(wakes.first(), model.first().copied());
            let other = model.iter().find(|(_, other)| *other != stage);
            prop_assert_eq!(wakes.others(stage), other.map_or(Time::MAX, |(time, _)| *time));
        }
        Ok(())
    }

    fn changes(stages: u32) -> impl Strategy<Value = Vec<(u32, Option<u64>)>> {
        prop::collection::vec((0..stages, prop::option::weighted(0.8, 0u64..50)), 1..400)
    }

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(changes in changes(40)) {
            agree(40, changes)?;
        }

        #[test]
        fn large_queue_agrees_with_an_ordered_set(changes in changes(LARGE as u32)) {
            agree(LARGE as u32, changes)?;
        }
    }
}
