//! ONOE: a rate adaptation that evaluates retransmissions once per second and raises the rate after
//! ten good seconds.
//!
//! At the end of each period in which frames were sent, ONOE applies the first rule that matches:
//!
//! - If no frame was acknowledged, or if at least 10 frames were sent with more than one
//!   retransmission per frame on average, the rate falls by one step and the credits are reset to
//!   zero.
//! - If fewer than 10 % of the frames needed a retransmission, the period is *good* and earns one
//!   credit. With ten credits, the rate rises by one step and the credits are reset to zero.
//! - Otherwise, the rate loses one credit.
//!
//! Source: the description of the ONOE algorithm in the documentation of the MadWifi driver, and M.
//! Lacage, "Experimentation Tools for Networking Research", thesis 2010, section on rate control.
//! The defaults are those of ns-3.
//!
//! ```toml
//! adaptation = "onoe"
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{Count, Fraction, Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ONOE (MadWifi): a slow rate adaptation, which evaluates retransmissions once per second and
/// raises the rate after enough good periods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Length of a period in which retransmissions are counted; 1 s by default.
    pub period: Span,
    /// Number of credits for a step up; 10 by default. Each good period earns one credit.
    pub credits: Count<1, 1000>,
    /// Limit on retransmissions in a good period, 0.1 by default: a period is good if a smaller
    /// fraction of its frames needed a retransmission.
    pub retries: Fraction,
}

impl Default for Config {
    fn default() -> Config {
        Config { period: Span::from_secs(1), credits: Count::new(10), retries: Fraction::thousandths(100) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"period = "500 ms", credits = 2"#;
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        Box::new(Onoe {
            config: self.clone(),
            highest: rates.len() - 1,
            rate: 0,
            credits: 0,
            period_end: None,
            acknowledged: 0,
            retried: 0,
            retransmissions: 0,
            frames: 0,
        })
    }

    fn check(&self, _rates: &[Speed], problems: &mut Problems) {
        if self.period == Span::ZERO {
            problems.add("period", "0 s is not a period; allowed: more than 0 s");
        }
    }
}

struct Onoe {
    config: Config,
    highest: usize,
    rate: usize,
    credits: u64,
    /// End of the current period; `None` before the first frame.
    period_end: Option<Time>,
    /// Frames that were transmitted for the first time in this period.
    frames: u64,
    /// Transmissions that were acknowledged in this period.
    acknowledged: u64,
    /// Frames that were retransmitted for the first time in this period.
    retried: u64,
    /// Retransmissions in this period.
    retransmissions: u64,
}

/// Minimum number of frames in a period for a meaningful average of retransmissions per frame.
const MIN_FRAMES: u64 = 10;

impl Onoe {
    fn update_statistics(&mut self) {
        let failing = self.acknowledged == 0;
        let costly = self.frames >= MIN_FRAMES && self.retransmissions > self.frames;
        if self.frames + self.retransmissions == 0 {
            return;
        }
        if failing || costly {
            (self.rate, self.credits) = (self.rate.saturating_sub(1), 0);
        } else if (self.retried as f64) < self.config.retries.value() * self.frames as f64 {
            self.credits += 1;
            if self.credits >= self.config.credits.value() {
                (self.rate, self.credits) = ((self.rate + 1).min(self.highest), 0);
            }
        } else {
            self.credits = self.credits.saturating_sub(1);
        }
        (self.frames, self.acknowledged, self.retried, self.retransmissions) = (0, 0, 0, 0);
    }
}

impl Adapter for Onoe {
    fn choose(&mut self, now: Time, _attempt: u32, _stream: &mut Stream) -> Choice {
        let period_end = *self.period_end.get_or_insert(now + self.config.period);
        if now >= period_end {
            self.update_statistics();
            self.period_end = Some(now + self.config.period);
        }
        Choice { rate: self.rate, rts: false }
    }

    fn record_outcome(&mut self, _now: Time, _rate: usize, attempt: u32, outcome: Outcome) {
        match attempt {
            0 => self.frames += 1,
            _ => self.retransmissions += 1,
        }
        self.retried += u64::from(attempt == 1);
        self.acknowledged += u64::from(outcome.success() == Some(true));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rates;
    use super::*;
    use bentpipe_core::Streams;

    /// Returns the rate in each second when one frame is sent every 20 ms. In second `s`, every
    /// n-th frame needs one retransmission if `retried_every(s)` is `Some(n)`.
    fn course(seconds: u64, retried_every: impl Fn(u64) -> Option<u64>) -> Vec<usize> {
        let mut adapter = Config::default().build(&rates());
        let mut stream = Streams::new(1, 0).stream("adaptation");
        let mut course = Vec::new();
        for frame in 0..seconds * 50 {
            let now = Time::ZERO + Span::from_millis(20 * frame);
            let rate = adapter.choose(now, 0, &mut stream).rate;
            if frame % 50 == 0 {
                course.push(rate);
            }
            let retried = retried_every(frame / 50).is_some_and(|every| frame % every == 0);
            if retried {
                adapter.record_outcome(now, rate, 0, Outcome::Unanswered { sent: 1 });
            }
            let attempt = u32::from(retried);
            adapter.record_outcome(now, rate, attempt, Outcome::Acknowledged { sent: 1, acknowledged: 1 });
        }
        course
    }

    #[test]
    fn ten_good_seconds_raise_the_rate_and_a_bad_second_costs_a_credit() {
        let good = course(31, |_| None);
        assert_eq!(good, [vec![0; 10], vec![1; 10], vec![2; 10], vec![3]].concat());
        // Five bad seconds remove the credits of the five good seconds before them.
        let mixed = course(21, |second| (5..10).contains(&second).then_some(5));
        assert_eq!(mixed, [vec![0; 20], vec![1]].concat());
    }

    #[test]
    fn a_second_without_acknowledgments_lowers_the_rate() {
        let mut adapter = Config::default().build(&rates());
        let mut stream = Streams::new(1, 0).stream("adaptation");
        let mut rate = 0;
        for frame in 0..1300_u64 {
            let now = Time::ZERO + Span::from_millis(20 * frame);
            rate = adapter.choose(now, 0, &mut stream).rate;
            let outcome = match frame < 1100 {
                true => Outcome::Acknowledged { sent: 1, acknowledged: 1 },
                false => Outcome::Unanswered { sent: 1 },
            };
            adapter.record_outcome(now, rate, 0, outcome);
        }
        // Two steps up in the first 22 s; one step down after each of the seconds 23, 24 and 25.
        assert_eq!(rate, 0);
    }
}
