//! The causes of each packet's wait in a terminal.
//!
//! The wait lasts from the packet's arrival at the terminal to the end of the slot with its last
//! byte. It is exactly the sum of its parts:
//!
//! | part | cause | ends |
//! | --- | --- | --- |
//! | `wait_superframe` | access per superframe | at the first superframe after the arrival |
//! | `wait_earlier` | slots available without a request for the packet: constant, spare, or requested before the packet arrived | at the start of the superframe with the packet's last byte |
//! | `wait_request` | waiting for a request slot | when the first request after the arrival is made |
//! | `wait_lost` | lost requests | when the first request is made that reaches the control centre |
//! | `wait_propagation` | propagation of request and plan | after both delays |
//! | `wait_controller` | processing, the next boundary, the plan's lead, an imposed response | at the start of the earliest superframe in which this request can be served |
//! | `wait_competition` | slots of other terminals or of packets that left earlier, lost plans | at the start of the superframe with the packet's last byte |
//! | `wait_slot` | the slot's position in that superframe, and transmission | at the end of the slot |
//!
//! A discipline that decides at departure may send a packet before others that arrived earlier.
//! Packets that it drops have no row.
//!
//! A packet has either `wait_earlier` or the five parts that follow it. Requests of boundary
//! planning are made when a superframe starts, so `wait_superframe` then includes the wait for the
//! request. If the request is made earlier, `wait_superframe` is 0, because it did not delay the
//! packet. If the superframe with its last byte starts before the first request after its arrival
//! can be served, the slot was not assigned by that request, and the packet did not wait for it.

use super::frame::Frame;
use super::timing::Timeline;
use bentpipe_core::{Column, Span, Table, Time};
use std::collections::VecDeque;

/// Trace of packets through terminals.
pub static TRACE: Table = Table {
    name: "waits",
    entity: "terminal",
    about: "for each packet when it reaches the gateway; it left the terminal at arrival plus all waits",
    columns: &[
        Column::whole("of_flow", "1", "index of the flow in the scenario, from 0"),
        Column::whole("packet", "1", "number of the packet in its flow and direction"),
        Column::whole("packet_bytes", "bytes", "size of the packet at the network layer"),
        Column::whole("class", "1", "index of the traffic class, from 0"),
        Column::whole("arrival", "ns", "when the packet arrived at the terminal"),
        Column::whole("asked", "ns", "when the first request after the arrival was made that reached the control centre; -1: the packet left before one could be served"),
        Column::whole("sent_superframe", "1", "superframe in which the packet's last byte was sent"),
        Column::whole("sent_carrier", "1", "carrier of the slot of the last byte"),
        Column::whole("sent_frame", "1", "frame within the superframe of the slot of the last byte"),
        Column::whole("sent_slot", "1", "slot of the last byte within the frame"),
        Column::whole("wait_superframe", "ns", "wait for the first superframe after its arrival, with access = \"superframe\""),
        Column::whole("wait_earlier", "ns", "wait for slots that were constant, spare or requested before it arrived"),
        Column::whole("wait_request", "ns", "wait for an opportunity to send the request"),
        Column::whole("wait_lost", "ns", "wait because requests were lost"),
        Column::whole("wait_propagation", "ns", "wait while the request and the plan propagated"),
        Column::whole("wait_controller", "ns", "wait for the control centre's processing and superframe boundaries"),
        Column::whole("wait_competition", "ns", "wait for slots that other terminals or earlier packets had"),
        Column::whole("wait_slot", "ns", "wait for the slot within its superframe, and its transmission"),
    ],
};

/// A row of the trace.
pub type Row = [f64; 18];

/// Times at which the control centre acts on a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Controller {
    /// Time of plans, relative to the start of the control centre's superframe.
    pub phase: Span,
    /// Number of superframes by which a plan is made ahead of its superframe.
    pub lead: u64,
    /// Time from a request's arrival until it may be used.
    pub processing: Span,
    /// Number of superframes from a request to its assignment, if imposed.
    pub imposed: Option<u64>,
}

impl Controller {
    /// Returns the first boundary after `now`.
    pub fn boundary_after(&self, frame: &Frame, now: Time) -> u64 {
        let first = Time::ZERO + self.phase;
        if now < first {
            return 0;
        }
        now.since(first) / frame.superframe() + 1
    }

    /// Returns the earliest superframe in which a request may be served that arrives at `now` and
    /// was made in superframe `made`.
    pub fn earliest(&self, frame: &Frame, now: Time, made: u64) -> u64 {
        let superframe = self.boundary_after(frame, now + self.processing) + self.lead;
        self.imposed.map_or(superframe, |response| superframe.max(made + response))
    }
}

/// The requests of a terminal that may have been made for packets that still wait.
#[derive(Default)]
pub(super) struct Requests {
    /// For each request: the time, the superframe, the time of arrival, and true if the request was
    /// lost.
    made: VecDeque<(Time, u64, Time, bool)>,
}

