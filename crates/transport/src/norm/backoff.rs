//! The random time before a NACK (RFC 5401, section 3.2.2): a truncated exponential distribution
//! that makes short times rare in large groups.
//!
//! With the maximum T and L = ln(group size) + 1, the time for a uniformly distributed u is
//!
//! ```text
//! t = T / L x ln(u (e^L - 1) + 1)
//! ```
//!
//! The formula is from memory.

use bentpipe_core::{math, Span, Stream};

/// Draws the time before a NACK, at most `max`, in a group of this size.
pub fn draw(max: Span, group_size: u64, stream: &mut Stream) -> Span {
    let l = math::ln(group_size as f64) + 1.0;
    let grown = stream.uniform() * (math::exp(l) - 1.0) + 1.0;
    Span::from_secs_f64(max.as_secs_f64() / l * math::ln(grown)).min(max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    /// A time of at most T / 2 has probability (e^(L/2) - 1) / (e^L - 1) = 1 / (e^(L/2) + 1). For
    /// 100 receivers L = 5.605, so this is 0.0572; for a group of one L = 1, and it is 0.3775.
    #[test]
    fn short_times_are_rare_in_large_groups() {
        for (size, expected) in [(100, 0.0572), (1, 0.3775)] {
            let mut stream = Streams::new(3, 0).stream("backoff");
            let max = Span::from_secs(2);
            let times: Vec<Span> = (0..20_000).map(|_| draw(max, size, &mut stream)).collect();
            let short = times.iter().filter(|time| **time <= max / 2).count() as f64 / 20_000.0;
            // Three standard deviations of a share of 20 000.
            assert!(
                (short - expected).abs() < 3.0 * (expected * (1.0 - expected) / 20_000.0f64).sqrt(),
                "{short}"
            );
            assert!(times.iter().all(|time| *time <= max));
        }
    }
}
