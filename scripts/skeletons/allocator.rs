//! {Title}: the rule that divides the capacity, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! dama = { scheme = "rbdc", allocator = "{kebab}" }
//! ```

use super::{Allocation, Allocator, Demand};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the rule that divides the capacity, in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Allocation for Config {
    fn build(&self, _terminals: usize) -> Box<dyn Allocator> {
        Box::new({Camel})
    }
}

struct {Camel};

impl Allocator for {Camel} {
    fn allocate(&mut self, capacity: u32, demands: &[Demand], grants: &mut Vec<u32>) {
        let mut left = capacity;
        grants.extend(demands.iter().map(|demand| {
            let slots = demand.slots().min(left);
            left -= slots;
            slots
        }));
    }
}
