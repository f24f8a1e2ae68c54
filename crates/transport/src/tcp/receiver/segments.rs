//! Estimate of the length of the other end's full segments, two of which are acknowledged together.
//!
//! RFC 5681, section 4.2, leaves the estimate open. It is the longest payload so far, or with
//! `ack_pushed` the estimate of Linux (observed in 6.12, with an application that writes 1000 bytes
//! at a time):
//!
//! - A segment that is at least as long as the estimate becomes the estimate.
//! - Two consecutive shorter segments of equal length also become the estimate, if they have as
//!   much payload as the smallest maximum that every host must accept (536 bytes with the TCP
//!   options), or are longer than the smallest segment and without PSH and FIN.
//! - Since 6.6, Linux measures with the last segment by which the estimate grew how much payload
//!   its memory holds. A window of at least half the memory grows only by segments of at least that
//!   length, up to the amount that the memory holds in such segments.
//! - A segment counts as the end of an application's write if it has PSH, or is shorter than the
//!   estimate, but not if it has just reduced the estimate.

/// Linux' TCP_MSS_DEFAULT, RFC 9293's default of the option (section 3.7.1), and the smallest
/// maximum that Linux accepts.
const DEFAULT_MSS: u64 = 536;
const MIN_MSS: u64 = 88;
/// TCP options of 12 bytes (timestamps), which count as payload in both.
const OPTIONS: u64 = 12;

/// The estimate of one connection.
#[derive(Debug)]
pub(super) struct Segments {
    size: u64,
    /// Payload of the previous segment if the estimate may follow it; otherwise 0.
    previous: u64,
    /// Payload from which a segment lets the window grow.
    efficient: u64,
    adapts: bool,
}

impl Segments {
    /// Creates the estimate; `longest` is the maximum payload of a segment.
    pub fn new(adapts: bool, longest: u64) -> Segments {
        let size = if adapts { DEFAULT_MSS.min(longest) } else { 1 };
        Segments { size, previous: 0, efficient: size, adapts }
    }

    /// Returns the payload of a full segment in bytes.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the limit up to which a segment lets a window grow whose memory holds `full_window`
    /// in segments of `longest` bytes.
    #[inline]
    pub fn max_window(&self, payload: u64, full_window: u64, longest: u64) -> u64 {
        match self.adapts {
            true if payload < self.efficient => 0,
            true if self.efficient < longest => full_window / longest * self.efficient,
            _ => u64::MAX,
        }
    }

    /// Handles a segment in order; `pushed` if it has PSH. Returns true if it counts as the end of
    /// an application's write.
    #[inline]
    pub fn take(&mut self, payload: u64, pushed: bool) -> bool {
        let previous = std::mem::take(&mut self.previous);
        if payload >= self.size {
            if payload > self.size {
                self.efficient = payload;
            }
            self.size = payload;
            return pushed;
        }
        if !self.adapts {
            return pushed;
        }
        if payload + OPTIONS >= DEFAULT_MSS || (payload + OPTIONS >= MIN_MSS && !pushed) {
            self.previous = payload;
            if payload == previous {
                self.size = payload;
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_two_equal_segments_of_which_the_first_counts_as_an_end() {
        let mut segments = Segments::new(true, 1460);
        assert!(!segments.take(1448, false) && segments.take(1448, true));
        let ends = [180, 1000, 1000, 1000, 1000].map(|payload| segments.take(payload, true));
        assert_eq!((ends, segments.size()), ([true, true, false, true, true], 1000));
        // Longer ones between them, and short ones with PSH, do not indicate another size.
        let ends = [600, 700, 600, 100, 100, 100].map(|payload| segments.take(payload, true));
        assert_eq!((ends, segments.size()), ([true; 6], 1000));
        // Short ones without PSH do.
        let ends = [100, 100, 100].map(|payload| segments.take(payload, false));
        assert_eq!((ends, segments.size()), ([true, false, false], 100));
        assert_eq!(
            [1000, 1448, 1460].map(|payload| segments.max_window(payload, 14_600, 1460)),
            [0, 14_480, 14_480]
        );
        assert_eq!((segments.take(1200, false), segments.size()), (false, 1200));
        assert_eq!([1199, 1200].map(|payload| segments.max_window(payload, 14_600, 1460)), [0, 12_000]);
    }

    #[test]
    fn without_adaptation_the_estimate_is_the_longest_segment() {
        let mut segments = Segments::new(false, 1460);
        let ends = [1000, 1000, 1448, 1000, 1000].map(|payload| segments.take(payload, false));
        assert_eq!((ends, segments.size()), ([false; 5], 1448));
        assert_eq!(segments.max_window(200, 14_600, 1460), u64::MAX);
    }
}
