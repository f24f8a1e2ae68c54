//! Timers: loss detection, the probe time-out, delayed acknowledgments, and the idle time-out.

use super::{Connection, LEAST_ROOM};
use crate::app::{End, Event};
use crate::quic::frames::Space;
use bentpipe_core::{Span, Time};

/// Number of packets sent after a probe time-out (RFC 9002, section 6.2.4).
const PROBES: u32 = 2;

impl Connection {
    /// Returns the time of the loss detection timer (RFC 9002, appendix A.8) and its space; true if
    /// it is the age of a packet.
    pub(super) fn loss_timer(&self) -> (Time, Space, bool) {
        let by_age = Space::ALL.map(|space| (self.spaces[space as usize].loss_time, space));
        let (time, space) = by_age.into_iter().min().unwrap_or((Time::MAX, Space::Initial));
        if time != Time::MAX {
            return (time, space, true);
        }
        if self.last_activity == Time::MAX || self.is_blocked() {
            return (Time::MAX, Space::Initial, false);
        }
        let term = self.controller.probe_term();
        let mut first = (Time::MAX, Space::Initial, false);
        for space in Space::ALL {
            let state = &self.spaces[space as usize];
            if state.in_flight() == 0 || (space == Space::Application && !self.complete) {
                continue;
            }
            let delay = if space == Space::Application { self.peer_ack_delay } else { Span::ZERO };
            let time = state.last_eliciting + (term + delay) * self.backoff();
            if time < first.0 {
                first = (time, space, false);
            }
        }
        // The server may wait for a packet of the client before it can send more (section 6.2.2.1).
        let in_flight = self.spaces.iter().any(|space| space.in_flight() > 0);
        if self.end == End::Source && !self.confirmed && !self.complete && !in_flight {
            let space = if self.keys[1] { Space::Handshake } else { Space::Initial };
            first = (self.last_activity + term * self.backoff(), space, false);
        }
        first
    }

    /// Returns true if the server has sent three times as many bytes as it has received from an
    /// address that is not validated.
    pub(super) fn is_blocked(&self) -> bool {
        !self.validated && self.sent_bytes + u64::from(LEAST_ROOM) > 3 * self.received_bytes
    }

    pub(super) fn idle_end(&self) -> Time {
        match self.config.idle_timeout {
            Some(timeout) if self.last_activity != Time::MAX && !self.failed => {
                self.last_activity + timeout.max(self.probe_timeout() * 3)
            }
            _ => Time::MAX,
        }
    }

    /// Returns the time of the next call of [`Connection::wake`]; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        if self.failed {
            return Time::MAX;
        }
        let acks = self.spaces.iter().map(|space| space.ack_due).min().unwrap_or(Time::MAX);
        let acks = if self.is_blocked() { Time::MAX } else { acks };
        acks.min(self.loss_timer().0).min(self.controller.next_wake()).min(self.idle_end())
    }

    /// Handles everything that is due. Returns true if a probe time-out occurred.
    pub fn wake(&mut self, now: Time) -> bool {
        self.controller.wake(now);
        if self.idle_end() <= now {
            self.failed = true;
            let streams: Vec<_> = self.streams.keys().copied().collect();
            self.events.extend(streams.into_iter().map(|id| (id, Event::Failed)));
            return false;
        }
        let (time, space, by_age) = self.loss_timer();
        if time > now {
            return false;
        }
        if by_age {
            let mut outcome = std::mem::take(&mut self.outcome);
            self.find_losses(now, space, &mut outcome);
            outcome.lost.clear();
            self.outcome = outcome;
            return false;
        }
        self.probe_timeouts += 1;
        self.counters.timeouts += 1;
        let waits = self.spaces[space as usize].in_flight() == 0;
        // Restarts the timer even if nothing can be sent.
        self.spaces[space as usize].last_eliciting = now;
        self.last_activity = if waits { now } else { self.last_activity };
        for other in Space::ALL {
            // Also of the other spaces (section 6.2.4), such as the end of a handshake that the
            // window does not permit.
            let has_data = self.has_data(other) || self.spaces[other as usize].in_flight() > 0;
            if self.keys[other as usize] && (other == space || has_data) {
                self.spaces[other as usize].probes = PROBES;
            }
        }
        true
    }
}
