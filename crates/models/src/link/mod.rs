//! A link in one direction: queue, transmission at a rate, errors, propagation - in one stage.
//!
//! The departure of a packet is computed when it arrives, since the queue is first in, first out and the discipline
//! decides at arrival; so a hop costs one wake, at the delivery, where the textbook has three events (enqueued,
//! transmitted, propagated). Packets in flight wait in one ring in order of delivery.
//!
//! Limits: the rate and the delay stay as they are once a packet is admitted.

pub mod transmitter;

use self::transmitter::Transmitter;
use crate::channel::{self, Process, SPOILED};
use crate::queue;
use bentpipe_core::{
    Column, Held, Outbox, Packet, Port, Probe, Problems, Rate, Report, Span, Stage, Stream, Table, Time,
    Whole,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate at the network layer.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Span,
    /// The queue in front of the link.
    #[serde(default)]
    pub queue: queue::Config,
    /// What the channel spoils.
    #[serde(default)]
    pub error: channel::Config,
}

impl Config {
    /// Adds what is wrong.
    pub fn check(&self, problems: &mut Problems) {
        problems.within("queue", |problems| self.queue.check(problems));
        problems.within("error", |problems| self.error.check(problems));
    }
}

/// Trace of a link: what each arriving packet found.
pub static TRACE: Table = Table {
    name: "link",
    entity: "link",
    about: "when a packet arrives at the link's queue",
    columns: &[
        Column::whole("queue_packets", "packets", "packets that wait, after this arrival"),
        Column::whole("queue_bytes", "bytes", "bytes that wait, after this arrival"),
        Column::whole("dropped", "packets", "packets that the queue has dropped so far"),
    ],
};

/// What a link did in a run.
pub static REPORT: Table = Table {
    name: "link",
    entity: "link",
    about: "at the end of the run",
    columns: &[
        Column::whole("packets", "packets", "packets that were transmitted"),
        Column::whole("bytes", "bytes", "bytes that were transmitted"),
        Column::real("utilisation", "1", "share of the run in which the link was transmitting"),
        Column::whole("queue_drops", "packets", "packets dropped by the queue"),
        Column::whole("error_drops", "packets", "packets spoiled by the channel"),
        Column::whole("queue_max", "packets", "most packets that waited at once"),
        Column::real("wait_mean", "s", "mean wait in the queue"),
    ],
};

/// A packet in flight. The packet comes first, so that it lies as when it is alone and is moved in the same pieces.
#[repr(C)]
struct Flying {
    packet: Whole<Packet>,
    delivery: Time,
}

fn held<'a>(flying: impl Iterator<Item = &'a Flying>) -> Held {
    let mut held = Held::default();
    flying.for_each(|one| one.packet.read(|packet| held.add(packet)));
    held
}

/// The stage: in port 0, out port 0.
pub struct Link {
    name: String,
    delay: Span,
    /// How much of the delay passes elsewhere, and since when: nothing is handed on earlier than that.
    elsewhere: (Span, Time),
    transmitter: Transmitter,
    errors: Option<Box<dyn Process>>,
    /// Admitted packets in order of delivery.
    flying: VecDeque<Flying>,
    error_drops: u64,
}

impl Link {
    /// A link under the name that results use, with its own random stream.
    pub fn new(name: &str, config: &Config, stream: Stream, probe: Option<Probe>) -> Link {
        Link {
            name: name.to_owned(),
            delay: config.delay,
            elsewhere: (Span::ZERO, Time::ZERO),
            transmitter: Transmitter::new(config.rate, config.queue.build(), stream, probe),
            errors: config.error.build(),
            flying: VecDeque::new(),
            error_drops: 0,
        }
    }

    /// When a packet is handed on that the model delivers at `delivery`. The order stays, since all are moved alike.
    #[inline]
    fn leaves(&self, delivery: Time) -> Time {
        let (by, since) = self.elsewhere;
        let early = by.as_nanos().min(self.delay.as_nanos());
        Time::from_nanos(delivery.as_nanos() - early).max(since)
    }
}

