//! The receiver of a block (RFC 5326, section 6).

use super::segment::{reason, Content, Data, Report, Segment, Session};
use super::Config;
use crate::chunk::Chunk;
use crate::ranges::Ranges;
use bentpipe_core::Time;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A report without an acknowledgment.
struct Pending {
    report: Report,
    attempts: u32,
    due: Option<Time>,
}

/// Data that a segment has made available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The red part is complete.
    Red,
    /// This range of green data has arrived.
    Green(Range<u64>),
}

/// The receiver of a block.
pub struct Receiver {
    session: Session,
    /// Number of the client service to which the data goes.
    pub service: u64,
    /// The parts of the red data that have arrived.
    red: Ranges,
    /// Received pieces of red data with content, by offset.
    pieces: BTreeMap<u64, Chunk>,
    /// Length of the red part, once known.
    red_length: Option<u64>,
    /// Length of the block, once known.
    length: Option<u64>,
    /// Offset of the first green byte that has arrived.
    green: Option<u64>,
    /// End of the last red byte that has arrived.
    highest_red: u64,
    queue: VecDeque<Segment>,
    /// Reports by number, until they are acknowledged.
    pending: BTreeMap<u64, Pending>,
    /// The bounds of each report, by report number.
    bounds: BTreeMap<u64, Range<u64>>,
    /// The numbers of the reports for each checkpoint, by checkpoint number.
    issued: BTreeMap<u64, Vec<u64>>,
    /// Highest upper bound of the reports for first transmissions of red data.
    reported: u64,
    next_report: u64,
    delivered: bool,
    config: Config,
    /// The cancellation: its reason, the number of times it was sent, and the deadline of its
    /// answer.
    cancel: Option<(u8, u32, Option<Time>)>,
    ended: bool,
}

impl Receiver {
    /// Creates the receiver of a block when its first segment arrives.
    pub fn new(session: Session, service: u64, first_report: u64, config: &Config) -> Receiver {
        Receiver {
            session,
            service,
            red: Ranges::default(),
            pieces: BTreeMap::new(),
            red_length: None,
            length: None,
            green: None,
            highest_red: 0,
            queue: VecDeque::new(),
            pending: BTreeMap::new(),
            bounds: BTreeMap::new(),
            issued: BTreeMap::new(),
            reported: 0,
            next_report: first_report.max(1),
            delivered: false,
            config: config.clone(),
            cancel: None,
            ended: false,
        }
    }

    /// Processes a data segment.
    pub fn data(&mut self, data: &Data) -> Option<Arrival> {
        if self.cancel.is_some() || self.ended {
            return None;
        }
        let range = data.offset..data.offset + data.bytes.len();
        // Red data precedes green data, and no data follows the end of the block (section 6.21).
        let red_end = self.red_length.unwrap_or(u64::MAX);
        let miscoloured = match data.red {
            true => range.end > red_end || self.green.is_some_and(|green| range.end > green),
            false => range.start < self.red_length.unwrap_or(0).max(self.highest_red),
        };
        if miscoloured || self.length.is_some_and(|length| range.end > length) {
            self.cancel(reason::MISCOLOURED);
            return None;
        }
        if data.ends_block {
            self.length = Some(range.end);
        }
        if !data.red {
            self.green = Some(self.green.unwrap_or(u64::MAX).min(range.start));
            return Some(Arrival::Green(range));
        }
        if data.ends_red_part {
            self.red_length = Some(range.end);
        }
        self.highest_red = self.highest_red.max(range.end);
        if self.red.add(range.clone()) > 0 {
            if let Chunk::Bytes(_) = &data.bytes {
                self.store_piece(range.start, data.bytes.clone());
            }
        }
        if let Some((number, answers)) = data.checkpoint {
            self.checkpoint(number, answers, range.end);
            if self.cancel.is_some() {
                return None;
            }
        }
        let complete = self.red_length.is_some_and(|length| self.red.contains(&(0..length)));
        (complete && !std::mem::replace(&mut self.delivered, true)).then_some(Arrival::Red)
    }

    /// Stores a piece of red data, unless a longer piece with the same start is stored.
    /// Retransmitted segments may begin and end at other offsets than the original ones.
    fn store_piece(&mut self, start: u64, bytes: Chunk) {
        if self.pieces.get(&start).is_none_or(|known| known.len() < bytes.len()) {
            self.pieces.insert(start, bytes);
        }
    }

    /// Returns the red part, which must be complete, and removes its content from the receiver.
    pub fn red_part(&mut self) -> Chunk {
        let length = self.red_length.unwrap_or(0);
        if self.pieces.is_empty() {
            return Chunk::Zeros(length);
        }
        let mut whole = Vec::with_capacity(length as usize);
        for (start, piece) in std::mem::take(&mut self.pieces) {
            let known = whole.len() as u64;
            if start + piece.len() > known {
                piece.part(known.saturating_sub(start)..piece.len()).write(&mut whole);
            }
        }
        Chunk::Bytes(whole.into())
    }

