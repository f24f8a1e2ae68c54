//! Minstrel: chooses the rates with the highest measured throughput, and tries another rate with
//! one frame in ten.
//!
//! For each rate, the fraction P_period of acknowledged transmissions is measured in periods of 100
//! ms. Its average is P = (1 - e) P_period + e P_previous with e = 0.75. P stays the same in a
//! period without transmissions. The throughput of a rate is P / t, where t is the airtime of a
//! frame of 1200 bytes. In the throughput, values of P below 0.1 count as 0, and values above 0.95
//! count as 0.95.
//!
//! A frame is sent at up to four rates in turn. At each rate, it is sent as often as fits into 6
//! ms, and at least twice:
//!
//! | | first | second | third | fourth |
//! | --- | --- | --- | --- | --- |
//! | normally | best throughput | second best | best probability | slowest |
//! | one in ten, if the random rate is faster | random | best throughput | best probability | slowest |
//! | one in ten, if it is slower | best throughput | random | best probability | slowest |
//!
//! Source: the description of the algorithm in the documentation of the MadWifi driver (D.
//! Smithies) and of Linux's mac80211. The defaults are listed in
//! `tests/authorities/wifi/rate_adaptation_defaults.csv`.
//!
//! Deviations: the random rate is drawn uniformly, not from a table. HT rates are treated like
//! other rates, without the groups of Linux's `minstrel_ht`.
//!
//! ```toml
//! adaptation = "minstrel"
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{Fraction, Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minstrel: chooses the rates with the highest measured throughput, and tries another rate with
/// one frame in ten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Length of the periods in which rates are measured; 100 ms by default (Linux).
    pub interval: Span,
    /// Weight of earlier periods in the average fraction of acknowledged frames; 0.75 by default
    /// (Linux).
    pub ewma: Fraction,
    /// Fraction of frames that try another rate; 0.1 by default (Linux).
    pub look_around: Fraction,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            interval: Span::from_millis(100),
            ewma: Fraction::thousandths(750),
            look_around: Fraction::thousandths(100),
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"interval = "50 ms""#;
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        let statistics = rates.iter().map(|speed| RateStatistics {
            seconds: speed.airtime.as_secs_f64(),
            attempts: (SEGMENT / speed.airtime).clamp(2, 10) as u32,
            probability: None,
            sent: 0,
            acknowledged: 0,
        });
        let fastest = rates.len() - 1;
        Box::new(Minstrel {
            config: self.clone(),
            rates: statistics.collect(),
            ends: Time::ZERO,
            best: [0, 0, 0],
            chain: [fastest, fastest, 0, 0],
        })
    }

    fn check(&self, _rates: &[Speed], problems: &mut Problems) {
        if self.interval == Span::ZERO {
            problems.add("interval", "0 s is not a period; allowed: more than 0 s");
        }
    }
}

/// Maximum time for which a frame is sent at one rate before the next rate is tried.
const SEGMENT: Span = Span::from_millis(6);

struct RateStatistics {
    /// Airtime of a frame of 1200 bytes, in seconds.
    seconds: f64,
    /// Number of transmissions of a frame at this rate before the next rate is tried.
    attempts: u32,
    /// Average fraction of acknowledged frames; `None` before the first measurement.
    probability: Option<f64>,
    /// Number of frames sent in the current period.
    sent: u32,
    /// Number of frames acknowledged in the current period.
    acknowledged: u32,
}

impl RateStatistics {
    fn throughput(&self) -> f64 {
        let probability = self.probability.unwrap_or(0.0);
        if probability < 0.1 {
            return 0.0;
        }
        probability.min(0.95) / self.seconds
    }
}

struct Minstrel {
    config: Config,
    rates: Vec<RateStatistics>,
    /// End of the current period.
    ends: Time,
    /// Positions of the rates with the best throughput, the second best throughput, and the best
    /// probability, in this order.
    best: [usize; 3],
    /// Positions of the rates at which the current frame is sent in turn.
    chain: [usize; 4],
}

impl Minstrel {
    fn update_statistics(&mut self) {
        let old = self.config.ewma.value();
        for rate in self.rates.iter_mut().filter(|rate| rate.sent > 0) {
            let now = f64::from(rate.acknowledged) / f64::from(rate.sent);
            rate.probability = Some(rate.probability.map_or(now, |known| (1.0 - old) * now + old * known));
            (rate.sent, rate.acknowledged) = (0, 0);
        }
        let (mut first, mut second, mut most_reliable) = (0, 0, 0);
        for index in 1..self.rates.len() {
            let of = |index: usize| self.rates[index].throughput();
            if of(index) > of(first) {
                (first, second) = (index, first);
            } else if second == first || of(index) > of(second) {
                second = index;
            }
            // Among rates with few losses, the fastest one counts as the most reliable.
            let certain = |index: usize| self.rates[index].probability.unwrap_or(0.0);
            let better = match certain(index) >= 0.95 && certain(most_reliable) >= 0.95 {
                true => of(index) > of(most_reliable),
                false => certain(index) > certain(most_reliable),
            };
            if better {
                most_reliable = index;
            }
        }
        self.best = [first, second, most_reliable];
    }
}

