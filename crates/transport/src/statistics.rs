//! Statistics of many spans, such as delays and round-trip times.

use super::classes::Classes;
use bentpipe_core::Span;

/// Statistics of spans in bounded memory: exact mean and extremes, and percentiles with a relative
/// error of at most 1/256 (0.4 %). Microseconds are counted in classes no wider than 1/128 of their
/// values ([`Classes`]), and the middle of the class is reported. Takes about 8 kB for samples of
/// seconds, nothing before the first.
#[derive(Clone, Debug)]
pub struct SpanStatistics {
    classes: Classes,
    sum: u128,
    /// Sum of squared deviations from the first sample, in square seconds.
    squares: f64,
    /// The first sample in seconds.
    first: f64,
    min: Span,
    max: Span,
}

impl Default for SpanStatistics {
    fn default() -> SpanStatistics {
        SpanStatistics {
            classes: Classes::default(),
            sum: 0,
            squares: 0.0,
            first: 0.0,
            min: Span::MAX,
            max: Span::ZERO,
        }
    }
}

impl SpanStatistics {
    /// Adds one sample to the statistics.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let seconds = span.as_secs_f64();
        if self.count() == 0 {
            self.first = seconds;
        }
        self.classes.add(span.as_micros());
        let away = seconds - self.first;
        self.squares += away * away;
        self.sum += u128::from(span.as_nanos());
        self.min = self.min.min(span);
        self.max = self.max.max(span);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &SpanStatistics) {
        if other.count() == 0 {
            return;
        }
        let (count, mean) = (other.count() as f64, other.mean());
        if self.count() == 0 {
            self.first = other.first;
        }
        // Shift to another origin: sum (x - b)^2 = sum (x - a)^2 + 2 (a - b) sum (x - a) + n (a -
        // b)^2.
        let (from, to) = (other.first, self.first);
        self.squares += other.squares + (from - to) * (2.0 * count * (mean - from) + count * (from - to));
        self.classes.merge(&other.classes);
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.classes.count()
    }

    /// Returns the mean in seconds; NaN without samples.
    pub fn mean(&self) -> f64 {
        match self.count() {
            0 => f64::NAN,
            n => self.sum as f64 / n as f64 / 1e9,
        }
    }

    /// Returns the standard deviation in seconds; NaN without samples.
    pub fn deviation(&self) -> f64 {
        if self.count() == 0 {
            return f64::NAN;
        }
        let away = self.mean() - self.first;
        (self.squares / self.count() as f64 - away * away).max(0.0).sqrt()
    }

    /// Returns a percentile (0 to 100) in seconds; NaN without samples.
    pub fn percentile(&self, percent: f64) -> f64 {
        let middle = self.classes.percentile(percent).map(Span::from_micros);
        middle.map_or(f64::NAN, |middle| middle.clamp(self.min, self.max).as_secs_f64())
    }

    /// Returns the smallest sample in seconds; NaN without samples.
    pub fn min(&self) -> f64 {
        if self.count() == 0 {
            f64::NAN
        } else {
            self.min.as_secs_f64()
        }
    }

    /// Returns the largest sample in seconds; NaN without samples.
    pub fn max(&self) -> f64 {
        if self.count() == 0 {
            f64::NAN
        } else {
            self.max.as_secs_f64()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_deviations_equal_those_of_all_samples() {
        let (mut one, mut other, mut all) =
            (SpanStatistics::default(), SpanStatistics::default(), SpanStatistics::default());
        for sample in 1..=100u64 {
            let span = Span::from_millis(600 + sample * sample % 37);
            if sample % 3 == 0 {
                one.add(span)
            } else {
                other.add(span)
            }
            all.add(span);
        }
        one.merge(&other);
        let samples = (1..=100u64).map(|sample| (600 + sample * sample % 37) as f64 / 1e3);
        let mean = samples.clone().sum::<f64>() / 100.0;
        let expected = (samples.map(|sample| (sample - mean).powi(2)).sum::<f64>() / 100.0).sqrt();
        assert!((all.deviation() - expected).abs() < 1e-9 && (one.deviation() - expected).abs() < 1e-9);
        assert!(SpanStatistics::default().deviation().is_nan());
    }

    #[test]
    fn a_first_sample_of_zero_is_a_sample() {
        let mut statistics = SpanStatistics::default();
        statistics.add(Span::ZERO);
        statistics.add(Span::from_secs(1));
        assert_eq!((statistics.mean(), statistics.deviation()), (0.5, 0.5));
    }

    #[test]
    fn percentiles_are_accurate_from_microseconds_to_hours() {
        for scale in [1, 1_000, 1_000_000, 100_000_000] {
            let mut statistics = SpanStatistics::default();
            for sample in 1..=100 {
                statistics.add(Span::from_micros(sample * scale));
            }
            let unit = scale as f64 / 1e6;
            for (found, expected) in [
                (statistics.mean(), 50.5),
                (statistics.percentile(50.0), 50.0),
                (statistics.percentile(95.0), 95.0),
                (statistics.max(), 100.0),
                (statistics.min(), 1.0),
            ] {
                assert!(
                    (found / unit - expected).abs() <= expected / 256.0,
                    "{found} s where {expected} x {unit} s was expected"
                );
            }
        }
        assert!(SpanStatistics::default().mean().is_nan());
    }
}
