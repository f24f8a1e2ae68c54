//! Use of the congestion window, and its reduction while it does not limit the sender: after idle
//! time, and for applications that send less than the window permits.
//!
//! - `is_cwnd_limited` and `max_packets_out` of [`State`] are determined once per window, as in
//!   Linux's `tcp_cwnd_validate`. The congestion control increases the window only while the window
//!   limits sending.
//! - Restart after idle time (RFC 5681, section 4.1): if nothing is outstanding and nothing was
//!   sent for longer than the time-out, the window is halved for each time-out that has passed,
//!   down to the initial window (RFC 2861, section 3.1, as in Linux).
//! - A window that the application has not filled for a time-out is reduced halfway to its used
//!   part (RFC 2861, section 3.2; RFC 7661 is its successor), but not below the initial window. The
//!   threshold keeps the old value.

use super::Config;
use crate::sending::{current_ssthresh, in_flight};
use bentpipe_congestion::interface::{Congestion, Event, State, CA_OPEN};
use bentpipe_core::{Span, Time};

/// A sender's use of its window.
#[derive(Clone, Debug)]
pub struct Usage {
    /// True if a segment was sent since the last validation.
    sent: bool,
    /// True if permitted data waits to form a larger burst.
    deferred: bool,
    /// True if new data has been sent.
    fresh: bool,
    /// End of the window over which `is_cwnd_limited` applies (Linux's `cwnd_usage_seq`).
    end: u64,
    initial: u32,
    restarts: bool,
    decays: bool,
    /// Time of the last transmission.
    last: Time,
    /// Time since which the window has not been the limit, and the maximum number of outstanding
    /// segments since then (Linux's `snd_cwnd_stamp`, `snd_cwnd_used`).
    unused_since: Time,
    used: u32,
}

impl Usage {
    /// Creates the state before anything is sent.
    pub fn new(config: &Config) -> Usage {
        Usage {
            sent: false,
            deferred: false,
            fresh: false,
            end: 0,
            initial: config.initial_window.value() as u32,
            restarts: config.restart_after_idle,
            decays: config.window_validation,
            last: Time::MAX,
            unused_since: Time::ZERO,
            used: 0,
        }
    }

    /// Returns the initial window in segments.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// Records that a segment is sent, or that only the window prevents it.
    #[inline]
    pub fn sent(&mut self) {
        self.sent = true;
    }

    /// Returns true if nothing has left since the window was last validated.
    #[inline]
    pub fn is_settled(&self) -> bool {
        !self.sent && !self.fresh
    }

    /// Returns and resets the flag of sent new data.
    #[inline]
    pub fn take_fresh(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }

    /// Records that the window was changed at `now` for another reason.
    #[inline]
    pub fn touch(&mut self, now: Time) {
        self.unused_since = now;
    }

    /// Restarts the window before new data is sent while nothing is outstanding, if idle time
    /// requires it.
    pub fn restart(&mut self, now: Time, rto: Span, state: &mut State, congestion: &mut dyn Congestion) {
        let idle = now.since(self.last.min(now));
        if !self.restarts || self.last == Time::MAX || idle <= rto || congestion.has_cong_control() {
            return;
        }
        congestion.cwnd_event(state, Event::CwndRestart);
        state.snd_ssthresh = current_ssthresh(state);
        let min = self.initial.min(state.snd_cwnd);
        let mut left = idle;
        while left > rto && state.snd_cwnd > min {
            left = left - rto;
            state.snd_cwnd >>= 1;
        }
        state.snd_cwnd = state.snd_cwnd.max(min);
        self.unused_since = now;
        self.used = 0;
    }

    /// Records that permitted data waits to form a larger burst: the window still counts as the
    /// limit.
    #[inline]
    pub fn deferred(&mut self) {
        self.sent = true;
        self.deferred = true;
    }

    /// Records that new data was sent at `now`.
    #[inline]
    pub fn left(&mut self, now: Time) {
        self.last = now;
        self.sent = true;
        self.fresh = true;
    }

    /// Records that data was retransmitted at `now`: the connection is not idle.
    #[inline]
    pub fn resent(&mut self, now: Time) {
        self.last = now;
    }

    /// Validates the window after sending (Linux's `tcp_cwnd_validate`); `idle` if the application
    /// has nothing more to send.
    #[inline]
    pub fn validate(
        &mut self,
        now: Time,
        (una, nxt): (u64, u64),
        idle: bool,
        rto: Span,
        state: &mut State,
        samples: bool,
    ) {
        if !std::mem::take(&mut self.sent) {
            return;
        }
        let limited = std::mem::take(&mut self.deferred) || in_flight(state) >= state.snd_cwnd;
        let new_window = una >= self.end;
        if new_window || limited || (state.is_cwnd_limited == 0 && state.packets_out > state.max_packets_out)
        {
            state.is_cwnd_limited = u32::from(limited);
            state.max_packets_out = state.packets_out;
            self.end = nxt;
        }
        if !self.decays {
            return;
        }
        let slow_start = state.snd_cwnd < state.snd_ssthresh && state.snd_cwnd < 2 * state.max_packets_out;
        if state.is_cwnd_limited != 0 || slow_start {
            self.used = 0;
            self.unused_since = now;
            return;
        }
        self.used = self.used.max(state.packets_out);
        if now.since(self.unused_since) >= rto && !samples {
            if state.ca_state == CA_OPEN && idle {
                let used = self.used.max(self.initial);
                if used < state.snd_cwnd {
                    state.snd_ssthresh = current_ssthresh(state);
                    state.snd_cwnd = (state.snd_cwnd + used) >> 1;
                }
                self.used = 0;
            }
            self.unused_since = now;
        }
    }
}
