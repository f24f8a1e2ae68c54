//! Selection of the data to send now.

use super::timers::Purpose;
use super::{Chunk, Sender};
use crate::sending::in_flight;
use crate::tcp::bursts::{Plan, SendLimits};
use crate::tcp::scoreboard::Lost;
use bentpipe_congestion::interface::Event;
use bentpipe_core::Time;

impl Sender {
    /// Returns the next chunk that may be sent now, lost data first. With segmentation offload, a
    /// chunk has several segments.
    #[inline(always)]
    pub fn next_chunk(&mut self, now: Time) -> Option<Chunk> {
        if std::mem::take(&mut self.woken_early) || self.is_quiet() || self.frozen {
            return None;
        }
        self.next_of_some(now)
    }

    /// Returns true if there is nothing to send or to retransmit, and nothing has changed since the
    /// last call. This is always true at an end that only receives.
    #[inline(always)]
    fn is_quiet(&self) -> bool {
        self.nxt >= self.end
            && !self.closed
            && !self.loss_probe_due
            && self.scoreboard.none_waits()
            && self.usage.is_settled()
    }

    /// Returns true if there is nothing to send and nothing to count:
    /// [`next_chunk`](Self::next_chunk) would then have no effect.
    #[inline]
    pub fn is_silent(&self) -> bool {
        !self.uncounted && !self.probe_due && !self.woken_early && self.is_quiet()
    }

    #[inline(always)]
    fn next_of_some(&mut self, now: Time) -> Option<Chunk> {
        let chunk = self.next_segment(now)?;
        Some(if self.bursts.are_single_packets() { self.whole(now, chunk) } else { chunk })
    }

    /// Returns a packet of `chunk` and the following segments of its burst.
    #[inline(never)]
    fn whole(&mut self, now: Time, mut chunk: Chunk) -> Chunk {
        while chunk.payload() > 0 && chunk.payload().is_multiple_of(self.segment_size) && !chunk.fin() {
            let end = chunk.start() + u64::from(chunk.payload());
            if self.bursts.left(end, chunk.fresh()) == 0 {
                break;
            }
            let more = if chunk.fresh() {
                self.next_new(now)
            } else {
                self.scoreboard.next_lost().filter(|lost| lost.start == end).and_then(|_| self.next_lost(now))
            };
            let Some(more) = more else { break };
            chunk = chunk.and(more);
        }
        self.bursts.end();
        chunk
    }

    #[inline(always)]
    fn next_segment(&mut self, now: Time) -> Option<Chunk> {
        if self.loss_probe_due || !self.scoreboard.none_waits() {
            if let Some(chunk) = self.next_before_new(now) {
                return Some(chunk);
            }
        }
        let chunk = self.next_new(now);
        if chunk.is_some() {
            return chunk;
        }
        if self.writer.wakes(self.scoreboard.packets(), self.nxt) {
            if let Some(chunk) = self.next_of_writer(now) {
                return Some(chunk);
            }
        }
        if self.writer.has_more(self.end) {
            self.writer.fill(self.scoreboard.packets(), self.nxt, self.end);
        }
        self.validate(now);
        None
    }

    /// Wakes the writing program if the send buffer has room, and returns the next chunk of new
    /// data.
    #[inline(never)]
    fn next_of_writer(&mut self, now: Time) -> Option<Chunk> {
        self.check_application_limited();
        self.next_new(now)
    }

    /// Returns the chunk to send before new data: a probe, or a lost segment.
    #[inline(never)]
    fn next_before_new(&mut self, now: Time) -> Option<Chunk> {
        if std::mem::take(&mut self.loss_probe_due) {
            if let Some(chunk) = self.loss_probe(now) {
                return Some(chunk);
            }
        }
        if self.scoreboard.none_waits() || self.recovery.holds_lost() {
            return None;
        }
        if self.recovery.prefers_new() {
            if let Some(chunk) = self.next_new(now) {
                return Some(chunk);
            }
            self.recovery.no_new_data(self.nxt);
        }
        if self.recovery.prefers_new() {
            None
        } else {
            self.next_lost(now)
        }
    }

