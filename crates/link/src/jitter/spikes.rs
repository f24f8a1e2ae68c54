//! Delay spikes at a fixed period, as at the reconfigurations of low-orbit accesses. The delay
//! rises at once, stays at the peak, and falls linearly.

use super::{Jitter, Process};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Extra delay after each point of a grid of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time from one spike to the next. Default 15 s, as measured on Starlink.
    #[serde(default = "crate::slots::slot")]
    pub every: Span,
    /// Time of the first spike. Default 0 s.
    #[serde(default)]
    pub offset: Span,
    /// Extra delay at the start of a spike.
    pub peak: Span,
    /// Duration of the peak. Default 0 s.
    #[serde(default)]
    pub lasts: Span,
    /// Time in which the extra delay falls from the peak to 0. Default 0 s.
    #[serde(default)]
    pub recovery: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"every = "3 s", peak = "22 ms", lasts = "60 ms", recovery = "100 ms""#;
}

struct Spikes(Config);

impl Process for Spikes {
    fn extra(&mut self, now: Time, _stream: &mut Stream) -> f64 {
        let Config { every, offset, peak, lasts, recovery } = self.0;
        if now < Time::ZERO + offset {
            return 0.0;
        }
        let since = now.since(Time::ZERO + offset);
        let into = since - every * (since / every);
        let falling = into.saturating_sub(lasts);
        if falling == Span::ZERO {
            peak.as_secs_f64()
        } else if falling < recovery {
            peak.as_secs_f64() * (1.0 - falling.as_secs_f64() / recovery.as_secs_f64())
        } else {
            0.0
        }
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Spikes(self.clone())))
    }

    fn mean(&self) -> f64 {
        let area = self.peak.as_secs_f64() * (self.lasts.as_secs_f64() + self.recovery.as_secs_f64() / 2.0);
        area / self.every.as_secs_f64()
    }

    fn check(&self, problems: &mut Problems) {
        if self.lasts + self.recovery == Span::ZERO {
            problems.add("lasts", "is 0 s, as is recovery; allowed: one of them above 0 s");
        }
        if self.every <= self.lasts + self.recovery {
            let least = self.lasts + self.recovery;
            problems
                .add("every", format!("is {}; allowed: above {least}, the duration of a spike", self.every));
        }
    }
}
