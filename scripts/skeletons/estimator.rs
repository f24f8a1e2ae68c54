//! {Title}: the estimate of the requested rate, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! dama = { scheme = { kind = "rbdc", estimator = "{kebab}" } }
//! ```

use super::{min_request, Estimation, Estimator, Load};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the estimate of the requested rate, in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Estimation for Config {
    fn build(&self, _response: u64, _unit: u64) -> Box<dyn Estimator> {
        Box::new({Camel})
    }
}

struct {Camel};

impl Estimator for {Camel} {
    fn estimate(&mut self, _slept: u64, load: &Load, gamma: f64) -> f64 {
        (gamma * load.queue as f64).max(min_request(load))
    }
}
