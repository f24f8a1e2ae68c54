//! Round robin: slots are assigned one at a time, in turn, to the terminals whose demand is not yet
//! met. The next superframe continues where this one stopped.
//!
//! Full rounds are computed instead of iterated, so that the work does not grow with the number of
//! slots.

use super::{Allocation, Allocator, Demand};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slots one at a time, in turn, to the terminals whose demand is not yet met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Allocation for Config {
    fn build(&self, _terminals: usize) -> Box<dyn Allocator> {
        Box::new(RoundRobin { next: 0, sizes: Vec::new() })
    }
}

struct RoundRobin {
    /// The terminal whose turn is next.
    next: u16,
    sizes: Vec<u32>,
}

impl Allocator for RoundRobin {
    fn allocate(&mut self, capacity: u32, demands: &[Demand], grants: &mut Vec<u32>) {
        self.sizes.clear();
        self.sizes.extend(demands.iter().map(Demand::slots));
        self.sizes.sort_unstable();
        // After `rounds` full rounds, a demand has got min(size, rounds) slots. The `left`
        // remaining slots are too few for another full round.
        let (mut rounds, mut left) = (0, capacity);
        for (done, size) in self.sizes.iter().enumerate() {
            let unmet = (self.sizes.len() - done) as u32;
            let more = (size - rounds).min(left / unmet);
            rounds += more;
            left -= more * unmet;
            if rounds < *size {
                break;
            }
        }
        let begin = grants.len();
        grants.extend(demands.iter().map(|demand| demand.slots().min(rounds)));
        let from = demands.partition_point(|demand| demand.terminal < self.next);
        for index in (from..demands.len()).chain(0..from) {
            if left == 0 {
                break;
            }
            if demands[index].slots() > rounds {
                grants[begin + index] += 1;
                left -= 1;
                self.next = demands[index].terminal + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{demands, once};
    use super::*;

    #[test]
    fn equals_allocation_slot_by_slot() {
        for (capacity, slots) in
            [(31, &[9u32, 9, 9, 9][..]), (31, &[100, 2, 2]), (5, &[1; 9]), (7, &[3, 1, 5, 2]), (0, &[1])]
        {
            let mut walked = vec![0; slots.len()];
            let (mut left, mut turn) = (capacity, 0);
            while left > 0 && walked.iter().sum::<u32>() < slots.iter().sum() {
                if walked[turn] < slots[turn] {
                    walked[turn] += 1;
                    left -= 1;
                }
                turn = (turn + 1) % slots.len();
            }
            assert_eq!(once(&Config {}, capacity, &demands(slots)), walked, "{capacity} for {slots:?}");
        }
    }

    #[test]
    fn next_superframe_continues_with_the_next_terminal() {
        let mut allocator = Config {}.build(3);
        let mut rounds = Vec::new();
        for _ in 0..3 {
            let mut grants = Vec::new();
            allocator.allocate(4, &demands(&[9, 9, 9]), &mut grants);
            rounds.push(grants);
        }
        assert_eq!(rounds, [[2, 1, 1], [1, 2, 1], [1, 1, 2]]);
    }
}
