//! The sender's decisions: the next segment, the collection of NACKs, repairs, and flushes.

use super::ranges::Ranges;
use super::Config;
use bentpipe_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A segment that is to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Number of the segment, from 0.
    pub number: u32,
    /// Payload of the segment in bytes.
    pub bytes: u32,
    /// Time at which the application handed over the data.
    pub written: Time,
    /// True for a retransmission.
    pub repair: bool,
}

/// The sender of the segments of an object.
pub struct Sender {
    config: Config,
    /// Data that waits to be sent for the first time, by time of hand-over.
    waiting: VecDeque<(Time, u32)>,
    /// True if the application has data without end.
    endless: bool,
    /// True if the application hands over no more data.
    closed: bool,
    /// Size and time of hand-over of all segments that have been sent.
    sent: Vec<(u32, Time)>,
    /// Segments to be retransmitted.
    repairs: BTreeSet<u32>,
    /// Segments that NACKs have requested in the present aggregation.
    requested: BTreeSet<u32>,
    /// End of the present aggregation.
    aggregation: Option<Time>,
    /// Time of the last repair of each segment, for those less than a holdoff ago.
    repaired: BTreeMap<u32, Time>,
    /// True if requests have been added since the last advertisement.
    unadvertised: bool,
    /// Earliest time of the next advertisement.
    next_advertisement: Time,
    /// Time of the next flush; `None` if none is scheduled.
    flush: Option<Time>,
    /// Number of flushes since the last segment.
    flushes: u64,
}

impl Sender {
    /// Creates a sender without data.
    pub fn new(config: &Config) -> Sender {
        Sender {
            config: config.clone(),
            waiting: VecDeque::new(),
            endless: false,
            closed: false,
            sent: Vec::new(),
            repairs: BTreeSet::new(),
            requested: BTreeSet::new(),
            aggregation: None,
            repaired: BTreeMap::new(),
            unadvertised: false,
            next_advertisement: Time::ZERO,
            flush: None,
            flushes: 0,
        }
    }

    /// Adds data of the application, cut into segments; `u64::MAX` for data without end.
    pub fn write(&mut self, now: Time, bytes: u64) {
        let size = self.config.segment_size.value();
        if bytes == u64::MAX {
            self.endless = true;
            return;
        }
        let mut left = bytes;
        while left > 0 {
            let segment = left.min(size);
            self.waiting.push_back((now, segment as u32));
            left -= segment;
        }
    }

    /// Ends the data: no more is written. With `discard`, data that has not been sent is discarded.
    pub fn close(&mut self, discard: bool) {
        self.closed = true;
        if discard {
            self.endless = false;
            self.waiting.clear();
        }
    }

    /// Returns true if a segment or a repair waits to be sent.
    pub fn has_segment(&self) -> bool {
        !self.repairs.is_empty() || self.endless || !self.waiting.is_empty()
    }

    /// Returns the number of segments that have been sent for the first time.
    pub fn sent(&self) -> u32 {
        self.sent.len() as u32
    }

    /// Returns the number of all segments, if the application has closed.
    pub fn total(&self) -> Option<u32> {
        (self.closed && !self.endless).then(|| (self.sent.len() + self.waiting.len()) as u32)
    }

