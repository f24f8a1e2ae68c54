//! The changes of a scenario during a run.

use super::Scenario;
use bentpipe_core::Span;
use bentpipe_scenario::Set;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// New values for keys of links and networks from a given time on, applied before all other events
/// at that time.
///
/// The keys are written as in an override: `set.link.sat.rate = "1 Mbit/s"` has the effect of
/// `--set 'link.sat.rate=1 Mbit/s'` at the given time instead of before the run. Other keys keep
/// their present values. Keys that can change are marked on this page.
///
/// ```toml
/// [[change]]
/// at = "20 s"
/// set.link.sat.rate = "1 Mbit/s"
/// set.link.sat.return.error = { kind = "packet", probability = 0.01 }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Time of the change, at most the duration of the run.
    pub at: Span,
    /// Keys of `link` and `network` with their new values.
    #[schemars(with = "BTreeMap<String, BTreeMap<String, Set>>")]
    pub set: Set,
}

impl Scenario {
    /// Returns the changes in order of time, those at the same time in the order of the file, each
    /// with its index there.
    pub fn changes(&self) -> Vec<(usize, &Change)> {
        let mut changes: Vec<_> = self.change.iter().enumerate().collect();
        changes.sort_by_key(|(_, change)| change.at);
        changes
    }
}
