//! A packet number space: the packets that were sent and are not acknowledged, detection of losses
//! (RFC 9002, section 6.1), and the packets that have arrived with the acknowledgment that they
//! require (RFC 9000, section 13.2).
//!
//! A packet is lost if a later one has been acknowledged and it was sent `packet_threshold` packets
//! earlier, or a time of 9/8 max(SRTT, latest round-trip time) earlier, at least 1 ms.
//!
//! Acknowledgments name the last [`MAX_RANGES`] ranges. Packets without frames that request an
//! acknowledgment are not remembered.

use super::frames::{Ack, Datagram, EcnCounts};
use bentpipe_core::{Span, Time};
use bentpipe_stage::Ecn;
use std::collections::VecDeque;
use std::sync::Arc;

/// Number of ranges in an acknowledgment.
const MAX_RANGES: usize = 32;

/// A packet that was sent and is in flight.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Packet number in its space.
    pub number: u64,
    /// Time at which the packet was sent.
    pub at: Time,
    /// Number of the packet among those that count as in flight.
    pub flight: u64,
    /// The datagram with the packet, and the place of the packet in it.
    pub datagram: (Arc<Datagram>, usize),
    /// True for a probe of the path MTU, whose loss is no sign of congestion.
    pub is_mtu_probe: bool,
}

/// The rule by which a receiver sends acknowledgments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckRule {
    /// Number of packets that cause an acknowledgment.
    pub every: u64,
    /// Maximum delay of an acknowledgment.
    pub delay: Span,
    /// Distance from a missing packet to the largest number received that causes an acknowledgment
    /// without delay; 0 for never.
    pub reordering: u64,
    /// True if only the first of several marked packets is acknowledged without delay
    /// (draft-ietf-quic-ack-frequency, section 6.4). False: each one (RFC 9000, section 13.2.1).
    pub first_mark_only: bool,
}

impl AckRule {
    /// Returns the rule of RFC 9000, section 13.2.
    pub fn new(every: u64, delay: Span) -> AckRule {
        AckRule { every, delay, reordering: 1, first_mark_only: false }
    }
}

/// The effects of an acknowledgment or a timer on the packets of a space. The buffers are reused.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Newly acknowledged packets, in order of their numbers.
    pub acked: Vec<Sent>,
    /// Newly lost packets, in order of their numbers.
    pub lost: Vec<Sent>,
}

/// One packet number space of one end.
#[derive(Debug)]
pub struct PacketSpace {
    /// Number of the next packet.
    pub next: u64,
    /// Packets that request an acknowledgment: those in flight, in order, with gaps for
    /// acknowledged and lost ones.
    sent: VecDeque<Option<Sent>>,
    /// Number of the first packet in `sent`.
    base: u64,
    in_flight: u32,
    /// Largest acknowledged packet number.
    pub largest_acknowledged: Option<u64>,
    /// Time at which the next packet is lost by its age; `Time::MAX` for never.
    pub loss_time: Time,
    /// Time of the last packet that requests an acknowledgment.
    pub last_eliciting: Time,
    received: Received,
    largest_received: Option<(u64, Time)>,
    /// True if the packet that arrived last was marked.
    was_marked: bool,
    /// Largest packet number of which an acknowledgment has been sent.
    reported: Option<u64>,
    /// Number of packets that request an acknowledgment, since the last one.
    unacknowledged: u64,
    /// Time at which an acknowledgment must be sent; `Time::MAX` for never.
    pub ack_due: Time,
    marks: EcnCounts,
    /// Number of packets to send regardless of the congestion window, after a probe time-out.
    pub probes: u32,
}

impl Default for PacketSpace {
    fn default() -> PacketSpace {
        PacketSpace {
            next: 0,
            sent: VecDeque::new(),
            base: 0,
            in_flight: 0,
            largest_acknowledged: None,
            loss_time: Time::MAX,
            last_eliciting: Time::MAX,
            received: Received::default(),
            largest_received: None,
            was_marked: false,
            reported: None,
            unacknowledged: 0,
            ack_due: Time::MAX,
            marks: EcnCounts::default(),
            probes: 0,
        }
    }
}

impl PacketSpace {
    /// Records a packet that requests an acknowledgment.
    pub fn sent(&mut self, packet: Sent) {
        if self.sent.is_empty() {
            self.base = packet.number;
        }
        while self.base + (self.sent.len() as u64) < packet.number {
            self.sent.push_back(None);
        }
        self.last_eliciting = packet.at;
        self.in_flight += 1;
        self.sent.push_back(Some(packet));
    }

