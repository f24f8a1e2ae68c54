//! The receiver's loss history (RFC 5348, section 5): missing packets form loss events, the
//! distances between events are intervals, and the loss event rate follows from the intervals.
//!
//! - A packet is lost if three later ones have arrived (5.1). Its time is interpolated between
//!   those of its neighbours, and losses within a round-trip time of the first are one event (5.2).
//! - An interval lasts from the first loss of an event to the first of the next, in packets; the
//!   newest is open (5.3). The mean of the last eight is weighted, and the open one counts if it
//!   raises the mean (5.4).
//! - Before the first event there is no interval. The interval before it is set to the length that
//!   gives the rate at which packets arrived (6.3.1).
//! - With small packets (TFRC-SP, RFC 4828, section 4.4) an interval that lasted at most two
//!   round-trip times is divided by the number of its losses, so that bursts of small packets count
//!   like those of large ones.

use super::equation;
use bentpipe_core::{Span, Time};
use std::collections::VecDeque;

/// Number of later packets that must arrive before a packet counts as lost (NDUPACK).
const REORDERED: u64 = 3;
/// The weights w_0 to w_7 (section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// A closed interval or the open one.
#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Number of its first packet, the lost one, and the time of the loss.
    first: u64,
    start: Time,
    /// Number of losses in the interval.
    losses: u64,
}

/// The loss history of a receiver.
#[derive(Debug, Default)]
pub struct Losses {
    small: bool,
    /// Arrivals that may still reveal losses, by number.
    recent: VecDeque<(u64, Time)>,
    /// Number up to which arrivals no longer have an effect.
    judged: Option<u64>,
    open: Option<Interval>,
    /// Lengths of closed intervals, newest first.
    closed: VecDeque<f64>,
    /// Highest number that has arrived.
    greatest: u64,
    events: u64,
    lost: u64,
}

impl Losses {
    /// Creates an empty history.
    pub fn new(small: bool) -> Losses {
        Losses { small, ..Losses::default() }
    }

    /// Handles packet `number` from a sender whose round-trip time is `rtt`. `received` is the rate
    /// in bytes per second at which packets arrived over the last round-trip time, and `size` their
    /// nominal size. Returns true if an event started.
    pub fn arrive(&mut self, now: Time, number: u64, rtt: Span, size: f64, received: f64) -> bool {
        if self.judged.is_some_and(|judged| number <= judged) {
            // The packet was counted as lost, or has arrived before.
            return false;
        }
        let place = self.recent.iter().rposition(|(other, _)| *other <= number);
        if place.is_some_and(|place| self.recent[place].0 == number) {
            return false;
        }
        self.recent.insert(place.map_or(0, |place| place + 1), (number, now));
        self.greatest = self.greatest.max(number);
        let mut began = false;
        // Everything before a gap with three arrivals after it has been evaluated.
        while self.recent.len() as u64 > REORDERED {
            let ((before, left), (after, right)) = (self.recent[0], self.recent[1]);
            for missing in before + 1..after {
                let part = (missing - before) as f64 / (after - before) as f64;
                let at = left + Span::from_secs_f64(right.since(left).as_secs_f64() * part);
                began |= self.lose(at, missing, rtt, size, received);
            }
            self.recent.pop_front();
            self.judged = Some(before);
        }
        began
    }

    fn lose(&mut self, at: Time, number: u64, rtt: Span, size: f64, received: f64) -> bool {
        self.lost += 1;
        match &mut self.open {
            Some(open) if at <= open.start + rtt => {
                open.losses += 1;
                return false;
            }
            Some(open) => {
                let length = (number - open.first) as f64;
                let short = self.small && at.since(open.start) <= rtt * 2;
                self.closed.push_front(if short { length / open.losses as f64 } else { length });
                self.closed.truncate(WEIGHTS.len());
            }
            None => {
                let first = 1.0 / equation::loss_event_rate(size, rtt.as_secs_f64().max(1e-6), received);
                self.closed.push_front(first.max(1.0));
            }
        }
        self.open = Some(Interval { first: number, start: at, losses: 1 });
        self.events += 1;
        true
    }