/// The parts of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts {
    pub asked: Option<Time>,
    pub superframe: Span,
    pub earlier: Span,
    pub request: Span,
    pub lost: Span,
    pub propagation: Span,
    pub controller: Span,
    pub competition: Span,
    pub position: Span,
}

impl Requests {
    pub fn add(&mut self, now: Time, superframe: u64, arrival: Time) {
        self.made.push_back((now, superframe, arrival, false));
    }

    /// Marks the request that was to arrive at `arrival` as lost.
    pub fn mark_lost(&mut self, arrival: Time) {
        self.made.iter_mut().filter(|(_, _, at, _)| *at == arrival).for_each(|request| request.3 = true);
    }

    /// Removes requests that were made before the arrival of the oldest waiting packet, at
    /// `oldest`.
    pub fn remove_before(&mut self, oldest: Time) {
        while self.made.front().is_some_and(|(made, ..)| *made < oldest) {
            self.made.pop_front();
        }
    }

    /// Splits a wait from `arrival` to `end` into its parts. The superframe with the packet's last
    /// byte starts at `start`.
    pub fn explain(
        &self,
        (arrival, start, end): (Time, Time, Time),
        frame: &Frame,
        timeline: &Timeline,
        controller: &Controller,
    ) -> Parts {
        // The packet may have arrived after the superframe started.
        let start = start.max(arrival);
        let mut after = self.made.iter().skip_while(|(made, ..)| *made < arrival).peekable();
        let first = after.peek().map(|(made, ..)| *made);
        let served = after.find(|(.., lost)| !lost).map(|(made, superframe, reaches, _)| {
            let earliest = timeline.start(frame, controller.earliest(frame, *reaches, *superframe));
            (*made, reaches.since(*made) + timeline.timing().one_way, earliest)
        });
        let served = served.filter(|(.., earliest)| *earliest <= start);
        let (Some(first), Some((asked, propagation, earliest))) = (first, served) else {
            return Parts {
                asked: None,
                superframe: Span::ZERO,
                earlier: start.since(arrival),
                request: Span::ZERO,
                lost: Span::ZERO,
                propagation: Span::ZERO,
                controller: Span::ZERO,
                competition: Span::ZERO,
                position: end.since(start),
            };
        };
        let propagation = propagation.min(earliest.since(asked));
        Parts {
            asked: Some(asked),
            superframe: Span::ZERO,
            earlier: Span::ZERO,
            request: first.since(arrival),
            lost: asked.since(first),
            propagation,
            controller: earliest.since(asked + propagation),
            competition: start.since(earliest),
            position: end.since(start),
        }
    }
}

impl Parts {
    /// Moves the wait for the first superframe that starts after `arrival` to a part of its own.
    pub fn after_superframe(mut self, arrival: Time, frame: &Frame, timeline: &Timeline) -> Parts {
        let opening = timeline.start(frame, timeline.superframe(frame, arrival) + 1);
        let wait = opening.since(arrival);
        let first = if self.asked.is_none() { &mut self.earlier } else { &mut self.request };
        if *first >= wait {
            *first = first.saturating_sub(wait);
            self.superframe = wait;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::tests::STUDY;
    use super::super::timing::Timing;
    use super::*;

    fn ms(milliseconds: u64) -> Time {
        Time::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn parts_of_a_wait_equal_hand_computed_values() {
        let one_way = Span::from_millis(250);
        let timing = Timeline::constant(Timing { up: one_way, one_way, offset: Span::ZERO });
        let controller = Controller { lead: 3, ..Controller::default() };
        let mut requests = Requests::default();
        for superframe in [1, 2, 3] {
            requests.add(ms(94 * superframe), superframe, ms(94 * superframe + 250));
        }
        let explain = |requests: &Requests, at| requests.explain(at, &STUDY, &timing, &controller);
        // The packet arrives at 100 ms, and the request is made at 188 ms. It may be served 6
        // superframes later, at 752 ms. The packet is sent in the superframe that starts at 846 ms.
        let at = (ms(100), ms(846), ms(860));
        let millis = |parts: &Parts| {
            let Parts { earlier, request, lost, propagation, controller, competition, position, .. } = *parts;
            [earlier, request, lost, propagation, controller, competition, position]
                .map(|span| span.as_micros() / 1000)
        };
        assert_eq!(millis(&explain(&requests, at)), [0, 88, 0, 500, 64, 94, 14]);
        // This request is lost. The next one is made and served one superframe later.
        requests.mark_lost(ms(188 + 250));
        assert_eq!(millis(&explain(&requests, at)), [0, 88, 94, 500, 64, 0, 14]);
        // The packet is sent before its request can have been served, in a slot that was requested
        // earlier.
        let early = (ms(100), ms(470), ms(480));
        assert_eq!(millis(&explain(&requests, early)), [370, 0, 0, 0, 0, 0, 10]);
        // The packet is sent in the superframe of its arrival, or in the next one before any
        // request.
        assert_eq!(millis(&explain(&requests, (ms(100), ms(94), ms(107)))), [0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(millis(&explain(&requests, (ms(100), ms(188), ms(190)))), [88, 0, 0, 0, 0, 0, 2]);
    }
}
