//! Time series of a link's rate, delay and loss: a table of samples, each of which lasts until the
//! next.
//!
//! ```text
//! time,rate,delay,loss
//! 0,12000000,0.02,0
//! 1.5,3000000,0.04,0.01
//! ```
//!
//! Times are in seconds from 0, rates in bit/s, one-way delays in seconds, losses as probabilities
//! per packet. Each sample is a change as described for [links](crate). Missing columns, and all
//! columns before the first sample, keep the values of the link's own keys. A rate of 0 is treated
//! as 1 bit/s, at which nothing passes either: waiting packets resume when the rate returns.
//!
//! A Parquet file with these columns is equivalent to the table. `bentpipe trace` converts between
//! the two, and from and to mahimahi traces.

use crate::channel;
use bentpipe_core::{Fraction, Problems, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rate, delay and loss of a link as a time series, which replaces the link's own values from the
/// first sample on.
///
/// ```toml
/// trace = { samples = { file = "lte.csv" }, repeat = "60 s" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { samples = { file = \"lte.csv\" } }")]
#[schemars(rename = "Trace")]
pub struct Config {
    /// The samples: a table, comma-separated text or a Parquet file, with `time` in seconds from 0
    /// and at least one of `rate` in bit/s, `delay` in seconds one way, and `loss` as a probability
    /// from 0 to 1. Each sample lasts until the next.
    pub samples: Table,
    /// Period after which the series restarts, longer than the time of the last sample. If unset,
    /// the last sample lasts until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
}

const COLUMNS: [&str; 3] = ["rate", "delay", "loss"];
/// Maximum rate of a scenario, 100 Tbit/s.
const RATE: f64 = 1e14;
/// Maximum delay in seconds.
const DELAY: f64 = 1e6;

impl Config {
    /// Adds the problems of this configuration.
    pub fn check(&self, problems: &mut Problems) {
        problems.within("samples", |problems| {
            self.samples.check(&COLUMNS, &[], problems);
            for (name, max) in [("rate", RATE), ("delay", DELAY), ("loss", 1.0)] {
                for (row, value) in self.samples.column(name).unwrap_or_default().iter().enumerate() {
                    if !(0.0..=max).contains(value) {
                        let line = self.samples.line(row);
                        let message = format!("line {line}: {name} is {value}; allowed: 0 to {max}");
                        return problems.add("", message);
                    }
                }
            }
        });
        let end = self.samples.times.last().map_or(Span::ZERO, |last| last.since(Time::ZERO));
        if self.repeat.is_some_and(|repeat| repeat <= end) {
            problems.add("repeat", format!("must be longer than the time of the last sample, {end}"));
        }
    }

    /// Returns true if the series sets this key of the link: `rate`, `delay` or `error`.
    pub fn drives(&self, key: &str) -> bool {
        self.samples.column(if key == "error" { "loss" } else { key }).is_some()
    }

    /// Creates the playback for a link with this rate and delay before the first sample.
    pub fn build(&self, rate: Rate, delay: Span) -> Playback {
        let column = |name| self.samples.column(name).map(<[f64]>::to_vec);
        Playback {
            times: self.samples.times.clone(),
            rates: column("rate"),
            delays: column("delay"),
            losses: column("loss"),
            repeat: self.repeat,
            began: Time::ZERO,
            next: 0,
            rate,
            delay,
            loss: None,
        }
    }
}

/// The position of a link in its series.
pub struct Playback {
    times: Vec<Time>,
    rates: Option<Vec<f64>>,
    delays: Option<Vec<f64>>,
    losses: Option<Vec<f64>>,
    repeat: Option<Span>,
    /// Start of the current repetition of the series.
    began: Time,
    next: usize,
    rate: Rate,
    delay: Span,
    loss: Option<f64>,
}

/// The values that apply from now on.
pub struct Sample {
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Span,
    /// Error process, if it differs from the previous one.
    pub error: Option<channel::Config>,
}

impl Playback {
    /// Returns the time of the next sample.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.times.get(self.next).map(|at| self.began + at.since(Time::ZERO))
    }

    /// Sets the rate and the delay of the link's own keys, and returns those that apply now. A
    /// column of the series takes precedence over its key.
    pub fn set(&mut self, rate: Rate, delay: Span) -> (Rate, Span) {
        if self.rates.is_none() {
            self.rate = rate;
        }
        if self.delays.is_none() {
            self.delay = delay;
        }
        (self.rate, self.delay)
    }

    /// Returns the last of the samples that are due, if any is due.
    pub fn take(&mut self, now: Time) -> Option<Sample> {
        let mut error = None;
        let mut taken = false;
        while self.next().is_some_and(|at| at <= now) {
            let row = self.next;
            taken = true;
            if let Some(rates) = &self.rates {
                self.rate = Rate::from_bits_per_second(rates[row].round().max(1.0) as u64);
            }
            if let Some(delays) = &self.delays {
                self.delay = Span::from_secs_f64(delays[row]);
            }
            if let Some(loss) = self.losses.as_ref().map(|losses| losses[row]) {
                if self.loss.replace(loss) != Some(loss) {
                    let probability = Fraction::new(loss).expect("losses are checked");
                    let effect = channel::Effect::default();
                    error = Some(channel::Config::Packet(channel::packet::Config { probability, effect }));
                }
            }
            self.next += 1;
            if let (true, Some(repeat)) = (self.next == self.times.len(), self.repeat) {
                self.began += repeat;
                self.next = 0;
            }
        }
        taken.then_some(Sample { rate: self.rate, delay: self.delay, error })
    }
}

