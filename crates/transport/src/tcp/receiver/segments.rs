//! Estimate of the length of the other end's full segments. A receiver acknowledges two full
//! segments together.
//!
//! RFC 5681, section 4.2, leaves the estimate open. Here it is the longest payload so far. With
//! `ack_pushed` it is the estimate of Linux (observed in 6.12, with an application that writes 1000
//! bytes at a time):
//!
//! - The length of a segment becomes the estimate if it is at least the estimate.
//! - The length of two consecutive shorter segments of equal length also becomes the estimate, in
//!   two cases: if it is at least 536 bytes with the TCP options (the maximum that every host must
//!   accept), or if the segments are longer than the minimum and have neither PSH nor FIN.
//! - Since 6.6, Linux measures the payload that its memory holds with the last segment by which the
//!   estimate grew. A window of at least half the memory grows only by segments of at least that
//!   length, up to the payload that the memory holds in such segments.
//! - A segment counts as the end of an application's write if it has PSH, or is shorter than the
//!   estimate, but not if it has just reduced the estimate.

/// Linux's TCP_MSS_DEFAULT, the default of the option in RFC 9293 (section 3.7.1), and the smallest
/// maximum segment size that Linux accepts.
const DEFAULT_MSS: u64 = 536;
const MIN_MSS: u64 = 88;
/// TCP options of 12 bytes (timestamps), which count as payload in both.
const OPTIONS: u64 = 12;

/// The estimate of one connection.
#[derive(Debug)]
pub(super) struct Segments {
    size: u64,
    /// Payload of the previous segment, if it may become the estimate; otherwise 0.
    previous: u64,
    /// Minimum payload of a segment that lets the window grow.
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

    /// Returns the limit up to which a segment lets the window grow, if the window's memory holds
    /// `full_window` in segments of `longest` bytes.
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
        // Longer segments in between, and short segments with PSH, do not change the estimate.
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
