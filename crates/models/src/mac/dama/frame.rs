//! The return link's time structure (EN 301 790, section 6.7): slots make a frame, frames make a superframe.
//!
//! All in whole nanoseconds: the i-th of N slots in a frame of length T begins at floor(i T / N) after the
//! frame. In the study's structure (23.5 ms, 32 slots) that is a multiple of 734 375 ns, without rounding.
//!
//! *One slot* of an assignment is the same slot in each frame of the superframe, as in the study: 4 x 188 =
//! 752 bytes per superframe, or 64 kbit/s. A terminal's own slots in a superframe are numbered from 0 in
//! order of time; that makes the moment at which a byte is through a closed form, so that a packet costs the
//! same however many slots it takes.

use bentpipe_core::Span;

/// Lengths and capacities of the time structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Slots in a frame.
    pub slots: u32,
    /// Frames in a superframe.
    pub frames: u32,
    /// Bytes that one slot (one burst) carries.
    pub slot_bytes: u32,
    /// Length of a frame.
    pub length: Span,
}

/// Neighbouring slots of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// The first slot.
    pub first: u16,
    /// How many; none is an empty run.
    pub count: u16,
}

/// What a terminal may send in during one superframe: in each frame its constant slots (CRA) and its assigned
/// ones, each of them without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Assignment {
    earlier: Run,
    later: Run,
}

impl Frame {
    /// Length of a superframe.
    #[inline]
    pub fn superframe(&self) -> Span {
        self.length * u64::from(self.frames)
    }

    /// Bytes per superframe of an assignment of one slot: the unit of requests and assignments.
    #[inline]
    pub fn unit(&self) -> u64 {
        u64::from(self.frames * self.slot_bytes)
    }

    /// Bytes in units, rounded up: what it takes to carry them in one superframe.
    #[inline]
    pub fn units(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.unit())
    }

    fn slot_start(&self, slot: u32) -> Span {
        Span::from_nanos(u64::from(slot) * self.length.as_nanos() / u64::from(self.slots))
    }

    /// The first slot that begins `since` after the frame did, or later; `slots` when there is none.
    fn slot_from(&self, since: Span) -> u32 {
        (since.as_nanos() * u64::from(self.slots)).div_ceil(self.length.as_nanos()) as u32
    }
}

impl Run {
    fn end(self) -> u32 {
        u32::from(self.first) + u32::from(self.count)
    }

    /// How many slots of the run come before `slot`.
    fn before(self, slot: u32) -> u32 {
        slot.clamp(u32::from(self.first), self.end()) - u32::from(self.first)
    }
}

impl Assignment {
    /// The assignment of two runs that do not overlap.
    pub fn new(a: Run, b: Run) -> Assignment {
        if a.count == 0 || (b.count > 0 && b.first < a.first) {
            Assignment { earlier: b, later: a }
        } else {
            Assignment { earlier: a, later: b }
        }
    }

    /// Slots per frame.
    #[inline]
    pub fn count(&self) -> u32 {
        u32::from(self.earlier.count) + u32::from(self.later.count)
    }

    /// Bytes per superframe.
    #[inline]
    pub fn capacity(&self, frame: &Frame) -> u64 {
        u64::from(self.count()) * frame.unit()
    }

    /// Own slot `index` as frame and slot.
    fn position(&self, index: u32) -> (u32, u32) {
        let (in_frame, within) = (index / self.count(), index % self.count());
        let earlier = u32::from(self.earlier.count);
        let slot = if within < earlier {
            u32::from(self.earlier.first) + within
        } else {
            u32::from(self.later.first) + within - earlier
        };
        (in_frame, slot)
    }

    /// When own slot `index` begins, after the start of the superframe.
    #[inline]
    pub fn start_of(&self, frame: &Frame, index: u32) -> Span {
        let (in_frame, slot) = self.position(index);
        frame.length * u64::from(in_frame) + frame.slot_start(slot)
    }

