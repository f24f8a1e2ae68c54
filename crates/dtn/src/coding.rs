//! Channel coding of space links (CCSDS 131.0-B) as the probability that a frame cannot be decoded.
//!
//! The channel is either a binary symmetric channel with a bit error rate p before decoding, or a
//! channel with additive white Gaussian noise and coherent BPSK at Eb/N0 (per bit of information).
//! The probability depends on the code:
//!
//! - **None.** A frame of n bits fails with the probability 1 - (1 - p)^n.
//! - **Reed-Solomon** (255, 255 - 2t) over bytes, with I interleaved codewords per frame. A byte is
//!   wrong with s = 1 - (1 - p)^8, a codeword fails with c = P(Binomial(255, s) > t), and a frame
//!   fails with 1 - (1 - c)^I.
//! - **BCH**(63, 56) of telecommand. A code block fails if it has more than one bit error.
//! - **Convolutional**, constraint length K = 7, rate R = 1/2, Viterbi decoding. The bit error rate
//!   is the union bound P_b <= sum c_d P_d over the first terms of the weight spectrum (Odenwald
//!   1970, as in Proakis): c_d = 36, 0, 211, 0, 1404, 0, 11633 for d = 10 to 16. P_d is Q(sqrt(2 d
//!   R Eb/N0)) with soft decisions, and a binomial sum with hard decisions. At low Eb/N0 the bound
//!   exceeds 1/2; it is then limited to 1/2.
//! - **Concatenated**: Reed-Solomon with the bit error rate after the Viterbi decoder and ideal
//!   interleaving. The result is pessimistic: errors after a Viterbi decoder come in bursts, so
//!   fewer bytes are wrong than with independent errors.
//! - **Turbo and LDPC**: the normal approximation for the best code of length n with k bits of
//!   information (Polyanskiy, Poor, Verdu 2010, equation 296), Q((n C - k + log2(n) / 2) / sqrt(n
//!   V)), where C is the capacity and V the dispersion of the channel. Eb/N0 is reduced by the loss
//!   of the real code and decoder. **The loss is an assumption**, 0.7 dB by default, because no
//!   tables of real decoders were available. It does not apply to the binary symmetric channel.

use bentpipe_core::math;

/// A channel code.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Code {
    /// No code.
    None,
    /// Reed-Solomon that corrects `t` bytes (16 or 8) in each of `interleave` codewords.
    ReedSolomon {
        /// Number of correctable bytes in a codeword.
        t: u32,
        /// Number of interleaved codewords in a frame.
        interleave: u32,
    },
    /// BCH(63, 56), which corrects one bit error.
    Bch,
    /// Convolutional, constraint length 7, rate 1/2.
    Convolutional,
    /// Reed-Solomon as the outer code, convolutional as the inner code.
    Concatenated {
        /// Number of correctable bytes in a Reed-Solomon codeword.
        t: u32,
        /// Number of interleaved codewords in a frame.
        interleave: u32,
    },
    /// A code close to the best code of its length and rate: turbo or LDPC.
    NearBest {
        /// Number of information bits in a codeword.
        information: u32,
        /// Rate of the code: information bits per sent bit.
        rate: f64,
        /// Loss relative to the best code, in dB.
        loss_db: f64,
    },
}

/// The channel before decoding.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Channel {
    /// Independent bit errors with this probability.
    Binary(f64),
    /// Gaussian noise with coherent BPSK at this Eb/N0, the ratio of the energy of an information
    /// bit to the noise density, in dB.
    EbN0(f64),
}

/// Length of a Reed-Solomon codeword in bytes.
pub const CODEWORD: u32 = 255;

impl Code {
    /// Returns the number of bits sent for each bit of information.
    pub fn expansion(&self) -> f64 {
        let reed_solomon = |t: u32| f64::from(CODEWORD) / f64::from(CODEWORD - 2 * t);
        match *self {
            Code::None => 1.0,
            Code::ReedSolomon { t, .. } => reed_solomon(t),
            // A code block has 56 information bits, 7 parity bits and 1 fill bit.
            Code::Bch => 64.0 / 56.0,
            Code::Convolutional => 2.0,
            Code::Concatenated { t, .. } => 2.0 * reed_solomon(t),
            Code::NearBest { rate, .. } => 1.0 / rate,
        }
    }

