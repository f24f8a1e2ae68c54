//! A terminal's slots in the present superframe, and their occupancy.

use super::frame::{Assignment, Frame, Run};
use super::timing::{Timeline, Timing};
use bentpipe_core::Time;

/// The slots of the present superframe, and the extent to which they are filled.
#[derive(Clone)]
pub struct Slots {
    frame: Frame,
    timeline: Timeline,
    superframe: u64,
    start: Time,
    end: Time,
    assignment: Assignment,
    /// Bytes of the superframe's capacity that have been filled or have passed empty.
    filled: u64,
}

/// Bytes that have been placed into slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Number of bytes that were placed.
    pub bytes: u64,
    /// Start of the slot with the first byte.
    pub begin: Time,
    /// Start of the slot with the last byte.
    pub last_begin: Time,
    /// End of the slot with the last byte.
    pub end: Time,
}

impl Placement {
    /// Returns the placement of data that share the last unit of this placement, and so take no
    /// further capacity.
    pub fn shared(self) -> Placement {
        Placement { bytes: 0, begin: self.last_begin, ..self }
    }
}

impl Slots {
    /// Creates the state of superframe 0, without slots.
    pub fn new(frame: Frame, timeline: Timeline) -> Slots {
        Slots {
            superframe: 0,
            start: timeline.start(&frame, 0),
            end: timeline.start(&frame, 1),
            frame,
            timeline,
            assignment: Assignment::default(),
            filled: 0,
        }
    }

    /// Moves to the superframe at `now`, in which the terminal has no slots yet.
    pub fn go_to(&mut self, now: Time) {
        if now == self.end {
            self.superframe += 1;
            self.start = now;
        } else {
            self.superframe = self.timeline.superframe(&self.frame, now);
            self.start = self.timeline.start(&self.frame, self.superframe);
        }
        self.timeline.enter(&self.frame, self.superframe);
        self.end = self.timeline.start(&self.frame, self.superframe + 1);
        self.assign(std::iter::empty());
    }

    /// Sets the capacity of a slot from this superframe on; 0 in an outage.
    pub fn set_slot_bytes(&mut self, bytes: u32) {
        self.frame.slot_bytes = bytes;
    }

    /// Assigns the slots of this superframe.
    pub fn assign(&mut self, runs: impl Iterator<Item = Run>) {
        self.assignment.set(runs);
        self.filled = 0;
    }

    /// Places up to `bytes` into slots that start at `now` or later, as far as their capacity
    /// allows.
    #[inline]
    pub fn place(&mut self, now: Time, bytes: u64) -> Option<Placement> {
        let slot_bytes = u64::from(self.frame.slot_bytes);
        let begun = self.assignment.first_from(&self.frame, now.since(self.start));
        let from = self.filled.max(u64::from(begun) * slot_bytes);
        let bytes = bytes.min(self.capacity().saturating_sub(from));
        if bytes == 0 {
            return None;
        }
        self.filled = from + bytes;
        let (first, last) = ((from / slot_bytes) as u32, ((self.filled - 1) / slot_bytes) as u32);
        let (last_begin, end) = self.assignment.span_of(&self.frame, last);
        let begin = if last == first { last_begin } else { self.assignment.start_of(&self.frame, first) };
        Some(Placement {
            bytes,
            begin: self.start + begin,
            last_begin: self.start + last_begin,
            end: self.start + end,
        })
    }

    /// Returns the start and the end of the slot for the next byte at `now`.
    pub fn next(&self, now: Time) -> Option<(Time, Time)> {
        let slot_bytes = u64::from(self.frame.slot_bytes);
        let begun = self.assignment.first_from(&self.frame, now.since(self.start));
        let from = self.filled.max(u64::from(begun) * slot_bytes);
        (from < self.capacity()).then(|| {
            let slot = (from / slot_bytes) as u32;
            let (begin, end) = self.assignment.span_of(&self.frame, slot);
            (self.start + begin, self.start + end)
        })
    }