    /// Returns the number of packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Returns the first packet in flight.
    pub fn first_in_flight(&self) -> Option<&Sent> {
        self.sent.iter().flatten().next()
    }

    /// Handles an acknowledgment. Returns the time of transmission of the largest acknowledged
    /// packet if it is newly acknowledged.
    pub fn acknowledge(&mut self, ack: &Ack, outcome: &mut Outcome) -> Option<Time> {
        let largest = ack.ranges[0].1;
        self.largest_acknowledged = self.largest_acknowledged.max(Some(largest));
        for &(first, last) in ack.ranges.iter().rev() {
            let from = first.saturating_sub(self.base) as usize;
            let to = ((last + 1).saturating_sub(self.base) as usize).min(self.sent.len());
            for place in from..to {
                if let Some(packet) = self.sent[place].take() {
                    self.in_flight -= 1;
                    outcome.acked.push(packet);
                }
            }
        }
        self.trim();
        outcome.acked.last().filter(|packet| packet.number == largest).map(|packet| packet.at)
    }

    /// Finds packets that are lost `now`.
    pub fn detect_losses(&mut self, now: Time, delay: Span, threshold: u64, outcome: &mut Outcome) {
        self.loss_time = Time::MAX;
        let Some(largest) = self.largest_acknowledged else { return };
        let end = ((largest + 1).saturating_sub(self.base) as usize).min(self.sent.len());
        for place in 0..end {
            let Some(packet) = &self.sent[place] else { continue };
            if packet.at + delay <= now || largest >= packet.number + threshold {
                outcome.lost.extend(self.sent[place].take());
                self.in_flight -= 1;
            } else {
                self.loss_time = self.loss_time.min(packet.at + delay);
            }
        }
        self.trim();
    }

    /// Forgets all packets, because their keys are discarded (RFC 9002, section 6.4). Returns the
    /// number of packets that were in flight.
    pub fn discard(&mut self) -> u32 {
        let in_flight = self.in_flight;
        *self = PacketSpace { next: self.next, ..PacketSpace::default() };
        in_flight
    }

    fn trim(&mut self) {
        while self.sent.front().is_some_and(Option::is_none) {
            self.sent.pop_front();
            self.base += 1;
        }
    }

    /// Records an arriving packet; returns false if it has arrived before. The `rule` determines
    /// the time of the next acknowledgment.
    pub fn receive(&mut self, now: Time, number: u64, (elicits, ecn): (bool, Ecn), rule: &AckRule) -> bool {
        if !self.received.insert(number) {
            return false;
        }
        self.marks.count(ecn);
        let expected = self.largest_received.map_or(0, |(largest, _)| largest + 1);
        if number >= expected {
            self.largest_received = Some((number, now));
        }
        if elicits {
            self.unacknowledged += 1;
            let is_mark = ecn == Ecn::Ce && !(rule.first_mark_only && self.was_marked);
            let is_reordered = match rule.reordering {
                0 => false,
                1 => number != expected,
                distance => self.has_gap(distance),
            };
            let at_once = is_reordered || is_mark || self.unacknowledged >= rule.every;
            self.ack_due = self.ack_due.min(if at_once { now } else { now + rule.delay });
        }
        self.was_marked = ecn == Ecn::Ce;
        true
    }

    /// Returns true if the largest number received is `distance` above a missing packet that no
    /// acknowledgment has shown to be lost (draft-ietf-quic-ack-frequency, section 6.2).
    fn has_gap(&self, distance: u64) -> bool {
        let Some((largest, _)) = self.largest_received else { return false };
        let first = self.reported.map_or(0, |reported| (reported + 2).saturating_sub(distance));
        largest.saturating_sub(self.received.first_missing(first)) >= distance
    }

    /// Requests an acknowledgment without delay (IMMEDIATE_ACK).
    pub fn hasten(&mut self, now: Time) {
        self.ack_due = now;
    }

    /// Forgets arrivals below `number`, because the other end has an acknowledgment of them (RFC
    /// 9000, section 13.2.4).
    pub fn forget_below(&mut self, number: u64) {
        self.received.forget_below(number);
    }

    /// Returns the largest packet number that has arrived.
    pub fn largest_received(&self) -> Option<u64> {
        self.largest_received.map(|(number, _)| number)
    }

