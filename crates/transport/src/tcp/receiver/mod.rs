//! The receiving half of a connection: reassembly and acknowledgments.
//!
//! - In-order data is delivered at once; out-of-order data is stored as ranges and delivered when
//!   the hole is filled. The FIN counts as one position after the last byte, so it may also arrive
//!   out of order.
//! - Delayed acknowledgments (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2): one for every two
//!   full segments, or after a time-out ([`super::delayed_ack`]). As in Linux, two full segments
//!   means more unacknowledged bytes than in one [full segment](segments). Data that is out of
//!   order, duplicate, or fills a hole is acknowledged at once, as is a FIN.
//! - An acknowledgment that is due at once leaves before the application is informed of the data,
//!   so it does not travel with the application's answer. The acknowledgment of a FIN does.
//! - In the profiles of Linux, an application runs after all packets that arrive at one instant
//!   ([`Receiver::hold_reading`]). Until it reads, the window is the part of the buffer without
//!   unread data, and more than a full segment is acknowledged only if the new window is not
//!   smaller than the last one. All waiting segments, also those with PSH, share one
//!   acknowledgment, which leaves when the application has read (docs/notes/linux-tcp.md).
//! - SACK blocks (RFC 2018, section 4): the first contains the segment that caused the
//!   acknowledgment, the others are the most recently changed. Linux joins that segment with
//!   adjacent blocks of the present list, but not with other stored data (observed in 6.12). A
//!   duplicate acknowledgment carries no data, so that senders recognise it. Data that has arrived
//!   twice is reported once, in front of these blocks (RFC 2883).
//! - `ack_compression`: after three acknowledgments of one hole, up to 44 segments share one
//!   acknowledgment. It waits for a twentieth of the round-trip time, limited to `ack_compression`,
//!   as in Linux (1 ms). The acknowledgment of a segment that fills a part of the previous hole
//!   counts as the first of the three, unless it is due anyway. If an arriving segment would move a
//!   block beyond the second place, the shared acknowledgment leaves earlier, without that segment.
//!   Quick acknowledgments are not compressed.
//! - Timestamps (RFC 7323): the echoed timestamp is that of the earliest unacknowledged segment
//!   (section 4.3). Segments with data and an old timestamp are discarded (PAWS, section 5).
//!   Segments without data are not discarded, because they may be reordered.
//!
//! The application reads everything, so the window is the whole buffer. Its right edge never moves
//! back. In Linux the window grows at first by two segments for each full arriving segment, and
//! each segment is then acknowledged at once. In 6.1 it grows from 64 KiB to half of the buffer's
//! memory. In 6.12 and 6.18 it grows from that half by 4352 KiB, to the part of 32 MiB that holds
//! payload. Here it starts at the full size minus `quick_window` plus 64 KiB, at least at 64 KiB,
//! and grows to the full size. Alternatively it follows the data of a round trip
//! ([`super::right_sizing`]), as with Linux's own settings.
//!
//! A reader with limited room ([`Receiver::allow`]) limits the window further. The right edge then
//! does not advance in small steps (RFC 9293, section 3.8.6.2.2). The sender is informed at once of
//! a window that was at most half of the full size and has at least doubled, as in Linux.

mod holes;
mod segments;
#[cfg(test)]
mod tests;
mod window;

use super::delayed_ack::DelayedAck;
use super::right_sizing::RightSizing;
use super::{config::UNSCALED_WINDOW, header, Config};
use crate::sending::ranges::Ranges;
use crate::sending::rtt::Estimator;
use bentpipe_core::{Span, Time};
use segments::Segments;

/// The kind of acknowledgment that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Due {
    #[default]
    Nothing,
    /// Due when the timer expires, or with the next segment.
    Later,
    /// Due when the timer expires, without data.
    Compressed,
    /// Due once the application has read.
    Read,
    /// Due now, with data or without.
    Now,
    /// Due now, with waiting data or without, before the application is informed of the received
    /// data.
    First,
    /// Due now, without data, so that the sender recognises a duplicate or the holes.
    Alone,
}

/// The effect of an arriving segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// Number of bytes now delivered in order.
    pub delivered: u64,
    /// True if everything up to the FIN has now been delivered.
    pub finished: bool,
}

