//! Frame success by signal-to-noise ratio: the probability that all bits of a frame are right.
//!
//! **DSSS and CCK.** The ratio gamma refers to the 22 MHz of the channel, so Eb/N0 = gamma 22 MHz /
//! rate.
//!
//! ```text
//! 1 Mbit/s   DBPSK   Pb = exp(-Eb/N0) / 2
//! 2 Mbit/s   DQPSK   Pb = (sqrt 2 + 1) / sqrt(8 pi sqrt 2) exp(-(2 - sqrt 2) Eb/N0) / sqrt(Eb/N0)
//! 5.5, 11    CCK     1 - Ps = integral over x from -b of phi(x) (2 Phi(x + b) - 1)^7
//!                    b = sqrt(2 Es/N0)
//! ```
//!
//! where phi and Phi are the density and the distribution of a standard normal variable. A CCK
//! symbol of 5.5 Mbit/s is one of 16 biorthogonal signals; one of 11 Mbit/s counts as two such
//! decisions, each with half of its energy. Sources: J. G. Proakis, "Digital Communications", 4th
//! edition, sections 5.2.2 and 5.2.8; for DQPSK the approximation of G. Ferrari and G. E. Corazza,
//! "Tight bounds and accurate approximations for DQPSK transmission bit error rate", Electronics
//! Letters 40(20), 2004.
//!
//! **OFDM.** The ratio refers to a subcarrier. With the bit error probability p of the demodulator,
//! the first ten terms of the union bound give the bit error probability of the decoder:
//!
//! ```text
//! BPSK    p = erfc(sqrt gamma) / 2               16-QAM   p = 3/8 erfc(sqrt(gamma / 10))
//! QPSK    p = erfc(sqrt(gamma / 2)) / 2          64-QAM   p = 7/24 erfc(sqrt(gamma / 42))
//! Pb = 1 / (2 k) sum over d of c_d D^d,   D = sqrt(4 p (1 - p))
//! ```
//!
//! with k information bits per period of the puncturing and the weights c_d of the codes. Source:
//! G. Pei and T. R. Henderson, "Validation of OFDM error rate model in ns-3", Boeing, 2010; weights
//! of P. Frenger, P. Orten and T. Ottosson, "Convolutional codes with optimum distance spectrum",
//! IEEE Communications Letters 3(11), 1999, and of D. Haccoun and G. Begin, IEEE Transactions on
//! Communications 37(11), 1989, for 5/6.
//!
//! Deviations: hard decisions; no synchronisation errors and no intersymbol interference. Preamble
//! and header are always received, so a frame is lost only because of its bits.

use super::{Coding, Modulation};
use bentpipe_core::math;
use std::f64::consts::{PI, SQRT_2};

/// Chip bandwidth that limits the noise of DSSS and CCK, in Hz.
const BANDWIDTH: f64 = 22e6;
/// Symbol rate of CCK in symbols per second.
const CCK_SYMBOLS: f64 = 11e6 / 8.0;

impl Modulation {
    /// Returns the probability that `bits` consecutive bits are right at a signal-to-noise ratio
    /// (not in dB).
    pub fn success(self, snr: f64, bits: f64) -> f64 {
        let wrong = match self {
            Modulation::Dbpsk => 0.5 * math::exp(-snr * BANDWIDTH / 1e6),
            Modulation::Dqpsk => dqpsk(snr * BANDWIDTH / 2e6),
            Modulation::Cck4 => {
                return (-wrong_of_sixteen(snr * BANDWIDTH / CCK_SYMBOLS / 2.0)).ln_1p_power(bits / 4.0)
            }
            Modulation::Cck8 => {
                return (-wrong_of_sixteen(snr * BANDWIDTH / CCK_SYMBOLS / 4.0)).ln_1p_power(bits / 4.0)
            }
            Modulation::Ofdm { bits, coding } => decoded(demodulated(bits, snr), coding),
        };
        (-wrong).ln_1p_power(bits)
    }
}

/// A power (1 + x)^n without loss of digits for a small x; 0 for x up to -1.
trait Power {
    fn ln_1p_power(self, n: f64) -> f64;
}

