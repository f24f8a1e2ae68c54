//! The return link's time structure (EN 301 790, section 6.7): slots make up a frame, frames make
//! up a superframe.
//!
//! All times are in whole nanoseconds: the i-th of N slots in a frame of length T starts floor(i T
//! / N) after the frame. In the study's structure (23.5 ms, 32 slots) that is a multiple of 734 375
//! ns, without rounding. All carriers have the same frame length and slot size; a faster one has
//! more and shorter slots.
//!
//! *One slot* of an assignment is the same slot in each frame of the superframe, as in the study: 4
//! x 188 = 752 bytes per superframe, or 64 kbit/s. A terminal's own slots in a superframe are
//! numbered from 0 in order of time. The time at which a byte has been sent is then a closed form,
//! so that a packet costs the same however many slots it takes.

use bentpipe_core::Span;

/// Lengths and capacities of the time structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Number of frames in a superframe.
    pub frames: u32,
    /// Number of bytes that one slot (one burst) carries.
    pub slot_bytes: u32,
    /// Length of a frame.
    pub length: Span,
}

/// Adjacent slots of a frame on one carrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// Number of the carrier.
    pub carrier: u16,
    /// Number of slots in the carrier's frame.
    pub of: u16,
    /// Number of the first slot.
    pub first: u16,
    /// Number of slots; 0 for an empty run.
    pub count: u16,
}

/// The slots of a terminal in one superframe: in each frame its constant slots (CRA) and its
/// assigned ones, which never overlap in time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assignment {
    /// The runs in order of time, none of them empty.
    runs: Vec<Run>,
    count: u32,
}

impl Frame {
    /// The length of a superframe.
    #[inline]
    pub fn superframe(&self) -> Span {
        self.length * u64::from(self.frames)
    }

    /// Bytes per superframe of an assignment of one slot, the unit of requests and assignments.
    #[inline]
    pub fn unit(&self) -> u64 {
        u64::from(self.frames * self.slot_bytes)
    }

    /// Converts bytes to units, rounded up: what it takes to carry them in one superframe.
    #[inline]
    pub fn units(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.unit())
    }

    fn slot_start(&self, slot: u32, of: u16) -> Span {
        Span::from_nanos(u64::from(slot) * self.length.as_nanos() / u64::from(of))
    }

    /// The first of a carrier's slots that starts at least `since` after the frame; `of` if there
    /// is none.
    fn slot_from(&self, since: Span, of: u16) -> u32 {
        (since.as_nanos() * u64::from(of)).div_ceil(self.length.as_nanos()) as u32
    }
}

impl Run {
    /// The slot after the last one of the run.
    #[inline]
    pub fn end(self) -> u32 {
        u32::from(self.first) + u32::from(self.count)
    }

    /// The number of slots of the run before `slot`.
    fn before(self, slot: u32) -> u32 {
        slot.clamp(u32::from(self.first), self.end()) - u32::from(self.first)
    }

    /// Returns true if two runs overlap in time.
    pub fn overlaps(self, other: Run) -> bool {
        let at = |slot: u32, of: u16| u64::from(slot) * u64::from(of);
        self.count > 0
            && other.count > 0
            && at(u32::from(self.first), other.of) < at(other.end(), self.of)
            && at(u32::from(other.first), self.of) < at(self.end(), other.of)
    }
}

impl Assignment {
    /// Replaces the assignment by these runs, which do not overlap.
    pub fn set(&mut self, runs: impl Iterator<Item = Run>) {
        self.runs.clear();
        self.count = 0;
        for run in runs.filter(|run| run.count > 0) {
            let begins_before = |other: &Run| {
                u64::from(other.first) * u64::from(run.of) <= u64::from(run.first) * u64::from(other.of)
            };
            if self.runs.last().is_none_or(begins_before) {
                self.runs.push(run);
            } else {
                let at = self.runs.partition_point(begins_before);
                self.runs.insert(at, run);
            }
            self.count += u32::from(run.count);
        }
    }

    /// The number of slots per frame.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The number of bytes per superframe.
    #[inline]
    pub fn capacity(&self, frame: &Frame) -> u64 {
        u64::from(self.count()) * frame.unit()
    }

    /// Own slot `index` as frame, run and slot.
    #[inline]
    pub fn position(&self, index: u32) -> (u32, Run, u32) {
        let (in_frame, mut within) = (index / self.count, index % self.count);
        for run in &self.runs {
            let count = u32::from(run.count);
            if within < count {
                return (in_frame, *run, u32::from(run.first) + within);
            }
            within -= count;
        }
        unreachable!("the runs have as many slots as they count")
    }

