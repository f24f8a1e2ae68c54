//! Changes of parameters while a network runs, at times that the scenario gives or on request.
//!
//! A change sets keys of the scenario, like an override before a run. [`parts`] rebuilds the
//! configuration of the link or network by the loader's own rules and checks. It refuses keys that
//! are not [marked as changeable](keys), and returns the stages to be
//! [informed](bentpipe_stage::Stage::change). A change in the scenario takes effect before all
//! other events at its time; several changes at one time apply in the order of the file.
//!
//! Limit: routes are not recomputed when delays change.

mod keys;
mod parts;

pub use keys::changeable;
pub(crate) use parts::{Orders, Parts};

use crate::scenario::Scenario;
use bentpipe_core::{Problem, Time};
use bentpipe_scenario::{assignment, refused, ScenarioError, Set};
use std::collections::VecDeque;

/// The changes of a network and its present configuration.
#[derive(Default)]
pub(crate) struct Changes {
    parts: Parts,
    /// Pending changes in order of time.
    due: VecDeque<(Time, Set)>,
    /// Every key that has changed, with its last value.
    made: Set,
}

impl Changes {
    pub(crate) fn of(scenario: &Scenario) -> Changes {
        let due =
            scenario.changes().into_iter().map(|(_, change)| (Time::ZERO + change.at, change.set.clone()));
        Changes { parts: Parts::of(scenario), due: due.collect(), made: Set::new() }
    }

    /// Returns the time of the scenario's next change.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.due.front().map(|(at, _)| *at)
    }

    /// Applies the scenario's next change.
    pub(crate) fn apply_next(&mut self) -> Orders {
        let (_, set) = self.due.pop_front().expect("something is due");
        let orders = self.parts.change(&set);
        add(&mut self.made, set);
        orders.expect("the scenario has been checked, and so has what was set by hand since")
    }

    /// Returns the keys changed so far, by the scenario or by hand, each with its last value.
    pub(crate) fn made(&self) -> &Set {
        &self.made
    }

    /// Sets `key` to `value`, unless the value is invalid or would invalidate a later change of the
    /// scenario.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<Orders, ScenarioError> {
        let set = assignment("set", key, value)?;
        let mut parts = self.parts.clone();
        let orders = parts.change(&set).map_err(|problems| refused("set", &set, problems))?;
        let mut later = parts.clone();
        for (at, change) in &self.due {
            if let Err(problems) = later.change(change) {
                let Problem { path, message } = &problems[0];
                let message = format!(
                    "the scenario's change at {} s would then be refused: {}: {message}",
                    at.as_secs_f64(),
                    path.join(".")
                );
                return Err(refused(
                    &format!("set {key}"),
                    &set,
                    vec![Problem { path: Vec::new(), message }],
                ));
            }
        }
        self.parts = parts;
        add(&mut self.made, set);
        Ok(orders)
    }
}

/// Adds the keys of `set` to those in `all`, replacing earlier values.
fn add(all: &mut Set, set: Set) {
    for (key, value) in set {
        match (all.get_mut(&key), value) {
            (Some(serde_json::Value::Object(inner)), serde_json::Value::Object(set)) => add(inner, set),
            (_, value) => drop(all.insert(key, value)),
        }
    }
}