    /// Like [`place`](Self::place), but limited to the next slot.
    pub fn place_in_one(&mut self, now: Time, bytes: u64) -> Option<Placement> {
        let slot_bytes = u64::from(self.frame.slot_bytes);
        let begun = self.assignment.first_from(&self.frame, now.since(self.start));
        let from = self.filled.max(u64::from(begun) * slot_bytes);
        self.place(now, bytes.min(slot_bytes - from % slot_bytes))
    }

    /// Returns the frame, the run and the slot of the last byte that was placed in this superframe.
    pub fn last_slot(&self) -> (u32, Run, u32) {
        let last = self.filled.saturating_sub(1) / u64::from(self.frame.slot_bytes);
        self.assignment.position(last as u32)
    }

    /// Delays in the superframe.
    #[inline]
    pub fn timing(&self) -> Timing {
        self.timeline.timing()
    }

    /// The starts of all superframes.
    #[inline]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns true if a satellite serves in the superframe.
    #[inline]
    pub fn are_served(&self) -> bool {
        self.timeline.is_served(&self.frame, self.superframe)
    }

    /// Number of the superframe.
    #[inline]
    pub fn superframe(&self) -> u64 {
        self.superframe
    }

    /// Start of the superframe.
    #[inline]
    pub fn start(&self) -> Time {
        self.start
    }

    /// Start of the next superframe.
    #[inline]
    pub fn end(&self) -> Time {
        self.end
    }

    /// The number of slots of the assignment.
    #[inline]
    pub fn count(&self) -> u32 {
        self.assignment.count()
    }

    /// The capacity of all slots of the superframe, in bytes.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.assignment.capacity(&self.frame)
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::tests::{run, STUDY};
    use super::*;
    use proptest::prelude::*;

    const SLOT: u64 = 734_375;

    fn slots(first: u16, count: u16) -> Slots {
        let mut slots = Slots::new(STUDY, Timeline::constant(Timing::default()));
        slots.assign([run(first, count)].into_iter());
        slots
    }

    #[test]
    fn packet_spans_frames_and_its_remainder_waits() {
        let mut slots = slots(3, 1);
        let frame = 23_500_000;
        let placed = slots.place(Time::ZERO, 1500).unwrap();
        let (begin, end) = (Time::from_nanos(3 * SLOT), Time::from_nanos(3 * frame + 4 * SLOT));
        assert_eq!((placed.bytes, placed.begin, placed.end), (752, begin, end));
        assert_eq!(slots.place(Time::ZERO, 748), None);
        slots.go_to(Time::from_nanos(94_000_000));
        assert_eq!((slots.superframe(), slots.capacity()), (1, 0));
    }

    #[test]
    fn remainder_of_a_started_slot_is_not_used() {
        let mut slots = slots(0, 32);
        assert_eq!(slots.place(Time::ZERO, 100).unwrap().end, Time::from_nanos(SLOT));
        let placed = slots.place(Time::from_nanos(1), 100).unwrap();
        assert_eq!((placed.begin, placed.end), (Time::from_nanos(SLOT), Time::from_nanos(2 * SLOT)));
        // In time for slot 1: it fills the other 88 bytes of the slot and one byte of slot 2.
        let placed = slots.place(Time::from_nanos(SLOT), 89).unwrap();
        assert_eq!((placed.begin, placed.end), (Time::from_nanos(SLOT), Time::from_nanos(3 * SLOT)));
    }

    proptest! {
        #[test]
        fn bytes_are_sent_in_order_and_no_slot_is_overfilled(
            first in 0u16..20, count in 0u16..12,
            packets in prop::collection::vec((0u64..4_000_000, 1u64..2000), 1..80),
        ) {
            let mut slots = slots(first, count);
            let (mut now, mut total, mut last) = (Time::ZERO, 0, Time::ZERO);
            for (wait, bytes) in packets {
                now = Time::from_nanos((now.as_nanos() + wait).min(93_999_999));
                if let Some(placed) = slots.place(now, bytes) {
                    total += placed.bytes;
                    prop_assert!(placed.begin >= now && placed.end > placed.begin && placed.end >= last);
                    prop_assert!(placed.bytes == bytes || slots.place(now, 1).is_none());
                    last = placed.end;
                }
            }
            prop_assert!(total <= slots.capacity());
        }
    }
}
