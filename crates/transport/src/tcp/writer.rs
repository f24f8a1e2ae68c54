//! The writing program of a connection, which determines the part of the application's data that is
//! in the send buffer. The buffer is limited by memory, as counted by Linux:
//!
//! - Memory is payload plus 960 bytes per packet. Unsent data is in packets of 64 KB (32 KB while
//!   the other end's window has not exceeded 64 KB, because a packet is at most half of the
//!   window). Outstanding data is in the packets of [`super::scoreboard::Packets`], mostly bursts.
//!   Two segments that leave together therefore take 480 bytes each in addition to their payload.
//! - The program writes until the buffer is full, and then sleeps until a third of the buffer is
//!   free.
//! - The limit is checked only before a new packet, not while the last packet is filled up (because
//!   part of it was sent, or because full packets were smaller when it was begun). An open
//!   congestion window is therefore filled at any level of the buffer: written data leaves at once,
//!   and the program stops at the first packet that cannot leave.
//! - The data is pushed once half of the other end's largest window has been written since the last
//!   push: all permitted data leaves, which empties the packet. Data is also pushed at the end of a
//!   call (256 KiB, as in our emulated traffic, or the amount that the application hands over at a
//!   time), except a partial segment that the next call fills up.
//! - Packets have PSH at multiples of half of that window, and where the program sleeps. The next
//!   call removes the mark when it fills up the packet.
//!
//! Limits: the buffer has its full size from the start, as on emulated hosts; Linux begins with 16
//! KiB and lets it grow to twice the congestion window.
//!
//! Source: experiments with Linux 6.12 (docs/notes/linux-tcp.md, *Buffers and windows*).

use super::bursts;
use super::packet_ends::PacketEnds;
use super::scoreboard::Packets;
use std::collections::VecDeque;

/// Memory of a prepared packet in addition to its payload, in bytes.
pub const OVERHEAD: u64 = 960;

/// Bytes that the program writes with one call.
const CALL: u64 = 256 << 10;

/// The writing program of one connection.
#[derive(Clone, Debug)]
pub struct Writer {
    /// Memory of the send buffer in bytes; `u64::MAX` for no limit.
    memory: u64,
    /// Payload of a full segment, and of a full packet.
    segment: u64,
    packet: u64,
    /// Half of the largest window of the other end so far.
    half_window: u64,
    /// End of the data in the buffer.
    written: u64,
    /// End of the data in the buffer at the last push, and true while that push is emptying the
    /// packet.
    pushed: u64,
    pushes: bool,
    /// Beginning of the last call that followed an early end. Every call since then has written all
    /// its bytes.
    call_start: u64,
    /// The value of `pushed` if ends of calls also counted as pushes, which determines PSH.
    marked: u64,
    /// Ends of the unsent packets that have PSH.
    marks: VecDeque<u64>,
    /// Ends of the packets of the unsent data.
    packet_ends: PacketEnds,
    /// True if the program waits for room in the buffer.
    sleeps: bool,
}

impl Writer {
    /// Creates the state before anything is written. `memory` is the size of the send buffer;
    /// `None` for no limit.
    pub fn new(memory: Option<u64>, segment_size: u32) -> Writer {
        let written = if memory.is_some() { 1 } else { u64::MAX };
        let segment = u64::from(segment_size);
        Writer {
            memory: memory.unwrap_or(u64::MAX),
            segment,
            packet: segment,
            half_window: 0,
            written,
            pushed: 1,
            pushes: false,
            call_start: 1,
            marked: 1,
            marks: VecDeque::new(),
            packet_ends: PacketEnds::default(),
            sleeps: false,
        }
    }

    /// Sets the payload of a full segment to the agreed value.
    pub fn agree(&mut self, segment_size: u32) {
        self.segment = u64::from(segment_size.max(1));
        self.offered((2 * self.half_window) as u32);
    }