    /// Returns the next segment: repairs first.
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        (self.flush, self.flushes) = (None, 0);
        if let Some(number) = self.repairs.pop_first() {
            let (bytes, written) = self.sent[number as usize];
            self.repaired.insert(number, now);
            return Some(Segment { number, bytes, written, repair: true });
        }
        let full = self.endless.then(|| (now, self.config.segment_size.value() as u32));
        let (written, bytes) = self.waiting.pop_front().or(full)?;
        self.sent.push((bytes, written));
        Some(Segment { number: self.sent() - 1, bytes, written, repair: false })
    }

    /// Handles a NACK: adds the requests to the present aggregation, or starts one.
    pub fn nack(&mut self, now: Time, requests: &Ranges) {
        let holdoff = self.config.grtts(1);
        self.repaired.retain(|_, at| now < *at + holdoff);
        let count = self.sent();
        let wanted = |segment: &u32| {
            *segment < count && !self.repairs.contains(segment) && !self.repaired.contains_key(segment)
        };
        let wanted: Vec<u32> = requests.segments().filter(wanted).collect();
        let before = self.requested.len();
        self.requested.extend(wanted);
        if self.requested.len() > before {
            self.unadvertised = true;
            self.aggregation.get_or_insert(now + self.config.aggregation());
        }
    }

    /// Returns the requests to be advertised now, if any.
    pub fn advertisement(&mut self, now: Time) -> Option<Ranges> {
        if !self.unadvertised || now < self.next_advertisement {
            return None;
        }
        self.unadvertised = false;
        self.next_advertisement = now + self.config.grtts(1);
        let max = self.config.segment_size.value() as u32;
        Some(Ranges::of(self.requested.iter().copied(), max))
    }

    /// Ends an aggregation that is over: its requests become repairs.
    pub fn aggregate(&mut self, now: Time) {
        if self.aggregation.is_some_and(|at| at <= now) {
            self.aggregation = None;
            self.unadvertised = false;
            self.repairs.append(&mut self.requested);
        }
    }

    /// Returns true if a flush is to be sent now, and counts it.
    pub fn flush(&mut self, now: Time) -> bool {
        if self.sent.is_empty() || self.has_segment() || self.flushes >= self.config.robust.value() {
            return false;
        }
        // In a pause of the application, the first flush follows after the usual time.
        let first = now + if self.closed { Span::ZERO } else { self.config.grtts(2) };
        let due = *self.flush.get_or_insert(first) <= now;
        if due {
            self.flushes += 1;
            let last = self.flushes == self.config.robust.value();
            self.flush = (!last).then(|| now + self.config.grtts(2));
        }
        due
    }

    /// Returns true if the application has closed and every segment has been sent once.
    pub fn is_over(&self) -> bool {
        self.closed && !self.endless && self.waiting.is_empty()
    }

    /// Returns true if the first flush of a pause has not been scheduled.
    pub fn waits_to_flush(&self) -> bool {
        let may_flush = self.flush.is_none() && self.flushes < self.config.robust.value();
        may_flush && !self.sent.is_empty() && !self.has_segment()
    }

    /// Returns the time of the next advertisement, end of an aggregation, or flush.
    pub fn next_wake(&self) -> Time {
        let advertisement = if self.unadvertised { self.next_advertisement } else { Time::MAX };
        let aggregation = self.aggregation.unwrap_or(Time::MAX);
        advertisement.min(aggregation).min(self.flush.unwrap_or(Time::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        serde_json::from_str(
            r#"{"rate": "1 Mbit/s", "segment_size": 1000, "grtt": "100 ms", "backoff": 4, "robust": 3}"#,
        )
        .unwrap()
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// GRTT = 100 ms and K = 4. Two NACKs for segment 1 within (K + 1) GRTT = 500 ms give one
    /// advertisement at once and one repair at 500 ms. A NACK 50 ms after the repair is within the
    /// holdoff of 100 ms and gives nothing. One 150 ms after it starts the next aggregation, which
    /// ends at 1650 + 500 ms.
    #[test]
    fn nacks_are_collected_and_a_repair_is_not_repeated_within_the_holdoff() {
        let mut sender = Sender::new(&config());
        sender.write(at(0), 2500);
        sender.close(false);
        let sizes: Vec<_> = std::iter::from_fn(|| sender.next_segment(at(0))).map(|one| one.bytes).collect();
        assert_eq!((sizes, sender.total()), (vec![1000, 1000, 500], Some(3)));
        let one = Ranges::of([1], 100);
        sender.nack(at(1000), &one);
        assert_eq!(sender.advertisement(at(1000)), Some(one.clone()));
        sender.nack(at(1300), &one);
        assert_eq!(sender.advertisement(at(1300)), None);
        sender.aggregate(at(1499));
        assert!(!sender.has_segment());
        assert_eq!(sender.next_wake(), at(1500));
        sender.aggregate(at(1500));
        let repair = sender.next_segment(at(1500)).unwrap();
        assert_eq!((repair.number, repair.bytes, repair.repair), (1, 1000, true));
        sender.nack(at(1550), &one);
        assert_eq!(sender.next_wake(), Time::MAX);
        sender.nack(at(1650), &one);
        assert_eq!(sender.advertisement(at(1650)), Some(one));
        assert_eq!(sender.next_wake(), at(2150));
    }

    /// Three flushes, 2 GRTT = 200 ms apart.
    #[test]
    fn the_end_is_flushed_a_fixed_number_of_times() {
        let mut sender = Sender::new(&config());
        sender.write(at(0), 10);
        sender.close(false);
        assert!(!sender.flush(at(0)) && sender.next_segment(at(0)).is_some());
        let flushes: Vec<u64> = (0..2000).filter(|ms| sender.flush(at(*ms))).collect();
        assert_eq!(flushes, [0, 200, 400]);
        assert!(sender.is_over());
    }
}
