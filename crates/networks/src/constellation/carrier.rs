//! One direction of a link of a constellation: queue, transmitter, errors, and a path of varying
//! length.
//!
//! The delay of a packet is the distance at the moment when its last bit leaves, divided by the
//! speed of light. Satellites move by less than 8 km/s, so the other end has moved by at most 3e-5
//! of the distance when the packet arrives, which is neglected. What leaves later never arrives
//! earlier: distances change far more slowly than light travels, and rounding is held back.

use super::flights::{Flights, Slot};
use super::lane::Lane;
use bentpipe_core::{Rate, Report, Span, Stream, Time};
use bentpipe_link::channel::{self, Errors, Fate};
use bentpipe_link::queue;
use bentpipe_link::transmitter::Transmitter;
use bentpipe_stage::{DropReason, Held, Outbox, Packet};

/// Rate, queue and errors of one direction of a link.
#[derive(Clone, Debug)]
pub struct CarrierConfig {
    /// Rate at the network layer.
    pub rate: Rate,
    /// Queue discipline in front of it.
    pub queue: queue::Config,
    /// Errors on the link.
    pub error: channel::Config,
}

/// One direction of a link, without its [`Lane`]. Each method that uses the transmitter flushes the
/// lane before and resumes it afterwards.
pub struct Carrier {
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
    /// Number of packets whose arrival had been determined.
    pub in_flight: usize,
}

impl Carrier {
    /// Creates an idle carrier with its own random stream.
    pub fn new(name: String, config: &CarrierConfig, stream: Stream) -> Carrier {
        Carrier {
            name,
            transmitter: Transmitter::new(config.rate, config.queue.build(config.rate), None, stream, None),
            errors: config.error.errors(),
            error_drops: 0,
        }
    }

    /// Offers a packet to the queue. Returns it and when its last bit will have left; none if it
    /// stays in the buffer.
    ///
    /// # Errors
    /// The reason for which the queue drops it, with the packet.
    pub fn offer(
        &mut self,
        lane: &mut Lane,
        now: Time,
        mut packet: Packet,
        out: &mut Outbox,
    ) -> Result<Option<(Packet, Time)>, (Packet, DropReason)> {
        if self.transmitter.is_buffered() {
            return Ok(self.transmitter.accept(now, packet, out));
        }
        lane.flush(&mut self.transmitter);
        let sent = self.transmitter.offer(now, &mut packet, out);
        lane.resume(&self.transmitter, packet.size);
        match sent {
            Err(reason) => Err((packet, reason)),
            Ok(sent) => Ok(Some((packet, sent))),
        }
    }

    /// Offers a packet that comes from another link and remains in its place. Returns when its last
    /// bit will have left; none if that takes the packet itself, by [`offer`](Self::offer).
    #[inline]
    pub fn offer_size(&mut self, lane: &mut Lane, now: Time, size: u32) -> Option<Time> {
        lane.flush(&mut self.transmitter);
        let sent = self.transmitter.offer_size(now, size);
        lane.resume(&self.transmitter, size);
        sent
    }

    /// Starts transmitting the next buffered packet if it is ready. Returns it and when its last
    /// bit will have left.
    pub fn start_transmission(&mut self, now: Time, out: &mut Outbox) -> Option<(Packet, Time)> {
        self.transmitter.begin(now, out)
    }

    /// Time at which the next packet leaves the buffer.
    #[inline]
    pub fn next_departure(&self) -> Option<Time> {
        self.transmitter.next_begin()
    }

    /// The time for which a packet that arrives now would wait for its transmission: for the
    /// packets sent since the link began.
    pub fn wait(&self, lane: &Lane, now: Time) -> Span {
        match lane.last() {
            Time::ZERO => Span::ZERO,
            _ => lane.uncounted(&self.transmitter).free_at.max(now).since(now),
        }
    }

    /// Applies the channel's errors to a packet, also to one that was on the link when it was cut.
    #[inline]
    pub fn apply_errors(&mut self, now: Time, packet: &mut Packet) -> Fate {
        let fate = match &mut self.errors {
            Some(errors) => errors.meet(now, packet, &mut self.transmitter.stream),
            None => Fate::Intact,
        };
        self.error_drops += u64::from(fate != Fate::Intact);
        fate
    }

    /// Ends the link at `end`, not before `now`: nothing is sent later, and the link sends nothing
    /// until `resume_at`. Returns what was on it: the packets in these places.
    pub fn cut(
        &mut self,
        lane: &mut Lane,
        now: Time,
        (end, resume_at): (Time, Time),
        flights: &mut Flights,
        in_flight: &[Slot],
    ) -> Cut {
        lane.flush(&mut self.transmitter);
        lane.close();
        let mut cut = Cut { sent: Vec::new(), waiting: Vec::new(), in_flight: in_flight.len() };
        let mut last = now;
        for slot in in_flight {
            let flight = *flights.flight(*slot);
            let packet = flights.take(*slot).into_inner();
            if flight.sent <= end {
                last = last.max(flight.sent);
                cut.sent.push((flight.arrival, packet));
            } else {
                cut.waiting.push(packet);
            }
        }
        self.transmitter.withdraw(last, &cut.waiting, resume_at);
        cut.waiting.extend(self.transmitter.drain());
        cut
    }

    /// The packets in the buffer, which are on their way nowhere.
    pub fn buffered(&self) -> Held {
        self.transmitter.buffered()
    }

    /// Writes the row of the link, on which these packets have not been sent.
    pub fn report(&self, lane: &Lane, now: Time, pending: Held, report: &mut Report) {
        let meanwhile = lane.uncounted(&self.transmitter);
        self.transmitter.report_with(meanwhile, &self.name, now, pending, self.error_drops, report);
    }
}