    /// Records the largest window of the other end so far.
    #[inline]
    pub fn offered(&mut self, window: u32) {
        self.half_window = u64::from(window / 2);
        self.packet = (bursts::MAX_PAYLOAD.min(self.half_window) / self.segment).max(1) * self.segment;
    }

    /// Returns the end of the written part of the data that ends at `end`.
    #[inline(always)]
    pub fn written(&self, end: u64) -> u64 {
        self.written.min(end)
    }

    /// Returns the end of the packet that contains the next byte to be sent.
    #[inline]
    pub fn packet_end(&mut self, nxt: u64) -> u64 {
        if self.memory == u64::MAX {
            return u64::MAX;
        }
        self.packet_ends.end_of(nxt)
    }

    /// Returns true if the packet that ends at `end` has PSH. All data up to `end` leaves.
    #[inline]
    pub fn marks(&mut self, end: u64) -> bool {
        while let Some(mark) = self.marks.front().copied().filter(|mark| *mark <= end) {
            self.marks.pop_front();
            if mark == end {
                return true;
            }
        }
        false
    }

    /// Writes data from `begin` to `end` into packets of `size` bytes; the last packet ends at
    /// `end`.
    fn write(&mut self, begin: u64, end: u64, size: u64) {
        // The last packet grows. A new call removes its mark; the same call moves the mark.
        if self.written > begin && self.marks.back() == Some(&self.written) {
            self.marks.pop_back();
            if !(self.written - self.call_start).is_multiple_of(CALL) {
                self.marks.push_back(end);
            }
        }
        let mut from = self.written;
        let mut border = begin;
        while from < end {
            border = border.saturating_add(size).min(end);
            // The end of the call, and the end of the packet.
            let called = (border - self.call_start) / CALL * CALL + self.call_start;
            for push in [called, border] {
                if push > from && push > self.marked + self.half_window {
                    self.marked = push;
                }
            }
            if self.marked == border {
                self.mark(border);
            }
            from = border;
        }
        self.written = end;
    }

    /// Records that the application hands over data after `end`. If all earlier data has been
    /// written, another call begins there.
    #[inline]
    pub fn begins(&mut self, end: u64) {
        if self.written == end {
            (self.call_start, self.marked) = (end, end);
        }
    }

    fn mark(&mut self, border: u64) {
        if self.marks.back() != Some(&border) {
            self.marks.push_back(border);
        }
    }

    /// Fills up the packet that begins with `nxt`, the next byte to be sent, from the data that
    /// ends at `end`.
    #[inline(always)]
    pub fn fill_up(&mut self, sent: Packets, nxt: u64, end: u64) {
        if !self.sleeps && self.written < nxt.saturating_add(self.packet) && self.written < end {
            self.append(sent, nxt, end);
        }
    }

    #[inline(never)]
    fn append(&mut self, sent: Packets, nxt: u64, end: u64) {
        if self.pushes && self.written >= nxt.saturating_add(self.segment) {
            return;
        }
        self.pushes = false;
        if self.written <= nxt && self.memory_in_use(sent, nxt) >= self.memory {
            self.sleeps = true;
            self.ends_call();
            return;
        }
        // The end of a call pushes whole segments.
        let call = self.call_start + ((self.written - self.call_start) / CALL + 1) * CALL;
        let to = nxt.saturating_add(self.packet).min(end).min(call);
        if to > self.pushed + self.half_window {
            self.pushed = to;
            self.pushes = true;
        }
        self.pushes |= to == call;
        self.write(nxt, to, self.packet);
        self.packet_ends.last_grew(nxt, to);
    }

    /// Returns true if the program is writing the data that ends at `end` and has not pushed, so
    /// that written data leaves packet by packet.
    #[inline]
    pub fn writes(&self, end: u64) -> bool {
        !self.sleeps && !self.pushes && self.written < end
    }

    /// Returns true if the program does not sleep and has not written all data up to `end`.
    #[inline(always)]
    pub fn has_more(&self, end: u64) -> bool {
        !self.sleeps && self.written < end
    }

