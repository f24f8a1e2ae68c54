//! Streams (RFC 9000, sections 2 to 4): data to send and to repeat, reassembly, and the limits of
//! flow control.
//!
//! The receiver raises a limit when a quarter of the window has been used. At a pace of more than a
//! window in four round trips, the window doubles first, up to its maximum (autotuning).
//! Applications read data at once.

use super::frames::{stream_header, StreamData};
use crate::sending::ranges::Ranges;
use bentpipe_core::{Span, Time};

/// The receive window of a stream or of the connection.
#[derive(Clone, Debug)]
pub struct Window {
    size: u64,
    max: u64,
    /// The limit that the other end knows.
    limit: u64,
    /// Number of bytes used, and the time, when the limit was raised last.
    raised: (u64, Time),
}

impl Window {
    /// Creates a window of `size` bytes, which grows up to `max` bytes.
    pub fn new(size: u64, max: u64) -> Window {
        Window { size, max: max.max(size), limit: size, raised: (0, Time::ZERO) }
    }

    /// Returns the new limit after `used` bytes, if it must be sent.
    pub fn update(&mut self, now: Time, used: u64, round_trip: Option<Span>) -> Option<u64> {
        let (before, since) = self.raised;
        let fresh = used - before;
        if fresh < self.size.div_ceil(4) {
            return None;
        }
        let pace = |round_trip: Span| fresh as f64 / self.size as f64 * 4.0 * round_trip.as_secs_f64();
        if round_trip.is_some_and(|round_trip| now.since(since).as_secs_f64() < pace(round_trip)) {
            self.size = (2 * self.size).min(self.max);
        }
        self.raised = (used, now);
        self.limit = used + self.size;
        Some(self.limit)
    }

    /// Returns the limit that was sent last.
    pub fn limit(&self) -> u64 {
        self.limit
    }
}

/// The sending part of a stream.
#[derive(Debug)]
pub struct SendPart {
    /// Number of bytes that the application has handed over; `u64::MAX` for an endless stream.
    end: u64,
    /// Position of the next byte to be sent for the first time.
    next: u64,
    /// Limit that the receiver has set.
    pub limit: u64,
    acknowledged: Ranges,
    /// Number of bytes from the start that have been acknowledged without a gap.
    base: u64,
    lost: Ranges,
    closed: bool,
    /// True if the end must be sent, for the first time or again.
    fin_waits: bool,
    fin_acknowledged: bool,
    /// True if an empty frame opens the stream.
    opens: bool,
    /// True if the application waits for the acknowledgment of all data.
    informs: bool,
}

impl SendPart {
    /// Returns true if the application has handed over data.
    pub fn is_used(&self) -> bool {
        self.end > 0
    }

    /// Creates the part with the receiver's initial limit. At the client, a frame opens the stream.
    pub fn new(limit: u64, opens: bool) -> SendPart {
        SendPart {
            end: 0,
            next: 0,
            limit,
            acknowledged: Ranges::default(),
            base: 0,
            lost: Ranges::default(),
            closed: false,
            fin_waits: false,
            fin_acknowledged: false,
            opens,
            informs: false,
        }
    }

    /// Adds data; `u64::MAX` for an endless stream.
    pub fn hand_over(&mut self, bytes: u64) {
        self.end = self.end.saturating_add(bytes);
        self.informs = true;
    }

    /// Ends the stream after the data handed over.
    pub fn close(&mut self) {
        if !self.closed {
            self.closed = true;
            self.fin_waits = true;
        }
    }

    /// Discards unsent data, and ends the stream.
    pub fn stop(&mut self) {
        self.end = self.next;
        self.informs = false;
        self.close();
    }

    /// Returns the number of bytes acknowledged without a gap.
    pub fn acknowledged(&self) -> u64 {
        self.base
    }

