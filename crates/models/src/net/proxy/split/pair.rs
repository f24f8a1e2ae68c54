//! A split connection: one connection with its source, one with its destination, and what goes between them.

use super::config::Accept;
use super::leg::Leg;
use crate::transport::flow::DestinationCounters;
use crate::transport::tcp::connection::{Event, Failure, Phase};
use crate::transport::tcp::segment::{Segment, SegmentFlags};
use crate::{Outbox, Packet};
use bentpipe_core::Time;

/// The leg towards the source, and the one towards the destination.
pub const SOURCE: usize = 0;
/// See [`SOURCE`].
pub const DESTINATION: usize = 1;

/// See the module.
pub struct Pair {
    /// Index of the flow among those of the proxy, and number of the connection in it.
    pub flow: u32,
    /// See `flow`.
    pub number: u16,
    pub legs: [Leg; 2],
    /// The source's SYN, until the destination has accepted.
    held: Option<Box<Segment>>,
    /// Why it ended before its time, and on which leg.
    failure: Option<(usize, Failure)>,
    /// Bytes of each direction that may be here.
    buffer: u64,
    /// Whether it has ended, but for late segments.
    pub over: bool,
    /// Bytes that were here when this was last looked at.
    pub holds: u64,
}

impl Pair {
    /// The source's SYN has come.
    pub fn new(
        (flow, number): (u32, u16),
        mut legs: [Leg; 2],
        accept: Accept,
        buffer: u64,
        now: Time,
        syn: &Segment,
    ) -> Pair {
        legs[DESTINATION].connection_mut().open();
        let held = match accept {
            Accept::Late => Some(Box::new(syn.clone())),
            Accept::Early => None,
        };
        let mut pair = Pair { flow, number, legs, held, failure: None, buffer, over: false, holds: 0 };
        pair.make_room();
        if pair.held.is_none() {
            pair.answer(now, syn, true);
        }
        pair
    }

    /// Why it ended before its time.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.map(|(_, failure)| failure)
    }

    /// Bytes of a direction, by the leg on which they came, that are here; none once it is over.
    pub fn buffered(&self, from: usize) -> u64 {
        if self.over {
            return 0;
        }
        self.legs[from].received() - self.legs[1 - from].acknowledged()
    }

    /// When to call [`Pair::wake`]; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        self.legs[SOURCE].connection().next_wake().min(self.legs[DESTINATION].connection().next_wake())
    }

    /// Whether both connections have ended and have nothing more to say than in answer to late segments.
    pub fn has_ended(&self) -> bool {
        self.held.is_none()
            && self.legs.iter().all(|leg| matches!(leg.connection().phase(), Phase::Closed | Phase::TimeWait))
    }

    /// A segment of one side comes.
    pub fn receive(
        &mut self,
        now: Time,
        side: usize,
        packet: &Packet,
        segment: &Segment,
        counters: &mut DestinationCounters,
    ) {
        self.legs[1 - side].dscp = packet.dscp;
        if side == SOURCE && self.held.is_some() {
            // Its SYN again; or it has given up, which it may say.
            if segment.flags.contains(SegmentFlags::RST) {
                self.held = None;
                self.fail(now, SOURCE, Failure::Reset);
            }
            return;
        }
        self.legs[side].receive(now, packet, segment, counters);
    }

    /// Timers may have expired.
    pub fn wake(&mut self, now: Time) {
        self.legs.iter_mut().for_each(|leg| leg.wake(now));
    }

    /// Passes on from leg to leg what has happened.
    pub fn relay(
        &mut self,
        now: Time,
        arrived: Option<Time>,
        counters: &mut [DestinationCounters; 2],
        out: &mut Outbox,
    ) {
        for side in [SOURCE, DESTINATION] {
            while let Some(event) = self.legs[side].next_event(now, arrived, &mut counters[side], out) {
                self.pass_on(now, side, event);
            }
        }
        self.make_room();
    }

    fn pass_on(&mut self, now: Time, from: usize, event: Event) {
        match event {
            Event::Connected if from == DESTINATION => {
                if let Some(syn) = self.held.take() {
                    self.answer(now, &syn, true);
                }
            }
            Event::Received(bytes) => self.legs[1 - from].send(now, bytes),
            Event::PeerClosed => self.legs[1 - from].connection_mut().close(),
            Event::Failed(failure) => self.fail(now, from, failure),
            Event::Connected | Event::AllAcknowledged | Event::Closed => {}
        }
    }

    /// One leg has failed: the other hears of it, as it would have heard from the end itself.
    fn fail(&mut self, now: Time, from: usize, failure: Failure) {
        self.failure.get_or_insert((from, failure));
        match self.held.take() {
            // Who is silent is passed on by silence.
            Some(_) if failure == Failure::Handshake => {}
            Some(syn) => self.answer(now, &syn, false),
            None => self.legs[1 - from].connection_mut().abort(),
        }
    }

    /// Answers the source's SYN, which is accepted or refused.
    fn answer(&mut self, now: Time, syn: &Segment, accepts: bool) {
        let connection = self.legs[SOURCE].connection_mut();
        if accepts {
            connection.listen();
        }
        connection.receive(now, syn);
    }

    /// What the next leg has acknowledged makes room for more from the one before.
    fn make_room(&mut self) {
        for side in [SOURCE, DESTINATION] {
            let gone = self.legs[1 - side].acknowledged();
            self.legs[side].connection_mut().allow(gone.saturating_add(self.buffer));
        }
    }
}