    /// Returns true if packets have arrived that are not acknowledged.
    pub fn has_unacknowledged(&self) -> bool {
        self.unacknowledged > 0
    }

    /// Returns the acknowledgment of all that has arrived, which is sent `now`. With `counts`, it
    /// reports the marks of ECN.
    pub fn take_ack(&mut self, now: Time, counts: bool) -> Option<Ack> {
        let (largest, at) = self.largest_received?;
        self.reported = Some(largest);
        self.unacknowledged = 0;
        self.ack_due = Time::MAX;
        let ecn = counts.then_some(self.marks);
        Some(Ack { ranges: self.received.ranges.clone(), delay: now.since(at), ecn })
    }
}

/// The numbers of the packets that have arrived.
#[derive(Debug, Default)]
struct Received {
    /// First and last number of each range, the highest range first.
    ranges: Vec<(u64, u64)>,
    /// Lower numbers are no longer remembered, and count as arrived.
    floor: u64,
}

impl Received {
    /// Adds a number; returns false if it has arrived before.
    fn insert(&mut self, number: u64) -> bool {
        if number < self.floor {
            return false;
        }
        // Most packets continue the first range.
        let at = self.ranges.iter().position(|(first, _)| *first <= number).unwrap_or(self.ranges.len());
        let joins_lower = match self.ranges.get(at) {
            Some((_, last)) if number <= *last => return false,
            Some((_, last)) => *last + 1 == number,
            None => false,
        };
        let joins_higher = at > 0 && self.ranges[at - 1].0 == number + 1;
        match (joins_lower, joins_higher) {
            (true, true) => {
                self.ranges[at - 1].0 = self.ranges[at].0;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at].1 = number,
            (false, true) => self.ranges[at - 1].0 = number,
            (false, false) => self.ranges.insert(at, (number, number)),
        }
        if self.ranges.len() > MAX_RANGES {
            if let Some((_, last)) = self.ranges.pop() {
                self.floor = last + 1;
            }
        }
        true
    }

    /// Returns the smallest number from `from` on that has not arrived.
    fn first_missing(&self, from: u64) -> u64 {
        let from = from.max(self.floor);
        let ranges = self.ranges.iter().rev();
        ranges
            .fold(from, |next, (first, last)| if (*first..=*last).contains(&next) { last + 1 } else { next })
    }

