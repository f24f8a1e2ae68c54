//! Random handovers: a semi-Markov process. Each stay on a link has an exponential distribution
//! with a mean that is set for this link. Every other link is equally likely to be the next. A stay
//! is at least as long as the interruption and the overlap, so that a handover is over before the
//! next one starts.
//!
//! With two links that have the mean stays a and b, the fraction of time on the first link tends to
//! a / (a + b) (alternating renewal process; Ross, "Introduction to Probability Models", section
//! 7.5.1).

use super::{Choice, Decision, Direction, Handover, Policy, View};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random handovers: exponentially distributed stays, after which any other link is equally likely
/// to take over.
///
/// ```toml
/// policy = { kind = "random", stay = ["30 s", "10 s"] }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean stay on each link, in the order of `links`; each longer than 0 s.
    pub stay: Vec<Span>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"stay = ["3 s", "2 s"]"#;
}

impl Choice for Config {
    fn build(
        &self,
        _links: &[String],
        handover: Handover,
        _schedule: Vec<(Time, Decision)>,
        stream: Stream,
    ) -> Box<dyn Policy> {
        let mut random = Random { stay: self.stay.clone(), handover, stream, next: Time::ZERO };
        random.stay_on(Time::ZERO, 0);
        Box::new(random)
    }

    fn check(&self, links: &[String], problems: &mut Problems) {
        if self.stay.len() != links.len() {
            let (given, links) = (self.stay.len(), links.len());
            problems.add("stay", format!("{given} values for {links} links; allowed: one per link"));
        }
        if self.stay.contains(&Span::ZERO) {
            problems.add("stay", "every stay must be longer than 0 s");
        }
        if links.len() < 2 {
            problems.add("", "needs another link to hand over to; allowed: at least two links");
        }
    }
}

struct Random {
    stay: Vec<Span>,
    handover: Handover,
    stream: Stream,
    next: Time,
}

impl Random {
    fn stay_on(&mut self, now: Time, link: usize) {
        let stay = self.stream.exponential(self.stay[link].as_secs_f64());
        // The handover to this link must be over before the next one starts.
        let min_stay = self.handover.interruption.max(self.handover.overlap) + Span::from_nanos(1);
        self.next = now + Span::from_secs_f64(stay).max(min_stay);
    }
}

impl Policy for Random {
    fn next(&self) -> Option<Time> {
        Some(self.next)
    }

    fn decide(&mut self, now: Time, view: &View<'_>) -> Option<Decision> {
        let others = self.stay.len() - 1;
        let drawn = ((self.stream.uniform() * others as f64) as usize).min(others - 1);
        let to = if drawn >= view.serving[0] { drawn + 1 } else { drawn };
        self.stay_on(now, to);
        Some(Decision { to, direction: Direction::Both, handover: self.handover })
    }
}
