//! A split connection: one leg towards the source, one towards the destination, and the data
//! between them.

use super::config::Accept;
use super::leg::Leg;
use bentpipe_core::Time;
use bentpipe_stage::packet::segment::{Segment, SegmentFlags};
use bentpipe_stage::{Body, Outbox, Packet};
use bentpipe_transport::flow::DestinationCounters;
use bentpipe_transport::tcp::connection::{Event, Failure};

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
    /// True if the connection to the destination opens with the first data from the source, which
    /// bundles carry.
    awaits_data: bool,
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
        if let Some(leg) = legs[DESTINATION].tcp() {
            leg.connection_mut().open();
        }
        let mut pair = Pair::empty((flow, number), legs, buffer);
        pair.make_room();
        match accept {
            Accept::Late => pair.held_syn = Some(Box::new(syn.clone())),
            Accept::Early => pair.answer(now, syn, true),
        }
        pair
    }

    /// Creates the pair when the first payload from the source has arrived as a bundle.
    pub fn awaiting_data((flow, number): (u32, u16), legs: [Leg; 2], buffer: u64) -> Pair {
        Pair { awaits_data: true, ..Pair::empty((flow, number), legs, buffer) }
    }

    fn empty((flow, number): (u32, u16), legs: [Leg; 2], buffer: u64) -> Pair {
        Pair {
            flow,
            number,
            legs,
            held_syn: None,
            failure: None,
            buffer,
            awaits_data: false,
            ended: false,
            held_bytes: 0,
        }
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
        self.legs[from].received() - self.legs[1 - from].passed_on()
    }

    /// Returns the time at which to call [`Pair::wake`]; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        self.legs[SOURCE].next_wake().min(self.legs[DESTINATION].next_wake())
    }

    /// Returns true if both legs have ended and only answer late segments.
    pub fn has_ended(&self) -> bool {
        self.held_syn.is_none() && !self.awaits_data && self.legs.iter().all(Leg::has_ended)
    }

    /// Handles a packet that arrives on leg `side`.
    pub fn receive(&mut self, now: Time, side: usize, packet: &Packet, counters: &mut DestinationCounters) {
        self.legs[1 - side].set_dscp(packet.dscp);
        if side == SOURCE && self.held_syn.is_some() {
            // The source has retransmitted its SYN, or resets the connection because it has given
            // up.
            if matches!(&packet.body, Body::Segment(segment) if segment.flags.contains(SegmentFlags::RST)) {
                self.held_syn = None;
                self.fail(now, SOURCE, Failure::Reset);
            }
            return;
        }
        self.legs[side].receive(now, packet, counters);
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
            Event::Received(bytes) => {
                if std::mem::take(&mut self.awaits_data) {
                    if let Some(leg) = self.legs[1 - from].tcp() {
                        leg.connection_mut().open();
                    }
                }
                self.legs[1 - from].send(now, bytes);
            }
            Event::PeerClosed => {
                self.legs[1 - from].close();
                if matches!(self.legs[1 - from], Leg::Bundles(_)) {
                    // The end does not wait for the journey of the bundles.
                    self.legs[from].close();
                }
            }
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
            None => self.legs[1 - from].abort(),
        }
    }

    /// Answers the source's SYN: accepts or refuses the connection.
    fn answer(&mut self, now: Time, syn: &Segment, accepts: bool) {
        let Some(leg) = self.legs[SOURCE].tcp() else { return };
        if accepts {
            leg.connection_mut().listen();
        }
        leg.connection_mut().receive(now, syn);
    }

    /// Opens the receive window of each TCP connection by the bytes that the other leg need not
    /// keep.
    fn make_room(&mut self) {
        for side in [SOURCE, DESTINATION] {
            let gone = self.legs[1 - side].passed_on();
            if let Some(leg) = self.legs[side].tcp() {
                leg.connection_mut().allow(gone.saturating_add(self.buffer));
            }
        }
    }
}