    fn forget_below(&mut self, number: u64) {
        self.floor = self.floor.max(number);
        while self.ranges.len() > 1 && self.ranges.last().is_some_and(|(_, last)| *last < number) {
            self.ranges.pop();
        }
        if let Some((first, last)) = self.ranges.last_mut() {
            *first = (*first).max(number).min(*last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::{Frame, Kind, Packet};
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    fn space(times: &[u64]) -> PacketSpace {
        let mut space = PacketSpace::default();
        for (number, time) in times.iter().enumerate() {
            let number = number as u64;
            let first = Packet::new(Kind::OneRtt, number, 1, vec![Frame::Ping]);
            let datagram = (Arc::new(Datagram { path: 0, first, more: Vec::new() }), 0);
            space.sent(Sent { number, at: at(*time), flight: number, datagram, is_mtu_probe: false });
        }
        space
    }

    fn acknowledged(space: &mut PacketSpace, ranges: &[(u64, u64)]) -> Vec<u64> {
        let ack = Ack { ranges: ranges.to_vec(), delay: Span::ZERO, ecn: None };
        let mut outcome = Outcome::default();
        space.acknowledge(&ack, &mut outcome);
        outcome.acked.iter().map(|packet| packet.number).collect()
    }

    fn lost(space: &mut PacketSpace, now: u64) -> Vec<u64> {
        let mut outcome = Outcome::default();
        space.detect_losses(at(now), Span::from_millis(112), 3, &mut outcome);
        outcome.lost.iter().map(|packet| packet.number).collect()
    }

    #[test]
    fn arrivals_agree_with_a_set() {
        let (mut received, mut set, mut state) = (Received::default(), [false; 64], 1_u64);
        for turn in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (state >> 40) % 64;
            let is_new = !set[number as usize] && number >= received.floor;
            assert_eq!(received.insert(number), is_new, "{turn}: {number}");
            set[number as usize] |= is_new;
            assert!(received.ranges.windows(2).all(|pair| pair[1].1 + 1 < pair[0].0), "{received:?}");
            for number in received.floor..64 {
                let here = received.ranges.iter().any(|(first, last)| (*first..=*last).contains(&number));
                assert_eq!(here, set[number as usize], "{turn}: {number} {received:?}");
            }
            if turn % 100 == 99 {
                received.forget_below(turn / 100);
            }
        }
    }

    /// RFC 9002, section 6.1.1: a packet is lost once one three packets later is acknowledged.
    #[test]
    fn three_later_packets_make_a_packet_lost() {
        let mut space = space(&[0, 1, 2, 3, 4]);
        assert_eq!(acknowledged(&mut space, &[(2, 2)]), [2]);
        assert!(lost(&mut space, 100).is_empty());
        assert_eq!(space.loss_time, at(112));
        assert_eq!(acknowledged(&mut space, &[(2, 3)]), [3]);
        assert_eq!(lost(&mut space, 101), [0]);
        assert_eq!(space.loss_time, at(113));
        // A packet after the largest acknowledged one is not lost, however old.
        assert_eq!(lost(&mut space, 1000), [1]);
        assert_eq!(space.in_flight(), 1);
        assert_eq!(space.loss_time, Time::MAX);
        // The acknowledgment of a lost packet has no effect.
        assert_eq!(acknowledged(&mut space, &[(0, 4)]), [4]);
        assert_eq!(space.in_flight(), 0);
    }

    /// RFC 9000, sections 13.2.1 and 13.2.2: every second packet is acknowledged, or the first
    /// after `max_ack_delay`; a packet out of order, and one that fills a gap, at once.
    #[test]
    fn acknowledgments_follow_the_rules_of_rfc_9000() {
        let mut space = PacketSpace::default();
        let rule = &AckRule::new(2, Span::from_millis(25));
        assert!(space.receive(at(0), 0, (true, Ecn::NotEct), rule));
        assert_eq!(space.ack_due, at(25));
        assert!(space.receive(at(1), 1, (true, Ecn::NotEct), rule));
        assert_eq!(space.ack_due, at(1));
        assert_eq!(space.take_ack(at(3), false).unwrap().delay, Span::from_millis(2));
        assert!(!space.receive(at(4), 1, (true, Ecn::NotEct), rule));
        assert_eq!(space.ack_due, Time::MAX);
        assert!(space.receive(at(5), 3, (true, Ecn::NotEct), rule));
        assert_eq!(space.ack_due, at(5));
        assert_eq!(space.take_ack(at(5), false).unwrap().ranges, [(3, 3), (0, 1)]);
        assert!(space.receive(at(6), 2, (true, Ecn::NotEct), rule));
        assert_eq!(space.ack_due, at(6));
        assert_eq!(space.take_ack(at(6), false).unwrap().ranges, [(0, 3)]);
        // A packet with acknowledgments alone requests none.
        assert!(space.receive(at(7), 4, (false, Ecn::NotEct), rule));
        assert!(!space.has_unacknowledged());
    }

    /// The table in section 6.2 of draft-ietf-quic-ack-frequency: a reordering threshold of three,
    /// and acknowledgments only for reordering.
    #[test]
    fn a_reordering_threshold_delays_acknowledgments_of_gaps() {
        let mut space = PacketSpace::default();
        let rule = AckRule { reordering: 3, ..AckRule::new(1000, Span::from_secs(1)) };
        let mut acknowledged = Vec::new();
        for number in [0, 1, 3, 4, 5, 8, 9, 10] {
            assert!(space.receive(at(number), number, (true, Ecn::NotEct), &rule));
            if space.ack_due == at(number) {
                space.take_ack(at(number), false);
                acknowledged.push(number);
            }
        }
        assert_eq!(acknowledged, [5, 9]);
    }

    /// Section 6.4 of draft-ietf-quic-ack-frequency: the first of several marked packets is
    /// acknowledged at once. RFC 9000, section 13.2.1: each of them.
    #[test]
    fn the_first_mark_is_acknowledged_at_once() {
        let usual = AckRule::new(10, Span::from_millis(25));
        for (first_mark_only, expected) in [(true, vec![1, 4]), (false, vec![1, 2, 4])] {
            let rule = AckRule { first_mark_only, ..usual };
            let (mut space, mut acknowledged) = (PacketSpace::default(), Vec::new());
            for (number, ecn) in [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ce].into_iter().enumerate() {
                let number = number as u64;
                space.receive(at(number), number, (true, ecn), &rule);
                if space.ack_due == at(number) {
                    space.take_ack(at(number), true);
                    acknowledged.push(number);
                }
            }
            assert_eq!(acknowledged, expected);
        }
    }
}
