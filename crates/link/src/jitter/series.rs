//! Jitter by a time series of samples, each of which lasts until the next.
//!
//! ```text
//! time,extra
//! 0,0.004
//! 15,0.013
//! ```

use super::{Jitter, Process};
use crate::series::Table;
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Extra delay as a time series.
///
/// ```toml
/// jitter = { kind = "series", samples = { file = "rtt.csv" } }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The samples: a table, comma-separated text or a Parquet file, with `time` and `extra`, both
    /// in seconds from 0. Each sample lasts until the next; there is no extra delay before the
    /// first. In a series of regular steps, a longer step is refused as a gap.
    pub samples: Table,
    /// Period after which the series restarts, longer than the time of the last sample. If unset,
    /// the last sample lasts until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"samples = "time,extra\n0,0.004\n3,0.013\n", repeat = "5 s""#;
}

struct Series {
    times: Vec<Time>,
    extras: Vec<f64>,
    repeat: Option<Span>,
}

impl Process for Series {
    fn extra(&mut self, now: Time, _stream: &mut Stream) -> f64 {
        let since = now.since(Time::ZERO);
        let begun = self.repeat.map_or(Span::ZERO, |repeat| repeat * (since / repeat));
        let within = Time::ZERO + (since - begun);
        match self.times.partition_point(|at| *at <= within) {
            0 if begun == Span::ZERO => 0.0,
            0 => self.extras[self.extras.len() - 1],
            next => self.extras[next - 1],
        }
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        let extras = self.samples.column("extra").expect("the columns are checked").to_vec();
        Some(Box::new(Series { times: self.samples.times().to_vec(), extras, repeat: self.repeat }))
    }

    fn mean(&self) -> f64 {
        let (times, extras) = (self.samples.times(), self.samples.column("extra").unwrap_or_default());
        // In a series that restarts, the last sample lasts until the first sample of the next
        // repetition.
        let end = self.repeat.map(|repeat| times[0] + repeat).or(times.last().copied()).unwrap_or(Time::ZERO);
        let ends = times.iter().skip(1).copied().chain([end]);
        let parts = times
            .iter()
            .zip(ends)
            .zip(extras)
            .map(|((from, to), extra)| extra * to.since(*from).as_secs_f64());
        let (whole, length) = (parts.sum::<f64>(), end.since(times[0]).as_secs_f64());
        if length > 0.0 {
            whole / length
        } else {
            extras[0]
        }
    }

    fn check(&self, problems: &mut Problems) {
        problems.within("samples", |problems| {
            self.samples.check(&["extra"], &["extra"], problems);
            self.samples.check_gaps(problems);
            let extras = self.samples.column("extra").unwrap_or_default().iter().enumerate();
            if let Some((row, extra)) = extras.clone().find(|(_, extra)| !(0.0..=3600.0).contains(*extra)) {
                let line = self.samples.line(row);
                problems.add("", format!("line {line}: extra is {extra}; allowed: 0 to 3600 s"));
            }
        });
        let end = self.samples.times().last().map_or(Span::ZERO, |last| last.since(Time::ZERO));
        if self.repeat.is_some_and(|repeat| repeat <= end) {
            problems.add("repeat", format!("must be longer than the time of the last sample, {end}"));
        }
    }
}
