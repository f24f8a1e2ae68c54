//! The sender of a block (RFC 5326, section 6).

use super::segment::{reason, Content, Data, Report, Segment, Session};
use super::Config;
use crate::chunk::Chunk;
use crate::ranges::Ranges;
use bentpipe_core::Time;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A checkpoint without a report.
struct Pending {
    segment: Segment,
    attempts: u32,
    due: Option<Time>,
}

/// The outcome of sending a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All red data has arrived, and all green data has been sent.
    Complete,
    /// The session was cancelled, with a code of [`reason`].
    Cancelled(u8),
}

/// The sender of a block.
pub struct Sender {
    session: Session,
    service: u64,
    block: Chunk,
    red: u64,
    /// Segments that are ready to be sent, in order.
    queue: VecDeque<Segment>,
    /// The parts of the red data that reports have claimed.
    arrived: Ranges,
    /// Checkpoints without a report, by checkpoint number.
    pending: BTreeMap<u64, Pending>,
    /// Numbers of the reports that were processed.
    answered: Ranges,
    /// Highest number of a report that was processed.
    last_report: u64,
    next_checkpoint: u64,
    config: Config,
    /// The cancellation: its reason, the number of times it was sent, and the deadline of its
    /// answer.
    cancel: Option<(u8, u32, Option<Time>)>,
    end: Option<End>,
}

impl Sender {
    /// Creates a sender of a block whose first `red` bytes are red.
    pub fn new(
        session: Session,
        service: u64,
        block: Chunk,
        red: u64,
        first_checkpoint: u64,
        config: &Config,
    ) -> Sender {
        let red = red.min(block.len());
        let mut sender = Sender {
            session,
            service,
            block,
            red,
            queue: VecDeque::new(),
            arrived: Ranges::default(),
            pending: BTreeMap::new(),
            answered: Ranges::default(),
            last_report: 0,
            next_checkpoint: first_checkpoint.max(1),
            config: config.clone(),
            cancel: None,
            end: None,
        };
        let total = sender.block.len();
        sender.queue_range(0..red, Some(0), true);
        sender.queue_range(red..total, None, false);
        if total == 0 {
            sender.end = Some(End::Complete);
        }
        sender
    }

    /// Queues the segments of a range. A red range ends with a checkpoint that answers the report
    /// number `answers`.
    fn queue_range(&mut self, range: Range<u64>, answers: Option<u64>, is_red: bool) {
        // Maximum length of a segment's headers, including the numbers of a checkpoint.
        let sample = |bytes: u64, checkpoint| {
            let offset = self.block.len();
            let data = Data {
                red: is_red,
                ends_red_part: false,
                ends_block: false,
                service: self.service,
                offset,
                bytes: Chunk::Zeros(bytes),
                checkpoint,
            };
            Segment::new(self.session, Content::Data(data)).length() - bytes
        };
        let marks = Some((self.next_checkpoint, answers.unwrap_or(0)));
        let overhead = sample(self.config.segment, if is_red { marks } else { None });
        let max = self.config.segment.saturating_sub(overhead).max(1);
        let mut from = range.start;
        while from < range.end {
            let to = range.end.min(from + max);
            let last = to == range.end;
            let checkpoint = (is_red && last).then(|| {
                self.next_checkpoint += 1;
                (self.next_checkpoint - 1, answers.unwrap_or(0))
            });
            let data = Data {
                red: is_red,
                ends_red_part: checkpoint.is_some() && to == self.red,
                // In the segment types of RFC 5326, section 3.1.1, only a checkpoint can end a
                // block with a red segment.
                ends_block: to == self.block.len() && (checkpoint.is_some() || !is_red),
                service: self.service,
                offset: from,
                bytes: self.block.part(from..to),
                checkpoint,
            };
            self.queue.push_back(Segment::new(self.session, Content::Data(data)));
            from = to;
        }
    }