/// Samples by time, parsed from comma-separated text. Its first line names the columns, `time`
/// first. Lines that start with # are comments.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    text: String,
    times: Vec<Time>,
    names: Vec<String>,
    /// Line number of the header in the text, from 1.
    head: u32,
    /// Values of each column, in the order of time.
    values: Vec<Vec<f64>>,
    /// Line number of each sample in the text, from 1.
    lines: Vec<u32>,
}

/// Maximum time of a sample in seconds, a hundred years.
const LONGEST: f64 = 3.2e9;

impl Table {
    /// Parses the text of a time series.
    ///
    /// # Errors
    /// Returns the faulty line and the allowed values.
    pub fn parse(text: &str) -> Result<Table, String> {
        let mut lines = (1..).zip(text.lines().map(str::trim));
        let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (head_line, head) =
            lines.next().ok_or("is empty; allowed: a line of column names, then samples")?;
        let names: Vec<String> = head.split(',').map(|name| name.trim().to_owned()).collect();
        if names[0] != "time" || names.len() < 2 {
            return Err(format!("starts with \"{head}\"; allowed: a line of column names, time first"));
        }
        let mut table = Table {
            text: text.to_owned(),
            times: Vec::new(),
            head: head_line,
            values: vec![Vec::new(); names.len() - 1],
            lines: Vec::new(),
            names: names[1..].to_vec(),
        };
        for (number, line) in lines {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != names.len() {
                let (found, wanted) = (cells.len(), names.len());
                return Err(format!(
                    "line {number} has {found} values; allowed: {wanted}, as in the first line"
                ));
            }
            let mut values = Vec::with_capacity(cells.len());
            for (name, cell) in names.iter().zip(cells) {
                match cell.parse::<f64>() {
                    Ok(value) if value.is_finite() => values.push(value),
                    _ => return Err(format!("line {number}: {name} is \"{cell}\"; allowed: a number")),
                }
            }
            if !(0.0..LONGEST).contains(&values[0]) {
                return Err(format!("line {number}: time is {}; allowed: seconds from 0", values[0]));
            }
            let time = Time::ZERO + Span::from_secs_f64(values[0]);
            if table.times.last().is_some_and(|last| *last >= time) {
                return Err(format!(
                    "line {number}: time is {}; allowed: later than the line before",
                    values[0]
                ));
            }
            table.times.push(time);
            table.lines.push(number);
            table.values.iter_mut().zip(&values[1..]).for_each(|(column, value)| column.push(*value));
        }
        match table.times.is_empty() {
            true => Err("has no samples; allowed: at least one".to_owned()),
            false => Ok(table),
        }
    }

    /// Returns the times of the samples.
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// Returns the line number of the header in the text, from 1.
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Returns the line number of a sample in the text, from 1.
    pub fn line(&self, sample: usize) -> u32 {
        self.lines[sample]
    }

    /// Adds a problem for a gap: the series has regular steps (three quarters of them equal the
    /// median), and one step is longer than 1.5 times the median.
    pub fn check_gaps(&self, problems: &mut Problems) {
        let steps: Vec<Span> = self.times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        let mut sorted = steps.clone();
        sorted.sort_unstable();
        let Some(&median) = sorted.get(steps.len() / 2) else { return };
        let regular = |step: &&Span| step.as_nanos().abs_diff(median.as_nanos()) <= median.as_nanos() / 100;
        if 4 * steps.iter().filter(regular).count() < 3 * steps.len() {
            return;
        }
        let gap = steps.iter().position(|step| 2 * step.as_nanos() > 3 * median.as_nanos());
        if let Some(gap) = gap {
            let (line, from) = (self.lines[gap + 1], self.times[gap].as_secs_f64());
            let message = format!(
                "line {line}: a gap of {} after {from} s in a series with steps of {median}; allowed: a sample at each step",
                steps[gap]
            );
            problems.add("", message);
        }
    }

    /// Returns the values of a column; `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        self.names.iter().position(|one| one == name).map(|place| &self.values[place][..])
    }

    /// Adds a problem for each column that is not allowed, and for each that is missing.
    pub fn check(&self, allowed: &[&str], needed: &[&str], problems: &mut Problems) {
        for (place, name) in self.names.iter().enumerate() {
            if !allowed.contains(&name.as_str()) || self.names[..place].contains(name) {
                let allowed = allowed.join(", ");
                problems.add(
                    "",
                    format!("unknown or repeated column \"{name}\"; allowed: time, {allowed}, each once"),
                );
            }
        }
        for name in needed.iter().filter(|name| self.column(name).is_none()) {
            problems.add("", format!("missing column \"{name}\"; allowed: one column per link"));
        }
    }
}

bentpipe_core::document!(Table, "samples", "comma-separated samples");
