//! A choice in each time slot, simultaneous for all sites, as observed for Starlink: every 15 s, at
//! 12, 27, 42 and 57 s of each minute of UTC (Tanveer et al., "Making Sense of Constellations",
//! 2023; Mohan et al., "A Multifaceted Look at Starlink Performance", 2024).
//!
//! The operator's criteria are not published. This policy chooses, from the satellites that stay
//! visible for the whole slot, those at the highest elevation at its start. If no satellite stays
//! visible that long, it chooses those that stay visible longest. A satellite that sets within a
//! slot is not replaced.

use super::{Choice, Sky};
use bentpipe_core::{Problems, Sample, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A choice in each time slot, simultaneous for all sites, as observed for Starlink (Tanveer et al.
/// 2023, Mohan et al. 2024).
///
/// ```toml
/// choice = { kind = "schedule", slot = "15 s", offset = "12 s" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Length of a slot, 15 s by default. A minute must be a whole number of slots.
    pub slot: Span,
    /// Start of the first slot in each minute of UTC, 12 s by default; must be shorter than `slot`.
    pub offset: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { slot: Span::from_secs(15), offset: Span::from_secs(12) }
    }
}

const MINUTE: u64 = 60_000_000_000;

impl Sample for Config {
    const SAMPLE: &'static str = r#"slot = "20 s", offset = "5 s""#;
}

impl Choice for Config {
    fn only_when_due(&self) -> bool {
        true
    }

    fn choose(&self, sky: &Sky<'_>, serving: &[u32]) -> (Vec<u32>, f64) {
        let slot = self.slot.as_nanos();
        // Rounded, because the time in seconds as f64 may be a nanosecond before the boundary at
        // which this function is called.
        let now = (sky.now * 1e9).round() as u64;
        let into = (sky.start.nanos_in_minute() + now + MINUTE - self.offset.as_nanos() % slot) % slot;
        let end = (now + slot - into) as f64 * 1e-9;
        let stays: Vec<bool> = sky.visible.iter().map(|visible| visible.set >= end).collect();
        let any = stays.contains(&true);
        let value = |visible: &super::Visible| match (any, visible.set >= end) {
            (true, true) => sky.elevation(visible.satellite),
            (true, false) => f64::NEG_INFINITY,
            (false, _) => visible.set,
        };
        (sky.best(serving, value), end)
    }

    fn check(&self, problems: &mut Problems) {
        let slot = self.slot.as_nanos();
        if slot == 0 || MINUTE / slot * slot != MINUTE {
            let message =
                format!("{} does not divide a minute; allowed: 60 s divided by a whole number", self.slot);
            problems.add("slot", message);
        } else if self.offset >= self.slot {
            problems.add(
                "offset",
                format!("{} is not in the first slot; allowed: less than {}", self.offset, self.slot),
            );
        }
    }
}
