//! The delay of acknowledgments of in-order data (RFC 1122, section 4.2.3.2).
//!
//! The acknowledgment of a full segment waits for the next full segment or for the timer. The delay
//! is `delayed_ack_timeout`, or follows the time between segments as in Linux, starting at
//! `delayed_ack_min` (40 ms):
//!
//! - Only segments in order count (observed in Linux 6.12). A segment that arrives within half the
//!   minimum delay moves the delay halfway towards the minimum. One that arrives later but within
//!   the delay sets it to half the delay plus the elapsed time. A timer that expires doubles it.
//! - The delay never exceeds the round-trip time, if that is known and above the minimum, nor
//!   `delayed_ack_timeout`.
//! - The first `quick_acks` acknowledgments are sent at once, so that slow start is not delayed.
//!   The same applies after a pause longer than the retransmission time-out, and when the sender
//!   retransmits data that has already arrived.
//! - Segments by which the receiver's window grows ([`super::receiver`]) are also acknowledged at
//!   once, and these acknowledgments are not counted.
//! - With `ack_pushed`, a segment with PSH is acknowledged as soon as the application has read it,
//!   because its sender may wait for the acknowledgment (commit "tcp: fix delayed ACKs for MSS
//!   boundary condition", 2023).
//! - Sending an acknowledgment does not stop the timer. Its expiry then has no effect, except that
//!   it sends a pending acknowledgment shared by segments after a hole (observed in Linux 6.12 and
//!   7.3).
//! - A connection that answers data with data before the delay ends is interactive. Its
//!   acknowledgments travel with the answers, so they are not quick.

use super::timer::Timer;
use super::Config;
use crate::sending::rtt::Estimator;
use bentpipe_core::{Span, Time};

/// The delay of acknowledgments of one connection.
#[derive(Debug)]
pub(super) struct DelayedAck {
    enabled: bool,
    acknowledges_push: bool,
    min: Span,
    max: Span,
    quick_start: u32,
    /// The adapted delay; zero before the first data.
    delay: Span,
    /// Number of remaining quick acknowledgments.
    quick: u32,
    /// Time at which data last arrived in order.
    last: Time,
    interactive: bool,
    timer: Timer,
    /// Start and duration of the last delay of in-order data.
    started: (Time, Span),
}

impl DelayedAck {
    pub fn new(config: &Config) -> DelayedAck {
        DelayedAck {
            enabled: config.delayed_ack,
            acknowledges_push: config.ack_pushed,
            min: config.delayed_ack_min,
            max: config.delayed_ack_timeout,
            quick_start: config.quick_acks.value() as u32,
            delay: Span::ZERO,
            quick: 0,
            last: Time::ZERO,
            interactive: false,
            timer: Timer::stopped(config.clock()),
            started: (Time::ZERO, Span::ZERO),
        }
    }

    /// Handles arriving in-order data. `room` returns the number of full segments in the window;
    /// the division is rarely needed.
    #[inline]
    pub fn arrived(&mut self, now: Time, path: &Estimator, room: impl Fn() -> u64) {
        if self.adapts() {
            self.adapt(now, path, room);
        }
        self.last = now;
    }

    /// Handles arriving data by which the window grows.
    #[inline]
    pub fn window_grew(&mut self) {
        self.quick |= 1;
    }

    #[inline]
    fn adapts(&self) -> bool {
        self.min < self.max || self.quick_start > 0
    }

    #[inline]
    fn adapt(&mut self, now: Time, path: &Estimator, room: impl Fn() -> u64) {
        let clock = self.timer.clock();
        let since = clock.between(self.last, now);
        if self.delay == Span::ZERO {
            self.acknowledge_quickly(room(), u32::MAX);
            self.delay = self.min;
        } else if since <= self.min / 2 {
            self.delay = clock.whole(self.delay / 2) + self.min / 2;
        } else if since < self.delay {
            self.delay = (clock.whole(self.delay / 2) + since).min(path.rto());
        } else if since > path.rto() {
            self.acknowledge_quickly(room(), u32::MAX);
        }
    }

    /// Makes the next acknowledgments quick, at most `max`.
    fn acknowledge_quickly(&mut self, room: u64, max: u32) {
        let max = max.min(self.quick_start);
        self.quick = self.quick.max(max.min((room / 2).max(2) as u32)).min(self.quick_start);
    }

    /// Makes the next acknowledgments quick, at most `max`, because the sender has retransmitted
    /// received data, or the path is congested. The connection then counts as not interactive until
    /// data is answered again.
    pub fn acknowledge_retransmissions_quickly(&mut self, room: u64, max: u32) {
        self.acknowledge_quickly(room, max);
        self.interactive = false;
        if self.adapts() {
            self.delay = self.min;
        }
    }

    /// Returns true if an acknowledgment must be sent without delay.
    #[inline]
    pub fn is_quick(&self) -> bool {
        !self.enabled || (self.quick > 0 && !self.interactive)
    }

    /// Returns true if a segment with PSH must be acknowledged without delay.
    #[inline]
    pub fn acknowledges_push(&self) -> bool {
        self.acknowledges_push && !self.interactive
    }

    /// Starts the delay of an acknowledgment.
    #[inline]
    pub fn start(&mut self, now: Time, path: &Estimator) {
        let mut delay = self.max;
        if self.min < self.max {
            let bound = path.srtt().map_or(self.max, |srtt| srtt.max(self.min));
            delay = self.delay.max(self.min).min(bound).min(self.max);
        }
        self.timer.start(now, delay);
        self.started = (now, delay);
    }

    /// Starts the delay of acknowledgments of holes, until `at`. The timer of the last in-order
    /// data continues after its acknowledgment, and also ends this delay.
    pub fn start_for_hole(&mut self, now: Time, at: Time) {
        let (started, delay) = self.started;
        let earlier = self.timer.clock().expiry(started, delay);
        let runs = delay > Span::ZERO && earlier > now;
        self.timer.start_exactly(if runs { at.min(earlier) } else { at });
    }

    /// Returns true if the delay is over.
    #[inline]
    pub fn expired(&mut self, now: Time) -> bool {
        self.timer.expired(now)
    }

    /// Doubles the delay, because no second segment arrived in time.
    pub fn lengthen(&mut self, path: &Estimator) {
        if self.interactive {
            self.interactive = false;
            self.delay = self.min;
        } else {
            self.delay = (self.delay * 2).min(path.rto());
        }
    }

    /// Records that an acknowledgment is sent, `with_data` or alone.
    #[inline]
    pub fn sent(&mut self, now: Time, with_data: bool) {
        self.timer.stop();
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = self.min;
            }
        }
        if with_data && self.delay > Span::ZERO && now.since(self.last) < self.delay {
            self.interactive = true;
        }
    }

    #[inline]
    pub fn next_wake(&self) -> Time {
        self.timer.wake()
    }
}
