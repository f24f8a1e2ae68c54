//! Contacts in given windows, optionally repeated.
//!
//! ```toml
//! when = { kind = "windows", windows = [["10 min", "25 min"], ["1 h", "80 min"]], repeat = "2 h" }
//! ```

use super::{Contacts, Opening};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Contacts in given windows, in both directions, with the rate and the delay of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Start and end of each window, counted from the start of the run, in order.
    pub windows: Vec<[Span; 2]>,
    /// Period after which the windows repeat, not shorter than the end of the last one. If unset,
    /// they do not repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"windows = [["1 s", "3 s"]], repeat = "4 s""#;
}

impl Contacts for Config {
    fn openings(&self, _: &str, _: &str, _: Stream) -> Box<dyn Iterator<Item = Opening> + Send> {
        let (windows, repeat) = (self.windows.clone(), self.repeat);
        let periods = match repeat {
            Some(_) => u64::MAX,
            None => 1,
        };
        let period = repeat.map_or(0, Span::as_nanos);
        let all = (0..periods).flat_map(move |number| {
            let shift = Time::from_nanos(number.saturating_mul(period));
            windows.clone().into_iter().map(move |[start, end]| Opening {
                start: shift + start,
                end: shift + end,
                rate: None,
                delay: None,
            })
        });
        Box::new(all)
    }

    fn check(&self, _: &str, _: &str, problems: &mut Problems) {
        if self.windows.is_empty() {
            problems.add("windows", "is empty; allowed: at least one window");
        }
        let mut before = Span::ZERO;
        for [start, end] in &self.windows {
            if start < &before || end <= start {
                problems.add(
                    "windows",
                    format!(
                        "[{start}, {end}] is out of order; allowed: windows in order that do not overlap"
                    ),
                );
            }
            before = *end;
        }
        if self.repeat.is_some_and(|repeat| repeat < before || repeat == Span::ZERO) {
            problems.add(
                "repeat",
                format!("is shorter than the end of the last window; allowed: {before} or longer"),
            );
        }
    }
}
