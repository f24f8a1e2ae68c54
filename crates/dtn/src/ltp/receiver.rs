//! The receiver of a block (RFC 5326, section 6).

use super::segment::{reason, Content, Data, Report, Segment, Session};
use super::Config;
use crate::chunk::Chunk;
use crate::ranges::Ranges;
use bentpipe_core::Time;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A sent report that has not been acknowledged.
struct Pending {
    report: Report,
    attempts: u32,
    due: Option<Time>,
}

/// New data in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The red part is complete.
    Red,
    /// A part of the green data has arrived.
    Green(Range<u64>),
}

/// The receiver of a block.
pub struct Receiver {
    session: Session,
    /// Number of the client service to which the data goes.
    pub service: u64,
    red: Ranges,
    /// Pieces of red data with content, by position.
    pieces: BTreeMap<u64, Chunk>,
    /// Length of the red part and of the block, once known.
    red_length: Option<u64>,
    length: Option<u64>,
    /// Position of the first green byte, and end of the last red byte that have arrived.
    green: Option<u64>,
    highest_red: u64,
    queue: VecDeque<Segment>,
    /// Reports by number, until they are acknowledged.
    pending: BTreeMap<u64, Pending>,
    /// The bounds of each report, by number, and the reports caused by a checkpoint.
    bounds: BTreeMap<u64, Range<u64>>,
    issued: BTreeMap<u64, Vec<u64>>,
    /// End of the last report that was not an answer to another one.
    reported: u64,
    next_report: u64,
    delivered: bool,
    config: Config,
    cancel: Option<(u8, u32, Option<Time>)>,
    ended: bool,
}

impl Receiver {
    /// Creates the receiver of a block of which a segment has arrived.
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

    /// Processes a part of the block.
    pub fn data(&mut self, data: &Data) -> Option<Arrival> {
        if self.cancel.is_some() || self.ended {
            return None;
        }
        let range = data.offset..data.offset + data.bytes.len();
        // Red data comes before green data, and nothing comes behind the end (section 6.21).
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
        let whole = self.red_length.is_some_and(|length| self.red.contains(&(0..length)));
        (whole && !std::mem::replace(&mut self.delivered, true)).then_some(Arrival::Red)
    }

    /// Keeps the longest of the pieces that begin at one position: a checkpoint may be divided
    /// differently from the data before it.
    fn store_piece(&mut self, start: u64, bytes: Chunk) {
        if self.pieces.get(&start).is_none_or(|known| known.len() < bytes.len()) {
            self.pieces.insert(start, bytes);
        }
    }

    /// Returns the red part, once it is complete. Data without content is zeros.
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

    /// Answers a checkpoint whose end is at `upper`.
    fn checkpoint(&mut self, number: u64, answers: u64, upper: u64) {
        if let Some(reports) = self.issued.get(&number) {
            // The checkpoint was retransmitted, so its reports were lost or late.
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
            // The sender answers a report of an engine that was restarted and has lost its data, so
            // it has to begin again.
            (_, None) => return self.cancel(reason::SYSTEM),
        };
        self.issued.insert(number, Vec::new());
        let mut from = lower;
        let mut claims: Vec<Range<u64>> = self.red.within(lower..upper).collect();
        // Several reports are needed if there are too many claims; each covers the part up to its
        // last claim.
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

    /// Notes that the sender has received a report.
    pub fn acknowledged(&mut self, report: u64) {
        self.pending.remove(&report);
        self.queue
            .retain(|segment| !matches!(&segment.content, Content::Report(one) if one.number == report));
    }

    /// Notes that the sender has cancelled, or knows that the receiver has.
    pub fn cancelled(&mut self, by_sender: bool) {
        self.queue.clear();
        if by_sender {
            self.queue.push_back(Segment::new(self.session, Content::CancelAckToSender));
        }
        self.cancel = None;
        self.pending.clear();
        self.ended = true;
    }

    /// Cancels the session.
    pub fn cancel(&mut self, reason: u8) {
        if self.cancel.is_none() && !self.ended {
            self.queue.clear();
            self.pending.clear();
            self.cancel = Some((reason, 0, None));
            self.queue.push_back(Segment::new(self.session, Content::CancelByReceiver(reason)));
        }
    }

    /// Returns true if something is ready to be sent.
    pub fn has_segments(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns the next segment, which leaves now; `deadline` is the time at which its answer is
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

    /// Returns the time at which the first timer expires.
    pub fn next_wake(&self) -> Option<Time> {
        let cancel = self.cancel.as_ref().and_then(|cancel| cancel.2);
        self.pending.values().filter_map(|pending| pending.due).chain(cancel).min()
    }

    /// Retransmits overdue segments, or cancels.
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
            // All data has arrived: only the sender's acknowledgment is missing, and nothing is
            // left to cancel.
            self.ended = true;
            self.pending.clear();
        } else if exceeded {
            self.cancel(reason::LIMIT);
        }
    }

    /// Returns true if nothing remains to be done.
    pub fn has_ended(&self) -> bool {
        let whole = self.delivered && self.pending.is_empty() || self.is_green_only();
        self.queue.is_empty() && (self.ended || whole && self.cancel.is_none())
    }

    /// Returns true if the block has no red part, and has ended.
    fn is_green_only(&self) -> bool {
        self.green == Some(0) && self.length.is_some()
    }

    /// Returns true if the session ended without all red data.
    pub fn was_cancelled(&self) -> bool {
        self.ended && !self.delivered
    }
}
