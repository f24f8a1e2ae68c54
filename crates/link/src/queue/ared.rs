//! Adaptive RED (Floyd, Gummadi and Shenker 2001): sets its thresholds and its weight from the rate
//! and a target delay, and keeps the average in the middle between the thresholds by adapting
//! max_p.
//!
//! With C typical packets per second: min_th = max(5, target C / 2), max_th = 3 min_th, w_q = 1 -
//! exp(-1 / C) (section 5). Every 0.5 s (section 4, figure 2), max_p is adapted. If the average is
//! above min_th + 0.6 (max_th - min_th) and max_p at most 0.5, max_p grows by min(0.01, max_p / 4).
//! If the average is below min_th + 0.4 (max_th - min_th) and max_p at least 0.01, max_p falls to
//! 0.9 max_p. The slope is gentle.
//!
//! ```toml
//! queue = { kind = "ared", packets = 400, target = "100 ms" }
//! ```
//!
//! The queue is consulted only when packets arrive. Intervals that have passed since the last
//! arrival are processed then, with the average of that arrival.

use super::early::{self, Average, Curve, Packets, Spread};
use super::{Admission, Backlog, Discipline, Queue, Verdict};
use bentpipe_core::{math, Dscp, Fraction, Problems, Rate, Sample, Size, Span, Stream, Time};
use bentpipe_stage::{facts, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adaptive RED (Floyd, Gummadi and Shenker 2001): derives its thresholds and its weight from the
/// link's rate and a target delay, and adapts the drop probability so that the average queue stays
/// midway between the thresholds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting packets. Default 1000. Packets that arrive at a full queue are
    /// dropped.
    pub packets: Packets,
    /// Target average queueing delay, longer than 0 s. Default 5 ms, as in section 5 of the paper.
    pub target: Span,
    /// Size of a typical packet, 1 B to 65535 B, which converts the link's rate and `target` into
    /// packets. Default 500 B.
    pub typical: Size,
    /// True if packets of ECN-capable transports are marked instead of dropped (RFC 3168); on by
    /// default.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Config {
        let (packets, target) = (Packets::new(1000), Span::from_millis(5));
        Config { packets, target, typical: early::typical(), ecn: true }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"packets = 80, target = "40 ms""#;
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        Queue::Arrival(Box::new(Ared::new(self.clone(), rate)))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        facts::Queue::early("ared", self.packets.value())
    }

    fn check(&self, problems: &mut Problems) {
        early::check_typical(self.typical, problems);
        if self.target == Span::ZERO {
            problems.add("target", "must be longer than 0 s");
        }
    }
}

const INTERVAL: Span = Span::from_millis(500);
const INCREMENT: f64 = 0.01;
const DECREASE: f64 = 0.9;
/// Initial value of max_p.
const START: f64 = 0.1;

struct Ared {
    config: Config,
    curve: Curve,
    average: Average,
    spread: Spread,
    /// Time of the next adaptation of max_p.
    adapt: Time,
}

impl Ared {
    fn new(config: Config, rate: Rate) -> Ared {
        let (curve, weight) = settings(&config, rate, START);
        Ared {
            average: Average::new(weight, config.typical, rate),
            curve,
            spread: Spread::default(),
            adapt: Time::ZERO + INTERVAL,
            config,
        }
    }

    fn adapt(&mut self, now: Time) {
        let Curve { min, max, max_probability, .. } = &mut self.curve;
        let (low, high) = (*min + 0.4 * (*max - *min), *min + 0.6 * (*max - *min));
        let average = self.average.value();
        while self.adapt <= now {
            self.adapt += INTERVAL;
            if average > high && *max_probability <= 0.5 {
                *max_probability += INCREMENT.min(*max_probability / 4.0);
            } else if average < low && *max_probability >= 0.01 {
                *max_probability *= DECREASE;
            } else {
                // Nothing changes until the average changes.
                let missed = now.since(self.adapt).as_nanos() / INTERVAL.as_nanos();
                self.adapt += Span::from_nanos(missed * INTERVAL.as_nanos());
            }
        }
    }
}

