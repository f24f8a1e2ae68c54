//! Handovers by signal strength. A handover starts when the signal of another link has exceeded the
//! signal of the serving link by the hysteresis for the time to trigger. This is event A3 of 3GPP
//! TS 36.331, section 5.5.4.4, with a single value for offset and hysteresis, and without
//! filtering.
//!
//! The signals are given as a text table of samples. Each sample is valid until the next:
//!
//! ```text
//! time,satellite,wifi
//! 0,8.5,-20
//! 12.5,8.5,14
//! ```

use super::{Choice, Decision, Direction, Handover, Policy, View};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use bentpipe_link::series::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handovers by signal strength: a link takes over when its signal has been stronger than that of
/// the serving link by a margin for some time (event A3 of 3GPP TS 36.331, section 5.5.4.4).
///
/// ```toml
/// policy = { kind = "signal", samples = { file = "signal.csv" }, hysteresis = 3.0, time_to_trigger = "640 ms" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The signal of each link: a comma-separated table with a column `time` in seconds, from 0,
    /// and one column in dB or dBm per link, which has the link's name. Each sample is valid until
    /// the next.
    pub samples: Table,
    /// Margin in dB by which another link's signal must be stronger, 3 dB by default; at least 0
    /// dB.
    #[serde(default = "default_hysteresis")]
    pub hysteresis: f64,
    /// Time for which the other signal must stay stronger by the margin before the handover starts,
    /// 0 s by default.
    #[serde(default)]
    pub time_to_trigger: Span,
}

fn default_hysteresis() -> f64 {
    3.0
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"samples = "time,one,two\n0,-60,-70\n5,-75,-65\n9,-60,-70\n""#;
}

impl Choice for Config {
    fn build(
        &self,
        links: &[String],
        handover: Handover,
        _schedule: Vec<(Time, Decision)>,
        _stream: Stream,
    ) -> Box<dyn Policy> {
        let columns = links
            .iter()
            .map(|link| self.samples.column(link).expect("the check requires a column for each link"));
        Box::new(Signal {
            times: self.samples.times().to_vec(),
            levels: columns.map(<[f64]>::to_vec).collect(),
            hysteresis: self.hysteresis,
            time_to_trigger: self.time_to_trigger,
            handover,
            sample: 0,
            stronger: vec![None; links.len()],
            next: Some(Time::ZERO),
        })
    }

    fn check(&self, links: &[String], problems: &mut Problems) {
        if !(self.hysteresis.is_finite() && self.hysteresis >= 0.0) {
            problems
                .add("hysteresis", format!("{} dB is out of range; allowed: 0 dB or more", self.hysteresis));
        }
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        problems.within("samples", |problems| self.samples.check(&links, &links, problems));
    }
}

struct Signal {
    times: Vec<Time>,
    /// Signal levels by link.
    levels: Vec<Vec<f64>>,
    hysteresis: f64,
    time_to_trigger: Span,
    handover: Handover,
    /// Index of the next sample.
    sample: usize,
    /// Start of the time for which each link's signal has exceeded the margin; `None` if it does
    /// not exceed the margin.
    stronger: Vec<Option<Time>>,
    next: Option<Time>,
}

impl Policy for Signal {
    fn next(&self) -> Option<Time> {
        self.next
    }

    fn decide(&mut self, now: Time, view: &View<'_>) -> Option<Decision> {
        while self.times.get(self.sample).is_some_and(|at| *at <= now) {
            self.sample += 1;
        }
        let serving = view.serving[0];
        let level = |link: usize| self.levels[link][self.sample.max(1) - 1];
        for (link, since) in self.stronger.iter_mut().enumerate() {
            let strong = link != serving && level(link) > level(serving) + self.hysteresis;
            *since = strong.then(|| since.unwrap_or(now));
        }
        let ready =
            |link: &usize| self.stronger[*link].is_some_and(|since| now.since(since) >= self.time_to_trigger);
        let best = (0..self.levels.len()).filter(ready).max_by(|a, b| level(*a).total_cmp(&level(*b)));
        if best.is_some() {
            self.stronger.fill(None);
        }
        let triggers = self.stronger.iter().flatten().map(|since| *since + self.time_to_trigger);
        let sample = self.times.get(self.sample).copied();
        // After a handover, the other links are compared with the new link at the next sample.
        self.next = triggers.chain(sample).min();
        best.map(|to| Decision { to, direction: Direction::Both, handover: self.handover })
    }
}