impl Power for f64 {
    fn ln_1p_power(self, n: f64) -> f64 {
        if self <= -1.0 {
            0.0
        } else {
            math::exp(n * math::ln_1p(self))
        }
    }
}

fn dqpsk(eb_n0: f64) -> f64 {
    let factor = (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2).sqrt();
    // Guessing is wrong half of the time; the approximation exceeds that at very low ratios.
    (factor / eb_n0.sqrt() * math::exp(-(2.0 - SQRT_2) * eb_n0)).min(0.5)
}

/// Returns the probability of a wrong decision among 16 biorthogonal signals, by Simpson's rule.
fn wrong_of_sixteen(es_n0: f64) -> f64 {
    /// Number of standard deviations beyond which the integrand is negligible.
    const FAR: f64 = 9.0;
    const STEPS: usize = 128;
    let b = (2.0 * es_n0).sqrt();
    let from = (-b).max(-FAR);
    let step = (FAR - from) / STEPS as f64;
    let at = |place: usize| {
        let x = from + step * place as f64;
        let density = math::exp(-0.5 * x * x) / (2.0 * PI).sqrt();
        // 1 - (1 - 2 Q)^7
        density * -math::exp_m1(7.0 * math::ln_1p(-2.0 * tail(x + b)))
    };
    let weighted = |place: usize| if place % 2 == 1 { 4.0 } else { 2.0 } * at(place);
    let sum = at(0) + at(STEPS) + (1..STEPS).map(weighted).sum::<f64>();
    (sum * step / 3.0 + tail(-from)).min(1.0)
}

/// Returns the probability that a standard normal variable exceeds `x`.
fn tail(x: f64) -> f64 {
    0.5 * math::erfc(x / SQRT_2)
}

/// Returns the probability of a wrong coded bit, by the coded bits per subcarrier.
fn demodulated(bits: u8, snr: f64) -> f64 {
    let (factor, divisor) = match bits {
        0 | 1 => (0.5, 1.0),
        2 => (0.5, 2.0),
        3 | 4 => (0.375, 10.0),
        _ => (7.0 / 24.0, 42.0),
    };
    factor * math::erfc((snr / divisor).sqrt())
}

/// Returns the probability of a wrong bit after the decoder.
fn decoded(p: f64, coding: Coding) -> f64 {
    let (k, free, step, weights): (f64, i32, i32, &[f64]) = match coding {
        Coding::Half => (1.0, 10, 2, &HALF),
        Coding::TwoThirds => (2.0, 6, 1, &TWO_THIRDS),
        Coding::ThreeQuarters => (3.0, 5, 1, &THREE_QUARTERS),
        Coding::FiveSixths => (5.0, 4, 1, &FIVE_SIXTHS),
    };
    let d = (4.0 * p * (1.0 - p)).sqrt();
    let ratio = d.powi(step);
    let sum = weights.iter().rev().fold(0.0, |sum, weight| sum * ratio + weight);
    (sum * d.powi(free) / (2.0 * k)).min(1.0)
}

const HALF: [f64; 9] =
    [36.0, 211.0, 1404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0];
const TWO_THIRDS: [f64; 10] =
    [3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0];
