//! Handovers by load. The links are in order of preference, the most preferred first. At the end of
//! each period, the load of a link is the amount of offered data divided by the amount that the
//! link can carry in a period. The direction with the higher load counts. If the load of the
//! serving link is above `high`, the next link takes over. If the load of the previous link would
//! be below `low`, the previous link takes over.
//!
//! An endless TCP flow fills any link, so it ends up on the last link and stays there. This policy
//! is meant for flows with a limited rate.

use super::{Choice, Decision, Direction, Handover, Policy, View};
use bentpipe_core::{Fraction, Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handovers by load: to the next link when the serving link is overloaded, and back to the
/// previous link when that link could carry the load.
///
/// ```toml
/// policy = { kind = "load", period = "1 s", high = 0.9, low = 0.5 }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Period over which load is measured, 1 s by default; must be longer than 0 s.
    pub period: Span,
    /// Load, as a fraction of the link's rate, above which the next link takes over; 0.9 by
    /// default.
    pub high: Fraction,
    /// Load of the previous link, if it carried the current traffic, below which it takes over
    /// again; 0.5 by default. Must be less than `high`.
    pub low: Fraction,
}

impl Default for Config {
    fn default() -> Config {
        let share = |value| Fraction::new(value).expect("the defaults are fractions");
        Config { period: Span::from_secs(1), high: share(0.9), low: share(0.5) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"period = "500 ms", high = 0.7, low = 0.3"#;
}

impl Choice for Config {
    fn build(
        &self,
        _links: &[String],
        handover: Handover,
        _schedule: Vec<(Time, Decision)>,
        _stream: Stream,
    ) -> Box<dyn Policy> {
        Box::new(Load { config: self.clone(), handover, offered: [0; 2], next: Time::ZERO + self.period })
    }

    fn check(&self, links: &[String], problems: &mut Problems) {
        if self.period == Span::ZERO {
            problems.add("period", "must be longer than 0 s");
        }
        if self.low.value() >= self.high.value() {
            let (low, high) = (self.low.value(), self.high.value());
            problems.add("low", format!("must be less than high ({high}), is {low}"));
        }
        if links.len() < 2 {
            problems.add("", "needs another link to hand over to; allowed: at least two links");
        }
    }
}

struct Load {
    config: Config,
    handover: Handover,
    /// Number of bytes offered before the current period, by side.
    offered: [u64; 2],
    next: Time,
}

impl Policy for Load {
    fn next(&self) -> Option<Time> {
        Some(self.next)
    }

    fn decide(&mut self, now: Time, view: &View<'_>) -> Option<Decision> {
        let bytes = [0, 1].map(|side| view.offered[side] - self.offered[side]);
        let load = |link: usize| {
            let of =
                |side: usize| bytes[side] as f64 / view.rates[link][side].bytes_in(self.config.period) as f64;
            of(0).max(of(1))
        };
        let serving = view.serving[0];
        let up = serving + 1 < view.rates.len() && load(serving) > self.config.high.value();
        let down = serving > 0 && load(serving - 1) < self.config.low.value();
        self.offered = view.offered;
        self.next = now + self.config.period.max(self.handover.interruption).max(self.handover.overlap);
        let to = if up { serving + 1 } else { serving.wrapping_sub(1) };
        (up || down).then_some(Decision { to, direction: Direction::Both, handover: self.handover })
    }
}
