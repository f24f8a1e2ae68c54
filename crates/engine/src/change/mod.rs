//! Parameters that change while a network runs: at times that the scenario gives, and when somebody asks.
//!
//! Both set keys of the scenario, as an override does before a run, and both go one way: [`parts`] makes the configuration
//! of the link or network anew by the loader's own rules and checks, refuses what is not [marked as changeable](keys), and
//! says which stages are to be [told](bentpipe_models::Stage::change). A change that the scenario gives takes place at its
//! time before anything else that is due then; of several at one time, in the order of the file.
//!
//! Limit: routes stay those of the start, whatever delays become.

mod keys;
mod parts;

pub use keys::changeable;
pub(crate) use parts::{Orders, Parts};

use crate::scenario::Scenario;
use bentpipe_core::{Problem, Time};
use bentpipe_scenario::{assignment, refused, ScenarioError, Set};
use std::collections::VecDeque;

/// What changes in a network, and how it stands.
#[derive(Default)]
pub(crate) struct Changes {
    parts: Parts,
    /// In order of time.
    due: VecDeque<(Time, Set)>,
}

impl Changes {
    pub(crate) fn of(scenario: &Scenario) -> Changes {
        let due =
            scenario.changes().into_iter().map(|(_, change)| (Time::ZERO + change.at, change.set.clone()));
        Changes { parts: Parts::of(scenario), due: due.collect() }
    }

    /// When the scenario next changes something.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.due.front().map(|(at, _)| *at)
    }

    /// Takes up the next change of the scenario.
    pub(crate) fn take_up(&mut self) -> Orders {
        let (_, set) = self.due.pop_front().expect("something is due");
        self.parts.change(&set).expect("the scenario has been checked, and so has what was set by hand since")
    }

    /// Sets `key` to `value`, unless that is wrong in itself or for what the scenario changes later.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<Orders, ScenarioError> {
        let set = assignment("set", key, value)?;
        let mut parts = self.parts.clone();
        let orders = parts.change(&set).map_err(|problems| refused("set", &set, problems))?;
        let mut later = parts.clone();
        for (at, change) in &self.due {
            if let Err(problems) = later.change(change) {
                let Problem { path, message } = &problems[0];
                let message = format!(
                    "what the scenario changes at {} s would then be refused: {}: {message}",
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
        Ok(orders)
    }
}
