//! Handovers by load. The links are in order of preference, the cheapest first. At the end of each period the load of a link is what
//! was to be sent in the period over what the link carries in it, in the direction where that is more. When the load of the link
//! that serves is above `high`, the next one takes over; when that of the one before it would be below `low`, that one does.
//!
//! A TCP flow without end fills whatever link it has, so it stays on the last link: loads of flows that want a rate tell them apart.

use super::{Choice, Direction, Handover, Order, Policy, View};
use bentpipe_core::{Fraction, Problems, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By load.
///
/// ```toml
/// policy = { kind = "load", period = "1 s", high = 0.9, low = 0.5 }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Over what time load is measured.
    pub period: Span,
    /// Load above which the next link takes over.
    pub high: Fraction,
    /// Load below which the link before would be for it to take over.
    pub low: Fraction,
}

impl Default for Config {
    fn default() -> Config {
        let share = |value| Fraction::new(value).expect("the defaults are shares");
        Config { period: Span::from_secs(1), high: share(0.9), low: share(0.5) }
    }
}

impl Choice for Config {
    fn build(
        &self,
        _links: &[String],
        handover: Handover,
        _schedule: Vec<(Time, Order)>,
        _stream: Stream,
    ) -> Box<dyn Policy> {
        Box::new(Load { config: self.clone(), handover, offered: [0; 2], next: Time::ZERO + self.period })
    }

    fn check(&self, links: &[String], problems: &mut Problems) {
        if self.period == Span::ZERO {
            problems.add("period", "0 s is no time to measure in; allowed: more than 0 s");
        }
        if self.low.value() >= self.high.value() {
            let (low, high) = (self.low.value(), self.high.value());
            problems.add("low", format!("{low} is not below high, {high}; allowed: less than that"));
        }
        if links.len() < 2 {
            problems.add("", "there is no other link to hand over to; allowed: at least two links");
        }
    }
}

struct Load {
    config: Config,
    handover: Handover,
    /// Up to the period's beginning.
    offered: [u64; 2],
    next: Time,
}

impl Policy for Load {
    fn next(&self) -> Option<Time> {
        Some(self.next)
    }

    fn decide(&mut self, now: Time, view: &View<'_>) -> Option<Order> {
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
        (up || down).then_some(Order { to, direction: Direction::Both, handover: self.handover })
    }
}
