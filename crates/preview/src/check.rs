//! The check of a scenario without a run.

use crate::Request;
use bentpipe_engine::facts::{facts, Facts};
use bentpipe_engine::picture::{picture, Picture};
use bentpipe_engine::warnings;
use bentpipe_scenario::ScenarioError;
use serde::Serialize;
use serde_json::Value;

/// A valid scenario: its values, and what they mean for its network.
#[derive(Debug, Serialize)]
pub struct Check {
    /// The resolved scenario, with groups as written.
    pub resolved: Value,
    /// Settings that are allowed but probably unintended, a sentence each.
    pub warnings: Vec<String>,
    /// Nodes and edges of the network.
    pub picture: Picture,
    /// The paths of the flows in numbers.
    pub facts: Facts,
    /// Duration of the run in seconds.
    pub duration_s: f64,
}

impl Check {
    /// Loads and checks a scenario.
    ///
    /// # Errors
    /// Returns the problems of the scenario. Problems that only prevent a simulation are left to
    /// [`Preview::open`](crate::Preview::open).
    pub fn of(request: &Request) -> Result<Check, ScenarioError> {
        let loaded = request.load()?;
        let resolved = loaded.to_json();
        Ok(Check {
            warnings: warnings(&loaded),
            picture: picture(&loaded.value, &resolved),
            facts: facts(&loaded.value),
            duration_s: loaded.value.duration.as_secs_f64(),
            resolved,
        })
    }
}
