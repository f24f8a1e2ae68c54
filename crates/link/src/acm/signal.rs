//! The signal of a receiver over time: its Es/N0 in clear sky, reduced by fades, and the noise of
//! the feeder link.
//!
//! A [`Fade`] is a table of samples by time with a column per receiver. Each sample holds until the
//! next:
//!
//! ```text
//! time,st1,st2,gw
//! 0,0,0.2,0
//! 1,0.4,0.2,0
//! 2,1.3,0.3,0.1
//! ```
//!
//! With E the Es/N0 in clear sky, A the attenuation of the receiver's own link and F that of the
//! feeder link (the column of the gateway), all in dB, the signal is E - A - F. This is exact for a
//! transparent satellite if all noise is the receiver's and rain only attenuates. If the Es/N0 of
//! the feeder link in clear sky is given (E'), its noise counts as well: the signal is then -10
//! log10(10^(-(E - A)/10) + 10^(-(E' - F)/10)).
//!
//! Limits: the noise temperature of rain is part of the attenuation (an effective attenuation, if
//! the series includes it). The signal is that of the moment at which a packet arrives, so a fade
//! of the feeder link acts one propagation delay late.

use super::Decibel;
use crate::series::Table;
use bentpipe_core::{math, Problems, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A fade: attenuation or Es/N0 of receivers as a time series.
///
/// ```toml
/// fade = { samples = { file = "storm.csv" } }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { samples = { file = \"storm.csv\" } }")]
pub struct Fade {
    /// The samples: a table, comma-separated text or a Parquet file. Column `time` contains seconds
    /// from 0, ascending. There is one column per terminal, named after its node (or the `name` of
    /// a group of terminals). The gateway's column is the feeder link. On a link between two nodes,
    /// the receiver's column is its own link and the sender's the feeder link. Values are in dB.
    /// Each sample lasts until the next; before the first sample the sky is clear. In a series of
    /// regular steps, a longer step is refused as a gap.
    pub samples: Table,
    /// Meaning of the values: `"attenuation"` in dB (the default) or `"esn0"`, the Es/N0 itself in
    /// dB. A column of the feeder link may contain Es/N0 only if `feeder_esn0_db` is given.
    #[serde(default)]
    pub quantity: Quantity,
    /// Period after which the series restarts, longer than the time of the last sample. If unset,
    /// the last sample lasts until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
}

/// Meaning of the values of a fade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// Attenuation in dB, subtracted from the Es/N0 in clear sky.
    #[default]
    Attenuation,
    /// Es/N0 in dB, which replaces that in clear sky.
    Esn0,
}

/// The maximum attenuation of a series, in dB.
const MAX_ATTENUATION_DB: f64 = 200.0;

/// The allowed column names of a fade.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// Receivers and groups of receivers.
    pub receivers: &'a [&'a str],
    /// The end of the feeder link.
    pub feeder: &'a str,
    /// True if columns of other receivers are ignored, provided that one of these is present.
    pub others: bool,
}

impl Fade {
    /// Adds the problems of this fade. With `separate`, the noise of the feeder link counts
    /// separately.
    pub fn check(&self, columns: Columns<'_>, separate: bool, problems: &mut Problems) {
        let allowed = &[columns.receivers, &[columns.feeder]].concat()[..];
        problems.within("samples", |problems| {
            let own = allowed.iter().any(|name| self.samples.column(name).is_some());
            if !own || !columns.others {
                self.samples.check(allowed, &[], problems);
            }
            self.samples.check_gaps(problems);
            let feeder = self.samples.column(columns.feeder).is_some();
            if feeder && !separate && self.quantity == Quantity::Esn0 {
                let (line, name) = (self.samples.head(), columns.feeder);
                let message = format!(
                    "line {line}: column \"{name}\" is the Es/N0 of the feeder link, but only the Es/N0 of the whole path is known; \
                     allowed: with feeder_esn0_db, or without this column"
                );
                problems.add("", message);
            }
            let (min, max, what) = match self.quantity {
                Quantity::Attenuation => (0.0, MAX_ATTENUATION_DB, "attenuation"),
                Quantity::Esn0 => (-MAX_ATTENUATION_DB, MAX_ATTENUATION_DB, "Es/N0"),
            };
            for name in allowed {
                for (row, value) in self.samples.column(name).unwrap_or_default().iter().enumerate() {
                    if !(min..=max).contains(value) {
                        let line = self.samples.line(row);
                        let message = format!(
                            "line {line}: the {what} of {name} is {value} dB; allowed: {min} to {max}"
                        );
                        return problems.add("", message);
                    }
                }
            }
        });
        let end = self.samples.times().last().map_or(Span::ZERO, |last| last.since(Time::ZERO));
        if self.repeat.is_some_and(|repeat| repeat <= end) {
            problems.add("repeat", format!("must be longer than the time of the last sample, {end}"));
        }
    }

