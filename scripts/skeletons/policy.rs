//! {Title}: the moments and targets of handovers, in a sentence.
//!
//! Procedure, source, deviations, limits.
//!
//! ```toml
//! policy = { kind = "{kebab}", every = "10 s" }
//! ```

use super::{Choice, Decision, Policy, View};
use crate::multilink::{Direction, Handover};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the moments and targets of handovers, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time for which each link is active.
    pub every: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"every = "3 s""#;
}

impl Choice for Config {
    fn build(
        &self,
        _links: &[String],
        handover: Handover,
        _schedule: Vec<(Time, Decision)>,
        _stream: Stream,
    ) -> Box<dyn Policy> {
        Box::new({Camel} { every: self.every, handover, next: Time::ZERO + self.every })
    }

    fn check(&self, _links: &[String], problems: &mut Problems) {
        if self.every == Span::ZERO {
            problems.add("every", "must be longer than 0 s");
        }
    }
}

struct {Camel} {
    every: Span,
    handover: Handover,
    next: Time,
}

impl Policy for {Camel} {
    fn next(&self) -> Option<Time> {
        Some(self.next)
    }

    fn decide(&mut self, now: Time, view: &View<'_>) -> Option<Decision> {
        self.next = now + self.every;
        let to = (view.serving[0] + 1) % view.rates.len();
        Some(Decision { to, direction: Direction::Both, handover: self.handover })
    }
}