    /// Writes as much as the buffer has room for, when nothing more can leave.
    #[inline(never)]
    pub fn fill(&mut self, sent: Packets, nxt: u64, end: u64) {
        if !self.has_more(end) {
            return;
        }
        if self.written > nxt {
            // Fills up the last packet: part of it may have been sent, or full packets may have
            // been smaller when it was begun.
            let last = self.packet_ends.last(nxt);
            let filled = last.saturating_add(self.packet).min(end);
            if filled > self.written {
                self.write(last, filled, self.packet);
                self.packet_ends.last_grew(nxt, filled);
            }
        }
        let room = self.memory.saturating_sub(self.memory_in_use(sent, nxt));
        let packets = room.div_ceil(self.packet + OVERHEAD);
        let begin = self.written;
        self.write(begin, begin.saturating_add(packets * self.packet).min(end), self.packet);
        self.packet_ends.packets_written(begin, self.written, self.packet);
        self.mark(self.written);
        self.sleeps = self.written < end;
        self.ends_call();
        self.pushes = false;
    }

    /// Ends the call early: the contents of the buffer are pushed, and the next call begins after
    /// them.
    fn ends_call(&mut self) {
        (self.pushed, self.marked, self.call_start) = (self.written, self.written, self.written);
    }

    /// Wakes the program if it sleeps and a third of the buffer is free. Returns true if it woke.
    #[inline]
    pub fn wakes(&mut self, sent: Packets, nxt: u64) -> bool {
        let wakes = self.sleeps && {
            let memory_in_use = self.memory_in_use(sent, nxt);
            memory_in_use + memory_in_use / 2 <= self.memory
        };
        self.sleeps &= !wakes;
        wakes
    }

    /// Stops the program, so that it does not wait for room.
    pub fn stop(&mut self) {
        self.sleeps = false;
    }

