//! The throughput equation of TFRC (RFC 5348, section 3.1), with b = 1 and t_RTO = 4 R as the RFC
//! recommends:
//!
//! X_Bps = s / (R sqrt(2 b p / 3) + t_RTO (3 sqrt(3 b p / 8) p (1 + 32 p^2)))

use bentpipe_core::math;

/// Returns the rate in bytes per second for packets of `size` bytes, a round-trip time in seconds
/// and a loss event rate above 0.
pub fn rate(size: f64, rtt: f64, loss_event_rate: f64) -> f64 {
    size / (rtt * cost(loss_event_rate))
}

/// Returns the loss event rate at which the equation gives `rate`; between 1e-8 and 1.
pub fn loss_event_rate(size: f64, rtt: f64, rate: f64) -> f64 {
    let wanted = size / (rtt * rate.max(f64::MIN_POSITIVE));
    let (mut min, mut max) = (math::ln(1e-8), 0.0);
    // The cost grows with the loss event rate: 50 halvings of its logarithm are exact.
    for _ in 0..50 {
        let middle: f64 = (min + max) / 2.0;
        if cost(math::exp(middle)) < wanted {
            min = middle;
        } else {
            max = middle;
        }
    }
    math::exp((min + max) / 2.0)
}

/// Returns f(p), the denominator for a round-trip time of 1 s.
fn cost(p: f64) -> f64 {
    (2.0 * p / 3.0).sqrt() + 4.0 * (3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values of tests/authorities/tfrc, computed from the RFC by others.
    #[test]
    fn the_equation_gives_the_reference_rates() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/authorities/tfrc/tfrc_throughput_reference.csv"
        );
        let text = std::fs::read_to_string(file).unwrap();
        let mut lines = text.lines();
        let rtts: Vec<f64> = lines
            .next()
            .unwrap()
            .split(',')
            .skip(2)
            .map(|name| name.split_once("_R").unwrap().1.parse().unwrap())
            .collect();
        let mut rows = 0;
        for line in lines {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            for (rtt, expected) in rtts.iter().zip(&cells[2..]) {
                let found = rate(1460.0, *rtt, cells[0]);
                // The file has three decimals.
                assert!((found - expected).abs() < 6e-4, "p {} R {rtt}: {found}", cells[0]);
                let back = loss_event_rate(1460.0, *rtt, found);
                assert!((back / cells[0] - 1.0).abs() < 1e-6, "{back} for {}", cells[0]);
            }
            rows += 1;
        }
        assert!(rows > 20 && rtts.len() == 5);
    }
}