    /// The start of own slot `index`, relative to that of the superframe.
    #[inline]
    pub fn start_of(&self, frame: &Frame, index: u32) -> Span {
        let (in_frame, run, slot) = self.position(index);
        frame.length * u64::from(in_frame) + frame.slot_start(slot, run.of)
    }

    /// The end of own slot `index`, relative to the start of the superframe.
    #[inline]
    pub fn end_of(&self, frame: &Frame, index: u32) -> Span {
        self.span_of(frame, index).1
    }

    /// Start and end of own slot `index`, relative to the start of the superframe.
    #[inline]
    pub fn span_of(&self, frame: &Frame, index: u32) -> (Span, Span) {
        let (in_frame, run, slot) = self.position(index);
        let start = frame.length * u64::from(in_frame);
        (start + frame.slot_start(slot, run.of), start + frame.slot_start(slot + 1, run.of))
    }

    /// The first own slot that starts at least `since` after the superframe; the number of own
    /// slots if there is none.
    #[inline]
    pub fn first_from(&self, frame: &Frame, since: Span) -> u32 {
        if since == Span::ZERO || self.count == 0 {
            return 0;
        }
        let in_frame = since / frame.length;
        if in_frame >= u64::from(frame.frames) {
            return self.count * frame.frames;
        }
        let since = since - frame.length * in_frame;
        let gone: u32 = self.runs.iter().map(|run| run.before(frame.slot_from(since, run.of))).sum();
        in_frame as u32 * self.count + gone
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The study's structure: 32 slots of 188 bytes in 23.5 ms, four frames.
    pub const STUDY: Frame = Frame { frames: 4, slot_bytes: 188, length: Span::from_micros(23_500) };

    /// A run on the study's carrier.
    pub fn run(first: u16, count: u16) -> Run {
        Run { carrier: 0, of: 32, first, count }
    }

    pub fn assignment(runs: &[Run]) -> Assignment {
        let mut assignment = Assignment::default();
        assignment.set(runs.iter().copied());
        assignment
    }

    fn one(first: u16, count: u16) -> Assignment {
        assignment(&[run(first, count)])
    }

    #[test]
    fn the_frame_has_the_numbers_of_the_study() {
        assert_eq!(STUDY.superframe(), Span::from_millis(94));
        assert_eq!(STUDY.unit(), 752);
        assert_eq!(STUDY.slot_start(1, 32), Span::from_nanos(734_375));
        assert_eq!([0, 1, 752, 753].map(|bytes| STUDY.units(bytes)), [0, 1, 1, 2]);
    }

    #[test]
    fn own_slots_follow_each_other_over_gaps_and_frames() {
        // Slots 2, 3 and 10 of each frame, given in either order.
        for assignment in
            [assignment(&[run(2, 2), run(10, 1)]), assignment(&[run(10, 1), run(0, 0), run(2, 2)])]
        {
            let slot = |index| (assignment.position(index).0, assignment.position(index).2);
            let slots: Vec<_> = (0..12).map(slot).collect();
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

    #[test]
    fn runs_on_carriers_of_different_rates_are_compared_in_time() {
        // The last quarter of the frame on a carrier of 32 slots; parts of a frame of 64.
        let late = run(24, 8);
        let fast = |first, count| Run { carrier: 1, of: 64, first, count };
        assert!(!late.overlaps(fast(0, 48)) && !fast(0, 48).overlaps(late));
        assert!(late.overlaps(fast(0, 49)) && fast(63, 1).overlaps(late));
        assert!(!late.overlaps(fast(50, 0)));
        let both = assignment(&[late, fast(10, 2)]);
        assert_eq!(both.start_of(&STUDY, 0), Span::from_nanos(10 * 734_375 / 2));
        assert_eq!(both.start_of(&STUDY, 2), Span::from_nanos(24 * 734_375));
        assert_eq!(both.first_from(&STUDY, Span::from_nanos(10 * 734_375 / 2 + 1)), 1);
    }

    proptest! {
        #[test]
        fn the_closed_form_agrees_with_looking_at_every_slot(
            slots in 1u32..40, frames in 1u32..6, length in 1_000u64..50_000_000, cut in 0u32..40, rest in 0u32..40,
            a in 0u32..10, b in 0u32..10, since in 0f64..1.2,
        ) {
            let frame = Frame { frames, slot_bytes: 1, length: Span::from_nanos(length) };
            let cut = cut % (slots + 1);
            let run = |first: u32, count: u32| Run { carrier: 0, of: slots as u16, first: first as u16, count: count as u16 };
            let begin = cut + rest % (slots - cut + 1);
            let assignment = assignment(&[run(begin, b.min(slots - begin)), run(0, a.min(cut))]);
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
