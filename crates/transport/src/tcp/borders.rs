//! Where the packets of a send buffer end. Linux prepares unsent data in packets of up to 64 KB
//! ([`super::writer`]), and a burst ([`super::bursts`]) does not cross the end of its packet.
//!
//! - A program that writes fills up the last packet before it begins another.
//! - A packet of which a part has left keeps its end, unless it is the last one and is filled up
//!   again.

use std::collections::VecDeque;

/// Packets of the same size, one after the other; the last one may be shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    begin: u64,
    end: u64,
    size: u64,
}

impl Run {
    /// Returns where the last packet begins.
    fn last(&self) -> u64 {
        self.begin + (self.end - self.begin - 1) / self.size * self.size
    }
}

/// The ends of the packets that hold unsent data.
#[derive(Clone, Default, Debug)]
pub struct Borders {
    /// End of the packet in which the next byte to be sent was last.
    first: u64,
    /// What is in the buffer after that.
    runs: VecDeque<Run>,
}

impl Borders {
    /// Returns the end of the packet that holds position `nxt`, which does not decrease. It is
    /// `nxt` if nothing was written there.
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

    /// Returns where the last packet of what is unsent from `nxt` begins. It is `nxt` if there is
    /// only one, or none.
    pub fn last(&mut self, nxt: u64) -> u64 {
        let first = self.end_of(nxt);
        match self.runs.back() {
            Some(run) if run.end > first => run.last(),
            _ => nxt,
        }
    }

    /// Records that the last packet of what is unsent from `nxt` now ends at `end`, or that the
    /// first one was written.
    pub fn grown(&mut self, nxt: u64, end: u64) {
        let first = self.end_of(nxt);
        match self.runs.pop_back() {
            Some(mut run) if run.end > first => {
                let begin = run.last();
                run.end = begin;
                if run.end > run.begin {
                    self.runs.push_back(run);
                }
                self.added(begin, end, end - begin);
            }
            _ => self.first = end,
        }
    }

    /// Records packets of `size` bytes, written from `begin` to `end`.
    pub fn added(&mut self, begin: u64, end: u64, size: u64) {
        if end > begin {
            self.runs.push_back(Run { begin, end, size });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ends of the packets that follow from `nxt`.
    fn ends(borders: &Borders, mut nxt: u64) -> Vec<u64> {
        let mut borders = borders.clone();
        let mut ends = Vec::new();
        while borders.end_of(nxt) > nxt {
            nxt = borders.end_of(nxt);
            ends.push(nxt);
        }
        ends
    }

    #[test]
    fn packets_end_where_they_were_written() {
        let mut borders = Borders::default();
        assert!(ends(&borders, 1).is_empty());
        borders.grown(1, 101);
        assert_eq!(borders.last(41), 41, "the part of a packet that has not left");
        assert_eq!(ends(&borders, 1), [101]);
        // A part has left, and the rest is filled up again.
        borders.grown(41, 141);
        assert_eq!(ends(&borders, 41), [141]);
        borders.added(141, 341, 100);
        borders.added(341, 601, 200);
        assert_eq!(borders.last(41), 541);
        assert_eq!(ends(&borders, 41), [141, 241, 341, 541, 601]);
        // What was taken from a packet does not move its end.
        assert_eq!(ends(&borders, 150), [241, 341, 541, 601]);
        borders.grown(150, 741);
        assert_eq!(ends(&borders, 150), [241, 341, 541, 741]);
        assert_eq!(borders.end_of(600), 741);
        borders.grown(741, 841);
        assert_eq!(ends(&borders, 741), [841]);
    }
}
