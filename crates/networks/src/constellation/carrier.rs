//! One direction of a link of a constellation: queue, transmitter, errors, and a path of varying
//! length.
//!
//! The delay of a packet is the distance when its last bit is sent, divided by the speed of light.
//! Satellites move at less than 8 km/s, so the receiver moves by at most 3e-5 of the distance while
//! the packet propagates, which is neglected. Packets never overtake each other: distances change
//! far more slowly than light travels, and an arrival that is rounded to an earlier time is moved
//! to the previous arrival.

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
    /// Queue discipline in front of the link.
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
    /// Waiting packets, including the packet in transmission.
    pub waiting: Vec<Packet>,
    /// Number of packets whose time of arrival was known.
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

    /// Offers a packet to the queue. Returns the packet and the time at which its last bit will
    /// have been sent, or `None` if the packet stays in the buffer.
    ///
    /// # Errors
    /// Fails with the packet and the reason why the queue drops it.
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

    /// Offers a packet that arrives from another link and keeps its slot. Returns the time at which
    /// its last bit will have been sent, or `None` if the packet itself must be passed to
    /// [`offer`](Self::offer).
    #[inline]
    pub fn offer_size(&mut self, lane: &mut Lane, now: Time, size: u32) -> Option<Time> {
        lane.flush(&mut self.transmitter);
        let sent = self.transmitter.offer_size(now, size);
        lane.resume(&self.transmitter, size);
        sent
    }

    /// Starts transmitting the next buffered packet if it is ready. Returns the packet and the time
    /// at which its last bit will have been sent.
    pub fn start_transmission(&mut self, now: Time, out: &mut Outbox) -> Option<(Packet, Time)> {
        self.transmitter.begin(now, out)
    }

    /// Returns the time at which the next packet leaves the buffer.
    #[inline]
    pub fn next_departure(&self) -> Option<Time> {
        self.transmitter.next_begin()
    }

    /// Returns the time that a packet arriving now would wait for its transmission, because of
    /// packets sent since the link went up.
    pub fn wait(&self, lane: &Lane, now: Time) -> Span {
        match lane.last() {
            Time::ZERO => Span::ZERO,
            _ => lane.uncounted(&self.transmitter).free_at.max(now).since(now),
        }
    }

    /// Applies the channel's errors to a packet, including a packet that was on the link when it
    /// was cut.
    #[inline]
    pub fn apply_errors(&mut self, now: Time, packet: &mut Packet) -> Fate {
        let fate = match &mut self.errors {
            Some(errors) => errors.meet(now, packet, &mut self.transmitter.stream),
            None => Fate::Intact,
        };
        self.error_drops += u64::from(fate != Fate::Intact);
        fate
    }

    /// Ends the link at `end`, which is not before `now`, and until `resume_at`. Returns the
    /// packets that were on it; `in_flight` are the slots of packets in flight.
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

    /// Returns the packets in the buffer, which are counted nowhere else.
    pub fn buffered(&self) -> Held {
        self.transmitter.buffered()
    }

    /// Writes the row of the link. `pending` are packets that have not been sent.
    pub fn report(&self, lane: &Lane, now: Time, pending: Held, report: &mut Report) {
        let meanwhile = lane.uncounted(&self.transmitter);
        self.transmitter.report_with(meanwhile, &self.name, now, pending, self.error_drops, report);
    }
}
