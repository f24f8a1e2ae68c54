//! The return link's time structure (EN 301 790, section 6.7): slots make up a frame, frames make
//! up a superframe.
//!
//! All times are whole nanoseconds: slot i of N in a frame of length T starts floor(i T / N) after
//! the start of the frame. In the study's structure (23.5 ms, 32 slots) this is a multiple of 734
//! 375 ns, without rounding. All carriers have the same frame length and slot size. A carrier with
//! a higher rate has more and shorter slots.
//!
//! *One slot* of an assignment is the same slot in each frame of the superframe, as in the study: 4
//! x 188 = 752 bytes per superframe, or 64 kbit/s. The slots of a terminal in a superframe are
//! numbered from 0 in order of time. The time at which a byte has been sent then has a closed form,
//! so that the work per packet does not depend on the number of its slots.

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

/// The slots of a terminal in one superframe. Each frame has the terminal's constant slots (CRA)
/// and its assigned slots, which never overlap in time.
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

    /// Bytes per superframe in an assignment of one slot; the unit of requests and assignments.
    #[inline]
    pub fn unit(&self) -> u64 {
        u64::from(self.frames * self.slot_bytes)
    }

    /// Converts bytes to units, rounded up: the number of slots that carries them in one
    /// superframe.
    #[inline]
    pub fn units(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.unit())
    }

    fn slot_start(&self, slot: u32, of: u16) -> Span {
        Span::from_nanos(u64::from(slot) * self.length.as_nanos() / u64::from(of))
    }

    /// Returns the first slot of a carrier that starts at least `since` after the start of the
    /// frame, or `of` if no slot does.
    fn slot_from(&self, since: Span, of: u16) -> u32 {
        (since.as_nanos() * u64::from(of)).div_ceil(self.length.as_nanos()) as u32
    }
}

impl Run {
    /// Returns the number of the slot after the run.
    #[inline]
    pub fn end(self) -> u32 {
        u32::from(self.first) + u32::from(self.count)
    }

    /// Returns the number of slots of the run that precede `slot`.
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

    /// Returns the frame, the run and the slot number of the terminal's slot `index`.
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
        unreachable!("the count of an assignment is the sum of its runs")
    }

    /// Returns the start of the terminal's slot `index`, relative to the start of the superframe.
    #[inline]
    pub fn start_of(&self, frame: &Frame, index: u32) -> Span {
        let (in_frame, run, slot) = self.position(index);
        frame.length * u64::from(in_frame) + frame.slot_start(slot, run.of)
    }

    /// Returns the end of the terminal's slot `index`, relative to the start of the superframe.
    #[inline]
    pub fn end_of(&self, frame: &Frame, index: u32) -> Span {
        self.span_of(frame, index).1
    }

    /// Returns the start and the end of the terminal's slot `index`, relative to the start of the
    /// superframe.
    #[inline]
    pub fn span_of(&self, frame: &Frame, index: u32) -> (Span, Span) {
        let (in_frame, run, slot) = self.position(index);
        let start = frame.length * u64::from(in_frame);
        (start + frame.slot_start(slot, run.of), start + frame.slot_start(slot + 1, run.of))
    }

    /// Returns the terminal's first slot that starts at least `since` after the start of the
    /// superframe, or the number of its slots if no slot does.
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
        let passed: u32 = self.runs.iter().map(|run| run.before(frame.slot_from(since, run.of))).sum();
        in_frame as u32 * self.count + passed
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The study's structure: 32 slots of 188 bytes in a frame of 23.5 ms, and four frames.
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
    fn frame_has_the_values_of_the_study() {
        assert_eq!(STUDY.superframe(), Span::from_millis(94));
        assert_eq!(STUDY.unit(), 752);
        assert_eq!(STUDY.slot_start(1, 32), Span::from_nanos(734_375));
        assert_eq!([0, 1, 752, 753].map(|bytes| STUDY.units(bytes)), [0, 1, 1, 2]);
    }

    #[test]
    fn slots_are_numbered_in_order_across_gaps_and_frames() {
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
    fn slot_that_starts_now_is_still_usable() {
        let assignment = one(5, 1);
        let start = assignment.start_of(&STUDY, 1);
        assert_eq!(assignment.first_from(&STUDY, start), 1);
        assert_eq!(assignment.first_from(&STUDY, start + Span::from_nanos(1)), 2);
        assert_eq!(assignment.first_from(&STUDY, STUDY.superframe()), 4);
        assert_eq!(Assignment::default().first_from(&STUDY, Span::ZERO), 0);
    }

    #[test]
    fn overlap_of_runs_on_different_carriers_is_decided_in_time() {
        // The last quarter of the frame on a carrier with 32 slots, and parts of a frame with 64
        // slots.
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
        fn closed_form_equals_a_search_over_all_slots(
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
