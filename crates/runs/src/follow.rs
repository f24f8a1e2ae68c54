//! Following a run in progress: its progress, rows of its traces, and changes made by hand.

use bentpipe_core::{Seen, Time};
use serde_json::{json, Value};
use std::ops::ControlFlow;

/// A run in progress, in virtual or real time.
pub trait Running {
    /// Returns the rows of the traces since the last call, thinned; none unless the run is
    /// [watched](crate::Options::watched).
    fn look(&mut self) -> Seen;

    /// Changes a key of the scenario from now on; key and value are written as in an override.
    /// Returns the time of the change in the run.
    ///
    /// # Errors
    /// Returns the reason for which the key or the value is refused. The scenario is then
    /// unchanged.
    fn change(&mut self, key: &str, value: &str) -> Result<Time, String>;
}

/// An observer of a run in progress.
pub trait Follow {
    /// Called about ten times per second of real time with the completed fraction, 0 to 1. Stops
    /// the run by breaking.
    fn at(&mut self, fraction: f64, run: &mut dyn Running) -> ControlFlow<()>;
}

/// An observer that only receives the progress of a run.
pub struct OnlyProgress<'a>(pub &'a mut dyn FnMut(f64) -> ControlFlow<()>);

impl Follow for OnlyProgress<'_> {
    fn at(&mut self, fraction: f64, _: &mut dyn Running) -> ControlFlow<()> {
        (self.0)(fraction)
    }
}

/// A change that was made by hand.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    /// Time of the change in the run.
    pub at: Time,
    /// Key path of the changed value in the scenario.
    pub key: String,
    /// New value, as in an override.
    pub value: String,
}

/// Returns the changes as listed in the provenance. A `[[change]]` of the scenario at the same
/// times repeats the run.
pub(crate) fn noted(changes: &[Made]) -> Value {
    changes.iter().map(|made| json!({"at": made.at.as_secs_f64(), "at_ns": made.at.as_nanos(), "key": made.key, "value": made.value})).collect()
}