    /// Returns true if all data and the end of the stream have been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.fin_acknowledged && self.base == self.end
    }

    /// Returns true if there is data to send within the stream's limit; `room` bytes of new data
    /// are permitted by the connection.
    pub fn has_data(&self, room: u64) -> bool {
        let new = self.end.min(self.limit).saturating_sub(self.next).min(room) > 0;
        new || self.opens || !self.lost.is_empty() || (self.fin_waits && self.next == self.end)
    }

    /// Returns the next data for a packet with `space` bytes left, lost data first, and the number
    /// of bytes that are new.
    pub fn next(&mut self, id: u16, space: u32, room: u64) -> Option<(StreamData, u64)> {
        let lost = self.lost.iter().next();
        if let Some((start, end)) = lost {
            let length = fit(id, start, end - start, space)?;
            self.lost.remove_below(start + u64::from(length));
            let fin = self.fin_waits && self.next == self.end && start + u64::from(length) == self.end;
            self.fin_waits &= !fin;
            return Some((StreamData { id, offset: start, length, fin }, 0));
        }
        let available = self.end.min(self.limit).saturating_sub(self.next).min(room);
        let fin_only = self.fin_waits && self.next == self.end;
        if available == 0 && !fin_only && !self.opens {
            return None;
        }
        let length = fit(id, self.next, available, space)?;
        if length == 0 && available > 0 {
            return None;
        }
        let offset = self.next;
        self.next += u64::from(length);
        self.opens = false;
        let fin = self.fin_waits && self.next == self.end;
        self.fin_waits &= !fin;
        Some((StreamData { id, offset, length, fin }, length.into()))
    }

    /// Handles the acknowledgment of data. Returns true once everything handed over is
    /// acknowledged and the application waits for that.
    pub fn acknowledge(&mut self, data: &StreamData) -> bool {
        if data.length > 0 {
            let end = data.offset + u64::from(data.length);
            advance(&mut self.acknowledged, &mut self.base, (data.offset, end));
            if !self.lost.is_empty() {
                self.lost.remove_below(self.base);
            }
        }
        self.fin_acknowledged |= data.fin;
        self.base == self.end && std::mem::take(&mut self.informs)
    }

    /// Marks data for repetition.
    pub fn lose(&mut self, data: &StreamData) {
        let start = data.offset.max(self.base);
        let end = data.offset + u64::from(data.length);
        if start < end {
            self.lost.insert(start, end, |_, _, _| {});
        }
        self.fin_waits |= data.fin && !self.fin_acknowledged;
        self.opens |= data.offset == 0 && data.length == 0 && !data.fin && self.next == 0;
    }
}

/// Adds a part of a stream to the `ranges` above `base`, and moves `base` to the first gap.
fn advance(ranges: &mut Ranges, base: &mut u64, (start, end): (u64, u64)) {
    if ranges.is_empty() && start <= *base {
        *base = end.max(*base);
        return;
    }
    ranges.insert(start, end, |_, _, _| {});
    while let Some(end) = ranges.take_first(*base) {
        *base = end.max(*base);
    }
}

/// Returns the number of bytes of data, at most `available`, that fit into `space` bytes with
/// their header; `None` if the header does not fit.
fn fit(id: u16, offset: u64, available: u64, space: u32) -> Option<u32> {
    let most = available.min(u64::from(space)) as u32;
    let header = stream_header(id, offset, most);
    (space >= header).then(|| most.min(space - header))
}

/// The receiving part of a stream.
#[derive(Debug)]
pub struct ReceivePart {
    ranges: Ranges,
    /// Number of bytes that the application has read.
    read: u64,
    /// Length of the stream, once it is known.
    end: Option<u64>,
    closed: bool,
    /// The window of the stream.
    pub window: Window,
}

impl ReceivePart {
    /// Creates the part with its window.
    pub fn new(window: Window) -> ReceivePart {
        ReceivePart { ranges: Ranges::default(), read: 0, end: None, closed: false, window }
    }

