//! A split connection: one connection with the source, one with the destination, and the data
//! between them.

use super::config::Accept;
use super::leg::Leg;
use bentpipe_core::Time;
use bentpipe_stage::packet::segment::{Segment, SegmentFlags};
use bentpipe_stage::{Outbox, Packet};
use bentpipe_transport::flow::DestinationCounters;
use bentpipe_transport::tcp::connection::{Event, Failure, Phase};

/// Index of the leg towards the source.
pub const SOURCE: usize = 0;
/// Index of the leg towards the destination.
pub const DESTINATION: usize = 1;

/// A split connection: a leg towards the source and a leg towards the destination.
pub struct Pair {
    /// Index of the flow among the flows of the proxy.
    pub flow: u32,
    /// Number of the connection in its flow.
    pub number: u16,
    pub legs: [Leg; 2],
    /// The source's SYN, until the destination has accepted.
    held_syn: Option<Box<Segment>>,
    /// The leg that failed, and the reason.
    failure: Option<(usize, Failure)>,
    /// Maximum number of bytes in the proxy for each direction.
    buffer: u64,
    /// True if the pair has ended and only answers late segments.
    pub ended: bool,
    /// Number of bytes in the proxy at the last update of the pair.
    pub held_bytes: u64,
}

impl Pair {
    /// Creates the pair when the source's SYN has arrived.
    pub fn new(
        (flow, number): (u32, u16),
        mut legs: [Leg; 2],
        accept: Accept,
        buffer: u64,
        now: Time,
        syn: &Segment,
    ) -> Pair {
        legs[DESTINATION].connection_mut().open();
        let held_syn = match accept {
            Accept::Late => Some(Box::new(syn.clone())),
            Accept::Early => None,
        };
        let mut pair =
            Pair { flow, number, legs, held_syn, failure: None, buffer, ended: false, held_bytes: 0 };
        pair.make_room();
        if pair.held_syn.is_none() {
            pair.answer(now, syn, true);
        }
        pair
    }

    /// Returns the reason for which the connection failed, if it failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.map(|(_, failure)| failure)
    }

    /// Returns the number of bytes in the proxy that arrived on leg `from`; 0 after the pair has
    /// ended.
    pub fn buffered(&self, from: usize) -> u64 {
        if self.ended {
            return 0;
        }
        self.legs[from].received() - self.legs[1 - from].acknowledged()
    }

    /// Returns the time at which to call [`Pair::wake`]; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        self.legs[SOURCE].connection().next_wake().min(self.legs[DESTINATION].connection().next_wake())
    }

    /// Returns true if both connections have ended and only answer late segments.
    pub fn has_ended(&self) -> bool {
        self.held_syn.is_none()
            && self.legs.iter().all(|leg| matches!(leg.connection().phase(), Phase::Closed | Phase::TimeWait))
    }

    /// Handles a segment that arrives on leg `side`.
    pub fn receive(
        &mut self,
        now: Time,
        side: usize,
        packet: &Packet,
        segment: &Segment,
        counters: &mut DestinationCounters,
    ) {
        self.legs[1 - side].dscp = packet.dscp;
        if side == SOURCE && self.held_syn.is_some() {
            // The source has retransmitted its SYN, or resets the connection because it has given
            // up.
            if segment.flags.contains(SegmentFlags::RST) {
                self.held_syn = None;
                self.fail(now, SOURCE, Failure::Reset);
            }
            return;
        }
        self.legs[side].receive(now, packet, segment, counters);
    }

    /// Handles all timers of both legs that have expired by `now`.
    pub fn wake(&mut self, now: Time) {
        self.legs.iter_mut().for_each(|leg| leg.wake(now));
    }

    /// Relays the events of each leg to the other leg.
    pub fn relay(
        &mut self,
        now: Time,
        arrived: Option<Time>,
        counters: &mut [DestinationCounters; 2],
        out: &mut Outbox,
    ) {
        for side in [SOURCE, DESTINATION] {
            while let Some(event) = self.legs[side].next_event(now, arrived, &mut counters[side], out) {
                self.handle_event(now, side, event);
            }
        }
        self.make_room();
    }

    fn handle_event(&mut self, now: Time, from: usize, event: Event) {
        match event {
            Event::Connected if from == DESTINATION => {
                if let Some(syn) = self.held_syn.take() {
                    self.answer(now, &syn, true);
                }
            }
            Event::Received(bytes) => self.legs[1 - from].send(now, bytes),
            Event::PeerClosed => self.legs[1 - from].connection_mut().close(),
            Event::Failed(failure) => self.fail(now, from, failure),
            Event::Connected | Event::AllAcknowledged | Event::Closed => {}
        }
    }

    /// Handles the failure of one leg. The other end observes the same failure as without the
    /// proxy.
    fn fail(&mut self, now: Time, from: usize, failure: Failure) {
        self.failure.get_or_insert((from, failure));
        match self.held_syn.take() {
            // If the destination does not answer, the source gets no answer either.
            Some(_) if failure == Failure::Handshake => {}
            Some(syn) => self.answer(now, &syn, false),
            None => self.legs[1 - from].connection_mut().abort(),
        }
    }

    /// Answers the source's SYN: accepts or refuses the connection.
    fn answer(&mut self, now: Time, syn: &Segment, accepts: bool) {
        let connection = self.legs[SOURCE].connection_mut();
        if accepts {
            connection.listen();
        }
        connection.receive(now, syn);
    }

    /// Opens the receive window of each leg by the bytes that the other leg's end has acknowledged.
    fn make_room(&mut self) {
        for side in [SOURCE, DESTINATION] {
            let gone = self.legs[1 - side].acknowledged();
            self.legs[side].connection_mut().allow(gone.saturating_add(self.buffer));
        }
    }
}
