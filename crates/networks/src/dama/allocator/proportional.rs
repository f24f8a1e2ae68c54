//! The study's allocator. If the demands exceed the slots, each terminal gets slots in proportion
//! to its demand.
//!
//! A proportional share is rarely a whole number of slots. Each terminal first gets its share
//! rounded down. The remaining slots go, one each, to the terminals with the largest remainders. A
//! remainder includes the fractions of slots that earlier superframes still owe to the terminal
//! (largest-remainder method with carry-over). Over any period a terminal's slots therefore differ
//! from the sum of its shares by about one slot, and even the smallest demand is eventually served.
//! The study does not describe its rounding.

use super::{Allocation, Allocator, Demand};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slots in proportion to the demands, as in the study (Luglio, Roseti, Zampognaro 2009).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Allocation for Config {
    fn build(&self, terminals: usize) -> Box<dyn Allocator> {
        Box::new(Proportional::new(terminals))
    }
}

pub(super) struct Proportional {
    /// Slots that earlier superframes owe to each terminal (negative: paid in advance), in fixed
    /// point.
    owed: Vec<i64>,
    /// Remainder and index of each demand.
    order: Vec<(i64, u32)>,
}

impl Proportional {
    pub(super) fn new(terminals: usize) -> Proportional {
        Proportional { owed: vec![0; terminals], order: Vec::new() }
    }
}

impl Allocator for Proportional {
    fn allocate(&mut self, capacity: u32, demands: &[Demand], grants: &mut Vec<u32>) {
        let total: u64 = demands.iter().map(|demand| u64::from(demand.slots())).sum();
        if total <= u64::from(capacity) {
            for demand in demands {
                self.owed[usize::from(demand.terminal)] = 0;
                grants.push(demand.slots());
            }
            return;
        }
        let begin = grants.len();
        let mut left = capacity;
        self.order.clear();
        for (index, demand) in demands.iter().enumerate() {
            let product = u64::from(capacity) * u64::from(demand.slots());
            let (whole, rest) = ((product / total) as u32, product % total);
            let owed = &mut self.owed[usize::from(demand.terminal)];
            *owed += fraction(rest, total);
            self.order.push((*owed, index as u32));
            grants.push(whole);
            left -= whole;
        }
        // Only the set of terminals that get a remaining slot matters, not their order.
        let left = left as usize;
        if (1..self.order.len()).contains(&left) {
            self.order
                .select_nth_unstable_by_key(left - 1, |(owed, index)| (std::cmp::Reverse(*owed), *index));
        }
        for (_, index) in self.order.iter().take(left) {
            let demand = &demands[*index as usize];
            grants[begin + *index as usize] += 1;
            self.owed[usize::from(demand.terminal)] -= ONE;
        }
    }
}

/// One slot in fixed point.
const ONE: i64 = 1 << 32;

/// `part / whole` in fixed point; `part` is less than `whole`.
fn fraction(part: u64, whole: u64) -> i64 {
    // 64-bit division is several times faster than 128-bit division. Total demands rarely exceed 32
    // bits.
    if whole <= 1 << 32 {
        ((part << 32) / whole) as i64
    } else {
        ((u128::from(part) << 32) / u128::from(whole)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{demands, once};
    use super::*;

    #[test]
    fn table() {
        for (capacity, slots, expected) in [
            (31, &[10, 20][..], &[10, 20][..]),
            (31, &[11, 20], &[11, 20]),
            (31, &[62], &[31]),
            // Shares 10.33, 20.67.
            (31, &[20, 40], &[10, 21]),
            // Shares 7.75 each: three of the four terminals get a remaining slot.
            (31, &[9, 9, 9, 9], &[8, 8, 8, 7]),
            // Shares 29.92, 0.54, 0.54.
            (31, &[110, 2, 2], &[30, 1, 0]),
            (0, &[5, 5], &[0, 0]),
            (3, &[1_000_000_000, 4_000_000_000], &[1, 2]),
        ] {
            assert_eq!(once(&Config {}, capacity, &demands(slots)), expected, "{capacity} for {slots:?}");
        }
    }

    #[test]
    fn small_demands_are_eventually_served() {
        let mut allocator = Proportional::new(3);
        let mut sums = [0; 3];
        for _ in 0..1000 {
            let mut grants = Vec::new();
            allocator.allocate(2, &demands(&[98, 1, 1]), &mut grants);
            sums.iter_mut().zip(grants).for_each(|(sum, grant)| *sum += grant);
        }
        // Shares of 2000 slots: 98 %, 1 %, 1 %.
        assert!(
            sums[0].abs_diff(1960) <= 2 && sums[1].abs_diff(20) <= 1 && sums[2].abs_diff(20) <= 1,
            "{sums:?}"
        );
    }
}
