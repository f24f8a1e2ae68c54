//! Allocators: the division of the slots that remain after every terminal's constant slots (CRA).
//! Each allocator has its own file.

pub mod max_min;
pub mod priority;
pub mod proportional;
pub mod round_robin;

use bentpipe_core::kinds;

kinds! {
    /// The allocator with which the network control centre divides the slots among the demands.
    #[schemars(rename = "Allocator")]
    pub enum Config: Allocation {
        "proportional" => Proportional(proportional::Config),
        "round-robin" => RoundRobin(round_robin::Config),
        "max-min" => MaxMin(max_min::Config),
        "priority" => Priority(priority::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Proportional(proportional::Config {})
    }
}

/// The factory of an allocator, implemented by its `Config`.
pub trait Allocation {
    /// Builds the allocator for a network of `terminals` terminals.
    fn build(&self, terminals: usize) -> Box<dyn Allocator>;
}

/// The demand of one terminal in a superframe beyond its guaranteed slots; always positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Number of the terminal.
    pub terminal: u16,
    /// Slots requested by rate.
    pub rate: u32,
    /// Slots requested by volume.
    pub volume: u32,
    /// Weight of the terminal relative to the others.
    pub weight: u32,
}

impl Demand {
    /// Slots requested by rate and by volume.
    #[inline]
    pub fn slots(&self) -> u32 {
        self.rate.saturating_add(self.volume)
    }
}

/// Divides the slots of one superframe.
pub trait Allocator: Send {
    /// Appends the slots granted to each demand to `grants`, in the order of `demands` (ascending
    /// terminals). No grant exceeds its demand, and the grants total at most `capacity`. A
    /// terminal's rate requests are served before its volume requests.
    fn allocate(&mut self, capacity: u32, demands: &[Demand], grants: &mut Vec<u32>);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Demands of volume, with equal weights.
    pub fn demands(slots: &[u32]) -> Vec<Demand> {
        let demand =
            |(volume, terminal): (&u32, u16)| Demand { terminal, rate: 0, volume: *volume, weight: 1 };
        slots.iter().zip(0..).map(demand).collect()
    }

    pub fn once(config: &dyn Allocation, capacity: u32, demands: &[Demand]) -> Vec<u32> {
        let mut grants = Vec::new();
        config.build(demands.len()).allocate(capacity, demands, &mut grants);
        grants
    }

    fn all() -> Vec<Config> {
        Config::KINDS
            .iter()
            .map(|kind| serde_json::from_str(&format!(r#"{{"{kind}": {{}}}}"#)).unwrap())
            .collect()
    }

    proptest! {
        #[test]
        fn grants_meet_demand_within_the_capacity_and_never_exceed_either(
            capacity in 0u32..200,
            rounds in prop::collection::vec(prop::collection::vec((0u32..10_000, 0u32..100_000, 1u32..9), 1..60), 1..30),
        ) {
            for config in all() {
                let mut allocator = config.build(60);
                for round in &rounds {
                    let demands: Vec<_> = (0..)
                        .zip(round)
                        .map(|(terminal, &(rate, volume, weight))| Demand { terminal, rate, volume: volume + 1, weight })
                        .collect();
                    let mut grants = Vec::new();
                    allocator.allocate(capacity, &demands, &mut grants);
                    prop_assert_eq!(grants.len(), demands.len());
                    prop_assert!(grants.iter().zip(&demands).all(|(grant, demand)| *grant <= demand.slots()));
                    let total = demands.iter().map(Demand::slots).sum::<u32>();
                    prop_assert_eq!(grants.iter().sum::<u32>(), total.min(capacity), "{}", config.kind());
                }
            }
        }

        #[test]
        fn no_terminal_starves(
            capacity in 1u32..40,
            demands in prop::collection::vec((1u32..1000, 1u32..9), 1..60),
        ) {
            // The demands are the same in every superframe. The bound allows as many superframes as
            // it takes until the smallest share adds up to a whole slot: the total weight or demand
            // over the slots, twice, plus two.
            for config in all().into_iter().filter(|config| config.kind() != "priority") {
                let mut allocator = config.build(60);
                let demands: Vec<_> = (0..)
                    .zip(&demands)
                    .map(|(terminal, &(volume, weight))| Demand { terminal, rate: 0, volume, weight })
                    .collect();
                let total: u32 = demands.iter().map(Demand::slots).sum();
                let weights: u32 = demands.iter().map(|demand| demand.weight).sum();
                let rounds = 2 + 2 * total.max(weights) / capacity.min(total);
                let mut sums = vec![0; demands.len()];
                for _ in 0..rounds.max(2 * demands.len() as u32) {
                    let mut grants = Vec::new();
                    allocator.allocate(capacity, &demands, &mut grants);
                    sums.iter_mut().zip(grants).for_each(|(sum, grant)| *sum += grant);
                }
                prop_assert!(sums.iter().all(|sum| *sum > 0), "{}: {sums:?}", config.kind());
            }
        }
    }
}
