//! Delay levels that last for a fixed time, as on paths over low orbits whose satellites are
//! reassigned every 15 s.

use super::{Jitter, Process};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Extra delay that is constant during periods of fixed length. A new value is drawn for each
/// period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Duration of a level. Default 15 s, as measured on Starlink.
    #[serde(default = "crate::slots::slot")]
    pub every: Span,
    /// Time of the first change. Default 0 s.
    #[serde(default)]
    pub offset: Span,
    /// The distribution from which each level of extra delay is drawn.
    pub of: Box<super::Config>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"every = "3 s", of = { kind = "uniform", most = "20 ms" }"#;
}

struct Levels {
    every: Span,
    offset: Span,
    of: Box<dyn Process>,
    /// The present level, and the time of its end.
    level: f64,
    until: Time,
}

impl Process for Levels {
    fn extra(&mut self, now: Time, stream: &mut Stream) -> f64 {
        if now >= self.until {
            let from = Time::ZERO + self.offset;
            self.until =
                if now < from { from } else { from + self.every * (now.since(from) / self.every + 1) };
            self.level = self.of.extra(now, stream);
        }
        self.level
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        let (every, offset) = (self.every, self.offset);
        self.of.build().map(|of| {
            Box::new(Levels { every, offset, of, level: 0.0, until: Time::ZERO }) as Box<dyn Process>
        })
    }

    fn mean(&self) -> f64 {
        self.of.mean()
    }

    fn check(&self, problems: &mut Problems) {
        if self.every == Span::ZERO {
            problems.add("every", "0 s is out of range; allowed: above 0 s");
        }
        problems.within("of", |problems| self.of.check(problems));
    }
}
