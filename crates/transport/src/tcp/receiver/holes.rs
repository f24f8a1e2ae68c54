//! Out-of-order data: storage, and reports to the sender.

use super::{Due, Receiver};
use crate::sending::rtt::Estimator;
use crate::tcp::{header, snack};
use bentpipe_core::{Span, Time};
use bentpipe_stage::packet::segment::{SackBlocks, Snack};

/// Number of acknowledgments of one hole that are sent without delay, as needed by fast retransmit.
const SENT_AT_ONCE: u32 = 3;

/// Slack of the timer: it expires later by this time if nothing else wakes the processor (Linux's
/// tcp_comp_sack_slack_ns).
const SLACK: Span = Span::from_micros(100);

/// Maximum number of segments that share an acknowledgment (Linux's tcp_comp_sack_nr).
const MAX_COMPRESSED: u32 = 44;

/// Number of blocks that always fit into an acknowledgment. Every block has been in one of these
/// places in an earlier acknowledgment, so all are reported (Linux's tcp_sack_new_ofo_skb, since
/// 5.10).
const SURE_BLOCKS: usize = 2;

impl Receiver {
    /// Returns the next negative acknowledgment in turn, if data is missing.
    pub fn snack(&mut self, unit: u64) -> Option<Snack> {
        let (snack, on) = snack::encode(self.next, &self.out_of_order, unit, self.next_named)?;
        self.next_named = on;
        Some(snack)
    }

    /// Returns the SACK blocks to send, if any, in sequence numbers.
    #[inline]
    pub fn sack_blocks(&mut self, numbering: header::Numbering) -> Option<SackBlocks> {
        // The next acknowledgment reports the remaining data of the segment.
        let (listed, duplicate) = match self.reported_blocks.take() {
            Some(blocks) => (blocks, None),
            None => ((self.blocks, self.block_count), self.duplicate.take().filter(|_| self.dsack)),
        };
        if (listed.1 == 0 && duplicate.is_none()) || !self.sack {
            return None;
        }
        let mut blocks = SackBlocks::default();
        let ranges = listed.0[..listed.1].iter().copied();
        for (left, right) in duplicate.into_iter().chain(ranges).take(self.max_blocks) {
            blocks.push(numbering.number(left), numbering.number(right));
        }
        Some(blocks)
    }

    pub(super) fn hold(&mut self, now: Time, path: &Estimator, start: u64, end: u64) {
        let empty = start >= end;
        if empty || !self.report_before(start, end) {
            self.acknowledge_hole(now, path);
        }
        if empty {
            return;
        }
        // Of several parts received twice, the first is reported (RFC 2883, section 4.2).
        let (mut known, mut duplicate) = (start, None);
        let range = self.out_of_order.insert(start, end, |from, to, _| {
            duplicate = duplicate.or((from > known).then_some((known, from)));
            known = to;
        });
        self.duplicate = duplicate.or((known < end).then_some((known, end))).or(self.duplicate);
        let range = if self.joins_listed { self.join_listed(start, end) } else { range };
        // The block moves to the front; blocks that it covers are removed.
        let mut count = 0;
        let mut blocks = [range, (0, 0), (0, 0), (0, 0)];
        for &block in &self.blocks[..self.block_count] {
            let covered = block.0 >= range.0 && block.1 <= range.1;
            if !covered && count + 1 < blocks.len() {
                count += 1;
                blocks[count] = block;
            }
        }
        self.blocks = blocks;
        self.block_count = count + 1;
    }

    /// Called before a segment `[start, end)` is stored. If the segment would move a block to a
    /// place that may not fit into an acknowledgment, makes the shared acknowledgment due with the
    /// present blocks. The segment itself then makes no acknowledgment due. Returns true in that
    /// case.
    fn report_before(&mut self, start: u64, end: u64) -> bool {
        if self.due != Due::Compressed {
            return false;
        }
        let listed = &self.blocks[..self.block_count];
        let touched = listed.iter().position(|&(left, right)| start <= right && left <= end);
        if touched.unwrap_or(self.block_count) < SURE_BLOCKS {
            return false;
        }
        let mut reported_blocks = (self.blocks, self.block_count);
        if let Some(block) = touched.map(|index| &mut reported_blocks.0[index]) {
            *block = (block.0.min(start), block.1.max(end));
        }
        self.reported_blocks = Some(reported_blocks);
        self.due = Due::Alone;
        true
    }

    /// Returns the block of a segment, joined with adjacent blocks of the list. Adjacent data
    /// outside of the list is not included, contrary to RFC 2018, section 4.
    fn join_listed(&self, start: u64, end: u64) -> (u64, u64) {
        let mut block = (start, end);
        loop {
            let previous = block;
            for &(left, right) in &self.blocks[..self.block_count] {
                if left <= block.1 && block.0 <= right {
                    block = (block.0.min(left), block.1.max(right));
                }
            }
            if block == previous {
                return block;
            }
        }
    }

    /// Handles an out-of-order segment.
    fn acknowledge_hole(&mut self, now: Time, path: &Estimator) {
        if self.delayed.is_quick() {
            self.due = Due::Alone;
            return;
        }
        let srtt = path.srtt().filter(|_| self.sack && self.compression > Span::ZERO);
        let (true, Some(srtt)) = (self.hole_acknowledgments >= SENT_AT_ONCE, srtt) else {
            self.hole_acknowledgments += 1;
            self.due = Due::Alone;
            return;
        };
        self.compressed += 1;
        if self.compressed > MAX_COMPRESSED || self.due > Due::Compressed {
            self.due = Due::Alone;
        } else if self.due < Due::Compressed {
            self.due = Due::Compressed;
            self.delayed.start_for_hole(now, now + self.compression.min(srtt / 20) + SLACK);
        }
    }

    pub(super) fn discard_blocks(&mut self) {
        let mut count = 0;
        for index in 0..self.block_count {
            if self.blocks[index].0 > self.next {
                self.blocks[count] = self.blocks[index];
                count += 1;
            }
        }
        self.block_count = count;
    }
}
