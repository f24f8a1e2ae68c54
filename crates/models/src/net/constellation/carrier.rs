//! One direction of a link of a constellation: queue, transmitter, errors, and a way whose length changes.
//!
//! A packet takes the distance of the moment at which its last bit leaves, over the speed of light. Satellites move by less than
//! 8 km/s, so the other end is not where it was when the packet arrives, by at most 3e-5 of the distance, and that is left
//! out. What leaves later never arrives earlier: distances change far slower than light, and rounding is held back.

use crate::channel::{self, Errors, Fate};
use crate::link::transmitter::Transmitter;
use crate::queue;
use crate::{DropReason, Held, Outbox, Packet};
use bentpipe_core::{Rate, Report, Span, Stream, Time, Whole};
use std::collections::VecDeque;

/// Rate, queue and errors of a link's direction.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Rate at the network layer.
    pub rate: Rate,
    /// The queue in front of it.
    pub queue: queue::Config,
    /// What the channel spoils.
    pub error: channel::Config,
}

/// A packet that has been admitted, with the moments at which its last bit leaves and arrives.
struct Flying {
    packet: Whole<Packet>,
    sent: Time,
    arrival: Time,
}

/// A direction of a link.
pub struct Carrier {
    name: String,
    transmitter: Transmitter,
    errors: Option<Errors>,
    flying: VecDeque<Flying>,
    /// Nothing arrives earlier.
    last: Time,
    error_drops: u64,
}

/// What was on a link that is no more.
pub struct Cut {
    /// What has been sent, with its arrival.
    pub sent: Vec<(Time, Packet)>,
    /// What waits, the packet in transmission included.
    pub waiting: Vec<Packet>,
}

impl Carrier {
    /// An idle one, with its own random stream.
    pub fn new(name: String, kind: &Kind, stream: Stream) -> Carrier {
        Carrier {
            name,
            transmitter: Transmitter::new(kind.rate, kind.queue.build(kind.rate), None, stream, None),
            errors: kind.error.errors(),
            flying: VecDeque::new(),
            last: Time::ZERO,
            error_drops: 0,
        }
    }

    /// A packet comes to the queue; `delay` says how long the way is at the moment when its last bit leaves.
    ///
    /// # Errors
    /// Why the queue does not take it, with the packet.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        mut packet: Packet,
        out: &mut Outbox,
        delay: impl FnOnce(Time) -> Span,
    ) -> Result<(), (Packet, DropReason)> {
        if self.transmitter.is_buffered() {
            if let Some((packet, sent)) = self.transmitter.accept(now, packet, out) {
                self.fly(packet, sent, delay(sent));
            }
            return Ok(());
        }
        match self.transmitter.offer(now, &mut packet, out) {
            Err(reason) => Err((packet, reason)),
            Ok(sent) => {
                self.fly(packet, sent, delay(sent));
                Ok(())
            }
        }
    }

    /// Has the packet begin that waits in a buffer and can now, with `delay` as in [`offer`](Self::offer); whether one did.
    #[inline]
    pub fn begin(&mut self, now: Time, out: &mut Outbox, delay: impl FnOnce(Time) -> Span) -> bool {
        let Some((packet, sent)) = self.transmitter.begin(now, out) else { return false };
        self.fly(packet, sent, delay(sent));
        true
    }

    #[inline]
    fn fly(&mut self, packet: Packet, sent: Time, delay: Span) {
        let arrival = self.last.max(sent + delay);
        self.last = arrival;
        self.flying.push_back(Flying { packet: Whole::new(packet), sent, arrival });
    }

    /// Whether a packet can leave a buffer by now.
    #[inline]
    pub fn begins(&self, now: Time) -> bool {
        self.transmitter.next_begin().is_some_and(|begin| begin <= now)
    }

    /// When the next packet arrives, or leaves a buffer.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        let arrival = self.flying.front().map(|first| first.arrival);
        match self.transmitter.next_begin() {
            None => arrival,
            begin => begin.into_iter().chain(arrival).min(),
        }
    }

    /// For how long a packet that comes now would wait for its transmission.
    pub fn wait(&self, now: Time) -> Span {
        self.flying.back().map_or(Span::ZERO, |last| last.sent.max(now).since(now))
    }

    /// The packet that arrives at `now`, with what the channel made of it.
    #[inline]
    pub fn arrive(&mut self, now: Time) -> Option<(Packet, Fate)> {
        if self.flying.front()?.arrival > now {
            return None;
        }
        let mut packet = self.flying.pop_front()?.packet.into_inner();
        let fate = self.meet(now, &mut packet);
        Some((packet, fate))
    }

    /// What the channel makes of a packet, also of one that was on it when it was cut.
    #[inline]
    pub fn meet(&mut self, now: Time, packet: &mut Packet) -> Fate {
        let fate = match &mut self.errors {
            Some(errors) => errors.meet(now, packet, &mut self.transmitter.stream),
            None => Fate::Intact,
        };
        self.error_drops += u64::from(fate != Fate::Intact);
        fate
    }

    /// Ends at `end`, not before `now`: nothing is sent later, and nothing is sent by it until `free`. Returns what was on it.
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

    /// The packets on it.
    pub fn held(&self) -> Held {
        let mut held = self.transmitter.buffered();
        self.flying.iter().for_each(|one| one.packet.read(|packet| held.add(packet)));
        held
    }

    /// Writes its row.
    pub fn report(&self, now: Time, report: &mut Report) {
        let mut pending = Held::default();
        let unsent = self.flying.iter().filter(|flying| flying.sent > now);
        unsent.for_each(|one| one.packet.read(|packet| pending.add(packet)));
        self.transmitter.report(&self.name, now, pending, self.error_drops, report);
    }
}