    /// Returns the loss event rate p; 0 before the first event.
    pub fn rate(&self) -> f64 {
        let Some(open) = &self.open else { return 0.0 };
        let newest = (self.greatest + 1).saturating_sub(open.first) as f64;
        1.0 / mean(newest, &self.closed)
    }

    /// Returns the number of loss events and of lost packets so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.events, self.lost)
    }
}

/// Returns I_mean of the open interval and the closed ones, newest first.
fn mean(open: f64, closed: &VecDeque<f64>) -> f64 {
    let weights = &WEIGHTS[..closed.len().min(WEIGHTS.len())];
    let sum = |first: Option<f64>| -> f64 {
        first
            .into_iter()
            .chain(closed.iter().copied())
            .zip(weights)
            .map(|(interval, weight)| interval * weight)
            .sum()
    };
    sum(Some(open)).max(sum(None)) / weights.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_interval_equals_the_reference() {
        let file =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/authorities/tfrc/tfrc_loss_interval_cases.csv");
        let text = std::fs::read_to_string(file).unwrap();
        let mut cases = 0;
        for line in text.lines().skip(1) {
            let (intervals, expected) = line.trim_start_matches('"').split_once("\",").unwrap();
            let mut intervals = intervals.split(';').map(|one| one.parse::<f64>().unwrap());
            let open = intervals.next().unwrap();
            let found = mean(open, &intervals.collect());
            let expected: f64 = expected.split(',').next().unwrap().parse().unwrap();
            assert!((found / expected - 1.0).abs() < 1e-6, "{line}: {found}");
            cases += 1;
        }
        assert_eq!(cases, 5);
    }

    /// Returns the history after one packet every millisecond, without those in `lost`, with a
    /// round-trip time of 100 ms.
    fn history(small: bool, count: u64, lost: &[u64]) -> Losses {
        let mut losses = Losses::new(small);
        for number in (0..count).filter(|number| !lost.contains(number)) {
            losses.arrive(
                Time::ZERO + Span::from_millis(number),
                number,
                Span::from_millis(100),
                1460.0,
                1e6,
            );
        }
        losses
    }

    #[test]
    fn losses_within_a_round_trip_time_are_one_event() {
        assert_eq!(history(false, 500, &[100, 101, 150, 200]).counts(), (1, 4));
        assert_eq!(history(false, 500, &[100, 101, 150, 201]).counts(), (2, 4));
        // The last packets may still arrive.
        assert_eq!(history(false, 500, &[100, 497]).counts(), (1, 1));
        assert_eq!(history(false, 500, &[100, 496]).counts(), (2, 2));
    }

    #[test]
    fn reordering_by_more_than_two_places_is_a_loss() {
        let mut losses = Losses::new(false);
        for (moment, number) in [0, 3, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 8].into_iter().enumerate() {
            losses.arrive(
                Time::ZERO + Span::from_millis(moment as u64),
                number,
                Span::from_millis(100),
                1460.0,
                1e6,
            );
        }
        assert_eq!(losses.counts(), (1, 1));
    }

    #[test]
    fn the_first_interval_corresponds_to_the_received_rate() {
        let losses = history(false, 110, &[100]);
        // Ten packets since the event do not raise the mean.
        let rate = equation::rate(1460.0, 0.1, losses.rate());
        assert!((rate / 1e6 - 1.0).abs() < 1e-3, "{rate}");
    }

    #[test]
    fn short_intervals_of_small_packets_are_divided_by_their_losses() {
        // Events at 1000, 1101 (after 101 packets and ms) and 1500; the first of these intervals
        // has three losses.
        let lost = [1000, 1001, 1002, 1101, 1500];
        let (plain, small) = (history(false, 1600, &lost), history(true, 1600, &lost));
        assert_eq!((plain.closed[0], plain.closed[1]), (399.0, 101.0));
        assert_eq!((small.closed[0], small.closed[1]), (399.0, 101.0 / 3.0));
    }
}
