//! One direction of a link of a constellation: queue, transmitter, errors, and a path of varying length.
//!
//! The delay of a packet is the distance at the moment when its last bit leaves, divided by the speed of
//! light. Satellites move by less than 8 km/s, so the other end has moved by at most 3e-5 of the distance
//! when the packet arrives, which is neglected. What leaves later never arrives earlier: distances change far
//! more slowly than light travels, and rounding is held back.

use super::ranging::Ranging;
use crate::channel::{self, Errors, Fate};
use crate::link::transmitter::Transmitter;
use crate::queue;
use crate::{DropReason, Held, Outbox, Packet};
use bentpipe_core::{Rate, Report, Span, Stream, Time, Whole};
use std::collections::VecDeque;

/// Rate, queue and errors of one direction of a link.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Rate at the network layer.
    pub rate: Rate,
    /// Queue discipline in front of it.
    pub queue: queue::Config,
    /// Errors on the link.
    pub error: channel::Config,
}

/// An admitted packet, with the times at which its last bit leaves and arrives.
struct Flying {
    packet: Whole<Packet>,
    sent: Time,
    arrival: Time,
}

/// One direction of a link. What each packet needs comes first: of thousands of carriers, few are in the first-level cache.
#[repr(C)]
pub struct Carrier {
    flying: VecDeque<Flying>,
    /// Nothing arrives earlier than this.
    last: Time,
    ranging: Ranging,
    transmitter: Transmitter,
    errors: Option<Errors>,
    error_drops: u64,
    name: String,
}

/// The packets on a link that has gone down.
pub struct Cut {
    /// Packets that have been sent, with their arrival times.
    pub sent: Vec<(Time, Packet)>,
    /// Waiting packets, the one in transmission included.
    pub waiting: Vec<Packet>,
}

impl Carrier {
    /// Creates an idle carrier with its own random stream.
    pub fn new(name: String, kind: &Kind, stream: Stream) -> Carrier {
        Carrier {
            name,
            transmitter: Transmitter::new(kind.rate, kind.queue.build(kind.rate), None, stream, None),
            errors: kind.error.errors(),
            flying: VecDeque::new(),
            last: Time::ZERO,
            ranging: Ranging::default(),
            error_drops: 0,
        }
    }

    /// Offers a packet to the queue; `metres` returns the length of the path `t` seconds after the start of the run,
    /// when the packet's last bit leaves, between the ends with number `ends`.
    ///
    /// # Errors
    /// The reason for which the queue drops it, with the packet.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        mut packet: Packet,
        out: &mut Outbox,
        ends: u32,
        metres: impl Fn(f64) -> f64,
    ) -> Result<(), (Packet, DropReason)> {
        if self.transmitter.is_buffered() {
            if let Some((packet, sent)) = self.transmitter.accept(now, packet, out) {
                self.fly(packet, sent, ends, metres);
            }
            return Ok(());
        }
        match self.transmitter.offer(now, &mut packet, out) {
            Err(reason) => Err((packet, reason)),
            Ok(sent) => {
                self.fly(packet, sent, ends, metres);
                Ok(())
            }
        }
    }

    /// Starts transmitting the next buffered packet if it is ready, with `ends` and `metres` as in
    /// [`offer`](Self::offer).
    #[inline]
    pub fn begin(&mut self, now: Time, out: &mut Outbox, ends: u32, metres: impl Fn(f64) -> f64) {
        if let Some((packet, sent)) = self.transmitter.begin(now, out) {
            self.fly(packet, sent, ends, metres);
        }
    }

    #[inline]
    fn fly(&mut self, packet: Packet, sent: Time, ends: u32, metres: impl Fn(f64) -> f64) {
        let arrival = self.last.max(sent + self.ranging.light_time(sent, ends, metres));
        self.last = arrival;
        self.flying.push_back(Flying { packet: Whole::new(packet), sent, arrival });
    }

    /// Whether a buffered packet is ready to leave by now.
    #[inline]
    pub fn begins(&self, now: Time) -> bool {
        self.transmitter.next_begin().is_some_and(|begin| begin <= now)
    }

    /// When the next packet arrives, or leaves the buffer.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        let arrival = self.flying.front().map(|first| first.arrival);
        match self.transmitter.next_begin() {
            None => arrival,
            begin => begin.into_iter().chain(arrival).min(),
        }
    }

    /// The time for which a packet that arrives now would wait for its transmission.
    pub fn wait(&self, now: Time) -> Span {
        self.flying.back().map_or(Span::ZERO, |last| last.sent.max(now).since(now))
    }

    /// Returns the packet that arrives at `now`, with its fate on the channel.
    #[inline]
    pub fn arrive(&mut self, now: Time) -> Option<(Packet, Fate)> {
        if self.flying.front()?.arrival > now {
            return None;
        }
        let mut packet = self.flying.pop_front()?.packet.into_inner();
        let fate = self.meet(now, &mut packet);
        Some((packet, fate))
    }

    /// Applies the channel's errors to a packet, also to one that was on the link when it was cut.
    #[inline]
    pub fn meet(&mut self, now: Time, packet: &mut Packet) -> Fate {
        let fate = match &mut self.errors {
            Some(errors) => errors.meet(now, packet, &mut self.transmitter.stream),
            None => Fate::Intact,
        };
        self.error_drops += u64::from(fate != Fate::Intact);
        fate
    }

    /// Ends the link at `end`, not before `now`: nothing is sent later, and the link sends nothing until
    /// `free`. Returns what was on it.
    pub fn cut(&mut self, now: Time, end: Time, free: Time) -> Cut {
        let whole = self.flying.partition_point(|flying| flying.sent <= end);
        let mut waiting: Vec<Packet> =
            self.flying.drain(whole..).map(|flying| flying.packet.into_inner()).collect();
        let last = self.flying.back().map_or(now, |flying| flying.sent.max(now));
        let sent = self.flying.drain(..).map(|flying| (flying.arrival, flying.packet.into_inner())).collect();
        self.transmitter.withdraw(last, &waiting, free);
        waiting.extend(self.transmitter.drain());
        self.last = Time::ZERO;
        Cut { sent, waiting }
    }

    /// The packets on the link.
    pub fn held(&self) -> Held {
        let mut held = self.transmitter.buffered();
        self.flying.iter().for_each(|one| one.packet.read(|packet| held.add(packet)));
        held
    }

    /// Writes the row of the link.
    pub fn report(&self, now: Time, report: &mut Report) {
        let mut pending = Held::default();
        let unsent = self.flying.iter().filter(|flying| flying.sent > now);
        unsent.for_each(|one| one.packet.read(|packet| pending.add(packet)));
        self.transmitter.report(&self.name, now, pending, self.error_drops, report);
    }
}
