//! Whether the congestion window is what limits a sender, and what becomes of it when it is not: by idle time and by
//! applications that send less than it allows.
//!
//! - `is_cwnd_limited` and `max_packets_out` of [`State`], over a window each, as Linux' `tcp_cwnd_validate` keeps
//!   them: the congestion control lets the window grow only while it is the limit.
//! - Restart after idle time (RFC 5681, section 4.1): when nothing is out and nothing was sent for longer than the
//!   time-out, the window is halved for each time-out that has passed, down to the initial window (RFC 2861, section
//!   3.1, as Linux has it).
//! - A window that the application has not filled for a time-out goes half the way to what was used (RFC 2861, section
//!   3.2; RFC 7661 is its successor), and at most to the initial window. The threshold keeps what the window was.

use super::congestion::{Congestion, Event, State, CA_OPEN};
use super::recovery::current_ssthresh;
use super::scoreboard::in_flight;
use super::Config;
use bentpipe_core::{Span, Time};

/// Use of the window by one sender.
#[derive(Clone, Debug)]
pub struct Usage {
    /// Something was sent since the last look.
    sent: bool,
    /// What the window allows waits to leave with more.
    deferred: bool,
    /// New data has left.
    fresh: bool,
    /// Linux' `cwnd_usage_seq`: where the window ends over which `is_cwnd_limited` holds.
    end: u64,
    initial: u32,
    restarts: bool,
    decays: bool,
    /// When something was last sent.
    last: Time,
    /// Since when the window has not been the limit, and the most segments out since (Linux' `snd_cwnd_stamp`,
    /// `snd_cwnd_used`).
    unused_since: Time,
    used: u32,
}

impl Usage {
    /// Nothing sent yet.
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

    /// The window at the start, segments.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// Something is sent, or only the window prevents it.
    #[inline]
    pub fn sent(&mut self) {
        self.sent = true;
    }

    /// Whether nothing has left since the window was last validated.
    #[inline]
    pub fn is_settled(&self) -> bool {
        !self.sent && !self.fresh
    }

    /// Whether new data has left since this was last asked.
    #[inline]
    pub fn take_fresh(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }

    /// The window was reduced or raised for another reason.
    #[inline]
    pub fn touch(&mut self, now: Time) {
        self.unused_since = now;
    }

    /// Before new data is sent when nothing is out: whether the window must be restarted.
    pub fn restart(&mut self, now: Time, rto: Span, state: &mut State, congestion: &mut dyn Congestion) {
        let idle = now.since(self.last.min(now));
        if !self.restarts || self.last == Time::MAX || idle <= rto || congestion.has_cong_control() {
            return;
        }
        congestion.cwnd_event(state, Event::CwndRestart);
        state.snd_ssthresh = current_ssthresh(state);
        let least = self.initial.min(state.snd_cwnd);
        let mut left = idle;
        while left > rto && state.snd_cwnd > least {
            left = left - rto;
            state.snd_cwnd >>= 1;
        }
        state.snd_cwnd = state.snd_cwnd.max(least);
        self.unused_since = now;
        self.used = 0;
    }

    /// What the window leaves room for waits, to leave with more: the window is the limit all the same.
    #[inline]
    pub fn deferred(&mut self) {
        self.sent = true;
        self.deferred = true;
    }

    /// New data left at `now`.
    #[inline]
    pub fn left(&mut self, now: Time) {
        self.last = now;
        self.sent = true;
        self.fresh = true;
    }

    /// After sending (Linux' `tcp_cwnd_validate`). `idle`: the application has nothing more to send.
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