const THREE_QUARTERS: [f64; 10] = [
    42.0,
    201.0,
    1492.0,
    10_469.0,
    62_935.0,
    379_644.0,
    2_253_373.0,
    13_073_811.0,
    75_152_755.0,
    428_005_675.0,
];
const FIVE_SIXTHS: [f64; 10] = [
    92.0,
    528.0,
    8694.0,
    79_453.0,
    792_114.0,
    7_375_573.0,
    67_884_974.0,
    610_875_423.0,
    5_427_275_376.0,
    47_664_215_639.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
        text.lines().skip(1).map(|line| line.split(',').collect())
    }

    fn number(text: &str) -> f64 {
        text.parse().unwrap()
    }

    #[test]
    fn dsss_and_cck_frames_succeed_as_in_the_reference() {
        let mut checked = 0;
        for row in rows(include_str!("../../../../tests/authorities/wifi/dsss_frame_success.csv")) {
            let modulation = match row[0] {
                "1 Mbit/s DBPSK" => Modulation::Dbpsk,
                "2 Mbit/s DQPSK" => Modulation::Dqpsk,
                "5.5 Mbit/s CCK" => Modulation::Cck4,
                "11 Mbit/s CCK" => Modulation::Cck8,
                other => panic!("{other}"),
            };
            let success = modulation.success(math::powf(10f64, number(row[2]) / 10.0), number(row[3]));
            assert!((success - number(row[4])).abs() <= number(row[5]), "{row:?} {success}");
            checked += 1;
        }
        assert_eq!(checked, 32);
    }

    #[test]
    fn ofdm_frames_succeed_as_in_the_reference() {
        let mut checked = 0;
        for row in rows(include_str!("../../../../tests/authorities/wifi/nist_ofdm_frame_success.csv")) {
            let (bits, coding) = match row[0] {
                "6" => (1, Coding::Half),
                "9" => (1, Coding::ThreeQuarters),
                "12" => (2, Coding::Half),
                "24" => (4, Coding::Half),
                "36" => (4, Coding::ThreeQuarters),
                "54" => (6, Coding::ThreeQuarters),
                other => panic!("{other}"),
            };
            let snr = math::powf(10f64, number(row[1]) / 10.0);
            let success = Modulation::Ofdm { bits, coding }.success(snr, number(row[2]));
            assert!((success - number(row[3])).abs() <= number(row[4]), "{row:?} {success}");
            checked += 1;
        }
        assert_eq!(checked, 24);
    }

    /// Returns the weights of a punctured code with the generators 133 and 171 (octal). Coded bits
    /// are sent where `kept` is 1. Counts the information bits of all paths that leave the zero
    /// state and return to it, by distance.
    fn spectrum(kept: &[[u8; 2]], terms: usize, free: usize) -> Vec<f64> {
        let max = free + 2 * terms;
        let period = kept.len();
        let mut weights = vec![0.0; max];
        for begin in 0..period {
            // (number of paths, their information bits) by state and distance.
            let mut paths = vec![vec![(0.0, 0.0); max]; 64];
            let mut time = begin;
            let mut first = true;
            for _ in 0..200 {
                let mut next = vec![vec![(0.0, 0.0); max]; 64];
                for (state, of_state) in paths.iter().enumerate() {
                    for (distance, found) in of_state.iter().enumerate() {
                        let (count, ones): (f64, f64) =
                            if first && state == 0 && distance == 0 { (1.0, 0.0) } else { *found };
                        if count == 0.0 {
                            continue;
                        }
                        for input in 0..2usize {
                            if first && input == 0 {
                                continue;
                            }
                            let register = input << 6 | state;
                            let coded =
                                [0o133usize, 0o171].map(|taps| (register & taps).count_ones() as usize % 2);
                            let at = distance
                                + (0..2)
                                    .map(|bit| coded[bit] * kept[time % period][bit] as usize)
                                    .sum::<usize>();
                            if at >= max {
                                continue;
                            }
                            let to = register >> 1;
                            let add = ones + count * input as f64;
                            if to == 0 {
                                weights[at] += add;
                            } else {
                                next[to][at].0 += count;
                                next[to][at].1 += add;
                            }
                        }
                    }
                }
                (paths, first) = (next, false);
                time += 1;
            }
        }
        weights.into_iter().skip(free).collect()
    }

    #[test]
    fn the_weights_are_those_of_the_codes_of_802_11() {
        // Puncturing by IEEE 802.11-2016, figure 17-9: the coded bits that are sent for each input
        // bit.
        let half = spectrum(&[[1, 1]], 5, 10);
        assert_eq!(half.iter().step_by(2).take(5).copied().collect::<Vec<_>>(), HALF[..5]);
        assert_eq!(spectrum(&[[1, 1], [1, 0]], 4, 6)[..4], TWO_THIRDS[..4]);
        assert_eq!(spectrum(&[[1, 1], [1, 0], [0, 1]], 4, 5)[..4], THREE_QUARTERS[..4]);
    }
}