/// The receiving half of one connection.
#[derive(Debug)]
pub struct Receiver {
    /// Position of the next byte expected in order.
    next: u64,
    /// Position of the last acknowledgment.
    acknowledged: u64,
    /// Data received out of order.
    out_of_order: Ranges,
    /// Position at which the next negative acknowledgment starts.
    next_named: u64,
    /// SACK blocks, most recent first.
    blocks: [(u64, u64); 4],
    block_count: usize,
    max_blocks: usize,
    /// True if a block is joined only with listed blocks, as in Linux.
    joins_listed: bool,
    sack: bool,
    /// Position of the FIN, once received.
    fin: Option<u64>,
    /// Right edge of the window as advertised.
    edge: u64,
    window: u64,
    /// Number of bytes by which the window may still grow from its initial size, and its full size.
    remaining_growth: u64,
    full_window: u64,
    /// Position from which on the reader has no room.
    limit: u64,
    sizing: Option<RightSizing>,
    /// Unit of the window field, as a shift.
    shift: u8,
    /// Round-trip time from the last segment's timestamp, for the growth of the window.
    echoed: Option<Span>,
    /// Estimate of the length of full segments.
    segments: Segments,
    /// Maximum payload that counts as one segment: a packet may hold several.
    segment_size: u64,
    /// Number of full segments that need no acknowledgment while the delay lasts.
    unacknowledged: u64,
    due: Due,
    delayed: DelayedAck,
    compression: Span,
    /// Number of acknowledgments of the present hole, and number of segments that share the next
    /// one.
    hole_acknowledgments: u32,
    compressed: u32,
    /// Blocks of the shared acknowledgment that is due, and their number, if they differ from the
    /// present ones.
    reported_blocks: Option<([(u64, u64); 4], usize)>,
    /// Range that has arrived twice and has not been reported.
    duplicate: Option<(u64, u64)>,
    dsack: bool,
    /// True if the window is closed before a disconnection ([`super::handover`]).
    frozen: bool,
    /// Copies of the acknowledgment that remain to be sent.
    copies: u32,
    /// Timestamp to echo (RFC 7323's TS.Recent).
    recent_timestamp: u32,
    /// Position up to which the application had read at [`Receiver::hold_reading`]; `None` while it
    /// reads at once.
    read: Option<u64>,
}

impl Receiver {
    /// Creates the state before the handshake.
    pub fn new(config: &Config) -> Receiver {
        Receiver {
            next: 0,
            acknowledged: 0,
            out_of_order: Ranges::default(),
            next_named: 0,
            blocks: [(0, 0); 4],
            block_count: 0,
            max_blocks: 4,
            joins_listed: config.profile.is_linux(),
            sack: false,
            fin: None,
            edge: 0,
            window: config.receive_window_start.map_or(config.window(), |start| start.bytes()),
            remaining_growth: match config.receive_window_start {
                None => growth(config),
                Some(_) => 0,
            },
            full_window: config.window(),
            limit: u64::MAX,
            sizing: config
                .receive_window_start
                .map(|start| RightSizing::new(config, start.bytes(), config.window())),
            shift: 0,
            echoed: None,
            segments: Segments::new(config.ack_pushed, config.segment_size.value()),
            segment_size: config.segment_size.value(),
            unacknowledged: config.ack_every.value() - 1,
            due: Due::Nothing,
            delayed: DelayedAck::new(config),
            compression: config.ack_compression,
            hole_acknowledgments: 0,
            compressed: 0,
            reported_blocks: None,
            duplicate: None,
            dsack: config.dsack,
            frozen: false,
            copies: 0,
            recent_timestamp: 0,
            read: None,
        }
    }

    /// Handles the other end's SYN. Until the handshake is over, the window is limited to the range
    /// of a SYN's field.
    pub fn begin(&mut self, sack: bool, scale: Option<u8>, timestamp: Option<u32>) {
        self.next = 1;
        self.acknowledged = 1;
        self.sack = sack;
        self.max_blocks = header::max_sack_blocks(timestamp.is_some());
        self.recent_timestamp = timestamp.unwrap_or(0);
        self.edge = 1 + self.window.min(UNSCALED_WINDOW);
        // From now on the window field counts multiples of 2^scale, or bytes.
        self.shift = scale.unwrap_or(0);
        self.window = match scale {
            // At least one, because the window must grow.
            Some(shift) => (self.window >> shift).max(1) << shift,
            None => self.window.min(UNSCALED_WINDOW),
        };
        if scale.is_none() {
            self.remaining_growth = 0;
        }
        if self.remaining_growth > 0 {
            // The full size minus the growth (in Linux: half of the memory), at least 64 KiB.
            let start = (self.full_window.saturating_sub(self.remaining_growth)).max(UNSCALED_WINDOW + 1);
            self.window = start >> self.shift << self.shift;
        }
        if let Some(sizing) = self.sizing.as_mut().filter(|_| scale.is_none()) {
            sizing.limit(UNSCALED_WINDOW);
        }
    }