    /// Handles arriving data. Returns the bytes that have become readable, and true if the stream
    /// has just ended.
    pub fn receive(&mut self, data: &StreamData) -> (u64, bool) {
        let end = data.offset + u64::from(data.length);
        let before = self.read;
        if data.length > 0 && end > self.read {
            advance(&mut self.ranges, &mut self.read, (data.offset, end));
        }
        if data.fin {
            self.end = Some(end);
        }
        let ended = !self.closed && self.end == Some(self.read);
        self.closed |= ended;
        (self.read - before, ended)
    }

    /// Returns the number of bytes that the application has read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Returns true if the stream has ended.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(offset: u64, length: u32, fin: bool) -> StreamData {
        StreamData { id: 0, offset, length, fin }
    }

    #[test]
    fn lost_data_is_repeated_before_new_data_and_in_other_packets() {
        let mut part = SendPart::new(10_000, false);
        part.hand_over(2500);
        part.close();
        let sent: Vec<_> = std::iter::from_fn(|| part.next(0, 1003, 10_000)).collect();
        let parts = [(data(0, 999, false), 999), (data(999, 997, false), 997), (data(1996, 504, true), 504)];
        assert_eq!(sent, parts);
        part.lose(&sent[0].0);
        part.lose(&sent[2].0);
        assert!(part.has_data(0));
        // Half of the first part, and the rest with a larger packet.
        assert_eq!(part.next(0, 503, 0), Some((data(0, 499, false), 0)));
        assert!(!part.acknowledge(&data(999, 997, false)));
        assert_eq!(part.next(0, 1200, 0), Some((data(499, 500, false), 0)));
        assert_eq!(part.next(0, 1200, 0), Some((data(1996, 504, true), 0)));
        assert_eq!(part.next(0, 1200, 0), None);
        assert!(!part.acknowledge(&data(0, 499, false)) && !part.acknowledge(&data(499, 500, false)));
        assert_eq!(part.acknowledged(), 1996);
        assert!(part.acknowledge(&data(1996, 504, true)));
        assert!(part.is_finished());
    }

    #[test]
    fn a_stream_is_finished_only_once_all_of_its_data_is_acknowledged() {
        let mut part = SendPart::new(10_000, false);
        part.hand_over(1500);
        part.close();
        let sent: Vec<_> = std::iter::from_fn(|| part.next(0, 1003, 10_000)).collect();
        part.acknowledge(&sent[1].0);
        assert!(sent[1].0.fin && !part.is_finished());
        part.acknowledge(&sent[0].0);
        assert!(part.is_finished());
    }

    #[test]
    fn limits_of_stream_and_connection_hold_new_data() {
        let mut part = SendPart::new(700, false);
        part.hand_over(u64::MAX);
        assert_eq!(part.next(0, 1200, 600).unwrap().0.length, 600);
        assert_eq!(part.next(0, 1200, 600).unwrap().0.length, 100);
        assert!(!part.has_data(600));
        part.limit = 1000;
        assert!(part.has_data(1) && !part.has_data(0));
    }

    #[test]
    fn data_is_read_in_order_and_once() {
        let mut part = ReceivePart::new(Window::new(1000, 1000));
        assert_eq!(part.receive(&data(500, 100, true)), (0, false));
        assert_eq!(part.receive(&data(0, 300, false)), (300, false));
        assert_eq!(part.receive(&data(0, 300, false)), (0, false));
        assert_eq!(part.receive(&data(300, 200, false)), (300, true));
        assert_eq!(part.receive(&data(500, 100, true)), (0, false));
    }

    #[test]
    fn a_window_doubles_while_it_is_used_within_four_round_trips() {
        let at = |milliseconds| Time::ZERO + Span::from_millis(milliseconds);
        let rtt = Some(Span::from_millis(100));
        let mut window = Window::new(1000, 3000);
        assert_eq!(window.update(at(50), 249, rtt), None);
        // A quarter within a round trip: 2000 bytes from here.
        assert_eq!(window.update(at(99), 250, rtt), Some(2250));
        assert_eq!(window.update(at(190), 749, rtt), None);
        assert_eq!(window.update(at(198), 750, rtt), Some(3750));
        assert_eq!(window.update(at(900), 1500, rtt), Some(4500));
    }
}