    fn track(&self, name: &str) -> Option<Track> {
        let values = self.samples.column(name)?.into();
        Some(Track { times: self.samples.times().into(), values, repeat: self.repeat })
    }
}

/// One column of a fade.
#[derive(Clone, Debug)]
struct Track {
    times: Arc<[Time]>,
    values: Arc<[f64]>,
    repeat: Option<Span>,
}

impl Track {
    /// Returns the start of the current repetition of the series at `now`, and the time within it.
    fn pass(&self, now: Time) -> (Time, Time) {
        let Some(repeat) = self.repeat else { return (Time::ZERO, now) };
        let begun = repeat * (now.since(Time::ZERO) / repeat);
        (Time::ZERO + begun, Time::ZERO + (now.since(Time::ZERO) - begun))
    }

    /// Returns the value at `now`; `None` before the first sample.
    fn at(&self, now: Time) -> Option<f64> {
        let (begun, within) = self.pass(now);
        match self.times.partition_point(|at| *at <= within) {
            // The last sample lasts until the series restarts.
            0 if begun > Time::ZERO => self.values.last().copied(),
            0 => None,
            next => Some(self.values[next - 1]),
        }
    }

    /// Returns the time of the next sample after `now`.
    fn after(&self, now: Time) -> Option<Time> {
        let (begun, within) = self.pass(now);
        match self.times.get(self.times.partition_point(|at| *at <= within)) {
            Some(at) => Some(begun + at.since(Time::ZERO)),
            None => Some(begun + self.repeat? + self.times[0].since(Time::ZERO)),
        }
    }
}

/// Es/N0 in clear sky, in dB, of both links.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clear {
    /// Es/N0 of the receiver's own link, or of the whole path if the feeder link's is not given.
    pub own: f64,
    /// Es/N0 of the feeder link, if its noise counts separately.
    pub feeder: Option<f64>,
}

impl Clear {
    /// Creates the Es/N0 in clear sky from the keys of a scenario.
    pub fn new(own: Decibel, feeder: Option<Decibel>) -> Clear {
        Clear { own: own.value(), feeder: feeder.map(Decibel::value) }
    }
}

/// The signal of one receiver, as a function of time.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Es/N0 in clear sky, with the times from which it applies.
    clear: Vec<(Time, Clear)>,
    own: Option<Track>,
    feeder: Option<Track>,
    quantity: Quantity,
}

impl Signal {
    /// Creates the signal of a receiver behind `gateway`. The receiver's column in `fade` is the
    /// first of `names` that exists.
    pub fn new(clear: Clear, fade: Option<&Fade>, names: &[&str], gateway: &str) -> Signal {
        let track = |name: &str| fade.and_then(|fade| fade.track(name));
        Signal {
            clear: vec![(Time::ZERO, clear)],
            own: names.iter().find_map(|name| track(name)),
            feeder: track(gateway),
            quantity: fade.map_or(Quantity::default(), |fade| fade.quantity),
        }
    }

    /// Sets the Es/N0 in clear sky from `now` on.
    pub fn set_clear(&mut self, now: Time, clear: Clear) {
        self.clear.push((now, clear));
    }

    /// Returns the Es/N0 in dB at `now`.
    pub fn at(&self, now: Time) -> f64 {
        let known = self.clear.partition_point(|(since, _)| *since <= now).max(1);
        let clear = self.clear[known - 1].1;
        let faded = |clear: f64, track: &Option<Track>| match (
            track.as_ref().and_then(|track| track.at(now)),
            self.quantity,
        ) {
            (None, _) => clear,
            (Some(value), Quantity::Attenuation) => clear - value,
            (Some(value), Quantity::Esn0) => value,
        };
        match clear.feeder {
            None => faded(0.0, &self.feeder) + faded(clear.own, &self.own),
            Some(feeder) => sum(faded(clear.own, &self.own), faded(feeder, &self.feeder)),
        }
    }

