//! Errors by a trace: the recorded outcomes of frames in order, repeated from the beginning after
//! the last.
//!
//! The trace is comma-separated text whose first line names the columns. Column `lost` contains 0
//! for a received frame and 1 for a lost frame. With a column `frames`, a row represents that many
//! consecutive frames; otherwise one. Other columns are ignored. Empty lines and lines that start
//! with # are skipped.
//!
//! ```text
//! lost,frames
//! 0,1250
//! 1,3
//! ```
//!
//! `start` is the frame with which a run begins. By default it is drawn at random, because
//! otherwise every replication would have the same losses at the same times. Each transmission
//! takes the next outcome. If `interval` gives the time between the recorded frames, the trace
//! advances with time instead, and a transmission takes the last outcome that was recorded before
//! it.
//!
//! ```toml
//! error = { kind = "trace", outcomes = { file = "office.csv" } }
//! ```
//!
//! `bentpipe trace` converts between rows and run lengths. `bentpipe fit` finds processes similar
//! to a trace.

use super::{Channel, Effect, Process};
use bentpipe_core::{Count, Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Errors by a trace: packets are corrupted where the frames of a recording were lost. The
/// recording repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The outcomes: a comma-separated table with a column `lost`, 0 or 1, and a row per frame.
    /// With a further column `frames`, each row is a run of frames of the same outcome. At least
    /// one frame must be received and one lost. A file may have up to 4 MiB; `bentpipe trace`
    /// shortens a table to its runs.
    pub outcomes: Outcomes,
    /// Number of the frame with which the run begins, from 1. Drawn at random if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Count<1, 1_000_000_000_000>>,
    /// Time between the recorded frames. If set, the trace advances with time, and a packet takes
    /// the outcome that was recorded last. If unset, each packet takes the next outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

/// The outcomes of frames, as runs of frames with the same outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcomes {
    /// The runs as text, which is shorter than one row per frame.
    text: String,
    /// True if the frames of the first run were lost. Runs alternate.
    lost_first: bool,
    /// Number of frames up to the end of each run.
    ends: Arc<[u64]>,
}

impl Outcomes {
    /// Parses the text of a frame trace.
    ///
    /// # Errors
    /// Returns the faulty line and the allowed values.
    pub fn parse(text: &str) -> Result<Outcomes, String> {
        let mut lines = (1..).zip(text.lines().map(str::trim));
        let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (_, head) = lines.next().ok_or("is empty; allowed: a line of column names, then frames")?;
        let names: Vec<&str> = head.split(',').map(str::trim).collect();
        let column = |wanted: &str| names.iter().position(|name| *name == wanted);
        let lost_at = column("lost").ok_or_else(|| {
            format!("has the columns \"{head}\"; allowed: a column lost, and frames for run lengths")
        })?;
        let frames_at = column("frames");
        let mut runs: Vec<(bool, u64)> = Vec::new();
        for (number, line) in lines {
            let cell = |at: usize| line.split(',').nth(at).map(str::trim).unwrap_or_default();
            let lost = match cell(lost_at) {
                "0" => false,
                "1" => true,
                other => return Err(format!("line {number}: lost is \"{other}\"; allowed: 0 or 1")),
            };
            let frames = match frames_at.map(|at| (cell(at), cell(at).parse::<u64>())) {
                None => 1,
                Some((_, Ok(frames @ 1..=1_000_000_000_000))) => frames,
                Some((text, _)) => {
                    return Err(format!(
                        "line {number}: frames is \"{text}\"; allowed: a whole number from 1"
                    ))
                }
            };
            match runs.last_mut() {
                Some((last, length)) if *last == lost => *length += frames,
                _ => runs.push((lost, frames)),
            }
        }
        match runs[..] {
            [] => return Err("has no frames; allowed: at least one received and one lost".to_owned()),
            [(lost, _)] => {
                let all = if lost { "all of its frames lost" } else { "no frame lost" };
                return Err(format!("has {all}; allowed: at least one received and one lost"));
            }
            _ => {}
        }
        let mut text = "lost,frames\n".to_owned();
        runs.iter().for_each(|(lost, frames)| text += &format!("{},{frames}\n", u8::from(*lost)));
        let mut end = 0;
        let mut upto = |(_, frames): &(bool, u64)| {
            end += frames;
            end
        };
        Ok(Outcomes { text, lost_first: runs[0].0, ends: runs.iter().map(&mut upto).collect() })
    }

    /// Returns the number of frames in the trace.
    pub fn frames(&self) -> u64 {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Returns true if the frames of a run were lost.
    fn lost(&self, run: usize) -> bool {
        self.lost_first == (run & 1 == 0)
    }

    /// Returns the index of the run that contains a frame.
    fn run_of(&self, frame: u64) -> usize {
        self.ends.partition_point(|end| *end <= frame)
    }

    /// Returns the number of lost frames among the first `frames`.
    fn lost_among(&self, frames: u64) -> u64 {
        let begin = |run: usize| if run == 0 { 0 } else { self.ends[run - 1] };
        let part = |run: usize| self.ends[run].min(frames) - begin(run);
        (0..self.ends.len()).filter(|run| self.lost(*run) && begin(*run) < frames).map(part).sum()
    }
}

bentpipe_core::document!(Outcomes, "outcomes", "comma-separated outcomes of frames");

struct Playback {
    outcomes: Outcomes,
    start: Option<u64>,
    interval: Option<Span>,
    /// The next frame and its run; `None` before the first packet.
    at: Option<(u64, usize)>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "outcomes = \"lost,frames\\n0,40\\n1,3\\n0,7\\n1,1\\n\", start = 30";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Playback {
            outcomes: self.outcomes.clone(),
            start: self.start.map(|start| start.value() - 1),
            interval: self.interval,
            at: None,
        }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, packets: u64, _bytes: f64) -> f64 {
        let all = self.outcomes.frames();
        let of_all = self.outcomes.lost_among(all) as f64 / all as f64;
        let Some(start) = self.start.filter(|_| self.interval.is_none() && (1..all).contains(&packets))
        else {
            return of_all;
        };
        // At most one pass, from the start.
        let (first, end) = (start.value() - 1, start.value() - 1 + packets);
        let among = |frames: u64| self.outcomes.lost_among(frames.min(all));
        let again = if end > all { among(end - all) } else { 0 };
        (among(end) - among(first) + again) as f64 / packets as f64
    }

