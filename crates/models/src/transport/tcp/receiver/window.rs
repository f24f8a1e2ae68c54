//! The receive window: how it grows, what a reader's room leaves of it, and how it is closed around a disconnection.

use super::{Due, Receiver};
use crate::transport::tcp::rtt::Estimator;
use bentpipe_core::Time;

/// Acknowledgments that tell of a link that is there again (Freeze-TCP, section 3).
const RECONNECTED: u32 = 3;

impl Receiver {
    /// A segment lets the window grow.
    #[inline]
    pub(super) fn widen(&mut self, payload: u64) {
        if let Some(sizing) = &self.sizing {
            self.window = sizing.widened(self.window, payload);
            return;
        }
        self.closed = self.closed.saturating_sub(2 * payload);
        self.window += 2 * payload;
        if self.closed == 0 {
            self.window = self.whole >> self.shift << self.shift;
        }
    }

    /// A data segment echoes a timestamp of ours that was sent at `sent`.
    pub fn note_echo(&mut self, now: Time, sent: Option<Time>) {
        self.echoed = sent.map(|sent| now.since(sent));
    }

    /// Whether a segment lets the window grow up to the limit that the right size gives it.
    #[inline]
    pub(super) fn sizing_grows(&self) -> bool {
        self.sizing.as_ref().is_some_and(|sizing| sizing.grows(self.window))
    }

    /// Whether the window grows by what arrives.
    #[inline]
    pub fn right_sizes(&self) -> bool {
        self.sizing.is_some()
    }

    pub(super) fn grow(&mut self, now: Time, path: &Estimator) {
        let rtt = self.echoed.take().or(path.srtt());
        if let Some(sizing) = &mut self.sizing {
            let window = sizing.arrived(now, self.next, rtt, self.window);
            if window != self.window {
                self.window = window >> self.shift << self.shift;
            }
        }
    }

    /// Closes the window, or opens it again, and says so at once if there is a sender to hear it.
    pub fn freeze(&mut self, frozen: bool) {
        if self.frozen == frozen || self.next <= 1 {
            return;
        }
        self.frozen = frozen;
        self.copies = if frozen { 0 } else { RECONNECTED - 1 };
        self.acknowledge_now();
    }

    /// The window of an acknowledgment around a disconnection.
    #[cold]
    pub(super) fn exceptional_window(&mut self) -> u32 {
        if self.frozen {
            return 0;
        }
        self.copies -= 1;
        self.due = Due::Alone;
        self.rounded() as u32
    }

    /// The window as the field says it. One that still grows is rounded up, as Linux does it, since there is room for
    /// more; any other is a multiple of the field's unit.
    #[inline]
    pub(super) fn rounded(&self) -> u64 {
        self.window.next_multiple_of(1 << self.shift)
    }

    /// The reader has room for so many bytes of the stream in all; never for fewer than it once had.
    pub fn allow(&mut self, bytes: u64) {
        let limit = bytes.saturating_add(1);
        debug_assert!(self.limit == u64::MAX || limit >= self.limit, "room that was promised is gone");
        self.limit = limit;
        let (now, then) = (self.edge.saturating_sub(self.next), self.reachable().saturating_sub(self.next));
        let ended = self.fin.is_some_and(|fin| fin < self.next);
        if self.next > 0 && !ended && 2 * now <= self.window && then >= 2 * now && self.opens() {
            self.due = self.due.max(Due::Now);
        }
    }

    /// The right edge that buffer and reader allow.
    fn reachable(&self) -> u64 {
        (self.next + self.window).min(self.limit)
    }

    /// Whether the right edge may move by as much as is worth a segment.
    fn opens(&self) -> bool {
        self.reachable().saturating_sub(self.edge) >= self.largest.min(self.window / 2).max(1)
    }

    /// The window of a reader whose room has a limit, a multiple of the unit that the field has.
    #[cold]
    pub(super) fn limited_window(&mut self) -> u32 {
        if self.opens() {
            self.edge = self.reachable();
        }
        (self.edge.saturating_sub(self.next) >> self.shift << self.shift) as u32
    }
}
