//! Checks of the changes during a run.

use crate::change::Parts;
use crate::scenario::Scenario;
use bentpipe_core::Problems;

impl Scenario {
    /// Adds the problems of the changes, for a scenario that is otherwise valid.
    pub(super) fn check_changes(&self, problems: &mut Problems) {
        let mut parts = Parts::of(self);
        for (index, change) in self.changes() {
            problems.within(index.to_string(), |problems| {
                if change.at > self.duration {
                    let message = format!(
                        "{} is after the end of the run; allowed: up to {}",
                        change.at, self.duration
                    );
                    problems.add("at", message);
                }
                problems.within("set", |problems| {
                    let found = parts.change(&change.set).err().into_iter().flatten();
                    found.for_each(|problem| problems.adopt(problem));
                });
            });
        }
    }
}
