//! Transmission opportunities: packets leave in bursts, at the next of a sequence of times. The
//! mean rate of the link does not change.

use super::{Jitter, Process};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The wait for the next transmission opportunity. The intervals between opportunities are
/// uniformly distributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Shortest interval between two opportunities.
    pub least: Span,
    /// Longest interval between two opportunities.
    pub most: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"least = "2 ms", most = "6 ms""#;
}

struct Bursts {
    least: f64,
    more: f64,
    most: Span,
    next: Time,
}

impl Process for Bursts {
    fn extra(&mut self, now: Time, stream: &mut Stream) -> f64 {
        // After an idle time, the sequence starts again inside of an interval.
        if self.next + self.most * 10 < now {
            let interval = self.least + self.more * stream.uniform();
            self.next = now + Span::from_secs_f64(interval * stream.uniform());
        }
        while self.next < now {
            self.next += Span::from_secs_f64(self.least + self.more * stream.uniform());
        }
        self.next.since(now).as_secs_f64()
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        let (least, most) = (self.least.as_secs_f64(), self.most.as_secs_f64());
        Some(Box::new(Bursts { least, more: most - least, most: self.most, next: Time::ZERO }))
    }

    fn mean(&self) -> f64 {
        // The residual time of a renewal process at a random time.
        let (a, b) = (self.least.as_secs_f64(), self.most.as_secs_f64());
        (a * a + a * b + b * b) / (3.0 * (a + b))
    }

    fn check(&self, problems: &mut Problems) {
        if self.most < self.least || self.most == Span::ZERO {
            problems
                .add("most", format!("is {}; allowed: above 0 s, and at least {}", self.most, self.least));
        }
    }
}