    #[inline]
    pub(super) fn next_lost(&mut self, now: Time) -> Option<Chunk> {
        if !self.recovery.forced() && in_flight(&self.state) >= self.state.snd_cwnd {
            return None;
        }
        let lost = self.scoreboard.next_lost()?;
        if self.bursts.left(lost.start, false) == 0 {
            if self.pacing.holds(now, &self.state) {
                return None;
            }
            if self.bursts.are_enabled() {
                let max = self.bursts.max_retransmission(&self.pacing, &self.state);
                let bytes = self.scoreboard.retransmission_burst(lost.number, max);
                self.bursts.plan_retransmission(lost.start, bytes);
            }
        }
        if lost.first && self.purpose != Purpose::Reorder {
            self.start_retransmission_timer(now, now);
        }
        Some(self.retransmit(now, &lost))
    }

    pub(super) fn retransmit(&mut self, now: Time, lost: &Lost) -> Chunk {
        self.scoreboard.resent(now, lost.number, &mut self.state);
        if self.has_cong_control {
            self.rate.resent(lost.number, &self.state);
        }
        self.recovery.resent(now, &self.state);
        self.usage.resent(now);
        let fin = self.closed && lost.start + u64::from(lost.length) > self.end;
        let payload = lost.length - u32::from(fin);
        let pushed = lost.pushed || self.ends_burst(lost.start, payload.into(), false);
        self.leaves(now, lost.start, payload, false);
        self.counters.sent_packets += 1;
        self.counters.retransmissions += 1;
        Chunk::new(lost.start, payload, fin, false).with_push(pushed)
    }

    /// Returns the chunk of a probe (RFC 8985, section 7.3): new data if the receiver's window
    /// permits, independent of the congestion window, or the last segment.
    pub(super) fn loss_probe(&mut self, now: Time) -> Option<Chunk> {
        let written = self.writer.written(self.end);
        let size = u64::from(self.segment_size).min(written.saturating_sub(self.nxt));
        let nxt = self.nxt;
        if size > 0 && self.nxt + size <= self.edge {
            let chunk = self.send_new(now, size);
            // The time-out counts from the time of the probe.
            self.usage.take_fresh();
            self.recovery.probe_mut().sent(nxt, false);
            return Some(chunk);
        }
        let last = self.scoreboard.last()?;
        self.scoreboard.separate_last();
        let chunk = self.retransmit(now, &last);
        self.recovery.probe_mut().sent(nxt, true);
        Some(chunk)
    }

    #[inline(always)]
    pub(super) fn next_new(&mut self, now: Time) -> Option<Chunk> {
        self.writer.fill_up(self.scoreboard.packets(), self.nxt, self.end);
        let written = self.writer.written(self.end);
        let available = written.saturating_sub(self.nxt);
        let fin_wanted = self.closed && written == self.end && self.nxt <= self.end;
        if available == 0 && !fin_wanted {
            return None;
        }
        if self.scoreboard.is_empty() {
            let rto = self.estimator.rto();
            self.usage.restart(now, rto, &mut self.state, &mut *self.congestion);
        }
        if in_flight(&self.state) >= self.state.snd_cwnd && !self.resumes(now) {
            self.usage.sent();
            return None;
        }
        let size = u64::from(self.segment_size);
        if available < size && written < self.end {
            // The program will write the rest of the segment.
            return None;
        }
        let usable = self.edge.saturating_sub(self.nxt);
        let buffered = self.una.saturating_add(self.buffer).saturating_sub(self.nxt);
        let mut payload = available.min(size).min(usable).min(buffered);
        let small = payload < size && !fin_wanted;
        let left = self.bursts.left(self.nxt, true).min(payload);
        let held = self.nagle.holds(self.una, self.nxt);
        if left == size || (left > 0 && !held) {
            return Some(self.send_new(now, left));
        }
        if payload < size && payload < available && self.is_too_small(now, payload) {
            return None;
        }
        if small && held {
            return None;
        }
        if self.pacing.holds(now, &self.state) {
            return None;
        }
        if self.bursts.are_enabled() && available > size && payload == size {
            if !self.plan_burst(now, available, buffered, usable) {
                return None;
            }
            payload = payload.min(self.bursts.left(self.nxt, true));
        }
        Some(self.send_new(now, payload))
    }

    /// Returns true if a segment that a window limits is too small to be sent.
    #[inline]
    fn is_too_small(&mut self, now: Time, payload: u64) -> bool {
        let too_small = payload == 0 || (payload < u64::from(self.largest_window / 2) && !self.overriding);
        if too_small && self.scoreboard.is_empty() && !self.timer.is_running() {
            self.timer.start(now, self.estimator.rto());
        }
        too_small
    }

