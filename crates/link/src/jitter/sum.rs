//! The sum of several jitters, such as levels of the path and the delay of a queue elsewhere.

use super::{Jitter, Process};
use bentpipe_core::{Problems, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sum of several extra delays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Jitters of the sum, whose extra delays are added.
    pub parts: Vec<super::Config>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"parts = [{ kind = "levels", of = { kind = "uniform", most = "8 ms" } }, { kind = "exponential", mean = "1 ms" }]"#;
}

struct Sum(Vec<Box<dyn Process>>);

impl Process for Sum {
    fn extra(&mut self, now: Time, stream: &mut Stream) -> f64 {
        self.0.iter_mut().map(|part| part.extra(now, stream)).sum()
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Sum(self.parts.iter().filter_map(|part| part.build()).collect())))
    }

    fn mean(&self) -> f64 {
        self.parts.iter().map(|part| part.mean()).sum()
    }

    fn check(&self, problems: &mut Problems) {
        if self.parts.is_empty() {
            problems.add("parts", "has none; allowed: at least one");
        }
        problems.within("parts", |problems| {
            for (index, part) in self.parts.iter().enumerate() {
                problems.within(index.to_string(), |problems| part.check(problems));
            }
        });
    }
}
