//! The delay of the path to a host on another machine, estimated from probes that the host answers.
//!
//! **Estimate.** The round trip is the minimum of the last [`WINDOW`] answers, which excludes
//! queues on the path and slow programs at its ends. The estimate is smoothed by a quarter of the
//! difference per answer. Half of it is the one-way delay. With ten probes per second, the estimate
//! follows a longer path within 2 s, and a shorter path within 1 s.
//!
//! **Error.** Without synchronised clocks, neither end knows how a round trip is divided between
//! its directions. If the directions take f and b, a packet to the host is (f - b) / 2 too late,
//! and a packet from the host is too early by the same time, but the sum is correct. Time beyond
//! the estimate is jitter that is in no model: [`Path::excess`].

use crate::clock::lateness::Lateness;
use bentpipe_core::Span;
use std::collections::VecDeque;

/// Number of answers over which the minimum is taken: one second of answers.
const WINDOW: usize = 10;
/// Number of answers before there is an estimate. The first may have waited for address resolution
/// or for the other machine to join.
const FIRST: usize = 3;
/// Fraction of the difference by which an answer moves the estimate.
const GAIN: f64 = 0.25;

/// Measurements of the path to another machine.
#[derive(Clone, Debug, Default)]
pub struct Path {
    recent: VecDeque<Span>,
    /// Estimated round-trip time in seconds.
    estimate: Option<f64>,
    rtt: Lateness,
    excess: Lateness,
    lost: u64,
}

impl Path {
    /// Records that a probe was answered after `rtt`.
    pub fn answered(&mut self, rtt: Span) {
        self.rtt.add(rtt);
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(rtt);
        if self.recent.len() < FIRST {
            return;
        }
        let least = self.recent.iter().min().map_or(0.0, |least| least.as_secs_f64());
        let before = self.estimate.unwrap_or(least);
        let estimate = before + GAIN * (least - before);
        self.estimate = Some(estimate);
        self.excess.add(rtt.saturating_sub(Span::from_secs_f64(estimate)));
    }

    /// Records that a probe was not answered. Probes before the first answer are not counted as
    /// lost, since the other machine has not joined yet.
    pub fn unanswered(&mut self) {
        self.lost += u64::from(self.estimate.is_some());
    }

    /// Returns the estimate of the delay in one direction; zero until there is an answer.
    pub fn one_way(&self) -> Span {
        Span::from_secs_f64(self.estimate.unwrap_or(0.0) / 2.0)
    }

    /// Returns the round-trip times of the probes.
    pub fn rtt(&self) -> &Lateness {
        &self.rtt
    }

    /// Returns the time by which the round trips exceeded the estimate.
    pub fn excess(&self) -> &Lateness {
        &self.excess
    }

    /// Returns the number of unanswered probes after the first answer.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn queues_are_excluded_and_a_new_path_is_followed() {
        let mut path = Path::default();
        path.unanswered();
        assert_eq!((path.one_way(), path.lost()), (Span::ZERO, 0));
        for round in 0..50 {
            path.answered(millis(if round % 5 == 0 { 40 } else { 40 + round }));
        }
        assert_eq!(path.one_way(), millis(20));
        (0..19).for_each(|_| path.answered(millis(60)));
        let off = (path.one_way().as_secs_f64() - 0.03).abs();
        assert!(off < 1e-3, "after 2 s it is {:?}", path.one_way());
        (0..10).for_each(|_| path.answered(millis(20)));
        assert!((path.one_way().as_secs_f64() - 0.01).abs() < 2e-3, "after 1 s it is {:?}", path.one_way());
        path.unanswered();
        assert_eq!((path.lost(), path.rtt().count()), (1, 79));
        assert!(path.excess().max() >= millis(48));
    }
}
