//! The common part of the algorithms of Ramjee et al. (R. Ramjee, J. Kurose, D. Towsley, H.
//! Schulzrinne, "Adaptive Playout Mechanisms for Packetized Audio Applications in Wide-Area
//! Networks", INFOCOM 1994): estimates d_i of the network delay n_i of packet i, and v_i of its
//! variation. A talk spurt that begins with packet i has the playout delay d_i + 4 v_i.
//!
//! The paper does not give the initial estimates. Here, d_1 = n_1, and v_1 is a quarter of the key
//! `initial`.
//!
//! The paper itself was not available. The filters, the factor 4 and the descriptions of algorithms
//! 1 to 4 agree with C. A. Rodríguez López et al., "Classical Playout Buffer Algorithm Revisited",
//! SBRC 2010, equation 3 and figure 1. The weight 0.998002, the weights 0.75 and 0.875, the
//! thresholds 800 and 63 and the measure of the slope agree with independent programs that cite the
//! paper.

use bentpipe_core::Span;

/// Factor of the variation in the playout delay: the factor 4 in d_i + 4 v_i.
const VARIATIONS: f64 = 4.0;

/// Returns the default playout delay of the first talk spurt.
pub fn initial() -> Span {
    Span::from_millis(20)
}

/// Estimates of the network delay and its variation, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Estimates {
    /// Estimate d_i of the delay, in nanoseconds.
    pub delay: f64,
    /// Estimate v_i of the variation of the delay, in nanoseconds.
    pub variation: f64,
    /// True after the first packet.
    begun: bool,
}

impl Estimates {
    /// Creates the estimates before the first packet. The variation is set so that the playout
    /// delay of the first talk spurt exceeds the delay of the first packet by `initial`.
    pub fn new(initial: Span) -> Estimates {
        Estimates { delay: 0.0, variation: super::nanos(initial) / VARIATIONS, begun: false }
    }

    /// Sets the delay to that of the first packet and returns true. Returns false for later
    /// packets.
    pub fn begin(&mut self, transit: f64) -> bool {
        let first = !self.begun;
        if first {
            self.delay = transit;
            self.begun = true;
        }
        first
    }

    /// Updates the delay: d_i = a d_{i-1} + (1 - a) n_i, where a is `weight` and n_i is `transit`.
    pub fn smooth(&mut self, weight: f64, transit: f64) {
        self.delay = weight * self.delay + (1.0 - weight) * transit;
    }

    /// Updates the variation: v_i = a v_{i-1} + (1 - a) |d_i - n_i|, where a is `weight` and n_i is
    /// `transit`. The delay must have been updated first.
    pub fn vary(&mut self, weight: f64, transit: f64) {
        self.variation = weight * self.variation + (1.0 - weight) * (self.delay - transit).abs();
    }

    /// Returns the playout delay d_i + 4 v_i in nanoseconds.
    pub fn playout(&self) -> i64 {
        (self.delay + VARIATIONS * self.variation).round() as i64
    }
}