    /// Answers a checkpoint by reports. `answers` is the number of the report that the checkpoint
    /// answers, or 0, and `upper` is the end of the checkpoint's data.
    fn checkpoint(&mut self, number: u64, answers: u64, upper: u64) {
        if let Some(reports) = self.issued.get(&number) {
            // The checkpoint was retransmitted, so its reports were lost or are late.
            for report in reports.clone() {
                if let Some(pending) = self.pending.get_mut(&report) {
                    if pending.due.take().is_some() {
                        let again = pending.report.clone();
                        self.queue.push_back(Segment::new(self.session, Content::Report(again)));
                    }
                } else {
                    let bounds = self.bounds[&report].clone();
                    self.issue(number, bounds);
                }
            }
            return;
        }
        let lower = match (answers, self.bounds.get(&answers)) {
            (0, _) => {
                let lower = self.reported.min(upper);
                self.reported = self.reported.max(upper);
                lower
            }
            (_, Some(bounds)) => bounds.start,
            // The sender answers a report that this engine sent before a restart. The engine has
            // lost the data, so the sender must send the block again.
            (_, None) => return self.cancel(reason::SYSTEM),
        };
        self.issued.insert(number, Vec::new());
        let mut from = lower;
        let mut claims: Vec<Range<u64>> = self.red.within(lower..upper).collect();
        // If there are too many claims for one report, several reports are sent. Each covers the
        // range up to the first claim of the next report.
        while claims.len() > self.config.claims {
            let rest = claims.split_off(self.config.claims);
            let to = rest[0].start;
            self.issue(number, from..to);
            (from, claims) = (to, rest);
        }
        self.issue(number, from..upper);
    }

    fn issue(&mut self, checkpoint: u64, bounds: Range<u64>) {
        let number = self.next_report;
        self.next_report += 1;
        let claims = self.red.within(bounds.clone());
        let claims = claims.map(|claim| (claim.start - bounds.start, claim.end - claim.start)).collect();
        let report = Report { number, checkpoint, upper: bounds.end, lower: bounds.start, claims };
        self.queue.push_back(Segment::new(self.session, Content::Report(report.clone())));
        self.pending.insert(number, Pending { report, attempts: 0, due: None });
        self.bounds.insert(number, bounds);
        self.issued.entry(checkpoint).or_default().push(number);
    }

    /// Records that the sender has acknowledged a report.
    pub fn acknowledged(&mut self, report: u64) {
        self.pending.remove(&report);
        self.queue.retain(
            |segment| !matches!(&segment.content, Content::Report(queued) if queued.number == report),
        );
    }

    /// Ends the session: the sender has cancelled it (true), or has acknowledged the receiver's
    /// cancellation (false).
    pub fn cancelled(&mut self, by_sender: bool) {
        self.queue.clear();
        if by_sender {
            self.queue.push_back(Segment::new(self.session, Content::CancelAckToSender));
        }
        self.cancel = None;
        self.pending.clear();
        self.ended = true;
    }

    /// Cancels the session, with a code of [`reason`].
    pub fn cancel(&mut self, reason: u8) {
        if self.cancel.is_none() && !self.ended {
            self.queue.clear();
            self.pending.clear();
            self.cancel = Some((reason, 0, None));
            self.queue.push_back(Segment::new(self.session, Content::CancelByReceiver(reason)));
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
            Content::Report(report) => {
                if let Some(pending) = self.pending.get_mut(&report.number) {
                    pending.attempts += 1;
                    pending.due = Some(deadline());
                }
            }
            Content::CancelByReceiver(_) => {
                if let Some(cancel) = &mut self.cancel {
                    cancel.1 += 1;
                    cancel.2 = Some(deadline());
                }
            }
            _ => {}
        }
        Some(segment)
    }

    /// Returns the time at which the next timer expires.
    pub fn next_wake(&self) -> Option<Time> {
        let cancel = self.cancel.as_ref().and_then(|cancel| cancel.2);
        self.pending.values().filter_map(|pending| pending.due).chain(cancel).min()
    }

    /// Retransmits reports and cancellations without an answer. Cancels or ends the session if a
    /// report exceeds the attempts.
    pub fn wake(&mut self, now: Time) {
        let max = self.config.attempts;
        if let Some((reason, attempts, due)) = &mut self.cancel {
            if due.is_some_and(|due| due <= now) {
                *due = None;
                if *attempts >= max {
                    self.ended = true;
                    self.cancel = None;
                } else {
                    self.queue.push_back(Segment::new(self.session, Content::CancelByReceiver(*reason)));
                }
            }
            return;
        }
        let mut exceeded = false;
        for pending in self.pending.values_mut().filter(|pending| pending.due.is_some_and(|due| due <= now)) {
            pending.due = None;
            if pending.attempts >= max {
                exceeded = true;
            } else {
                self.queue.push_back(Segment::new(self.session, Content::Report(pending.report.clone())));
            }
        }
        if exceeded && self.delivered {
            // All red data was delivered, and only an acknowledgment of the sender is missing. So
            // the session ends without a cancellation.
            self.ended = true;
            self.pending.clear();
        } else if exceeded {
            self.cancel(reason::LIMIT);
        }
    }

    /// Returns true if the session has ended and all its segments have been sent.
    pub fn has_ended(&self) -> bool {
        let complete = self.delivered && self.pending.is_empty() || self.is_green_only();
        self.queue.is_empty() && (self.ended || complete && self.cancel.is_none())
    }

    /// Returns true if the block has no red part, and its end has arrived.
    fn is_green_only(&self) -> bool {
        self.green == Some(0) && self.length.is_some()
    }

    /// Returns true if the session ended before all red data was delivered.
    pub fn was_cancelled(&self) -> bool {
        self.ended && !self.delivered
    }
}
