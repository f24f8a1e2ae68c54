//! Weighted max-min fairness (Bertsekas, Gallager: Data Networks, section 6.5.2): no terminal gets
//! more than it demands, and no share grows at the expense of one that is smaller relative to its
//! weight. The shares are min(demand, level x weight), with the level at which they fill the
//! capacity.
//!
//! A share is rarely a whole number of slots. Each terminal first gets its share rounded down. The
//! remaining slots go, one each, to the terminals with the largest remainders. A remainder includes
//! the fractions of slots that earlier superframes still owe to the terminal.
//! A terminal's weight is the `weight` of its entry in `terminals`.

use super::{Allocation, Allocator, Demand};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weighted max-min fairness: the `weight` of each terminal determines its share when demands
/// exceed the slots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Allocation for Config {
    fn build(&self, terminals: usize) -> Box<dyn Allocator> {
        Box::new(MaxMin { owed: vec![0; terminals], order: Vec::new() })
    }
}

struct MaxMin {
    /// Slots that earlier superframes owe to each terminal (negative: paid in advance), in fixed
    /// point.
    owed: Vec<i64>,
    order: Vec<u32>,
}

/// One slot in fixed point.
const ONE: i64 = 1 << 32;

impl Allocator for MaxMin {
    fn allocate(&mut self, capacity: u32, demands: &[Demand], grants: &mut Vec<u32>) {
        let total: u64 = demands.iter().map(|demand| u64::from(demand.slots())).sum();
        if total <= u64::from(capacity) {
            for demand in demands {
                self.owed[usize::from(demand.terminal)] = 0;
                grants.push(demand.slots());
            }
            return;
        }
        // Terminals with the smallest demand relative to their weight are satisfied first.
        self.order.clear();
        self.order.extend(0..demands.len() as u32);
        let of = |index: u32| &demands[index as usize];
        let by_weight = |a: &u32, b: &u32| {
            let (a, b) = (of(*a), of(*b));
            (u64::from(a.slots()) * u64::from(b.weight)).cmp(&(u64::from(b.slots()) * u64::from(a.weight)))
        };
        self.order.sort_by(by_weight);
        let mut weights: u64 = demands.iter().map(|demand| u64::from(demand.weight)).sum();
        let mut left = u64::from(capacity);
        let mut full = 0;
        for index in &self.order {
            let demand = of(*index);
            if u64::from(demand.slots()) * weights > left * u64::from(demand.weight) {
                break;
            }
            left -= u64::from(demand.slots());
            weights -= u64::from(demand.weight);
            full += 1;
        }
        let begin = grants.len();
        grants.extend(demands.iter().map(Demand::slots));
        let short = &mut self.order[full..];
        let mut whole = 0;
        for index in short.iter() {
            let demand = of(*index);
            let product = left * u64::from(demand.weight);
            grants[begin + *index as usize] = (product / weights) as u32;
            whole += product / weights;
            let owed = &mut self.owed[usize::from(demand.terminal)];
            *owed += (((product % weights) << 32) / weights) as i64;
        }
        short.sort_unstable_by_key(|index| {
            (std::cmp::Reverse(self.owed[usize::from(of(*index).terminal)]), *index)
        });
        for index in &short[..(left - whole) as usize] {
            let demand = of(*index);
            grants[begin + *index as usize] += 1;
            self.owed[usize::from(demand.terminal)] -= ONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{demands, once};
    use super::*;

    #[test]
    fn by_hand() {
        // The small demands are granted in full; the others share the remaining slots.
        assert_eq!(once(&Config {}, 31, &demands(&[5, 100, 3, 40])), [5, 12, 3, 11]);
        let weighted = |list: &[(u32, u32)]| -> Vec<Demand> {
            let demand = |(terminal, &(volume, weight)): (u16, &(u32, u32))| Demand {
                terminal,
                rate: 0,
                volume,
                weight,
            };
            (0..).zip(list).map(demand).collect()
        };
        // The level would be 31 / (1 + 2 + 4) per unit of weight, but the last terminal demands
        // only 10 of its 17.7 slots. The other two share 21 slots with weights 1 and 2.
        assert_eq!(once(&Config {}, 31, &weighted(&[(100, 1), (100, 2), (10, 4)])), [7, 14, 10]);
    }

    #[test]
    fn shares_are_exact_over_time() {
        let mut allocator = Config {}.build(3);
        let mut sums = [0u32; 3];
        for _ in 0..300 {
            let mut grants = Vec::new();
            allocator.allocate(10, &demands(&[20, 20, 20]), &mut grants);
            sums.iter_mut().zip(grants).for_each(|(sum, grant)| *sum += grant);
        }
        assert!(sums.iter().all(|sum| sum.abs_diff(1000) <= 1), "{sums:?}");
    }
}
