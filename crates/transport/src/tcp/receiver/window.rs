//! The receive window: its growth, its limit by a reader's room, and its closing around a
//! disconnection.

use super::{Due, Receiver};
use crate::sending::rtt::Estimator;
use crate::tcp::right_sizing::RightSizing;
use bentpipe_core::Time;

/// Minimum payload of a segment that lets the window grow, as in Linux.
const GROWS: u64 = 128;

/// Number of acknowledgments that announce a reconnected link (Freeze-TCP, section 3).
const RECONNECTED: u32 = 3;

impl Receiver {
    /// Handles a segment with new data, by which the window may grow. Returns true if it grows.
    ///
    /// Out-of-order data uses a part of the memory. Growth therefore pauses after a hole. It ends
    /// one segment below the limit, or at the limit if the segment is out of order.
    #[inline]
    pub(super) fn widen(&mut self, payload: u64, in_order: bool) -> bool {
        // Without SACK, a duplicate acknowledgment with a larger window would not be recognised as
        // a duplicate (RFC 5681, section 2), so Linux does not let the window grow.
        if (self.remaining_growth == 0 && self.sizing.is_none())
            || payload < GROWS
            || !(in_order || self.sack)
        {
            return false;
        }
        if let Some(sizing) = &self.sizing {
            let grows = sizing.grows(self.window);
            if grows {
                self.window = sizing.grown(self.window, payload);
            }
            return grows;
        }
        let used = self.out_of_order.bytes() + if in_order { payload } else { 0 } + self.unread();
        let max_window =
            self.segments.max_window(payload.min(self.segment_size), self.full_window, self.segment_size);
        let growth = self
            .remaining_growth
            .saturating_sub(used)
            .min(2 * payload)
            .min(max_window.saturating_sub(self.window));
        self.remaining_growth -= growth;
        self.window += growth;
        if growth > 0 && self.remaining_growth <= payload {
            self.window = self.full_window >> self.shift << self.shift;
        }
        growth > 0
    }

    /// Records that a data segment echoes our timestamp of the time `sent`.
    pub fn note_echo(&mut self, now: Time, sent: Option<Time>) {
        self.echoed = sent.map(|sent| now.since(sent));
    }

    /// Returns true if the window grows with the arriving data.
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

    /// Makes received data wait for [`Receiver::read`], because further segments arrive before the
    /// application runs.
    #[cold]
    pub fn hold_reading(&mut self) {
        self.read = self.read.or(Some(self.next));
    }

    /// Lets the application read everything, and makes a waiting acknowledgment due.
    #[cold]
    pub fn read(&mut self) {
        if self.read.take().is_none() {
            return;
        }
        self.due = match self.due {
            Due::Read => Due::First,
            Due::Later if self.is_finished() => Due::Now,
            due => due,
        };
    }

    /// Returns true while the application has unread data.
    #[inline]
    pub fn holds_reading(&self) -> bool {
        self.read.is_some()
    }

    /// Returns the number of bytes in order that the application has not read.
    #[inline]
    fn unread(&self) -> u64 {
        self.read.map_or(0, |read| self.next - read)
    }

    /// Returns the free part of the buffer: without unread data and data after holes. Linux
    /// reserves one segment, which unread data uses first.
    fn free_window(&self) -> u64 {
        let limit = self
            .sizing
            .as_ref()
            .map_or(self.full_window >> self.shift << self.shift, RightSizing::current_limit);
        let free = (limit + self.segment_size).saturating_sub(self.out_of_order.bytes() + self.unread());
        self.window.min(free).next_multiple_of(1 << self.shift)
    }

    /// Returns true if the window would be smaller than the one last offered.
    #[cold]
    pub(super) fn has_shrunk(&self) -> bool {
        self.free_window() < self.edge - self.acknowledged
    }

    /// Returns the window of an acknowledgment that leaves before the application reads. Its right
    /// edge does not move back.
    #[cold]
    pub(super) fn shrunk_window(&mut self) -> u32 {
        let offered = self.edge.saturating_sub(self.next).next_multiple_of(1 << self.shift);
        let window = self.free_window().max(offered);
        self.edge = self.next + window;
        window as u32
    }

    /// Closes or reopens the window, and announces it at once if the other end sends data.
    pub fn freeze(&mut self, frozen: bool) {
        if self.frozen == frozen || self.next <= 1 {
            return;
        }
        self.frozen = frozen;
        self.copies = if frozen { 0 } else { RECONNECTED - 1 };
        self.acknowledge_now();
    }

    /// Returns the window of an acknowledgment around a disconnection.
    #[cold]
    pub(super) fn exceptional_window(&mut self) -> u32 {
        if self.frozen {
            return 0;
        }
        self.copies -= 1;
        self.due = Due::Alone;
        self.rounded() as u32
    }

    /// Returns the window as expressed by its field. A window that still grows is rounded up, as in
    /// Linux, because there is room for more; any other is a multiple of the field's unit.
    #[inline]
    pub(super) fn rounded(&self) -> u64 {
        self.window.next_multiple_of(1 << self.shift)
    }

    /// Sets the total number of bytes of the stream for which the reader has room; it never
    /// decreases.
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

    /// Returns the right edge that buffer and reader permit.
    fn reachable(&self) -> u64 {
        (self.next + self.window).min(self.limit)
    }

    /// Returns true if the right edge may advance by at least the minimum step (RFC 9293, section
    /// 3.8.6.2.2).
    fn opens(&self) -> bool {
        self.reachable().saturating_sub(self.edge) >= self.segments.size().min(self.window / 2).max(1)
    }

    /// Returns the window of a reader with limited room, a multiple of the field's unit.
    #[cold]
    pub(super) fn limited_window(&mut self) -> u32 {
        if self.opens() {
            self.edge = self.reachable();
        }
        (self.edge.saturating_sub(self.next) >> self.shift << self.shift) as u32
    }
}