impl Adapter for Minstrel {
    fn choose(&mut self, now: Time, attempt: u32, stream: &mut Stream) -> Choice {
        if now >= self.ends {
            self.update_statistics();
            self.ends = now + self.config.interval;
        }
        if attempt == 0 {
            let [first, second, most_reliable] = self.best;
            self.chain = [first, second, most_reliable, 0];
            if stream.chance(self.config.look_around.value()) {
                let random = (stream.uniform() * self.rates.len() as f64) as usize;
                let faster = self.rates[random].seconds < self.rates[first].seconds;
                self.chain = if faster {
                    [random, first, most_reliable, 0]
                } else {
                    [first, random, most_reliable, 0]
                };
            }
        }
        let mut left = attempt;
        for rate in self.chain {
            let attempts = self.rates[rate].attempts;
            if left < attempts {
                return Choice { rate, rts: false };
            }
            left -= attempts;
        }
        Choice { rate: 0, rts: false }
    }

    fn record_outcome(&mut self, _now: Time, rate: usize, _attempt: u32, outcome: Outcome) {
        let (sent, acknowledged) = outcome.frames();
        self.rates[rate].sent += sent;
        self.rates[rate].acknowledged += acknowledged;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rates;
    use super::*;
    use bentpipe_core::Streams;

    /// Returns how often each rate is used in the last of `seconds`. Each attempt takes 2 ms and
    /// succeeds with the probability of its rate in `success`.
    fn used(seconds: u64, success: [f64; 4]) -> [u32; 4] {
        let mut adapter = Config::default().build(&rates());
        let mut stream = Streams::new(3, 0).stream("adaptation");
        let (mut used, mut attempt) = ([0; 4], 0);
        for step in 0..seconds * 500 {
            let now = Time::ZERO + Span::from_millis(2 * step);
            let rate = adapter.choose(now, attempt, &mut stream).rate;
            let arrived = stream.chance(success[rate]);
            let outcome = match arrived {
                true => Outcome::Acknowledged { sent: 1, acknowledged: 1 },
                false => Outcome::Unanswered { sent: 1 },
            };
            adapter.record_outcome(now, rate, attempt, outcome);
            attempt = if arrived || attempt == 6 { 0 } else { attempt + 1 };
            if step >= (seconds - 1) * 500 {
                used[rate] += 1;
            }
        }
        used
    }

    #[test]
    fn the_rate_with_the_best_throughput_carries_most_frames() {
        for (success, best) in [
            ([1.0, 1.0, 1.0, 1.0], 3),
            // A frame of 1200 bytes takes 9.79, 4.99, 1.94 and 1.06 ms at the four rates.
            ([1.0, 1.0, 1.0, 0.3], 2),
            ([1.0, 1.0, 0.9, 0.6], 3),
            ([1.0, 0.9, 0.0, 0.0], 1),
            ([0.9, 0.0, 0.0, 0.0], 0),
        ] {
            let used = used(10, success);
            let share = f64::from(used[best]) / 500.0;
            // One frame in ten tries another rate. A lost frame is retransmitted at a fast rate up
            // to five times.
            assert!(share > 0.5, "{success:?}: {used:?}");
        }
    }

    #[test]
    fn a_lost_frame_falls_back_along_the_chain_to_the_slowest_rate() {
        let mut adapter =
            Config { look_around: Fraction::thousandths(0), ..Config::default() }.build(&rates());
        let mut stream = Streams::new(3, 0).stream("adaptation");
        for rate in 0..4 {
            let acknowledged = [10, 10, 8, 5][rate];
            adapter.record_outcome(Time::ZERO, rate, 0, Outcome::Acknowledged { sent: 10, acknowledged });
        }
        let chain: Vec<usize> =
            (0..13).map(|attempt| adapter.choose(Time::ZERO, attempt, &mut stream).rate).collect();
        // The throughputs are 1/9.79, 1/4.99, 0.8/1.94 and 0.5/1.06. The best rate is 11 Mbit/s,
        // the second best is 5.5 Mbit/s, and the most reliable is 2 Mbit/s (5.5 Mbit/s loses 20 %).
        // In 6 ms, a frame is sent 5, 3 and at least 2 times at these rates.
        assert_eq!(chain, [3, 3, 3, 3, 3, 2, 2, 2, 1, 1, 0, 0, 0]);
    }
}