    /// When own slot `index` ends, after the start of the superframe.
    #[inline]
    pub fn end_of(&self, frame: &Frame, index: u32) -> Span {
        let (in_frame, slot) = self.position(index);
        frame.length * u64::from(in_frame) + frame.slot_start(slot + 1)
    }

    /// The first own slot that begins `since` after the start of the superframe or later; the number of own
    /// slots when there is none.
    #[inline]
    pub fn first_from(&self, frame: &Frame, since: Span) -> u32 {
        if since == Span::ZERO {
            return 0;
        }
        let in_frame = since / frame.length;
        if in_frame >= u64::from(frame.frames) {
            return self.count() * frame.frames;
        }
        let slot = frame.slot_from(since - frame.length * in_frame);
        in_frame as u32 * self.count() + self.earlier.before(slot) + self.later.before(slot)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The study's structure: 32 slots of 188 bytes in 23.5 ms, four frames.
    pub const STUDY: Frame =
        Frame { slots: 32, frames: 4, slot_bytes: 188, length: Span::from_micros(23_500) };

    fn one(first: u16, count: u16) -> Assignment {
        Assignment::new(Run { first, count }, Run::default())
    }

    #[test]
    fn the_study_s_numbers() {
        assert_eq!(STUDY.superframe(), Span::from_millis(94));
        assert_eq!(STUDY.unit(), 752);
        assert_eq!(STUDY.slot_start(1), Span::from_nanos(734_375));
        assert_eq!([0, 1, 752, 753].map(|bytes| STUDY.units(bytes)), [0, 1, 1, 2]);
    }

    #[test]
    fn own_slots_follow_each_other_over_gaps_and_frames() {
        // Slots 2, 3 and 10 of each frame, given in either order.
        for assignment in [
            Assignment::new(Run { first: 2, count: 2 }, Run { first: 10, count: 1 }),
            Assignment::new(Run { first: 10, count: 1 }, Run { first: 2, count: 2 }),
        ] {
            let slots: Vec<_> = (0..12).map(|index| assignment.position(index)).collect();
            assert_eq!(slots[..4], [(0, 2), (0, 3), (0, 10), (1, 2)]);
            assert_eq!(assignment.end_of(&STUDY, 11), Span::from_nanos(3 * 23_500_000 + 11 * 734_375));
            assert_eq!(assignment.capacity(&STUDY), 3 * 752);
        }
    }

    #[test]
    fn a_slot_that_begins_now_is_still_free() {
        let assignment = one(5, 1);
        let start = assignment.start_of(&STUDY, 1);
        assert_eq!(assignment.first_from(&STUDY, start), 1);
        assert_eq!(assignment.first_from(&STUDY, start + Span::from_nanos(1)), 2);
        assert_eq!(assignment.first_from(&STUDY, STUDY.superframe()), 4);
        assert_eq!(Assignment::default().first_from(&STUDY, Span::ZERO), 0);
    }

    proptest! {
        #[test]
        fn the_closed_form_agrees_with_looking_at_every_slot(
            slots in 1u32..40, frames in 1u32..6, length in 1_000u64..50_000_000, cut in 0u32..40, rest in 0u32..40,
            a in 0u32..10, b in 0u32..10, since in 0f64..1.2,
        ) {
            let frame = Frame { slots, frames, slot_bytes: 1, length: Span::from_nanos(length) };
            let cut = cut % (slots + 1);
            let first = Run { first: 0, count: a.min(cut) as u16 };
            let begin = cut + rest % (slots - cut + 1);
            let second = Run { first: begin as u16, count: b.min(slots - begin) as u16 };
            let assignment = Assignment::new(second, first);
            let total = assignment.count() * frames;
            let since = Span::from_nanos((since * frame.superframe().as_nanos() as f64) as u64);
            let searched = (0..total).find(|index| assignment.start_of(&frame, *index) >= since).unwrap_or(total);
            prop_assert_eq!(assignment.first_from(&frame, since), searched);
            for index in 1..total {
                let end = assignment.end_of(&frame, index - 1);
                prop_assert!(end <= assignment.start_of(&frame, index));
            }
        }
    }
}
