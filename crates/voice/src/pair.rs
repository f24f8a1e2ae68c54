//! Test harness: two ends of a signalling protocol, and the datagrams in flight between them.

use bentpipe_core::{Span, Stream, Streams, Time};
use std::net::SocketAddr;

/// Datagrams, each with its destination address.
pub(super) type Datagrams = Vec<(SocketAddr, Vec<u8>)>;

/// One end of a protocol: any number of calls to the other end.
pub(super) trait Peer {
    /// An event that the end reports to its user.
    type Event: Clone;
    /// The datagrams and events that result from an operation.
    type Out: Default;
    /// The port at which the ends listen.
    const PORT: u16;

    fn next_wake(&self) -> Time;
    fn wake(&mut self, now: Time, out: &mut Self::Out);
    fn receive(&mut self, now: Time, from: SocketAddr, bytes: &[u8], out: &mut Self::Out);
    /// Splits the result of an operation into datagrams, events and the number of retransmissions.
    fn split(out: Self::Out) -> (Datagrams, Vec<Self::Event>, u64);
}

/// Implements the functions of [`Peer`] with the type's own methods of the same names.
macro_rules! operations {
    () => {
        fn next_wake(&self) -> Time {
            self.next_wake()
        }

        fn wake(&mut self, now: Time, out: &mut Out) {
            self.wake(now, out);
        }

        fn receive(&mut self, now: Time, from: SocketAddr, bytes: &[u8], out: &mut Out) {
            self.receive(now, from, bytes, out);
        }
    };
}
pub(super) use operations;

/// A caller (end 0), a callee (end 1), and the path between them.
pub(super) struct Pair<P: Peer> {
    pub ends: [P; 2],
    /// The events of both ends, with their times.
    pub events: [Vec<(Time, P::Event)>; 2],
    /// All datagrams: time, sending end, bytes.
    pub sent: Vec<(Time, usize, Vec<u8>)>,
    pub retransmissions: u64,
    /// Probability that the path loses a datagram.
    pub loss: f64,
    /// Propagation delay in one direction.
    delay: Span,
    /// Datagrams in flight: time of arrival, receiving end, bytes.
    path: Vec<(Time, usize, Vec<u8>)>,
    /// Events that are reported to the callee's reaction again, with the time of this reminder.
    reminders: Vec<(Time, P::Event)>,
    stream: Stream,
}

/// The reaction of the callee to an event. If it returns a span, the callee is reminded of the
/// event after that time.
pub(super) type Reaction<'a, P> =
    &'a mut dyn FnMut(&mut P, Time, &<P as Peer>::Event, &mut <P as Peer>::Out) -> Option<Span>;

/// Returns the time `millis` milliseconds after the beginning of a test.
pub(super) fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Returns the address of an end.
pub(super) fn address<P: Peer>(end: usize) -> SocketAddr {
    SocketAddr::from(([198, 18, 0, end as u8 + 1], P::PORT))
}

impl<P: Peer> Pair<P> {
    pub fn new(ends: [P; 2], delay: Span, loss: f64) -> Pair<P> {
        Pair {
            ends,
            events: [Vec::new(), Vec::new()],
            sent: Vec::new(),
            retransmissions: 0,
            loss,
            delay,
            path: Vec::new(),
            reminders: Vec::new(),
            stream: Streams::new(1, 0).stream("loss"),
        }
    }

    /// Performs an operation at an end and sends the resulting datagrams.
    pub fn act(&mut self, now: Time, end: usize, act: impl FnOnce(&mut P, &mut P::Out)) {
        let mut out = P::Out::default();
        act(&mut self.ends[end], &mut out);
        let (send, events, retransmissions) = P::split(out);
        for (to, bytes) in send {
            assert_eq!(to, address::<P>(1 - end));
            self.sent.push((now, end, bytes.clone()));
            if !self.stream.chance(self.loss) {
                self.path.push((now + self.delay, 1 - end, bytes));
            }
        }
        self.retransmissions += retransmissions;
        self.events[end].extend(events.into_iter().map(|event| (now, event)));
    }

    /// Runs until `until`. The callee reacts to its events with `reaction`.
    pub fn run(&mut self, until: Time, reaction: Reaction<'_, P>) {
        loop {
            let arrivals = self.path.iter().map(|(time, ..)| *time);
            let reminders = self.reminders.iter().map(|(time, _)| *time);
            let wakes = self.ends.iter().map(P::next_wake);
            let now = wakes.chain(arrivals).chain(reminders).min().unwrap();
            if now > until {
                return;
            }
            for end in 0..2 {
                if self.ends[end].next_wake() <= now {
                    self.act(now, end, |one, out| one.wake(now, out));
                }
            }
            while let Some(place) = self.path.iter().position(|(time, ..)| *time <= now) {
                let (_, end, bytes) = self.path.remove(place);
                let before = self.events[1].len();
                self.act(now, end, |one, out| one.receive(now, address::<P>(1 - end), &bytes, out));
                let news: Vec<_> = self.events[1][before..].iter().map(|(_, event)| event.clone()).collect();
                news.into_iter().for_each(|event| self.react(now, event, reaction));
            }
            while let Some(place) = self.reminders.iter().position(|(time, _)| *time <= now) {
                let (_, event) = self.reminders.remove(place);
                self.react(now, event, reaction);
            }
        }
    }

    fn react(&mut self, now: Time, event: P::Event, reaction: Reaction<'_, P>) {
        let mut later = None;
        self.act(now, 1, |one, out| later = reaction(one, now, &event, out));
        self.reminders.extend(later.map(|later| (now + later, event)));
    }
}
