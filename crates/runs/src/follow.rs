//! Following a run in progress: how far it is, rows of its traces, and changes made by hand.

use bentpipe_core::{Seen, Time};
use serde_json::{json, Value};
use std::ops::ControlFlow;

/// A run in progress, on whatever clock.
pub trait Running {
    /// Returns the rows of the traces that were not seen yet, thinned; none unless the run is
    /// [watched](crate::Options::watched).
    fn look(&mut self) -> Seen;

    /// Sets a key of the scenario to another value from now on, both written as in an override.
    /// Returns the time of the run at which it was done.
    ///
    /// # Errors
    /// Why the key or the value is refused. Nothing has changed.
    fn change(&mut self, key: &str, value: &str) -> Result<Time, String>;
}

/// Follows a run in progress.
pub trait Follow {
    /// Called about ten times a second of real time with the fraction done, 0 to 1. Stops the run
    /// by breaking.
    fn at(&mut self, fraction: f64, run: &mut dyn Running) -> ControlFlow<()>;
}

/// Follows the progress of a run and nothing else.
pub struct OnlyProgress<'a>(pub &'a mut dyn FnMut(f64) -> ControlFlow<()>);

impl Follow for OnlyProgress<'_> {
    fn at(&mut self, fraction: f64, _: &mut dyn Running) -> ControlFlow<()> {
        (self.0)(fraction)
    }
}

/// A change that was made by hand.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    /// Time of the run.
    pub at: Time,
    /// Key path in the scenario.
    pub key: String,
    /// The new value, as in an override.
    pub value: String,
}

/// Returns the changes as the provenance lists them. A `[[change]]` of the scenario at the same
/// times repeats the run.
pub(crate) fn noted(changes: &[Made]) -> Value {
    changes.iter().map(|made| json!({"at": made.at.as_secs_f64(), "at_ns": made.at.as_nanos(), "key": made.key, "value": made.value})).collect()
}