    /// Returns the memory in use. `sent` are the outstanding packets, and `nxt` is the first
    /// position that has not been sent.
    #[inline]
    fn memory_in_use(&self, sent: Packets, nxt: u64) -> u64 {
        let unsent = self.written.saturating_sub(nxt).div_ceil(self.packet);
        self.written.saturating_sub(sent.from) + OVERHEAD * (u64::from(sent.count) + unsent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1460;
    const MEMORY: u64 = 4 << 20;

    /// Returns this many outstanding packets, from position 1.
    fn sent(count: u64) -> Packets {
        let mut packets = Packets::default();
        (packets.count, packets.from) = (count as u32, 1);
        packets
    }

    fn writer(window: u32) -> Writer {
        let mut writer = Writer::new(Some(MEMORY), SEGMENT as u32);
        writer.offered(window);
        writer
    }

    /// Sends `pairs` of segments in addition to those that are `out`, and fills up packets. Sends a
    /// single segment if a call ends in the next one.
    fn send(writer: &mut Writer, out: &mut Packets, nxt: &mut u64, pairs: u64) {
        for _ in 0..pairs {
            writer.fill_up(*out, *nxt, u64::MAX);
            let segments = (writer.written(u64::MAX) - *nxt) / SEGMENT;
            assert!(segments >= 1);
            *nxt += segments.min(2) * SEGMENT;
            out.count += 1;
        }
        writer.fill_up(*out, *nxt, u64::MAX);
    }

    /// The two rows of the table of memory in docs/notes/linux-tcp.md, exactly.
    #[test]
    fn memory_equals_that_of_the_kernel() {
        let has = |writer: &Writer, out, nxt, row: [f64; 3]| {
            let written = writer.written(u64::MAX);
            for (bytes, expected) in
                [writer.memory_in_use(out, nxt), written - 1, written - nxt].into_iter().zip(row)
            {
                assert!((bytes as f64 / 1e6 - expected).abs() < 0.01, "{bytes} of {expected}");
            }
        };
        let mut first = writer(65_535);
        let mut nxt = 1;
        let mut out = sent(0);
        send(&mut first, &mut out, &mut nxt, 5);
        first.fill(out, nxt, u64::MAX);
        has(&first, out, nxt, [4.22, 4.09, 4.08]);
        let mut woken = writer(16 << 20);
        (nxt, out) = (1, sent(0));
        while nxt < 1430 * SEGMENT {
            send(&mut woken, &mut out, &mut nxt, 1);
        }
        woken.written = nxt + 1_310_000;
        has(&woken, out, nxt, [4.11, 3.40, 1.31]);
    }

    #[test]
    fn a_program_that_has_filled_the_buffer_sleeps_until_a_third_is_free() {
        let mut writer = writer(16 << 20);
        let mut nxt = 1;
        let mut out = sent(0);
        send(&mut writer, &mut out, &mut nxt, 1000);
        writer.fill(out, nxt, u64::MAX);
        let full = writer.written(u64::MAX);
        let mut memory_in_use = writer.memory_in_use(out, nxt);
        assert!((MEMORY..MEMORY + 66_000).contains(&memory_in_use));
        while !writer.wakes(out, nxt) {
            memory_in_use = writer.memory_in_use(out, nxt);
            assert!(memory_in_use > MEMORY / 3 * 2);
            writer.fill_up(out, nxt, u64::MAX);
            assert_eq!(writer.written(u64::MAX), full);
            (out.count, out.from) = (out.count - 1, out.from + 2 * SEGMENT);
        }
        assert!(writer.memory_in_use(out, nxt) <= MEMORY / 3 * 2 && memory_in_use > MEMORY / 3 * 2);
    }

    #[test]
    fn an_open_congestion_window_is_filled_at_any_level_of_the_buffer() {
        // The program sleeps after half of the largest window.
        for (window, expected) in [(16 << 20, 8 << 20), (8 << 20, 4 << 20)] {
            let mut writer = writer(window);
            let (mut nxt, mut out) = (1, sent(0));
            while nxt + 2 * SEGMENT <= writer.written(u64::MAX) || !writer.sleeps {
                send(&mut writer, &mut out, &mut nxt, 1);
            }
            assert!((expected..expected + 200_000).contains(&nxt), "{nxt}");
            assert!(writer.memory_in_use(out, nxt) > expected / 3 * 4 - 100_000);
        }
    }

    /// From captures of Linux 6.12 and 7.3 with a largest window of 65535 bytes: segments 54, 98,
    /// 142 and then 208, 252, 296 and 340 have PSH. Each is the end of the second of two packets of
    /// 22 segments. Calls of 256 KiB end after 179.6 and 359.1 segments.
    #[test]
    fn every_half_window_is_pushed_and_starts_another_call() {
        let mut writer = writer(65_535);
        // Ten segments have been sent, and were pushed, before the buffer is filled.
        let nxt = 1 + 10 * SEGMENT;
        writer.write(1, nxt, 10 * SEGMENT);
        writer.marked = nxt;
        writer.fill(sent(1), nxt, 1 + 400 * SEGMENT);
        let ends: Vec<u64> = (1..=340).filter(|segment| writer.marks(1 + segment * SEGMENT)).collect();
        assert_eq!(ends, [54, 98, 142, 208, 252, 296, 340]);
    }

    /// From captures of Linux 6.12 with a largest window of 65535 bytes.
    #[test]
    fn data_handed_over_later_is_a_call_of_its_own() {
        let mut writer = writer(65_535);
        let end = 1 + 30 * SEGMENT;
        writer.write(1, end, 22 * SEGMENT);
        writer.marks.clear();
        writer.begins(end);
        writer.fill(sent(0), end, end + 100 * SEGMENT);
        let ends: Vec<u64> = (1..=88).filter(|segment| writer.marks(end + segment * SEGMENT)).collect();
        assert_eq!(ends, [44, 88]);
    }

    #[test]
    fn an_unlimited_buffer_is_written_at_once() {
        let mut writer = Writer::new(None, 1460);
        writer.fill_up(sent(0), 1, 50_000);
        assert_eq!((writer.written(50_000), writer.wakes(sent(0), 1)), (50_000, false));
    }
}
