//! A token bucket, filled at a rate up to a size, in exact arithmetic (billionths of a bit).

use bentpipe_core::{Rate, Size, Span, Time};

/// Number of tokens for one bit.
const BIT: u128 = 1_000_000_000;

/// A token bucket, full at the start.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: Rate,
    size: u128,
    tokens: u128,
    filled: Time,
}

fn bits(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * BIT
}

impl Bucket {
    /// Creates a full bucket of `size` that is refilled at `rate`.
    pub fn new(rate: Rate, size: Size) -> Bucket {
        Bucket { rate, size: bits(size.bytes()), tokens: bits(size.bytes()), filled: Time::ZERO }
    }

    /// Adds the tokens that have arrived up to `now`. Returns the tokens that did not fit.
    #[inline]
    pub fn fill(&mut self, now: Time) -> u128 {
        let since = now.since(self.filled);
        self.filled = self.filled.max(now);
        let tokens = self.tokens + u128::from(self.rate.bits_per_second()) * u128::from(since.as_nanos());
        self.tokens = tokens.min(self.size);
        tokens - self.tokens
    }

    /// Adds tokens, up to the bucket's size.
    pub fn add(&mut self, tokens: u128) {
        self.tokens = (self.tokens + tokens).min(self.size);
    }

    /// Returns true if the bucket contains the tokens for `bytes`.
    #[inline]
    pub fn has(&self, bytes: u32) -> bool {
        self.tokens >= bits(u64::from(bytes))
    }

    /// Removes the tokens for `bytes`, which the bucket must contain.
    #[inline]
    pub fn take(&mut self, bytes: u32) {
        self.tokens -= bits(u64::from(bytes));
    }

    /// Removes the tokens for `bytes` if the bucket contains them. Returns true if it did.
    #[inline]
    pub fn try_take(&mut self, bytes: u32) -> bool {
        let enough = self.has(bytes);
        if enough {
            self.take(bytes);
        }
        enough
    }

    /// Returns the time from which the bucket contains the tokens for `bytes`; [`Time::MAX`] if
    /// they exceed its size.
    pub fn ready(&self, bytes: u32) -> Time {
        let missing = bits(u64::from(bytes)).saturating_sub(self.tokens);
        if bits(u64::from(bytes)) > self.size {
            return Time::MAX;
        }
        let nanos = missing.div_ceil(u128::from(self.rate.bits_per_second()));
        self.filled + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_arrive_at_the_rate_up_to_the_burst() {
        // 1 Mbit/s: a byte takes 8 us.
        let mut bucket = Bucket::new(Rate::from_bits_per_second(1_000_000), Size::from_bytes(1500));
        assert!(bucket.try_take(1500) && !bucket.try_take(1));
        assert_eq!(bucket.ready(1000), Time::from_nanos(8_000_000));
        assert_eq!(bucket.ready(1501), Time::MAX);
        bucket.fill(Time::from_nanos(7_999_999));
        assert!(!bucket.has(1000));
        bucket.fill(Time::from_nanos(8_000_000));
        assert!(bucket.try_take(1000) && !bucket.has(1));
        // 12 ms fill it; the tokens of another 8 ms do not fit.
        assert_eq!(bucket.fill(Time::from_nanos(28_000_000)), bits(1000));
        assert!(bucket.try_take(1500));
    }
}
