//! The ends of the packets in a send buffer. Linux stores unsent data in packets of up to 64 KB
//! ([`super::writer`]). A burst ([`super::bursts`]) does not extend beyond the end of its packet.
//!
//! - A writing program fills up the last packet before it begins another.
//! - A partly sent packet keeps its end, unless it is the last one and is filled up again.

use std::collections::VecDeque;

/// Consecutive packets of the same size; the last one may be shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    begin: u64,
    end: u64,
    size: u64,
}

impl Run {
    /// Returns the position at which the last packet begins.
    fn last(&self) -> u64 {
        self.begin + (self.end - self.begin - 1) / self.size * self.size
    }
}

/// The ends of the packets that contain unsent data.
#[derive(Clone, Default, Debug)]
pub struct PacketEnds {
    /// End of the packet that contained the next byte to be sent at the last call.
    first: u64,
    /// The packets after the first one.
    runs: VecDeque<Run>,
}

impl PacketEnds {
    /// Returns the end of the packet that contains position `nxt`, or `nxt` if nothing was written
    /// there. From call to call, `nxt` must not decrease.
    #[inline]
    pub fn end_of(&mut self, nxt: u64) -> u64 {
        if self.first <= nxt {
            self.advance(nxt);
        }
        self.first
    }

    #[inline(never)]
    fn advance(&mut self, nxt: u64) {
        while self.runs.front().is_some_and(|run| run.end <= nxt) {
            self.runs.pop_front();
        }
        self.first = match self.runs.front() {
            Some(run) => {
                let before = nxt.saturating_sub(run.begin) / run.size;
                (run.begin + (before + 1) * run.size).min(run.end)
            }
            None => nxt,
        };
    }

    /// Returns the beginning of the last packet of the unsent data from `nxt`; `nxt` if there is at
    /// most one packet.
    pub fn last(&mut self, nxt: u64) -> u64 {
        let first = self.end_of(nxt);
        match self.runs.back() {
            Some(run) if run.end > first => run.last(),
            _ => nxt,
        }
    }

    /// Records that the last packet of the unsent data from `nxt` now ends at `end`; without unsent
    /// data, that the first packet was written.
    pub fn last_grew(&mut self, nxt: u64, end: u64) {
        let first = self.end_of(nxt);
        match self.runs.pop_back() {
            Some(mut run) if run.end > first => {
                let begin = run.last();
                run.end = begin;
                if run.end > run.begin {
                    self.runs.push_back(run);
                }
                self.packets_written(begin, end, end - begin);
            }
            _ => self.first = end,
        }
    }

    /// Records packets of `size` bytes, written from `begin` to `end`.
    pub fn packets_written(&mut self, begin: u64, end: u64, size: u64) {
        if end > begin {
            self.runs.push_back(Run { begin, end, size });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ends of the packets after `nxt`.
    fn ends(packet_ends: &PacketEnds, mut nxt: u64) -> Vec<u64> {
        let mut packet_ends = packet_ends.clone();
        let mut ends = Vec::new();
        while packet_ends.end_of(nxt) > nxt {
            nxt = packet_ends.end_of(nxt);
            ends.push(nxt);
        }
        ends
    }

    #[test]
    fn packets_end_where_they_were_written() {
        let mut packet_ends = PacketEnds::default();
        assert!(ends(&packet_ends, 1).is_empty());
        packet_ends.last_grew(1, 101);
        assert_eq!(packet_ends.last(41), 41, "the part of a packet that has not left");
        assert_eq!(ends(&packet_ends, 1), [101]);
        // Part of the packet has been sent, and the rest is filled up again.
        packet_ends.last_grew(41, 141);
        assert_eq!(ends(&packet_ends, 41), [141]);
        packet_ends.packets_written(141, 341, 100);
        packet_ends.packets_written(341, 601, 200);
        assert_eq!(packet_ends.last(41), 541);
        assert_eq!(ends(&packet_ends, 41), [141, 241, 341, 541, 601]);
        // The end of a packet does not change when bytes are sent.
        assert_eq!(ends(&packet_ends, 150), [241, 341, 541, 601]);
        packet_ends.last_grew(150, 741);
        assert_eq!(ends(&packet_ends, 150), [241, 341, 541, 741]);
        assert_eq!(packet_ends.end_of(600), 741);
        packet_ends.last_grew(741, 841);
        assert_eq!(ends(&packet_ends, 741), [841]);
    }
}
