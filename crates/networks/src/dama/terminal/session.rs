//! Logging on and off, and the constant slots of a terminal that is logged on.

use super::super::frame::Run;
use super::super::message::{self, Logoff, LogonResponse};
use super::{QueuedPacket, Terminal};
use bentpipe_core::Time;
use bentpipe_stage::{DropReason, Outbox};
use std::sync::Arc;

/// The terminal logged off while the packet waited, or had logged off permanently.
pub const LOGGED_OFF: DropReason = DropReason::new("terminal logged off");

/// Logon of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logon {
    /// The terminal is logged on from the start, with these constant slots.
    Done(Run),
    /// The terminal starts to log on at this time.
    Begins(Time),
}

impl Terminal {
    /// Returns the constant slots of the present superframe.
    pub(super) fn constant(&self) -> Run {
        match self.constant {
            Some((run, from)) if from <= self.slots.superframe() => run,
            _ => Run::default(),
        }
    }

    pub(super) fn is_logged_on(&self) -> bool {
        self.constant.is_some_and(|(_, from)| from <= self.slots.superframe())
    }

    /// Logs off at the start of a superframe and drops the waiting packets.
    pub(super) fn log_off(&mut self, now: Time, out: &mut Outbox) {
        let Some((first, period)) = self.parts.logoff else { return };
        self.sessions += 1;
        self.counters.constant += self.constant_slots(self.slots.superframe());
        let again = period.map(|period| period * self.sessions);
        self.logoff = again.map(|again| first + again);
        let begin = match self.parts.logon {
            Logon::Begins(at) => at,
            Logon::Done(_) => Time::ZERO,
        };
        self.logon_request_at = again.map(|again| (begin + again).max(now));
        if self.constant.take().is_some() {
            let (terminal, superframe) = (self.parts.terminal, self.slots.superframe());
            self.send_message(now, message::LOGOFF_BYTES, Arc::new(Logoff { terminal, superframe }), out);
        }
        self.plans.clear();
        self.parts.requester.reset();
        self.unsent = 0;
        self.next_fill = None;
        for traffic in &mut self.parts.traffic {
            for QueuedPacket { packet, .. } in traffic.waiting.drain(..) {
                self.held.packets -= 1;
                self.held.bytes -= u64::from(packet.size);
                out.drop(packet, LOGGED_OFF);
            }
            traffic.clear();
            let buffered = traffic.buffered.iter_mut().flat_map(|queue| queue.drain());
            buffered.for_each(|packet| out.drop(packet, LOGGED_OFF));
        }
    }

    pub(super) fn receive_logon(&mut self, response: &LogonResponse) {
        if self.logon_request_at.is_some() {
            let from = response.superframe.max(self.slots.superframe() + 1);
            self.constant = Some((response.constant, from));
            self.logon_request_at = None;
            self.active |= self.has_data();
        }
    }

    /// Returns the constant slots of all superframes of this logon that have started, in closed
    /// form.
    pub(super) fn constant_slots(&self, superframes: u64) -> u64 {
        self.constant.map_or(0, |(run, from)| u64::from(run.count) * superframes.saturating_sub(from))
    }

    /// Returns the number of slots up to this superframe, including the slots assigned in it.
    pub(super) fn total_slots(&self, superframe: u64) -> u64 {
        self.counters.constant + self.constant_slots(superframe) + self.counters.assigned
    }
}