    /// Plans the next burst. Returns true if it leaves now.
    #[inline]
    fn plan_burst(&mut self, now: Time, available: u64, buffered: u64, usable: u64) -> bool {
        let packet = self.writer.packet_end(self.nxt).saturating_sub(self.nxt);
        let last = packet >= available;
        // A partial segment does not leave before the program has written its end.
        let unwritten = last && self.nxt + available < self.end;
        let available =
            if unwritten { available - available % u64::from(self.segment_size) } else { available };
        let room = SendLimits {
            start: self.nxt,
            available,
            packet: packet.min(available),
            grows: last && !self.closed,
            writes: last && self.writer.writes(self.end),
            buffered,
            usable,
            window: self.window.into(),
            first_sent: self.scoreboard.first_sent_at(),
        };
        let mut plan = self.bursts.plan(now, &room, &self.pacing, &self.state);
        if plan == Plan::WaitsForCongestionWindow && self.resumes(now) {
            plan = self.bursts.plan(now, &room, &self.pacing, &self.state);
        }
        if plan == Plan::WaitsForCongestionWindow {
            self.usage.deferred();
        }
        plan == Plan::Leaves
    }

    /// Records the departure of a segment, for time-outs, losses and traces.
    #[inline(always)]
    fn leaves(&mut self, now: Time, start: u64, payload: u32, fresh: bool) {
        let continues = self.bursts.sent(now, start, payload, fresh);
        self.pacing.sent(now, payload, continues, &mut self.state);
        self.state.lsndtime = now.as_nanos() / 1_000;
    }

    /// Returns true if a segment from `start` ends a burst of several segments. Since version 4.20,
    /// Linux sends such a segment with PSH, and without PSH when it retransmits the segment alone.
    #[inline(always)]
    fn ends_burst(&self, start: u64, payload: u64, fresh: bool) -> bool {
        payload > 0 && self.bursts.continues(start, fresh) && self.bursts.left(start, fresh) == payload
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, now: Time, payload: u64) -> Chunk {
        self.overriding = false;
        let fin = self.closed && self.nxt <= self.end && self.nxt + payload == self.end;
        let length = payload as u32 + u32::from(fin);
        if in_flight(&self.state) == 0 {
            self.stamp(now);
            self.congestion.cwnd_event(&mut self.state, Event::TxStart);
        }
        let nothing_out = self.scoreboard.is_empty();
        if nothing_out {
            self.start_retransmission_timer(now, now);
        }
        if self.has_cong_control {
            self.rate.sent(now, nothing_out, &self.state);
        }
        let start = self.nxt;
        let begins = !self.bursts.continues(start, true);
        // The end of the application's data has PSH (RFC 9293, section 3.9.1.2), as does the end of
        // data that the writer has pushed, also in retransmissions. If the burst continues beyond
        // this end, the end of the burst has PSH instead.
        let goes_on = self.bursts.left(start, true) > payload;
        let marked = self.writer.marks(start + payload) || (self.carries_mark && !begins);
        self.carries_mark = marked && goes_on;
        let ends = payload > 0 && ((marked && !goes_on) || start + payload == self.end);
        let pushed = ends || self.ends_burst(start, payload, true);
        self.scoreboard.push(now, start, length, (begins, ends), &mut self.state);
        self.recovery.sent(&self.state);
        self.nxt += u64::from(length);
        self.state.snd_nxt = self.state.snd_nxt.wrapping_add(length);
        self.usage.left(now);
        if payload > 0 {
            self.nagle.sent(start, start + payload, self.segment_size.into());
            self.leaves(now, start, payload as u32, true);
            self.counters.sent_bytes += payload;
            self.counters.sent_packets += 1;
        }
        Chunk::new(start, payload as u32, fin, true).with_push(pushed)
    }

    /// Validates the congestion window after sending, and schedules a probe.
    #[inline]
    pub(super) fn validate(&mut self, now: Time) {
        self.bursts.end();
        if self.usage.take_fresh() && self.recovery.may_probe(&self.state) {
            self.start_probe_timer(now, self.scoreboard.first_sent_at().unwrap_or(now));
        }
        let idle = self.nxt >= self.end;
        let rto = self.estimator.rto();
        self.usage.validate(now, (self.una, self.nxt), idle, rto, &mut self.state, self.has_cong_control);
    }
}