    /// Returns true if segments are ready to be sent.
    pub fn has_segments(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns the next segment to send now. `deadline` returns the time at which its answer is
    /// due.
    pub fn next_segment(&mut self, deadline: impl FnOnce() -> Time) -> Option<Segment> {
        let segment = self.queue.pop_front()?;
        match &segment.content {
            Content::Data(Data { checkpoint: Some((number, _)), .. }) => {
                let due = Some(deadline());
                let entry = self.pending.entry(*number);
                let pending =
                    entry.or_insert_with(|| Pending { segment: segment.clone(), attempts: 0, due: None });
                pending.attempts += 1;
                pending.due = due;
            }
            Content::CancelBySender(_) => {
                if let Some(cancel) = &mut self.cancel {
                    cancel.1 += 1;
                    cancel.2 = Some(deadline());
                }
            }
            _ => {}
        }
        self.finish();
        Some(segment)
    }

    /// Processes a report of the receiver.
    pub fn report(&mut self, report: &Report) {
        self.queue.push_back(Segment::new(self.session, Content::ReportAck(report.number)));
        // A report is retransmitted if its acknowledgment was lost, but processed only once.
        if self.answered.add(report.number..report.number.saturating_add(1)) == 0 || self.cancel.is_some() {
            return;
        }
        self.pending.remove(&report.checkpoint);
        // The checkpoint was answered, so it need not be retransmitted.
        self.queue.retain(|segment| {
            !matches!(&segment.content, Content::Data(data) if data.checkpoint.is_some_and(|(number, _)| number == report.checkpoint))
        });
        let bounds = report.lower..report.upper.min(self.red);
        if report.number >= self.last_report {
            // The newest report is correct. Data that it does not claim is missing, even if an
            // earlier report has claimed it: the receiver was restarted between both reports.
            self.last_report = report.number;
            self.arrived.remove(bounds.clone());
        }
        for (offset, length) in &report.claims {
            let start = report.lower + offset;
            self.arrived.add(start..(start + length).min(self.red));
        }
        let missing = self.arrived.missing(bounds);
        let Some(last) = missing.last().cloned() else { return self.finish() };
        for range in &missing[..missing.len() - 1] {
            self.queue_without_checkpoint(range.clone());
        }
        self.queue_range(last, Some(report.number), true);
    }

    /// Queues the segments of a red range without a checkpoint.
    fn queue_without_checkpoint(&mut self, range: Range<u64>) {
        let before = self.queue.len();
        self.queue_range(range, Some(0), true);
        for segment in self.queue.range_mut(before..) {
            if let Content::Data(data) = &mut segment.content {
                (data.checkpoint, data.ends_red_part, data.ends_block) = (None, false, false);
            }
        }
    }

    /// Ends the session: the receiver has cancelled it for this reason, or, without a reason, has
    /// acknowledged the sender's cancellation.
    pub fn cancelled(&mut self, reason: Option<u8>) {
        if let Some(reason) = reason {
            self.queue.clear();
            self.queue.push_back(Segment::new(self.session, Content::CancelAckToReceiver));
            self.end = self.end.or(Some(End::Cancelled(reason)));
        } else if let Some((reason, ..)) = self.cancel.take() {
            self.end = self.end.or(Some(End::Cancelled(reason)));
        }
        self.pending.clear();
    }

    /// Cancels the session, with a code of [`reason`].
    pub fn cancel(&mut self, reason: u8) {
        if self.end.is_none() && self.cancel.is_none() {
            self.queue.clear();
            self.pending.clear();
            self.cancel = Some((reason, 0, None));
            self.queue.push_back(Segment::new(self.session, Content::CancelBySender(reason)));
        }
    }

    /// Returns the time at which the next timer expires.
    pub fn next_wake(&self) -> Option<Time> {
        let cancel = self.cancel.as_ref().and_then(|cancel| cancel.2);
        self.pending.values().filter_map(|pending| pending.due).chain(cancel).min()
    }

    /// Retransmits checkpoints and cancellations without an answer. Cancels the session if a
    /// checkpoint exceeds the attempts.
    pub fn wake(&mut self, now: Time) {
        if let Some((reason, attempts, due)) = &mut self.cancel {
            if due.is_some_and(|due| due <= now) {
                *due = None;
                if *attempts >= self.config.attempts {
                    self.end = Some(End::Cancelled(*reason));
                    self.cancel = None;
                } else {
                    self.queue.push_back(Segment::new(self.session, Content::CancelBySender(*reason)));
                }
            }
            return;
        }
        let mut exceeded = false;
        for pending in self.pending.values_mut().filter(|pending| pending.due.is_some_and(|due| due <= now)) {
            pending.due = None;
            if pending.attempts >= self.config.attempts {
                exceeded = true;
            } else {
                self.queue.push_back(pending.segment.clone());
            }
        }
        if exceeded {
            self.cancel(reason::LIMIT);
        }
    }

    fn finish(&mut self) {
        let sent = !self.queue.iter().any(|segment| matches!(segment.content, Content::Data(_)));
        if self.end.is_none()
            && sent
            && self.pending.is_empty()
            && self.cancel.is_none()
            && self.arrived.count() == self.red
        {
            self.end = Some(End::Complete);
        }
    }

    /// Returns the outcome of the session, once all segments have been sent.
    pub fn end(&self) -> Option<End> {
        self.end.filter(|_| self.queue.is_empty())
    }

    /// Returns the outcome of the session, even if an acknowledgment still has to be sent.
    pub fn outcome(&self) -> Option<End> {
        self.end
    }
}
