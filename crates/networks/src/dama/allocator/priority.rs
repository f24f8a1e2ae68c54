//! Strict priority by kind of request: rate requests (RBDC) before volume requests (VBDC, AVBDC),
//! in the order of EN 301 790, section 6.6.1.2. Within each kind the slots are divided in
//! proportion to the demands, rounded as in [`super::proportional`].
//!
//! Volume requests starve during a lasting overload of rate requests.

use super::proportional::Proportional;
use super::{Allocation, Allocator, Demand};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rate requests before volume requests, and within each kind in proportion to the demands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Allocation for Config {
    fn build(&self, terminals: usize) -> Box<dyn Allocator> {
        Box::new(Priority {
            rates: Proportional::new(terminals),
            volumes: Proportional::new(terminals),
            part: Vec::new(),
            granted: Vec::new(),
        })
    }
}

struct Priority {
    rates: Proportional,
    volumes: Proportional,
    part: Vec<Demand>,
    granted: Vec<u32>,
}

impl Allocator for Priority {
    fn allocate(&mut self, mut capacity: u32, demands: &[Demand], grants: &mut Vec<u32>) {
        let begin = grants.len();
        grants.resize(begin + demands.len(), 0);
        for (allocator, by_rate) in [(&mut self.rates, true), (&mut self.volumes, false)] {
            let only = |demand: &Demand| match by_rate {
                true => Demand { volume: 0, ..*demand },
                false => Demand { rate: 0, ..*demand },
            };
            self.part.clear();
            self.part.extend(demands.iter().map(only).filter(|demand| demand.slots() > 0));
            self.granted.clear();
            allocator.allocate(capacity, &self.part, &mut self.granted);
            let mut granted = self.part.iter().zip(&self.granted).peekable();
            for (index, demand) in demands.iter().enumerate() {
                if let Some((_, slots)) = granted.next_if(|(part, _)| part.terminal == demand.terminal) {
                    grants[begin + index] += slots;
                    capacity -= slots;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::once;
    use super::*;

    #[test]
    fn volumes_share_the_remainder_of_the_rates() {
        let demand =
            |(terminal, &(rate, volume)): (u16, &(u32, u32))| Demand { terminal, rate, volume, weight: 1 };
        let grants =
            |list: &[(u32, u32)]| once(&Config {}, 31, &(0..).zip(list).map(demand).collect::<Vec<_>>());
        assert_eq!(grants(&[(10, 0), (5, 20), (0, 12)]), [10, 15, 6]);
        assert_eq!(grants(&[(31, 0), (0, 20)]), [31, 0]);
        assert_eq!(grants(&[(31, 5), (31, 5)]), [16, 15]);
    }
}
