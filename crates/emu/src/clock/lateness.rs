//! Release error: the time between the release of a packet by the model and its arrival at the
//! host.

use bentpipe_core::Span;
use hdrhistogram::Histogram;

/// Statistics of lateness in bounded memory: percentiles to 1 % of their value.
#[derive(Clone, Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
}

impl Default for Lateness {
    fn default() -> Lateness {
        // Values up to 1000 s; larger ones are clipped. Adding a sample does not allocate memory.
        let histogram =
            Histogram::new_with_bounds(1, 1_000_000_000_000, 2).expect("the bounds are constants");
        Lateness { histogram }
    }
}

impl Lateness {
    /// Adds the lateness of one packet.
    #[inline]
    pub fn add(&mut self, late: Span) {
        self.histogram.saturating_record(late.as_nanos());
    }

    /// Adds the samples of another distribution.
    pub fn merge(&mut self, other: &Lateness) {
        self.histogram.add(&other.histogram).expect("both have the same bounds");
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns a percentile (0 to 100); zero without samples.
    pub fn percentile(&self, percent: f64) -> Span {
        Span::from_nanos(self.histogram.value_at_percentile(percent))
    }

    /// Returns the largest sample; zero without samples.
    pub fn max(&self) -> Span {
        Span::from_nanos(self.histogram.max())
    }
}
