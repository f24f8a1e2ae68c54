//! Random early detection with thresholds in bytes, and with the parameters of Linux's `tc-red(8)`:
//! limit, min, max, probability, average packet, burst and bandwidth.
//!
//! [`super::early`] computes the average and the probabilities, from the waiting bytes. The weight
//! of an arrival is not a key but follows from `burst`. It is the greatest power of 1/2 with which
//! the average stays at or below `min` when `burst` packets of the average size arrive at an empty
//! queue (Floyd and Jacobson 1993, section 5, equation 4):
//!
//! L + 1 + ((1 - w)^(L+1) - 1) / w <= min / typical
//!
//! ```toml
//! queue = { kind = "red-bytes", limit = "75 kB", min = "7500 B", max = "22500 B", burst = 12 }
//! ```
//!
//! Deviation: `tc-red` compares with the limit before the packet in transmission has left. Here
//! only waiting packets count.

use super::early::{self, Average, Curve, Spread};
use super::{Admission, Backlog, Discipline, Queue, Verdict};
use bentpipe_core::{math, Count, Dscp, Fraction, Problems, Rate, Sample, Size, Stream, Time};
use bentpipe_stage::{facts, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random early detection (Floyd and Jacobson 1993) with limits in bytes and the parameters of
/// Linux's `tc-red`: drops or marks packets with a probability that grows with the average queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting bytes. Default 75 kB. Packets that would exceed it are dropped.
    pub limit: Size,
    /// Average queue above which packets are dropped or marked at random (min_th). If unset, a
    /// third of `max`, as in `tc-red`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Size>,
    /// Average queue at which the linear slope of the drop probability ends (max_th), greater than
    /// `min`. Above it all packets are dropped. If unset, a quarter of `limit`, as in `tc-red`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Size>,
    /// Drop probability just below `max` (max_p), 0 to 1. Default 0.02, as in `tc-red`.
    pub probability: Fraction,
    /// Average packet size (`avpkt` of `tc-red`), 1 B to 65535 B. With `burst` it determines the
    /// weight of an arrival. During idle time the average decays as if such packets were sent.
    /// Default 1500 B.
    pub typical: Size,
    /// Number of packets that may arrive at once at an empty queue without raising the average
    /// above `min`, at least `min` / `typical`. If unset, (2 `min` + `max`) / (3 `typical`), as
    /// `tc-red` recommends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Count<1, 1_000_000>>,
    /// Rate at which the average decays during idle time. If unset, the link's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Rate>,
    /// True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default
    /// false, as in `tc-red`.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limit: Size::from_bytes(75_000),
            min: None,
            max: None,
            probability: Fraction::thousandths(20),
            typical: Size::from_bytes(1500),
            burst: None,
            bandwidth: None,
            ecn: false,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"limit = "60 kB", min = "6 kB", max = "18 kB", typical = "1000 B""#;
}

impl Config {
    fn max(&self) -> u64 {
        self.max.map_or(self.limit.bytes() / 4, Size::bytes)
    }

    fn min(&self) -> u64 {
        self.min.map_or(self.max() / 3, Size::bytes)
    }

    fn burst(&self) -> u64 {
        let recommended = || (2 * self.min() + self.max()).div_ceil(3 * self.typical.bytes());
        self.burst.map_or_else(recommended, Count::value)
    }

    /// Returns the greatest power of 1/2 with which the average of a burst at an empty queue stays
    /// at or below `min`; `None` if no power down to 2^-31 does.
    fn weight(&self) -> Option<f64> {
        let arrivals = self.burst() as f64;
        let min_packets = self.min() as f64 / self.typical.bytes() as f64;
        let after = |weight: f64| arrivals + 1.0 + (math::powf(1.0 - weight, arrivals + 1.0) - 1.0) / weight;
        (1..32).map(|exponent| 0.5f64.powi(exponent)).find(|weight| after(*weight) <= min_packets)
    }
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        let weight = self.weight().and_then(Fraction::new).expect("the configuration has been checked");
        let curve = Curve {
            min: self.min() as f64,
            max: self.max() as f64,
            max_probability: self.probability.value(),
            gentle: false,
        };
        Queue::Arrival(Box::new(RedBytes {
            limit: self.limit.bytes(),
            curve,
            average: Average::new(weight, self.typical, self.bandwidth.unwrap_or(rate)),
            spread: Spread::default(),
            follows: self.bandwidth.is_none().then_some(self.typical),
            ecn: self.ecn,
        }))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        let note = "red-bytes drops or marks packets before the queue is full".to_owned();
        facts::Queue { notes: vec![note], ..facts::Queue::fifo("red-bytes", None, Some(self.limit.bytes())) }
    }

    fn check(&self, problems: &mut Problems) {
        early::check_typical(self.typical, problems);
        let (min, max, limit) = (self.min(), self.max(), self.limit.bytes());
        if self.typical.bytes() == 0 {
            return;
        }
        if min == 0 || min >= max {
            problems.add("max", format!("{max} B; allowed: greater than min ({min} B), which is above 0 B"));
        } else if max >= limit {
            problems.add("limit", format!("{limit} B; allowed: greater than max ({max} B)"));
        } else if self.weight().is_none() {
            problems.add(
                "burst",
                format!(
                    "{} packets at once need an average that hardly moves; allowed: fewer packets, or a \
                                           greater min",
                    self.burst()
                ),
            );
        } else if self.burst() * self.typical.bytes() < min {
            let min_packets = min.div_ceil(self.typical.bytes());
            problems.add(
                "burst",
                format!(
                    "{} packets are less than min ({min} B); allowed: at least {min_packets}",
                    self.burst()
                ),
            );
        }
    }
}