    /// Returns the position of the next byte expected in order.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns true if `[start, start + length)` is acceptable: not entirely before the last
    /// acknowledgment, not beyond the window (RFC 9293, section 3.10.7.4, with Linux's tolerance
    /// for reordered segments without data).
    #[inline]
    pub fn is_acceptable(&self, start: u64, length: u64) -> bool {
        start + length >= self.acknowledged && start <= self.edge
    }

    /// Returns true if a segment's timestamp shows that the segment is old (PAWS); otherwise stores
    /// the timestamp if it must be echoed. The timestamp of a segment that lies entirely before the
    /// window is not checked, because the segment may have overtaken later ones (RFC 7323, section
    /// 5.3: R2 comes before R3).
    #[inline]
    pub fn is_old(&mut self, timestamp: u32, start: u64, length: u64) -> bool {
        if (timestamp.wrapping_sub(self.recent_timestamp) as i32) < 0 {
            return length > 0;
        }
        if start <= self.acknowledged && start + length >= self.acknowledged {
            self.recent_timestamp = timestamp;
        }
        false
    }

    /// Takes the payload of a segment that starts at `start`, with its FIN and PSH flags.
    #[inline]
    pub fn take(
        &mut self,
        now: Time,
        path: &Estimator,
        start: u64,
        payload: u64,
        (fin, pushed): (bool, bool),
    ) -> Arrival {
        if fin {
            self.fin = Some(start + payload);
        }
        let in_order = start <= self.next;
        let end = (start + payload + u64::from(fin)).min(self.edge + u64::from(fin));
        let new = end > self.next;
        let mut pushed = pushed;
        if in_order && new && payload > 0 {
            pushed = self.segments.take(payload.min(self.segment_size), pushed);
        }
        let grows = new && self.widen(payload, in_order);
        if in_order && new && payload > 0 {
            self.delayed.arrived(now, path, || self.window / self.segments.size());
        }
        if grows {
            self.delayed.window_grew();
        }
        if start > self.next {
            self.hold(now, path, start, end);
            return Arrival::default();
        }
        if !new {
            self.due = Due::Alone;
            self.duplicate = Some((start, end));
            self.acknowledge_quickly();
            return Arrival::default();
        }
        if start < self.next {
            self.duplicate = Some((start, self.next));
        }
        self.hole_acknowledgments = 0;
        let previous = self.next;
        self.next = end;
        if self.out_of_order.is_empty() {
            self.acknowledge_in_order(now, path, pushed, fin);
        } else {
            if let Some((from, to)) = self.out_of_order.iter().next().filter(|(from, _)| *from < end) {
                self.duplicate = self.duplicate.or(Some((from, to.min(end))));
            }
            while let Some(end) = self.out_of_order.take_first(self.next) {
                self.next = self.next.max(end);
            }
            self.discard_blocks();
            if self.out_of_order.is_empty() {
                self.due = Due::First;
            } else {
                // This acknowledgment is the first of the next hole's that are sent at once, unless
                // it is due anyway.
                let room = self
                    .sizing
                    .as_ref()
                    .map_or(self.remaining_growth > 0, |sizing| sizing.grows(self.window));
                let due = self.delayed.is_quick() || (room && self.is_second());
                self.hole_acknowledgments = u32::from(!due);
                self.due = Due::Alone;
            }
        }
        if self.sizing.is_some() {
            self.grow(now, path);
        }
        let finished = self.is_finished();
        if finished {
            self.due = self.due.max(if self.read.is_none() { Due::Now } else { Due::Later });
        }
        Arrival { delivered: self.next - previous - u64::from(finished), finished }
    }

    /// Makes the next acknowledgments quick, also of an interactive connection.
    pub fn acknowledge_quickly(&mut self) {
        self.delayed.acknowledge_retransmissions_quickly(self.window / self.segments.size(), u32::MAX);
    }

