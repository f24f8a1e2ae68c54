//! Transmission times of packets at a rate.

use bentpipe_core::{Rate, Span};

/// A rate, with the transmission time of the last packet size: most packets have the size of the
/// previous one, and division is slow.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Number of bytes and their transmission time.
    last: (u32, Span),
    rate: Rate,
}

impl Pace {
    /// Creates the pace of a rate.
    pub fn new(rate: Rate) -> Pace {
        Pace { last: (0, Span::ZERO), rate }
    }

    /// Returns the rate of this pace.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the transmission time of `bytes`.
    #[inline]
    pub fn span_of(&mut self, bytes: u32) -> Span {
        if self.last.0 != bytes {
            self.last = (bytes, self.rate.span_of(u64::from(bytes)));
        }
        self.last.1
    }
}