    /// Returns the probability that decoding fails for a frame with `bytes` bytes of information.
    pub fn frame_error(&self, bytes: u32, channel: Channel) -> f64 {
        let bits = f64::from(bytes) * 8.0;
        // The energy of a coded bit is the energy of an information bit divided by the expansion.
        let raw = |expansion: f64| match channel {
            Channel::Binary(p) => p,
            Channel::EbN0(db) => bpsk(linear(db) / expansion),
        };
        match *self {
            Code::None => at_least_one(raw(1.0), bits),
            Code::ReedSolomon { t, interleave } => frame_of_codewords(raw(self.expansion()), t, interleave),
            Code::Bch => at_least_one(binomial_tail(63, raw(self.expansion()), 1), (bits / 56.0).ceil()),
            Code::Convolutional => at_least_one(viterbi(channel, 2.0), bits),
            Code::Concatenated { t, interleave } => {
                frame_of_codewords(viterbi(channel, self.expansion()), t, interleave)
            }
            Code::NearBest { information, rate, loss_db } => {
                let blocks = (bits / f64::from(information)).ceil().max(1.0);
                at_least_one(near_best(f64::from(information), rate, loss_db, channel), blocks)
            }
        }
    }
}

/// Returns the bit error rate of coherent BPSK at a linear Es/N0: 0.5 erfc(sqrt(Es/N0)).
pub fn bpsk(es_n0: f64) -> f64 {
    q((2.0 * es_n0).sqrt())
}

fn linear(db: f64) -> f64 {
    math::powf(10f64, db / 10.0)
}

/// Returns the probability that at least one of `count` independent events of probability p occurs.
/// The result is accurate for small p.
fn at_least_one(p: f64, count: f64) -> f64 {
    -math::exp_m1(count * math::ln_1p(-p.min(1.0)))
}

fn frame_of_codewords(p: f64, t: u32, interleave: u32) -> f64 {
    at_least_one(binomial_tail(CODEWORD, at_least_one(p, 8.0), t), f64::from(interleave))
}

/// Returns P(Binomial(n, p) > t). Terms are summed from the smallest one, so that small
/// probabilities are accurate.
pub fn binomial_tail(n: u32, p: f64, t: u32) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::from(u8::from(n > t));
    }
    let (log_p, log_q) = (math::ln(p), math::ln_1p(-p));
    let mut log_choose = 0.0;
    let mut terms = Vec::with_capacity(n as usize + 1);
    for k in 0..=n {
        if k > 0 {
            log_choose += math::ln(f64::from(n - k + 1) / f64::from(k));
        }
        terms.push(math::exp(log_choose + f64::from(k) * log_p + f64::from(n - k) * log_q));
    }
    terms.drain(..=t.min(n) as usize);
    terms.sort_by(f64::total_cmp);
    terms.iter().sum::<f64>().min(1.0)
}

/// Returns the union bound of the bit error rate after a Viterbi decoder. The energy of an
/// information bit is spread over `expansion` coded bits.
fn viterbi(channel: Channel, expansion: f64) -> f64 {
    const SPECTRUM: [(u32, f64); 4] = [(10, 36.0), (12, 211.0), (14, 1404.0), (16, 11_633.0)];
    let pairwise = |d: u32| match channel {
        Channel::EbN0(db) => q((2.0 * f64::from(d) * linear(db) / expansion).sqrt()),
        // With hard decisions, decoding fails if more than half of the d bits are wrong, or if
        // exactly half of them are wrong and the random choice between both paths is wrong.
        Channel::Binary(p) => {
            binomial_tail(d, p, d / 2) + 0.5 * (binomial_tail(d, p, d / 2 - 1) - binomial_tail(d, p, d / 2))
        }
    };
    SPECTRUM.iter().map(|(d, weight)| weight * pairwise(*d)).sum::<f64>().min(0.5)
}

fn near_best(information: f64, rate: f64, loss_db: f64, channel: Channel) -> f64 {
    let n = information / rate;
    let (capacity, dispersion) = match channel {
        Channel::Binary(p) => binary_symmetric(p),
        Channel::EbN0(db) => binary_gaussian(linear(db - loss_db) * rate),
    };
    if dispersion <= 0.0 {
        return f64::from(u8::from(capacity < rate));
    }
    q((n * capacity - information + 0.5 * math::log2(n)) / (n * dispersion).sqrt())
}

/// Returns the capacity and the dispersion of the binary symmetric channel, in bits.
fn binary_symmetric(p: f64) -> (f64, f64) {
    if p <= 0.0 || p >= 1.0 {
        return (1.0, 0.0);
    }
    let entropy = -p * math::log2(p) - (1.0 - p) * math::log2(1.0 - p);
    (1.0 - entropy, p * (1.0 - p) * math::log2((1.0 - p) / p).powi(2))
}

