//! The common part of RED and its variants: the average queue (Floyd and Jacobson 1993, section 4)
//! and the decision about a packet.
//!
//! A packet that arrives and finds q > 0 packets waiting sets avg <- (1 - w) avg + w q. A packet
//! that finds none sets avg <- (1 - w)^m avg with m = (now - start of the idle time) / s, the
//! number of packets that could have been sent in the idle time if each took the time s of a
//! typical packet. The queue is empty as soon as the transmission of the last waiting packet
//! starts.

use super::drop_tail::FULL;
use super::{Backlog, Verdict};
use bentpipe_core::{math, Count, Fraction, Problems, Rate, Size, Span, Stream, Time};
use bentpipe_stage::{DropReason, Ecn, Packet};

/// A limit or threshold in packets.
pub type Packets = Count<1, 1_000_000>;

/// Returns the w_q that Floyd and Jacobson recommend.
pub(super) fn weight() -> Fraction {
    Fraction::thousandths(2)
}

/// Returns the max_p that Floyd recommends.
pub(super) fn probability() -> Fraction {
    Fraction::thousandths(100)
}

/// Returns a typical packet size, between acknowledgments and full segments.
pub(super) fn typical() -> Size {
    Size::from_bytes(500)
}

/// Adds a problem if the thresholds are not in order.
pub(super) fn check_thresholds(min: Packets, max: Packets, problems: &mut Problems) {
    if min >= max {
        problems.add("max", format!("must be greater than min ({})", min.value()));
    }
}

/// Adds a problem if the typical packet size is out of range.
pub(super) fn check_typical(typical: Size, problems: &mut Problems) {
    if !(1..=65_535).contains(&typical.bytes()) {
        problems.add("typical", format!("{typical} is out of range; allowed: 1 B to 65535 B"));
    }
}

/// Drop reason: a random early drop, with an average queue between the thresholds.
pub const EARLY: DropReason = DropReason::new("early drop");
/// Drop reason: the average queue was above the thresholds.
pub const FORCED: DropReason = DropReason::new("average queue too long");

/// Exponentially weighted moving average of the queue, in packets or in bytes.
#[derive(Clone, Debug)]
pub struct Average {
    weight: f64,
    /// Transmission time of a typical packet.
    packet: Span,
    value: f64,
}

impl Average {
    /// Creates the average of an empty queue in front of a link of this rate.
    pub fn new(weight: Fraction, typical: Size, rate: Rate) -> Average {
        Average { weight: weight.value(), packet: rate.span_of(typical.bytes()), value: 0.0 }
    }

    /// Updates the average for an arriving packet that finds `length` counted packets in the queue.
    /// Returns the new average.
    #[inline]
    pub fn update(&mut self, now: Time, length: u64, backlog: Backlog) -> f64 {
        if length > 0 {
            self.value += self.weight * (length as f64 - self.value);
        } else if backlog.packets > 0 {
            // Other packets are waiting, so the link was not idle: this arrival decays the average
            // by one typical packet.
            self.value *= 1.0 - self.weight;
        } else {
            let idle = now.since(backlog.empty_since).as_secs_f64() / self.packet.as_secs_f64();
            self.value *= math::powf(1.0 - self.weight, idle);
        }
        self.value
    }

    /// Returns the average queue length after the last update.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Adopts a new weight.
    pub fn set_weight(&mut self, weight: Fraction) {
        self.weight = weight.value();
    }

    /// Adopts a new rate of the link, which changes the transmission time of a typical packet.
    pub fn set_rate(&mut self, typical: Size, rate: Rate) {
        self.packet = rate.span_of(typical.bytes());
    }
}

/// Drop probability as a function of the average (equation 1): 0 below `min`, rising linearly to
/// `max_probability` at `max`, and 1 above. If `gentle`, it rises further from `max_probability` at
/// `max` to 1 at twice `max`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Curve {
    /// Lower threshold of the average (min_th), in its unit.
    pub min: f64,
    /// Upper threshold of the average (max_th), in its unit.
    pub max: f64,
    /// max_p, the probability just below `max`.
    pub max_probability: f64,
    /// True if the probability keeps rising beyond `max` instead of jumping to 1.
    pub gentle: bool,
}

impl Curve {
    /// Returns the drop probability p_b at this average.
    #[inline]
    pub fn probability(&self, average: f64) -> f64 {
        let Curve { min, max, max_probability, gentle } = *self;
        if average < min {
            0.0
        } else if average < max {
            max_probability * (average - min) / (max - min)
        } else if gentle && average < 2.0 * max {
            max_probability + (1.0 - max_probability) * (average - max) / max
        } else {
            1.0
        }
    }
}

/// The decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet is accepted.
    Spared,
    /// The packet is marked, or dropped if its transport does not support ECN.
    Early,
    /// The packet is dropped.
    Forced,
}

/// Spaces drops evenly (figure 2): p_a = p_b / (1 - count p_b), where count is the number of
/// packets since the last drop.
#[derive(Clone, Debug)]
pub struct Spread {
    count: i64,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread { count: -1 }
    }
}

impl Spread {
    /// Decides the fate of a packet that arrives at this average.
    #[inline]
    pub fn decide(&mut self, curve: &Curve, average: f64, stream: &mut Stream) -> Fate {
        if average < curve.min {
            self.count = -1;
            return Fate::Spared;
        }
        let probability = curve.probability(average);
        if probability >= 1.0 {
            self.count = 0;
            return Fate::Forced;
        }
        self.count += 1;
        let spread = 1.0 - self.count as f64 * probability;
        if spread <= 0.0 || stream.chance(probability / spread) {
            self.count = 0;
            return Fate::Early;
        }
        Fate::Spared
    }
}

