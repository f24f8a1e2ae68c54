//! Tests of the bench with stages that fulfil the contract and with stages that violate it.

use super::*;
use bentpipe_core::{Column, Probe, Table};
use bentpipe_stage::{Sent, Supply};
use std::collections::VecDeque;

const UNLUCKY: DropReason = DropReason::new("unlucky");

static DELAYS: Table = Table {
    name: "delays",
    entity: "stage",
    about: "when a packet arrives",
    columns: &[Column::whole("delay", "ns", "its delay")],
};

/// Delays packets by nanoseconds, and drops every packet with the number 13.
struct Delay {
    delay: u64,
    waiting: VecDeque<(Time, Packet)>,
    probe: Option<Probe>,
    /// True if packets disappear.
    loses: bool,
    /// True if wakes are in the past.
    lags: bool,
}

impl Delay {
    fn new(delay: u64, probe: Option<Probe>) -> Delay {
        Delay { delay, waiting: VecDeque::new(), probe, loses: false, lags: false }
    }
}

impl Stage for Delay {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if let Some(probe) = self.probe {
            out.record(probe, now, &[self.delay as f64]);
        }
        if packet.number == 13 {
            out.drop(packet, UNLUCKY);
        } else if !self.loses {
            self.waiting.push_back((now + Span::from_nanos(self.delay), packet));
        }
    }

    fn wake(&mut self, _now: Time, out: &mut Outbox) {
        let (_, packet) = self.waiting.pop_front().expect("a wake follows a waiting packet");
        out.send(Port(0), packet);
    }

    fn next_wake(&self) -> Option<Time> {
        let due = self.waiting.front().map(|(due, _)| *due);
        if self.lags {
            due.map(|_| Time::ZERO)
        } else {
            due
        }
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        self.waiting.iter().for_each(|(_, packet)| held.add(packet));
        held
    }

    fn change(&mut self, _now: Time, change: Change<'_>, _out: &mut Outbox) {
        self.delay = *change.of::<u64>().1;
    }
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

#[test]
fn packets_leave_and_are_dropped_at_their_times() {
    let mut bench = Bench::new(Delay::new(5, None));
    bench.audited = true;
    bench.offer(at(1), 0, Port(0), packet(0, 100));
    bench.offer(at(2), 0, Port(0), packet(13, 100));
    bench.change(at(3), 0, &5u64, &9u64);
    bench.offer(at(4), 0, Port(0), packet(1, 100));
    bench.advance(at(6));
    assert_eq!((bench.now, bench.left.len()), (at(6), 0), "packets that are due then have not left");
    bench.run(at(12));
    assert_eq!((bench.arrivals(), bench.now), (vec![(0, 6)], at(6)));
    bench.run(Time::MAX);
    assert_eq!(bench.arrivals(), [(0, 6), (1, 13)]);
    assert_eq!(bench.left[1].age(), Span::from_nanos(13));
    assert_eq!(bench.dropped, [Dropped { at: at(2), reason: UNLUCKY }]);
    assert_eq!(bench.drops(), [(UNLUCKY, 1)]);
    // Three packets and the change, and two wakes.
    assert_eq!(bench.calls, [6]);
}

#[test]
fn rows_are_kept_by_trace() {
    let mut supplies = Supplies::traced();
    let probe = supplies.probe(&DELAYS, "one");
    let mut bench = Bench::supplied(Delay::new(5, probe), supplies);
    bench.offer(at(1), 0, Port(0), packet(0, 100));
    assert_eq!(bench.rows("delays"), [("one".to_owned(), vec![5.0])]);
    assert_eq!(bench.rows("others"), []);
    assert_eq!(Supplies::default().probe(&DELAYS, "one"), None);
    let (mut one, mut same) = (stream("one"), Supplies::default().stream("one"));
    assert_eq!(one.bits(), same.bits());
}

#[test]
#[should_panic(expected = "created, and accounted for")]
fn disappearing_packets_are_detected() {
    let mut bench = Bench::new(Delay { loses: true, ..Delay::new(5, None) });
    bench.offer(at(1), 0, Port(0), packet(0, 100));
    bench.run(Time::MAX);
}

