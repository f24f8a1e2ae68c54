//! The generic cell rate algorithm (ITU-T I.371, annex A; ATM Forum Traffic Management 4.0, section
//! 4.4.2) as virtual scheduling.
//!
//! GCRA(T, tau) has the increment T, the limit tau and the theoretical arrival time TAT. TAT starts
//! with the arrival time of the first cell. A cell that arrives at t conforms if t >= TAT - tau. If
//! the cell conforms, TAT becomes max(t, TAT) + T; otherwise TAT does not change.
//!
//! On a line on which a cell takes d < T, 1 + floor(tau / (T - d)) cells conform back to back. A
//! sustainable rate of one cell in Ts with bursts of MBS cells at one cell in Tp therefore has tau
//! = (MBS - 1) (Ts - Tp).

use bentpipe_core::{Span, Time};

/// State of the algorithm for one cell rate and its tolerance.
#[derive(Clone, Debug)]
pub struct Gcra {
    increment: Span,
    limit: Span,
    /// The theoretical arrival time of the next cell.
    expected: Time,
}

impl Gcra {
    /// Creates GCRA(T, tau) before its first cell.
    pub fn new(increment: Span, limit: Span) -> Gcra {
        Gcra { increment, limit, expected: Time::ZERO }
    }

    /// Returns the earliest time at which the next cell conforms.
    pub fn earliest(&self) -> Time {
        Time::from_nanos(self.expected.as_nanos().saturating_sub(self.limit.as_nanos()))
    }

    /// Returns true if a cell that arrives at `now` conforms. Does not change the state.
    pub fn conforms(&self, now: Time) -> bool {
        now >= self.earliest()
    }

    /// Counts a conforming cell that arrives at `now`.
    pub fn count(&mut self, now: Time) {
        self.expected = self.expected.max(now) + self.increment;
    }

    /// Returns true if a cell that arrives at `now` conforms, and counts a conforming cell.
    pub fn arrive(&mut self, now: Time) -> bool {
        let conforms = self.conforms(now);
        if conforms {
            self.count(now);
        }
        conforms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the conforming arrivals among `arrivals`. Times are in tenths of a cell time.
    fn conforming(increment: u64, limit: u64, arrivals: &[u64]) -> Vec<u64> {
        let mut gcra = Gcra::new(Span::from_nanos(increment), Span::from_nanos(limit));
        arrivals.iter().copied().filter(|at| gcra.arrive(Time::from_nanos(*at))).collect()
    }

    /// Uses the parameters of the standard's examples: T = 4.5 cell times, a line that is always
    /// busy, and tolerances of 0.5, 1.5, 3.5 and 7 cell times. The conforming slots were worked out
    /// by hand.
    #[test]
    fn a_greedy_source_conforms_with_the_parameters_of_the_standard() {
        let always: Vec<u64> = (0..30).map(|slot| 10 * slot).collect();
        for (limit, slots) in [
            (5, &[0, 4, 9, 13, 18, 22, 27][..]),
            (15, &[0, 3, 8, 12, 17, 21, 26][..]),
            (35, &[0, 1, 6, 10, 15, 19, 24, 28][..]),
            (70, &[0, 1, 2, 7, 11, 16, 20, 25, 29][..]),
        ] {
            let expected: Vec<u64> = slots.iter().map(|slot| 10 * slot).collect();
            assert_eq!(conforming(45, limit, &always), expected, "tau = {limit}");
        }
    }

    /// Checks exercise 1.11 of Le Boudec and Thiran, "Network Calculus": GCRA(100, 500).
    #[test]
    fn nonconforming_cells_do_not_affect_conformance() {
        let burst = [0, 100, 110, 120, 130, 140, 150, 160, 170, 180, 1000, 1010];
        assert_eq!(conforming(100, 500, &burst), [0, 100, 110, 120, 130, 140, 150, 1000, 1010]);
    }

    /// Returns the same arrivals by the second form in the standard, a leaky bucket: it leaks one
    /// unit per unit of time, and each conforming cell adds T.
    fn bucket(increment: u64, limit: u64, arrivals: &[u64]) -> Vec<u64> {
        let (mut content, mut last) = (0u64, None);
        let conforms = |at: &u64| {
            let left = last.map_or(0, |last| content.saturating_sub(at - last));
            let conforms = left <= limit;
            if conforms {
                (content, last) = (left + increment, Some(*at));
            }
            conforms
        };
        arrivals.iter().copied().filter(conforms).collect()
    }

    proptest! {
        #[test]
        fn both_forms_of_the_algorithm_agree(
            increment in 1u64..500, limit in 0u64..2000, gaps in prop::collection::vec(0u64..700, 1..80),
        ) {
            let arrivals: Vec<u64> =
                gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            prop_assert_eq!(conforming(increment, limit, &arrivals), bucket(increment, limit, &arrivals));
        }

        #[test]
        fn the_maximum_burst_conforms_back_to_back(increment in 11u64..500, limit in 0u64..5000) {
            let arrivals: Vec<u64> = (0..2000).map(|slot| 10 * slot).collect();
            let first = conforming(increment, limit, &arrivals);
            let together = first.iter().zip(&arrivals).take_while(|(one, other)| one == other).count() as u64;
            prop_assert_eq!(together, (1 + limit / (increment - 10)).min(2000));
        }
    }
}