    /// Makes the next two acknowledgments quick, because the sender's window may become as small as
    /// two segments (Linux since 4.18).
    pub fn acknowledge_quickly_for_congestion(&mut self) {
        self.delayed.acknowledge_retransmissions_quickly(self.window / self.segments.size(), 2);
    }

    /// Makes an acknowledgment due before the application is informed, as Linux does for a segment
    /// whose sender has reduced its window.
    pub fn acknowledge_first(&mut self) {
        self.due = self.due.max(Due::First);
    }

    /// Answers a segment without new data, which may be a spurious retransmission.
    pub fn acknowledge_old(&mut self, start: u64, payload: u64) {
        if payload > 0 && start + payload <= self.next {
            self.duplicate = Some((start, start + payload));
            self.acknowledge_quickly();
        }
        self.acknowledge_now();
    }

    /// Makes an acknowledgment due at once.
    pub fn acknowledge_now(&mut self) {
        self.due = Due::Alone;
    }

    /// Returns true if an acknowledgment is due that must not carry data.
    #[inline]
    pub fn must_acknowledge_alone(&self) -> bool {
        self.due == Due::Alone
    }

    /// Returns true if an acknowledgment is due before the application is informed of the received
    /// data.
    #[inline]
    pub fn must_acknowledge_first(&self) -> bool {
        self.due as u8 >= Due::First as u8
    }

    /// Returns true if an acknowledgment is due now.
    #[inline]
    pub fn must_acknowledge(&self) -> bool {
        self.due as u8 >= Due::Now as u8
    }

    /// Records that a segment with an acknowledgment leaves. Returns the position to acknowledge
    /// and the window in bytes.
    #[inline]
    pub fn acknowledgment(&mut self, now: Time, with_data: bool) -> (u64, u32) {
        self.due = Due::Nothing;
        self.compressed = 0;
        self.reported_blocks = None;
        self.delayed.sent(now, with_data);
        self.acknowledged = self.next;
        if self.frozen || self.copies > 0 {
            return (self.next, self.exceptional_window());
        }
        if self.limit != u64::MAX {
            return (self.next, self.limited_window());
        }
        if self.read.is_some() {
            return (self.next, self.shrunk_window());
        }
        let window = self.rounded();
        self.edge = self.edge.max(self.next + window);
        (self.next, window as u32)
    }

    /// Returns the timestamp to echo.
    #[inline]
    pub fn echo(&self) -> u32 {
        self.recent_timestamp
    }

    /// Returns the time of the next call of [`Receiver::wake`].
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.delayed.next_wake()
    }

    /// Makes a delayed acknowledgment due if its delay is over.
    pub fn wake(&mut self, now: Time, path: &Estimator) {
        if !self.delayed.expired(now) {
            return;
        }
        match self.due {
            Due::Later => {
                self.delayed.lengthen(path);
                self.due = Due::Now;
            }
            Due::Compressed => self.due = Due::Alone,
            _ => {}
        }
    }

    /// Returns true if more than a full segment is unacknowledged.
    #[inline]
    fn is_second(&self) -> bool {
        self.next - self.acknowledged > self.segments.size() * self.unacknowledged
    }

    /// Returns true once everything up to the FIN has been delivered.
    #[inline]
    fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| fin < self.next)
    }

    #[inline]
    fn acknowledge_in_order(&mut self, now: Time, path: &Estimator, pushed: bool, fin: bool) {
        // After a FIN, the application is expected to close too.
        let quick = !fin && self.delayed.is_quick();
        let pushed = !fin && pushed && self.delayed.acknowledges_push();
        let second = self.is_second();
        if quick || pushed || second {
            let waits = self.read.is_some() && !quick && (!second || self.has_shrunk());
            self.due = self.due.max(if waits { Due::Read } else { Due::First });
        } else if self.due == Due::Nothing {
            self.due = Due::Later;
            self.delayed.start(now, path);
        }
    }
}

/// Returns the number of bytes by which a window may grow. Linux reserves a segment at the start.
fn growth(config: &Config) -> u64 {
    match config.quick_window.bytes().min(config.window()).saturating_sub(UNSCALED_WINDOW) {
        0 => 0,
        growth => growth + config.segment_size.value(),
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (*self as u8).cmp(&(*other as u8))
    }
}
