//! An Ethernet segment between a node and its adapter. It transmits complete frames one after the
//! other.

use bentpipe_core::{Rate, Span, Time};
use bentpipe_link::queue::limit::DEFAULT_PACKETS;
use std::collections::VecDeque;

/// Overhead of Ethernet per packet (preamble 8, header 14, checksum 4, gap 12) and the minimum
/// payload, in bytes (IEEE 802.3).
const ETHERNET_OVERHEAD: (u32, u32) = (38, 46);

/// Returns the time that a packet takes on an Ethernet segment.
pub fn transmission_time(rate: Rate, size: u32) -> Span {
    let (more, least) = ETHERNET_OVERHEAD;
    rate.span_of(u64::from(size.max(least) + more))
}

/// One direction of an Ethernet segment.
pub struct Segment {
    rate: Rate,
    free_at: Time,
    /// Start of the transmission of each waiting packet.
    waiting: VecDeque<Time>,
}

impl Segment {
    /// Creates an idle segment.
    pub fn new(rate: Rate) -> Segment {
        Segment { rate, free_at: Time::ZERO, waiting: VecDeque::new() }
    }

    /// Sends a packet that arrives at `now`. Returns the time at which its transmission ends;
    /// `None` if too many packets wait.
    pub fn send(&mut self, now: Time, size: u32) -> Option<Time> {
        while self.waiting.front().is_some_and(|start| *start <= now) {
            self.waiting.pop_front();
        }
        if self.waiting.len() as u64 >= DEFAULT_PACKETS {
            return None;
        }
        let start = now.max(self.free_at);
        if start > now {
            self.waiting.push_back(start);
        }
        self.free_at = start + transmission_time(self.rate, size);
        Some(self.free_at)
    }
}