    fn check(&self, problems: &mut Problems) {
        let frames = self.outcomes.frames();
        if self.start.is_some_and(|start| start.value() > frames) {
            problems
                .add("start", format!("is beyond the trace; allowed: 1 to {frames}, its number of frames"));
        }
        if self.interval == Some(Span::ZERO) {
            problems.add("interval", "must be longer than 0 s".to_owned());
        }
    }
}

impl Process for Playback {
    fn corrupts(&mut self, now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        let all = self.outcomes.frames();
        let start = match self.start {
            Some(start) => start,
            None => *self.start.insert((stream.uniform() * all as f64) as u64 % all),
        };
        let (frame, mut run) = match (self.interval, self.at) {
            (None, Some(at)) => at,
            (None, None) => (start, self.outcomes.run_of(start)),
            (Some(interval), _) => {
                let passed = now.since(Time::ZERO).as_nanos() / interval.as_nanos();
                let frame = (start + passed % all) % all;
                (frame, self.outcomes.run_of(frame))
            }
        };
        let lost = self.outcomes.lost(run);
        let next = (frame + 1) % all;
        run = if next == 0 { 0 } else { run + usize::from(next == self.outcomes.ends[run]) };
        self.at = Some((next, run));
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    fn config(text: &str, more: serde_json::Value) -> Config {
        let mut keys = serde_json::json!({ "outcomes": text });
        keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(keys).unwrap()
    }

    const ROWS: &str = "time,lost\n0.0,0\n0.1,0\n\n# a pause\n0.2,1\n0.3,1\n0.4,0\n";

    #[test]
    fn rows_and_run_lengths_give_the_same_repeating_trace() {
        let rows = config(ROWS, serde_json::json!({"start": 2}));
        assert_eq!(rows.outcomes, Outcomes::parse("lost,frames\n0,2\n1,1\n1,1\n0,1").unwrap());
        let (mut process, mut stream) = (rows.build().unwrap(), Streams::new(1, 0).stream("trace"));
        let mut next = || u8::from(process.corrupts(Time::ZERO, 1000, &mut stream));
        assert_eq!([0; 11].map(|_| next()), [0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0]);
        for packets in [1, 3, 4, 7, 5] {
            let (mut process, mut stream) = (rows.build().unwrap(), Streams::new(1, 0).stream("trace"));
            let lost =
                (0..packets).filter(|_| process.corrupts(Time::ZERO, 1000, &mut stream)).count() as f64;
            let expected = if packets < 5 { lost / packets as f64 } else { 0.4 };
            assert!((rows.expected_loss(packets, 1000.0) - expected).abs() < 1e-12, "{packets}");
        }
    }

    #[test]
    fn a_random_start_is_uniform_and_depends_on_the_seed() {
        let config = config("lost,frames\n0,3\n1,1", serde_json::json!({}));
        let mut lost = 0;
        for seed in 0..4000 {
            let mut stream = Streams::new(seed, 0).stream("trace");
            lost += u32::from(config.build().unwrap().corrupts(Time::ZERO, 1000, &mut stream));
        }
        assert!((900..1100).contains(&lost), "{lost}");
    }

    #[test]
    fn with_an_interval_the_trace_advances_with_time() {
        let config = config(ROWS, serde_json::json!({"start": 1, "interval": "5 ms"}));
        let (mut process, mut stream) = (config.build().unwrap(), Streams::new(1, 0).stream("trace"));
        for (ms, lost) in
            [(0, 0), (9, 0), (10, 1), (11, 1), (19, 1), (20, 0), (25, 0), (36, 1), (5_000_010, 1)]
        {
            let now = Time::ZERO + Span::from_millis(ms);
            assert_eq!(u8::from(process.corrupts(now, 1000, &mut stream)), lost, "{ms}");
        }
    }

    #[test]
    fn invalid_traces_are_refused_with_their_line() {
        for (text, expected) in [
            ("", "is empty"),
            ("lost\n", "has no frames"),
            ("lost\n0\n0\n", "has no frame lost"),
            ("lost\n1\n", "has all of its frames lost"),
            ("loss\n1\n", "has the columns \"loss\""),
            ("lost\n0\n\nnan\n", "line 4: lost is \"nan\"; allowed: 0 or 1"),
            ("lost\n0.5\n", "line 2: lost is \"0.5\""),
            ("lost\n-1\n", "line 2: lost is \"-1\""),
            ("time,lost\n0,1\n1\n", "line 3: lost is \"\""),
            ("lost,frames\n0,2\n1,0\n", "line 3: frames is \"0\"; allowed: a whole number from 1"),
            ("lost,frames\n0,1.5\n", "line 2: frames is \"1.5\""),
        ] {
            let error = Outcomes::parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