impl Stage for Link {
    fn receive(&mut self, now: Time, _port: Port, mut packet: Packet, out: &mut Outbox) {
        match self.transmitter.offer(now, &mut packet, out) {
            Err(reason) => out.drop(packet, reason),
            Ok(sent) => {
                let (packet, delivery) = (Whole::new(packet), sent + self.delay);
                self.flying.push_back(Flying { packet, delivery });
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while self.flying.front().is_some_and(|first| self.leaves(first.delivery) <= now) {
            let Some(Flying { packet, delivery }) = self.flying.pop_front() else { return };
            let packet = packet.into_inner();
            let spoiled = match &mut self.errors {
                Some(errors) => errors.spoils(delivery, packet.size, &mut self.transmitter.stream),
                None => false,
            };
            if spoiled {
                self.error_drops += 1;
                out.drop(packet, SPOILED);
            } else {
                out.send(Port(0), packet);
            }
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.flying.front().map(|first| self.leaves(first.delivery))
    }

    fn hasten(&mut self, now: Time, by: Span) -> Span {
        self.elsewhere = (by, now);
        by.min(self.delay)
    }

    fn held(&self) -> Held {
        held(self.flying.iter())
    }

    fn report(&self, now: Time, report: &mut Report) {
        let transmitted_later = now + self.delay;
        let pending = self.flying.iter().rev().take_while(|flying| flying.delivery > transmitted_later);
        let pending = held(pending);
        self.transmitter.report(&self.name, now, pending, self.error_drops, report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::drop_tail;
    use bentpipe_core::{Body, Count, Ecn, FlowId, NodeId, Streams};

    fn packet(number: u32, size: u32) -> Packet {
        Packet {
            birth: Time::ZERO,
            number,
            size,
            flow: FlowId(0),
            source: NodeId(0),
            destination: NodeId(1),
            dscp: 0,
            ecn: Ecn::NotEct,
            body: Body::Datagram,
        }
    }

    fn config() -> Config {
        Config {
            rate: Rate::from_bits_per_second(12_000_000),
            delay: Span::from_millis(250),
            queue: queue::Config::DropTail(drop_tail::Config { packets: Some(Count::new(2)), bytes: None }),
            error: channel::Config::default(),
        }
    }

    #[test]
    fn packets_leave_in_order_at_the_rate_and_the_full_queue_drops() {
        let config = config();
        let mut link = Link::new("l", &config, Streams::new(1, 0).stream("l"), None);
        let mut out = Outbox::default();
        for number in 0..5 {
            link.receive(Time::ZERO, Port(0), packet(number, 1500), &mut out);
        }
        // One in transmission and two waiting; 1500 bytes take 1 ms.
        assert_eq!(out.totals().dropped.values().map(|held| held.packets).sum::<u64>(), 2);
        let mut deliveries = Vec::new();
        while let Some(wake) = link.next_wake() {
            link.wake(wake, &mut out);
            while let Some(sent) = out.next_sent() {
                deliveries.push((sent.packet.number, wake.as_nanos() / 1_000_000));
            }
        }
        assert_eq!(deliveries, [(0, 251), (1, 252), (2, 253)]);
    }
    #[test]
    fn what_waits_is_not_reported_as_transmitted() {
        let mut link = Link::new("l", &config(), Streams::new(1, 0).stream("l"), None);
        for number in 0..3 {
            link.receive(Time::ZERO, Port(0), packet(number, 1500), &mut Outbox::default());
        }
        let reported = |millis| {
            let mut report = Report::default();
            link.report(Time::ZERO + Span::from_millis(millis), &mut report);
            ["packets", "bytes", "utilisation"].map(|column| report.value("link", "l", column).unwrap())
        };
        assert_eq!(reported(1), [1.0, 1500.0, 1.0]);
        assert_eq!(reported(2), [2.0, 3000.0, 1.0]);
        assert_eq!(reported(6), [3.0, 4500.0, 0.5]);
    }

    #[test]
    fn what_passes_elsewhere_is_taken_from_the_delay_of_all_that_is_in_flight() {
        let config = config();
        let mut link = Link::new("l", &config, Streams::new(1, 0).stream("l"), None);
        let mut out = Outbox::default();
        let millis = |millis| Time::ZERO + Span::from_millis(millis);
        for number in 0..2 {
            link.receive(Time::ZERO, Port(0), packet(number, 1500), &mut out);
        }
        assert_eq!(link.hasten(millis(2), Span::from_millis(30)), Span::from_millis(30));
        assert_eq!(link.next_wake(), Some(millis(221)));
        link.wake(millis(221), &mut out);
        assert_eq!(link.next_wake(), Some(millis(222)));
        // Less, then more than there is: never before it was asked, and never before the packet has been sent.
        link.hasten(millis(222), Span::from_millis(20));
        assert_eq!(link.next_wake(), Some(millis(232)));
        assert_eq!(link.hasten(millis(230), Span::from_millis(300)), Span::from_millis(250));
        assert_eq!(link.next_wake(), Some(millis(230)));
        link.wake(millis(230), &mut out);
        link.receive(millis(231), Port(0), packet(2, 1500), &mut out);
        assert_eq!(link.next_wake(), Some(millis(232)));
    }
}
