//! The algorithm of Moon et al. (S. Moon, J. Kurose, D. Towsley, "Packet audio playout delay
//! adjustment: performance bounds and algorithms", Multimedia Systems 6, 1998). The playout delay
//! is a percentile of the delays of the most recent packets. During a delay spike, the playout
//! delay follows the delays of the spike's packets.
//!
//! A spike begins with a packet whose delay exceeds `head` times the playout delay, and ends with
//! one whose delay is at most `tail` times the playout delay before the spike. Packets of a spike
//! are not counted for the percentile. The playout delay of a talk spurt that begins in a spike is
//! the delay of its first packet. For all other talk spurts, it is the percentile.
//!
//! Delays are counted in classes of 1 ms, from 0. The percentile is the upper end of its class. A
//! delay that is negative because of differing clocks counts as 0.
//!
//! The paper itself was not available. Its abstract confirms the percentile of recent delays, kept
//! for each talk spurt, and a detection of spikes that extends the method of Ramjee et al. The
//! window of 10000 packets and the factors 4 and 2 are unconfirmed.

use super::{Buffer, Playout};
use bentpipe_core::{Count, Problems, Real, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// An adaptive de-jitter buffer: the algorithm of Moon et al. 1998, a percentile of recent delays,
/// with detection of delay spikes.
///
/// ```toml
/// playout = { kind = "moon", percentile = 98 }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Percentile of the recent delays that is used as the playout delay, above 0 and at most 100.
    /// Default 99: 1 % of the packets may be late.
    pub percentile: Real<1000, 100_000>,
    /// Number of packets in the window of recent delays. Default 10000.
    pub window: Count<1, 1_000_000>,
    /// Start of a spike, as a multiple of the playout delay: a packet with a longer delay begins a
    /// spike. Default 4.
    pub head: Real<1000, 1_000_000>,
    /// End of a spike, as a multiple of the playout delay before the spike: a packet with at most
    /// this delay ends the spike. Default 2; at most `head`.
    pub tail: Real<1000, 1_000_000>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            percentile: Real::thousandths(99_000),
            window: Count::new(10_000),
            head: Real::thousandths(4000),
            tail: Real::thousandths(2000),
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "percentile = 95, window = 500";
}

impl Playout for Config {
    fn build(&self) -> Box<dyn Buffer> {
        Box::new(Percentile {
            config: self.clone(),
            delays: VecDeque::new(),
            counts: BTreeMap::new(),
            playout: 0,
            spike: None,
        })
    }

    fn check(&self, problems: &mut Problems) {
        if self.tail.value() > self.head.value() {
            problems
                .add("tail", "must not exceed head: a spike would end with the packet with which it begins");
        }
    }
}

/// Width of a class of delays in nanoseconds.
const CLASS: i64 = 1_000_000;

struct Percentile {
    config: Config,
    /// Classes of the recent delays, the oldest first.
    delays: VecDeque<u32>,
    counts: BTreeMap<u32, u32>,
    /// Playout delay of the current talk spurt, in nanoseconds.
    playout: i64,
    /// Playout delay before the spike, in nanoseconds; `None` outside a spike.
    spike: Option<i64>,
}

impl Percentile {
    fn count(&mut self, transit: i64) {
        if self.delays.len() as u64 == self.config.window.value() {
            if let Some(oldest) = self.delays.pop_front() {
                let left = self.counts.entry(oldest).or_default();
                *left -= 1;
                if *left == 0 {
                    self.counts.remove(&oldest);
                }
            }
        }
        let class = u32::try_from(transit.max(0) / CLASS).unwrap_or(u32::MAX);
        self.delays.push_back(class);
        *self.counts.entry(class).or_default() += 1;
    }

    fn percentile(&self) -> i64 {
        let wanted = self.config.percentile.value() / 100.0 * self.delays.len() as f64;
        let mut count = 0;
        for (class, more) in &self.counts {
            count += more;
            if f64::from(count) >= wanted {
                return (i64::from(*class) + 1) * CLASS;
            }
        }
        0
    }
}

impl Buffer for Percentile {
    fn observe(&mut self, transit: i64, first: bool) {
        let beyond = |factor: f64, playout: i64| transit as f64 > factor * playout as f64;
        match self.spike {
            Some(found) if !beyond(self.config.tail.value(), found) => self.spike = None,
            Some(_) => {}
            None if self.playout > 0 && beyond(self.config.head.value(), self.playout) => {
                self.spike = Some(self.playout)
            }
            None => self.count(transit),
        }
        if first {
            self.playout = if self.spike.is_some() { transit } else { self.percentile() };
        }
    }

    fn delay(&self) -> i64 {
        self.playout
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, delays};

    #[test]
    fn the_playout_delay_is_a_percentile_and_spikes_are_followed() {
        let config: super::Config = serde_json::from_str(r#"{"percentile": 50, "window": 4}"#).unwrap();
        let packets = [10.5, 20.5, 30.5, 40.5, 50.5, 400.5, 90.5, 50.5].map(|transit| (transit, true));
        // The medians of the last four delays, as upper ends of classes of 1 ms, are 11, 11, 21,
        // 21, and then 31 for 20, 30, 40 and 50. The delay 400.5 exceeds 4 x 31 and begins a spike,
        // which lasts while the delay exceeds 2 x 31. The delay 50.5 ends the spike. None of these
        // packets is counted.
        assert_close(&delays(&config, &packets), &[11.0, 11.0, 21.0, 21.0, 31.0, 400.5, 90.5, 31.0]);
    }
}
