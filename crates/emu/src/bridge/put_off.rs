//! Deferred answers of hosts: they are read when the engine's thread wakes for another reason, and
//! handled at the time of the packet that they answer.

use super::Bridge;
use bentpipe_core::{FlowId, Span, Time};
use std::io;

/// Nanoseconds before the end of a run from which answers are no longer deferred, so that they are
/// read before any end terminates. A clock in virtual time has steps of 256 ns.
const BEFORE_END: u64 = 1024;

/// A packet whose answers the host may keep until the engine's thread wakes for another reason, in
/// virtual time. The answers are then handled at the packet's own time, so that only one system
/// call is made for it ([speed of guests](../../../../docs/notes/guest-speed.md)).
pub(super) struct PutOff {
    /// Index of the host's attachment, and the flow of the packet.
    pub number: usize,
    pub flow: FlowId,
    /// Time at which the host received it, and earliest time at which its answers can reach another
    /// host.
    pub at: Time,
    pub latest: Time,
    /// True if the observer waits for the answer to its question.
    pub asked: bool,
}

impl PutOff {
    /// Returns the time until which the answers can be deferred in a run that ends at `end`.
    pub fn until(&self, end: Option<Time>) -> Time {
        let before = end.map(|end| Time::from_nanos(end.as_nanos().saturating_sub(BEFORE_END)));
        before.map_or(self.latest, |before| self.latest.min(before))
    }
}

impl Bridge {
    /// Takes a host's deferred answers to a packet. The network has done nothing since.
    pub(super) fn take_put_off(&mut self) -> io::Result<()> {
        let Some(PutOff { number, at, .. }) = self.told_put_off() else { return Ok(()) };
        loop {
            let Some(ring) = self.wait.ring() else { return Ok(()) };
            let Some(size) = ring.read_answer(&mut self.inbox) else { return Ok(()) };
            self.readings.add(Span::ZERO);
            self.enter(number, at, size)?;
        }
    }

    /// Cancels the deferral of the answers to a packet, because another one leaves at the same
    /// moment.
    pub(super) fn put_off_no_longer(&mut self) -> io::Result<()> {
        if let Some(ring) = self.wait.ring() {
            ring.flush()?;
        }
        if let (Some(PutOff { number, .. }), Some(ring)) = (self.told_put_off(), self.wait.ring()) {
            ring.return_answers(number);
            self.will_answer(number);
        }
        Ok(())
    }

    /// Passes the packet with deferred answers to the observer, and returns the packet's state.
    fn told_put_off(&mut self) -> Option<PutOff> {
        let put_off = self.put_off.take()?;
        if let Some(observer) = self.observer.as_mut().filter(|_| put_off.asked) {
            let node = self.attachments[put_off.number].host.node;
            let answer = self.wait.ring().and_then(|ring| ring.take_answer());
            observer.got(&mut self.network, node, put_off.flow, put_off.at, answer);
        }
        Some(put_off)
    }
}