/// Returns the capacity and the dispersion of BPSK over Gaussian noise at a linear Es/N0, in bits.
/// They are the mean and the variance of the information density 1 - log2(1 + exp(-2 y x /
/// sigma^2)) for a sent symbol x and a received value y, integrated by Simpson's rule.
fn binary_gaussian(es_n0: f64) -> (f64, f64) {
    let variance = 1.0 / (2.0 * es_n0);
    let deviation = variance.sqrt();
    const STEPS: u32 = 2000;
    let (mut mean, mut square) = (0.0, 0.0);
    for step in 0..=STEPS {
        let z = -9.0 + 18.0 * f64::from(step) / f64::from(STEPS);
        let weight = match step {
            0 | STEPS => 1.0,
            step if step % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let density = math::exp(-z * z / 2.0) / (2.0 * std::f64::consts::PI).sqrt() * weight * 18.0
            / f64::from(STEPS)
            / 3.0;
        let exponent = -2.0 * (1.0 + deviation * z) / variance;
        // log2(1 + e^exponent) without overflow.
        let softplus = (exponent.max(0.0) + math::ln_1p(math::exp(-exponent.abs()))) / std::f64::consts::LN_2;
        mean += density * (1.0 - softplus);
        square += density * (1.0 - softplus).powi(2);
    }
    (mean, (square - mean * mean).max(0.0))
}

/// Returns the upper tail of the standard normal distribution, Q(x) = 0.5 erfc(x / sqrt 2).
pub fn q(x: f64) -> f64 {
    0.5 * erfc(x / std::f64::consts::SQRT_2)
}

/// Returns the complementary error function. Below 2.5 it uses a series (Abramowitz and Stegun
/// 7.1.5), and above a continued fraction (7.1.14).
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.5 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while f64::abs(term) > 1e-18 * sum.abs() {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum;
    }
    let fraction = (1..=80).rev().fold(0.0, |rest, k| f64::from(k) / 2.0 / (x + rest));
    math::exp(-x * x) / std::f64::consts::PI.sqrt() / (x + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) -> bool {
        (found / expected - 1.0).abs() < tolerance
    }

    fn rows(text: &str) -> impl Iterator<Item = Vec<f64>> + '_ {
        text.lines().skip(1).map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect())
    }

    #[test]
    fn uncoded_bpsk_matches_the_table() {
        for row in rows(include_str!("../../../tests/authorities/dtn/bpsk_ber.csv")) {
            let found = Code::None.frame_error(1, Channel::EbN0(row[0]));
            assert!(close(bpsk(linear(row[0])), row[1], 1e-5), "{row:?}");
            assert!(close(found, at_least_one(row[1], 8.0), 1e-5), "{row:?}");
        }
    }

    #[test]
    fn frame_failures_match_exact_binomial_sums() {
        for row in rows(include_str!("../../../tests/authorities/dtn/rs_frame_failure.csv")) {
            let code = |t, interleave| Code::ReedSolomon { t, interleave };
            let channel = Channel::Binary(row[0]);
            for (found, expected) in [
                (at_least_one(row[0], 8.0), row[1]),
                (code(16, 1).frame_error(223, channel), row[2]),
                (code(16, 5).frame_error(1115, channel), row[3]),
                (code(8, 1).frame_error(239, channel), row[4]),
                (code(8, 5).frame_error(1195, channel), row[5]),
                (Code::None.frame_error(1115, channel), row[6]),
                (Code::Bch.frame_error(7, channel), row[7]),
            ] {
                assert!(close(found, expected, 1e-4), "{row:?}: {found} {expected}");
            }
        }
    }

    #[test]
    fn coding_gain_grows_with_code_length() {
        let at = |code: Code, db: f64| code.frame_error(1115, Channel::EbN0(db));
        let concatenated = Code::Concatenated { t: 16, interleave: 5 };
        // Proakis, figure 8-2-21, shows that the convolutional code reaches a bit error rate of
        // 1e-5 at 4.2 to 4.5 dB.
        let ber = |db: f64| viterbi(Channel::EbN0(db), 2.0);
        assert!(ber(4.0) > 1e-5 && ber(4.5) < 1e-5, "{} {}", ber(4.0), ber(4.5));
        assert!(at(concatenated, 3.5) < at(Code::Convolutional, 3.5));
        let near = |information, loss_db| Code::NearBest { information, rate: 0.5, loss_db };
        // The best code of rate 1/2 and unlimited length needs 0.19 dB (Shannon's limit for BPSK).
        assert!(at(near(8920, 0.0), -0.3) > 0.99 && at(near(8920, 0.0), 0.8) < 1e-3);
        assert!(at(near(8920, 0.7), 1.5) < at(near(1784, 0.7), 1.5));
        let (capacity, _) = binary_gaussian(linear(0.187) * 0.5);
        assert!((capacity - 0.5).abs() < 1e-3, "{capacity}");
    }
}