/// Returns the thresholds and the weight for a link of this rate.
fn settings(config: &Config, rate: Rate, max_probability: f64) -> (Curve, Fraction) {
    let per_second = 1.0 / rate.span_of(config.typical.bytes()).as_secs_f64();
    let min = (config.target.as_secs_f64() * per_second / 2.0).max(5.0);
    let weight = Fraction::new(-math::exp_m1(-1.0 / per_second)).unwrap_or_default();
    (Curve { min, max: 3.0 * min, max_probability, gentle: true }, weight)
}

impl Admission for Ared {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: Backlog, stream: &mut Stream) -> Verdict {
        self.adapt(now);
        let average = self.average.update(now, backlog.packets, backlog);
        let fate = self.spread.decide(&self.curve, average, stream);
        let room = backlog.packets < self.config.packets.value();
        early::verdict(fate, room, self.config.ecn, packet)
    }

    fn set_rate(&mut self, rate: Rate) {
        let (curve, weight) = settings(&self.config, rate, self.curve.max_probability);
        self.curve = curve;
        self.average.set_rate(self.config.typical, rate);
        self.average.set_weight(weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn thresholds_and_weight_follow_from_rate_and_target() {
        // 1000 B at 8 Mbit/s: 1000 packets/s. 100 ms are 100 packets; the thresholds are 0.5 and
        // 1.5 times that.
        let config =
            Config { target: Span::from_millis(100), typical: Size::from_bytes(1000), ..Config::default() };
        let (curve, weight) = settings(&config, Rate::from_bits_per_second(8_000_000), START);
        assert_eq!((curve.min, curve.max, curve.gentle), (50.0, 150.0, true));
        assert!((weight.value() - 0.0009995).abs() < 1e-7);
        let (slow, _) = settings(&config, Rate::from_bits_per_second(64_000), START);
        assert_eq!(slow.min, 5.0);
    }

    #[test]
    fn the_largest_probability_is_adapted_every_half_second() {
        let config =
            Config { target: Span::from_millis(100), typical: Size::from_bytes(1000), ..Config::default() };
        let mut ared = Ared::new(config, Rate::from_bits_per_second(8_000_000));
        let mut stream = Streams::new(1, 0).stream("ared");
        let mut meet = |ared: &mut Ared, millis: u64, packets: u64| {
            let backlog = Backlog { packets, ..Backlog::default() };
            let now = Time::ZERO + Span::from_millis(millis);
            ared.average.update(now, packets, backlog);
            ared.admit(now, &mut Packet::default(), backlog, &mut stream);
        };
        // An empty queue: max_p falls to 0.9 max_p each time, down to one step below 0.01.
        meet(&mut ared, 1600, 0);
        assert!(
            (ared.curve.max_probability - 0.1 * 0.9f64.powi(3)).abs() < 1e-12,
            "{}",
            ared.curve.max_probability
        );
        meet(&mut ared, 60_000, 0);
        assert!((0.009..0.01).contains(&ared.curve.max_probability), "{}", ared.curve.max_probability);
        // A long queue: max_p grows by a quarter, then by 0.01, up to 0.5.
        ared.average.set_weight(Fraction::thousandths(1000));
        let before = ared.curve.max_probability;
        meet(&mut ared, 60_400, 140);
        meet(&mut ared, 60_600, 140);
        assert!((ared.curve.max_probability - before * 1.25).abs() < 1e-12);
        meet(&mut ared, 600_000, 140);
        assert!((0.5..=0.51).contains(&ared.curve.max_probability), "{}", ared.curve.max_probability);
        // In the middle max_p does not change.
        let before = ared.curve.max_probability;
        meet(&mut ared, 600_100, 100);
        meet(&mut ared, 700_000, 100);
        assert_eq!(ared.curve.max_probability, before);
    }
}