    /// Returns the time of the next possible change after `now`.
    pub fn after(&self, now: Time) -> Option<Time> {
        let tracks = [&self.own, &self.feeder].into_iter().flatten().filter_map(|track| track.after(now));
        let clear = self.clear.get(self.clear.partition_point(|(since, _)| *since <= now));
        tracks.chain(clear.map(|(since, _)| *since)).min()
    }
}

/// Returns the signal-to-noise ratio of two links in series, in dB: their noises add up.
pub fn sum(one: f64, other: f64) -> f64 {
    let noise = |ratio: f64| math::powf(10f64, -ratio / 10.0);
    -10.0 * math::log10(noise(one) + noise(other))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn fade(text: &str, more: &str) -> Fade {
        serde_json::from_str(&format!(r#"{{"samples": {}{more}}}"#, serde_json::to_string(text).unwrap()))
            .unwrap()
    }

    fn seconds(at: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(at)
    }

    #[test]
    fn fades_of_both_links_reduce_the_signal() {
        let fade = fade("time,a,gw\n1,3,0\n2,5,2\n", r#", "repeat": "10 s""#);
        let signal = Signal::new(Clear { own: 12.0, feeder: None }, Some(&fade), &["a"], "gw");
        let at = |at| signal.at(seconds(at));
        assert_eq!([0.0, 1.0, 1.9, 2.0, 9.9].map(at), [12.0, 9.0, 9.0, 5.0, 5.0]);
        // The series restarts. Until its first sample, the last one lasts.
        assert_eq!([10.5, 11.0, 22.0].map(at), [5.0, 9.0, 5.0]);
        assert_eq!(
            [0.0, 1.0, 2.0, 11.5].map(|now| signal.after(seconds(now))),
            [1.0, 2.0, 11.0, 12.0].map(|at| Some(seconds(at)))
        );
        let other = Signal::new(Clear { own: 12.0, feeder: None }, Some(&fade), &["b", "c"], "gw");
        assert_eq!(other.at(seconds(2.0)), 10.0, "the feeder link fades for all");
    }

    #[test]
    fn noise_of_the_feeder_link_adds_up() {
        let signal = Signal::new(Clear { own: 10.0, feeder: Some(10.0) }, None, &["a"], "gw");
        // Twice the noise: 10 log10 2 = 3.0103 dB less.
        assert!((signal.at(Time::ZERO) - 6.9897).abs() < 1e-4);
        assert_eq!(signal.after(Time::ZERO), None);
    }

    #[test]
    fn a_series_with_gaps_or_impossible_values_is_refused_with_its_line() {
        let found = |text: &str, more: &str| {
            let mut problems = Problems::default();
            fade(text, more).check(
                Columns { receivers: &["a"], feeder: "gw", others: false },
                false,
                &mut problems,
            );
            problems.into_vec().into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(found("time,a\n0,1\n1,2\n2,3\n3,3\n", ""), "");
        assert_eq!(found("time,a\n0,1\n7,2\n8,3\n90,3\n", ""), "", "without regular steps there are no gaps");
        let gap = found("# made by hand\ntime,a\n0,1\n1,2\n2,3\n3,3\n4,3\n9,3\n10,3\n", "");
        assert!(gap.contains("line 8") && gap.contains("gap"), "{gap}");
        let negative = found("time,a\n0,1\n1,-2\n", "");
        assert!(negative.contains("line 3") && negative.contains("-2"), "{negative}");
        assert_eq!(found("time,a\n0,1\n1,-2\n", r#", "quantity": "esn0""#), "");
        assert!(found("time,b\n0,1\n", "").contains("allowed: time, a, gw"));
        assert_eq!(found("time,a,gw\n0,1,1\n", ""), "");
        let feeder = found("# made by hand\ntime,a,gw\n0,9,20\n", r#", "quantity": "esn0""#);
        assert!(feeder.contains("line 2") && feeder.contains("feeder_esn0_db"), "{feeder}");
        assert!(found("time,a\n0,1\n5,1\n", r#", "repeat": "5 s""#).contains("longer"));
        for (text, word) in [
            ("time,a\n0,1\n1,nan\n", "line 3"),
            ("time,a\n1,1\n0.5,1\n", "line 3"),
            ("time,a\n0,\n", "line 2"),
        ] {
            let error = Table::parse(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