/// The state of RED with thresholds in bytes.
struct RedBytes {
    limit: u64,
    curve: Curve,
    average: Average,
    spread: Spread,
    /// Size of the packets by which the average decays, if it decays at the rate of the link.
    follows: Option<Size>,
    ecn: bool,
}

impl Admission for RedBytes {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: Backlog, stream: &mut Stream) -> Verdict {
        let average = self.average.update(now, backlog.bytes, backlog);
        let fate = self.spread.decide(&self.curve, average, stream);
        let room = backlog.bytes + u64::from(packet.size) <= self.limit;
        early::verdict(fate, room, self.ecn, packet)
    }

    fn set_rate(&mut self, rate: Rate) {
        if let Some(typical) = self.follows {
            self.average.set_rate(typical, rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    /// Returns the configuration of the platform study: limit 75000, min 7500, max 22500,
    /// probability 0.1, average packet 1500, burst 12.
    fn panel() -> Config {
        serde_json::from_str(
            r#"{"limit": "75 kB", "min": "7500 B", "max": "22500 B", "probability": 0.1, "typical": "1500 B", "burst": 12, "bandwidth": "10 Mbit/s"}"#,
        )
        .unwrap()
    }

    fn problems(text: &str) -> String {
        let mut problems = Problems::default();
        serde_json::from_str::<Config>(text).unwrap().check(&mut problems);
        problems.into_vec().into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn the_weight_follows_from_the_burst() {
        // With w = 1/16: 13 + (0.9375^13 - 1) / 0.0625 = 3.915 packets, at most 5; with 1/8: 13 +
        // (0.875^13 - 1) / 0.125 = 6.41.
        assert_eq!(panel().weight(), Some(1.0 / 16.0));
        // Floyd and Jacobson: with min_th of 5 packets, a w_q of 0.0042 allows bursts of 50
        // packets. So 1/256 (0.0039) does, and 1/128 (0.0078) does not.
        let fifty = Config {
            min: Some(Size::from_bytes(5000)),
            max: Some(Size::from_bytes(15_000)),
            burst: Some(Count::new(50)),
            typical: Size::from_bytes(1000),
            ..Config::default()
        };
        assert_eq!(fifty.weight(), Some(1.0 / 256.0));
    }

    #[test]
    fn thresholds_and_limit_count_bytes() {
        let Queue::Arrival(mut red) = panel().build(Rate::from_bits_per_second(2_000_000)) else { panic!() };
        let mut stream = Streams::new(1, 0).stream("red");
        let mut offer = |bytes: u64, size: u32| {
            let backlog = Backlog { packets: bytes.div_ceil(1500), bytes, ..Backlog::default() };
            let mut packet = Packet { size, ..Packet::default() };
            red.admit(Time::from_nanos(1), &mut packet, backlog, &mut stream)
        };
        // A burst of 12 at an empty queue passes, then a few packets at 75 000 B: nothing fits
        // above the limit, at any average.
        for waiting in 0..12 {
            assert!(matches!(offer(1500 * waiting, 1500), Verdict::Admit), "{waiting}");
        }
        assert!(matches!(offer(75_000 - 40, 40), Verdict::Admit | Verdict::Drop(early::EARLY)));
        // Average 3.9 packets, then 75 kB with w = 1/16 and 75 kB again: 10 219 B and 14 268 B,
        // between the thresholds.
        assert!(matches!(offer(75_000, 40), Verdict::Drop(_)));
        // After some time the average exceeds max, and everything is dropped.
        for _ in 0..40 {
            let _either = offer(60_000, 1500);
        }
        for _ in 0..20 {
            assert!(matches!(offer(60_000, 1500), Verdict::Drop(early::FORCED)));
        }
        // Conversely, nothing is dropped at an average below min.
        for _ in 0..100 {
            let _either = offer(1500, 1500);
        }
        for _ in 0..1000 {
            assert!(matches!(offer(7000, 1500), Verdict::Admit));
        }
    }

    #[test]
    fn between_the_thresholds_the_drop_fraction_follows_the_slope() {
        let Queue::Arrival(mut red) = panel().build(Rate::from_bits_per_second(2_000_000)) else { panic!() };
        let mut stream = Streams::new(1, 0).stream("red");
        // A queue of 15 000 B is in the middle: p_b = 0.05. Packets between drops are uniform on 1
        // to 1 / p_b - 1 = 19, with mean 10.
        let backlog = Backlog { packets: 10, bytes: 15_000, ..Backlog::default() };
        let mut dropped = 0;
        for number in 0..210_000 {
            let mut packet = Packet { size: 1500, ..Packet::default() };
            let verdict = red.admit(Time::from_nanos(number), &mut packet, backlog, &mut stream);
            dropped += u32::from(matches!(verdict, Verdict::Drop(early::EARLY)));
        }
        // 21 000 packets, with a gap's deviation of 5.48: 21 000 / 10 * 5.48 / sqrt(21 000) = 79,
        // times five.
        assert!((20_600..21_400).contains(&dropped), "{dropped}");
    }

    #[test]
    fn defaults_equal_those_of_tc_and_invalid_values_are_refused() {
        let config = Config { limit: Size::from_bytes(120_000), ..Config::default() };
        assert_eq!((config.max(), config.min(), config.burst()), (30_000, 10_000, 12));
        assert_eq!(problems("{}"), "");
        assert!(problems(r#"{"min": "9 kB", "max": "9 kB"}"#).contains("greater than min"));
        assert!(problems(r#"{"limit": "20 kB", "max": "30 kB"}"#).contains("greater than max"));
        assert!(problems(r#"{"min": "7500 B", "typical": "1500 B", "burst": 4}"#).contains("at least 5"));
        assert!(problems(r#"{"typical": "0 B"}"#).contains("1 B to 65535 B"));
    }
}
