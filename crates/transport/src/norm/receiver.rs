//! A receiver's decisions: the detection of missing segments, and the time of a NACK.

use super::ranges::Ranges;
use super::{backoff, Config};
use bentpipe_core::{Stream, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Data that arrived: payload in bytes, and the time of hand-over at the source.
pub type Data = (u32, Time);

/// A receiver of the segments of an object.
pub struct Receiver {
    config: Config,
    /// Number of the first segment that has not been delivered.
    next: u32,
    /// Segments that arrived after a missing one.
    early: BTreeMap<u32, Data>,
    /// All missing segments before this number may be requested.
    boundary: u32,
    /// Number of all segments, if it is known.
    total: Option<u32>,
    /// End of the present backoff.
    backoff: Option<Time>,
    /// Time before which no backoff begins.
    holdoff: Time,
    /// The last advertised requests, and the time until which they are valid.
    advertised: Option<(Arc<Ranges>, Time)>,
    /// Number of NACKs that were not sent because their requests had been advertised.
    suppressed: u64,
    /// Time at which the last segment was delivered, if all have been.
    completed: Option<Time>,
}

impl Receiver {
    /// Creates a receiver that waits for segment 0.
    pub fn new(config: &Config) -> Receiver {
        Receiver {
            config: config.clone(),
            next: 0,
            early: BTreeMap::new(),
            boundary: 0,
            total: None,
            backoff: None,
            holdoff: Time::ZERO,
            advertised: None,
            suppressed: 0,
            completed: None,
        }
    }

    /// Takes a segment. Returns the segments that can be delivered now, in order, and true for a
    /// duplicate. The list is empty for a duplicate and for a segment after a gap.
    pub fn arrive(
        &mut self,
        now: Time,
        segment: u32,
        data: Data,
        total: Option<u32>,
    ) -> (Vec<(u32, Data)>, bool) {
        self.total = self.total.or(total);
        // The end of the object is also a boundary.
        let block = self.config.block.value() as u32;
        let begun = match self.total {
            Some(total) if segment + 1 == total => total,
            _ => segment / block * block,
        };
        self.boundary = self.boundary.max(begun);
        let is_known = segment < self.next || self.early.insert(segment, data).is_some();
        let mut delivered = Vec::new();
        while let Some(data) = self.early.remove(&self.next) {
            delivered.push((self.next, data));
            self.next += 1;
        }
        if Some(self.next) == self.total {
            self.completed.get_or_insert(now);
        }
        (delivered, is_known)
    }

    /// Handles a flush: the sender has sent all segments before `sent`.
    pub fn flush(&mut self, now: Time, sent: u32, total: Option<u32>) {
        self.total = self.total.or(total);
        self.boundary = self.boundary.max(sent);
        if Some(self.next) == self.total {
            self.completed.get_or_insert(now);
        }
    }

    /// Handles an advertisement of the requests that the sender has collected.
    pub fn advertise(&mut self, now: Time, requests: Arc<Ranges>) {
        self.advertised = Some((requests, now + self.config.receiver_holdoff()));
    }

    fn missing(&self) -> BTreeSet<u32> {
        (self.next..self.boundary).filter(|segment| !self.early.contains_key(segment)).collect()
    }

    /// Starts a backoff if segments are missing. Called after each message of the sender.
    pub fn detect(&mut self, now: Time, stream: &mut Stream) {
        if self.backoff.is_none() && now >= self.holdoff && self.next < self.boundary {
            let max = self.config.grtts(self.config.backoff.value());
            self.backoff = Some(now + backoff::draw(max, self.config.group_size.value(), stream));
        }
    }

    /// Ends a backoff that is over. Returns the NACK to send, unless its segments have arrived or
    /// have been advertised.
    pub fn nack(&mut self, now: Time) -> Option<Ranges> {
        self.backoff.filter(|at| *at <= now)?;
        self.backoff = None;
        let missing = self.missing();
        if missing.is_empty() {
            return None;
        }
        self.holdoff = now + self.config.receiver_holdoff();
        let advertised = self.advertised.as_ref().filter(|(_, until)| now < *until);
        if advertised.is_some_and(|(requests, _)| requests.has_all(&missing)) {
            self.suppressed += 1;
            return None;
        }
        Some(Ranges::of(missing, self.config.segment_size.value() as u32))
    }

    /// Returns the end of the present backoff.
    pub fn next_wake(&self) -> Time {
        self.backoff.unwrap_or(Time::MAX)
    }

    /// Returns the number of suppressed NACKs.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// Returns the time at which everything had arrived.
    pub fn completed(&self) -> Option<Time> {
        self.completed
    }

    /// Returns the number of segments that have been delivered.
    pub fn delivered(&self) -> u32 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::{Span, Streams};

    fn receiver() -> Receiver {
        let config = r#"{"rate": "1 Mbit/s", "grtt": "100 ms", "backoff": 4, "block": 4}"#;
        Receiver::new(&serde_json::from_str(config).unwrap())
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Segment 1 of the first block of four is missing. Segments 2 and 3 start no backoff, segment
    /// 4 does. After the NACK there is none for (K + 2) GRTT = 600 ms.
    #[test]
    fn missing_segments_are_requested_at_the_end_of_their_block() {
        let (mut receiver, mut stream) = (receiver(), Streams::new(1, 0).stream("r"));
        for (segment, delivered) in [(0, 1), (2, 0), (3, 0)] {
            assert_eq!(receiver.arrive(at(0), segment, (100, at(0)), None).0.len(), delivered);
            receiver.detect(at(0), &mut stream);
            assert_eq!(receiver.next_wake(), Time::MAX);
        }
        receiver.arrive(at(0), 4, (100, at(0)), None);
        receiver.detect(at(0), &mut stream);
        let due = receiver.next_wake();
        assert!(due <= at(400));
        assert_eq!(receiver.nack(due), Some(Ranges::of([1], 100)));
        receiver.detect(due + Span::from_millis(599), &mut stream);
        assert_eq!(receiver.next_wake(), Time::MAX);
        receiver.detect(due + Span::from_millis(600), &mut stream);
        assert!(receiver.next_wake() < Time::MAX);
        let (delivered, _) = receiver.arrive(due, 1, (100, at(0)), Some(5));
        assert_eq!(delivered.iter().map(|(segment, _)| *segment).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!((receiver.nack(at(5000)), receiver.completed()), (None, Some(due)));
    }

    /// An advertisement suppresses a NACK only if it has all missing segments.
    #[test]
    fn an_advertisement_of_all_missing_segments_suppresses_the_nack() {
        for (advertised, sent) in [(vec![0, 2], None), (vec![2], Some(Ranges::of([0, 2], 100)))] {
            let (mut receiver, mut stream) = (receiver(), Streams::new(1, 0).stream("r"));
            for segment in [1, 3] {
                receiver.arrive(at(0), segment, (100, at(0)), None);
            }
            receiver.flush(at(0), 4, Some(4));
            receiver.detect(at(0), &mut stream);
            receiver.advertise(at(1), Arc::new(Ranges::of(advertised, 100)));
            let suppressed = u64::from(sent.is_none());
            assert_eq!(receiver.nack(receiver.next_wake()), sent);
            assert_eq!(receiver.suppressed(), suppressed);
        }
    }
}
