//! The parameters from which Careful Resume starts (RFC 9959, section 2): given by keys, or
//! observed by an earlier connection of the run.
//!
//! A path is a pair of ends in one direction. Each path has one set of parameters: a connection
//! that resumes takes the set, so no second connection resumes from it at the same time, and
//! returns it once the path has carried the resumed window.

use bentpipe_core::{text_or_table, Count, NodeId, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The key `careful_resume`: `"earlier"`, or a table with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CarefulResume")]
pub enum Parameters {
    /// The values that an earlier connection between the same ends has observed, if its transport
    /// has the same key.
    Earlier,
    /// The values of these keys.
    #[serde(untagged)]
    Given(Saved),
}

text_or_table!(
    Parameters,
    "\"earlier\", or a table with cwnd and rtt",
    |text| match text {
        "earlier" => Ok(Parameters::Earlier),
        _ => Err(format!(
            "\"{text}\" is no source of saved values; allowed: \"earlier\", or a table with cwnd and rtt"
        )),
    },
    Parameters::Given
);

/// Values of an earlier connection over the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Data acknowledged in a round trip, in packets (`saved_cwnd`), at least four times the
    /// initial window.
    pub cwnd: Count<40, 1_000_000>,
    /// Smallest round-trip time (`saved_rtt`).
    pub rtt: Span,
}

/// The observation of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Bytes acknowledged in a round trip.
    pub bytes: u64,
    /// Smallest round-trip time.
    pub rtt: Span,
}

/// The observations of a run, by path.
#[derive(Clone, Debug, Default)]
pub struct SavedPaths(Arc<Mutex<BTreeMap<(NodeId, NodeId), Observed>>>);

impl SavedPaths {
    /// Returns the path on which `from` sends to `to`.
    pub fn path(&self, from: NodeId, to: NodeId) -> SavedPath {
        SavedPath { paths: self.clone(), ends: (from, to) }
    }
}

/// The place of a path's observation.
#[derive(Clone, Debug)]
pub struct SavedPath {
    paths: SavedPaths,
    ends: (NodeId, NodeId),
}

impl SavedPath {
    fn with<T>(&self, work: impl FnOnce(&mut Option<Observed>) -> T) -> T {
        let mut paths = self.paths.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut observed = paths.remove(&self.ends);
        let result = work(&mut observed);
        if let Some(observed) = observed {
            paths.insert(self.ends, observed);
        }
        result
    }

    /// Takes the observation, so that no other connection resumes from it.
    pub fn take(&self) -> Option<Observed> {
        self.with(Option::take)
    }

    /// Returns an observation that was taken, unless there is a newer one.
    pub fn give_back(&self, observed: Observed) {
        self.with(|place| _ = place.get_or_insert(observed));
    }

    /// Saves the observation of a round trip. `is_limited` is true if the window limited the
    /// sender; otherwise the observation counts only if it is larger than the saved one.
    pub fn observe(&self, observed: Observed, is_limited: bool) {
        self.with(|place| {
            if is_limited || place.is_none_or(|before| before.bytes < observed.bytes) {
                *place = Some(observed);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_a_word_or_a_table() {
        let read = |json: &str| serde_json::from_str::<Parameters>(json);
        for json in ["\"earlier\"", r#"{"cwnd":300,"rtt":"600 ms"}"#] {
            assert_eq!(serde_json::to_string(&read(json).unwrap()).unwrap(), json);
        }
        let error = read("\"later\"").unwrap_err().to_string();
        assert!(error.contains("allowed: \"earlier\", or a table with cwnd and rtt"), "{error}");
    }

    #[test]
    fn a_set_is_used_by_one_connection_at_a_time() {
        let paths = SavedPaths::default();
        let (there, back) = (paths.path(NodeId(1), NodeId(2)), paths.path(NodeId(2), NodeId(1)));
        let observed = |bytes| Observed { bytes, rtt: Span::from_millis(600) };
        there.observe(observed(1000), true);
        assert_eq!(back.take(), None);
        let taken = there.take().unwrap();
        assert_eq!(there.take(), None);
        there.give_back(taken);
        assert_eq!(there.take(), Some(taken));
        there.observe(observed(500), false);
        there.give_back(taken);
        assert_eq!(there.take(), Some(observed(500)), "a newer observation stays");
        there.observe(observed(800), true);
        there.observe(observed(600), false);
        assert_eq!(there.take(), Some(observed(800)), "the application limited the last round trip");
        there.observe(observed(800), true);
        there.observe(observed(600), true);
        assert_eq!(there.take(), Some(observed(600)));
    }
}