/// Decides the fate of a packet by the average alone, with probability p_b ("method 1" of section
/// 7), so that the number of packets between drops is geometric. At the same average it drops fewer
/// packets than [`Spread`], almost half as many for a small p_b.
#[inline]
pub fn decide_alone(curve: &Curve, average: f64, stream: &mut Stream) -> Fate {
    let probability = curve.probability(average);
    if probability >= 1.0 {
        Fate::Forced
    } else if probability > 0.0 && stream.chance(probability) {
        Fate::Early
    } else {
        Fate::Spared
    }
}

/// Converts the decision into a verdict; `room` is true if the queue has space.
#[inline]
pub fn verdict(fate: Fate, room: bool, ecn: bool, packet: &mut Packet) -> Verdict {
    match fate {
        Fate::Forced => Verdict::Drop(FORCED),
        _ if !room => Verdict::Drop(FULL),
        Fate::Early if !(ecn && mark(packet)) => Verdict::Drop(EARLY),
        _ => Verdict::Admit,
    }
}

/// Marks a packet of an ECN-capable transport as having experienced congestion (RFC 3168, section
/// 5). Returns true if the packet was marked.
#[inline]
pub fn mark(packet: &mut Packet) -> bool {
    if packet.ecn == Ecn::NotEct {
        return false;
    }
    packet.ecn = Ecn::Ce;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    fn average() -> Average {
        // 1000 B at 8 Mbit/s take 1 ms.
        Average::new(Fraction::thousandths(2), Size::from_bytes(1000), Rate::from_bits_per_second(8_000_000))
    }

    #[test]
    fn the_average_follows_the_queue_as_published() {
        // Section 4.1, equation 3: the average after L arrivals with queues 1 to L is L + 1 + ((1 -
        // w)^(L+1) - 1) / w.
        let mut average = average();
        for q in 1..=35u64 {
            average.update(Time::ZERO, q, Backlog { packets: q, ..Backlog::default() });
        }
        let expected = 36.0 + (0.998f64.powi(36) - 1.0) / 0.002;
        assert!((average.value() - expected).abs() < 1e-9, "{} {expected}", average.value());
        assert!((1.2..1.3).contains(&expected));
    }

    #[test]
    fn the_average_falls_while_the_queue_is_empty() {
        let mut average = average();
        average.value = 40.0;
        let idle = Backlog { empty_since: Time::from_nanos(1_000_000_000), ..Backlog::default() };
        // 250 ms are 250 packets of 1 ms.
        let value = average.update(Time::from_nanos(1_250_000_000), 0, idle);
        assert!((value - 40.0 * 0.998f64.powi(250)).abs() < 1e-9, "{value}");
        average.set_rate(Size::from_bytes(1000), Rate::from_bits_per_second(4_000_000));
        let later = average.update(Time::from_nanos(1_250_000_000), 0, idle);
        assert!((later - value * 0.998f64.powi(125)).abs() < 1e-9, "{later}");
    }

    #[test]
    fn packets_between_drops_are_uniform() {
        // Figure 2, where `count` is 1 for the packet after a drop: with p_b = 0.02 the number of
        // packets is uniform on 1 to 49.
        let curve = Curve { min: 5.0, max: 15.0, max_probability: 0.02, gentle: false };
        let (mut spread, mut stream) = (Spread::default(), Streams::new(1, 0).stream("red"));
        let almost = 15.0 - 1e-9;
        let (mut gaps, mut since) = ([0u32; 50], 0);
        for _ in 0..1_000_000 {
            since += 1;
            if spread.decide(&curve, almost, &mut stream) == Fate::Early {
                gaps[since.min(49)] += 1;
                since = 0;
            }
        }
        // 40000 gaps with mean 25, 816 of each length, within five standard deviations.
        assert!(gaps[1..].iter().all(|count| (675..960).contains(count)), "{gaps:?}");
        assert_eq!(gaps[0], 0);
    }

    #[test]
    fn packets_between_drops_are_geometric_without_spreading() {
        // Section 7, method 1: the mean gap is 1 / p_b and its variance (1 - p_b) / p_b^2. Uniform
        // gaps have 25 and 200.
        let curve = Curve { min: 5.0, max: 15.0, max_probability: 0.02, gentle: false };
        let mut stream = Streams::new(1, 0).stream("red");
        let (mut gaps, mut since) = (Vec::new(), 0.0);
        for _ in 0..1_000_000 {
            since += 1.0;
            if decide_alone(&curve, 15.0 - 1e-9, &mut stream) == Fate::Early {
                gaps.push(std::mem::take(&mut since));
            }
        }
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        // 20000 gaps, five standard deviations of each.
        assert!((mean - 50.0).abs() < 1.8, "{mean}");
        assert!((variance / 2450.0 - 1.0).abs() < 0.1, "{variance}");
        assert_eq!(decide_alone(&curve, 4.9, &mut stream), Fate::Spared);
        assert_eq!(decide_alone(&curve, 15.0, &mut stream), Fate::Forced);
    }

    #[test]
    fn the_probability_rises_between_the_thresholds() {
        let curve = Curve { min: 30.0, max: 90.0, max_probability: 0.1, gentle: false };
        let gentle = Curve { gentle: true, ..curve };
        for (average, plain, gently) in [
            (29.9, 0.0, 0.0),
            (30.0, 0.0, 0.0),
            (60.0, 0.05, 0.05),
            (90.0, 1.0, 0.1),
            (135.0, 1.0, 0.55),
            (180.0, 1.0, 1.0),
        ] {
            assert!((curve.probability(average) - plain).abs() < 1e-12, "{average}");
            assert!((gentle.probability(average) - gently).abs() < 1e-12, "{average}");
        }
    }
}