#[test]
#[should_panic(expected = "in the past")]
fn wakes_in_the_past_are_detected() {
    let mut bench = Bench::new(Delay { lags: true, ..Delay::new(5, None) });
    bench.offer(at(1), 0, Port(0), packet(0, 100));
    bench.run(Time::MAX);
}

/// Two delays in a circle. Packets that the first one sends are duplicated or lost.
struct Circle {
    stages: [Delay; 2],
    seen: Vec<(u64, usize)>,
}

impl Network for Circle {
    fn stages(&self) -> usize {
        2
    }

    fn stage(&mut self, index: usize) -> &mut dyn Stage {
        &mut self.stages[index]
    }

    fn arriving(&mut self, now: Time, index: usize, _packet: &Packet) {
        self.seen.push((now.as_nanos(), index));
    }

    fn carry(&mut self, from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>) {
        for sent in sent {
            match (from, sent.packet.number) {
                (0, 0) => wires.discard(sent.packet),
                (0, 1) => {
                    let second = wires.copy(&sent.packet);
                    wires.after(Span::from_nanos(3), 1, Port(0), sent.packet);
                    wires.to(1, Port(0), second);
                }
                (1, 2) => wires.to(0, Port(0), sent.packet),
                (0, _) => wires.to(1, Port(0), sent.packet),
                _ => wires.leave(sent),
            }
        }
    }
}

fn circle(number: u32) -> Bench<Circle> {
    let mut bench =
        Bench::new(Circle { stages: [10, 20].map(|delay| Delay::new(delay, None)), seen: Vec::new() });
    bench.offer(at(0), 0, Port(0), packet(number, 100));
    bench
}

#[test]
fn wires_lose_duplicate_and_delay() {
    let mut bench = circle(0);
    bench.run(Time::MAX);
    assert_eq!((bench.left.len(), bench.out.totals().consumed.packets), (0, 1));
    let mut bench = circle(1);
    bench.run(Time::MAX);
    assert_eq!(bench.seen, [(0, 0), (10, 1), (13, 1)]);
    assert_eq!(bench.arrivals(), [(1, 30), (1, 33)]);
    assert_eq!((bench.out.totals().created.packets, bench.calls[1]), (2, 4));
}

#[test]
#[should_panic(expected = "it never ends")]
fn endless_exchanges_are_detected() {
    let mut bench = circle(2);
    bench.most_calls = 1000;
    bench.run(Time::MAX);
}

#[test]
fn path_connects_two_ends_and_drops_every_nth_packet() {
    let every = Span::from_nanos(100);
    let source = || Source::new([0, 1].map(bentpipe_core::NodeId), at(0), every);
    struct End(Option<Source>, Vec<u32>);
    impl Stage for End {
        fn receive(&mut self, _now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
            self.1.push(out.consume(packet).number);
        }
        fn wake(&mut self, now: Time, out: &mut Outbox) {
            self.0.as_mut().expect("a source is due").wake(now, out);
        }
        fn next_wake(&self) -> Option<Time> {
            self.0.as_ref().and_then(Stage::next_wake)
        }
    }
    let mut path = Path::new(
        [End(Some(source()), Vec::new()), End(None, Vec::new())],
        [7, 8].map(|delay| Delay::new(delay, None)),
    );
    path.loses_every = Some(3);
    let mut bench = Bench::new(path);
    bench.run(at(606));
    assert_eq!((&bench.ends[1].1, &bench.ends[0].1), (&vec![0, 1, 3, 4], &vec![]));
    bench.run(at(607));
    assert_eq!(bench.ends[1].1, [0, 1, 3, 4, 6]);
    let mut bench = Bench::new(Sink);
    bench.offer(at(0), 0, Port(0), packet(0, 100));
    bench.run(Time::MAX);
    assert_eq!((bench.left.len(), bench.report().rows().len()), (0, 0));
}
