//! One of the two legs of a connection at a proxy: a TCP connection, or payloads of bundles.

pub mod bundles;
pub mod tcp;

use bentpipe_core::{Probe, Time};
use bentpipe_stage::{Outbox, Packet};
use bentpipe_transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_transport::tcp::connection::{Event, Phase};

/// One of the two legs of a connection at a proxy.
#[expect(clippy::large_enum_variant, reason = "most legs are TCP connections, and a pair of legs is boxed")]
pub enum Leg {
    /// A TCP connection with the end on this side.
    Tcp(tcp::Leg),
    /// Payloads of bundles, which another proxy exchanges with this one.
    Bundles(Box<bundles::Leg>),
}

impl Leg {
    /// Returns the TCP connection of this leg, if it is one.
    pub fn tcp(&mut self) -> Option<&mut tcp::Leg> {
        match self {
            Leg::Tcp(leg) => Some(leg),
            Leg::Bundles(_) => None,
        }
    }

    /// Sets the code point (DSCP) of packets that this leg sends: that of the latest packet from
    /// the end of the other leg.
    pub fn set_dscp(&mut self, dscp: u8) {
        match self {
            Leg::Tcp(leg) => leg.dscp = dscp,
            Leg::Bundles(leg) => leg.dscp = dscp,
        }
    }

    /// Returns the number of payload bytes received: in order from a TCP connection, in any order
    /// from bundles.
    pub fn received(&self) -> u64 {
        match self {
            Leg::Tcp(leg) => leg.received(),
            Leg::Bundles(leg) => leg.received(),
        }
    }

    /// Returns the number of payload bytes that the leg has sent and need not keep: the end has
    /// acknowledged them, or bundles carry them.
    pub fn passed_on(&self) -> u64 {
        match self {
            Leg::Tcp(leg) => leg.acknowledged(),
            Leg::Bundles(leg) => leg.sent(),
        }
    }

    /// Returns the counters of sent data.
    pub fn counters(&self) -> &SourceCounters {
        match self {
            Leg::Tcp(leg) => &leg.connection().sender().counters,
            Leg::Bundles(leg) => leg.counters(),
        }
    }

    /// Returns the counters of sent data and resets them.
    pub fn take_counters(&mut self) -> SourceCounters {
        match self {
            Leg::Tcp(leg) => std::mem::take(leg.connection_mut().counters_mut()),
            Leg::Bundles(leg) => leg.take_counters(),
        }
    }

    /// Returns true if the leg needs no further packets. A TCP connection in this state may still
    /// have to answer late segments ([`Leg::answers_late_segments`]).
    pub fn has_ended(&self) -> bool {
        match self {
            Leg::Tcp(leg) => matches!(leg.connection().phase(), Phase::Closed | Phase::TimeWait),
            Leg::Bundles(_) => true,
        }
    }

    /// Returns true if the leg has ended, but answers late segments.
    pub fn answers_late_segments(&self) -> bool {
        match self {
            Leg::Tcp(leg) => leg.connection().phase() == Phase::TimeWait,
            Leg::Bundles(_) => false,
        }
    }

    /// Handles an arriving packet, whose body is of the leg's kind.
    pub fn receive(&mut self, now: Time, packet: &Packet, counters: &mut DestinationCounters) {
        match self {
            Leg::Tcp(leg) => leg.receive(now, packet, counters),
            Leg::Bundles(leg) => leg.receive(now, packet, counters),
        }
    }

    /// Handles all timers that have expired by `now`.
    pub fn wake(&mut self, now: Time) {
        match self {
            Leg::Tcp(leg) => leg.wake(now),
            // `flush` sends what is due.
            Leg::Bundles(_) => {}
        }
    }

    /// Returns the time of the next timer; `Time::MAX` if no timer runs.
    pub fn next_wake(&self) -> Time {
        match self {
            Leg::Tcp(leg) => leg.connection().next_wake(),
            Leg::Bundles(leg) => leg.next_wake(),
        }
    }

    /// Returns the next event, and counts the bytes received in order. `arrived` is the birth of
    /// the packet that caused the events.
    pub fn next_event(
        &mut self,
        now: Time,
        arrived: Option<Time>,
        counters: &mut DestinationCounters,
        out: &mut Outbox,
    ) -> Option<Event> {
        match self {
            Leg::Tcp(leg) => leg.next_event(now, arrived, counters, out),
            Leg::Bundles(leg) => leg.next_event(now, arrived, counters, out),
        }
    }

    /// Adds `bytes` bytes to the data to send. Ignored after [`Leg::close`].
    pub fn send(&mut self, now: Time, bytes: u64) {
        match self {
            Leg::Tcp(leg) => leg.send(now, bytes),
            Leg::Bundles(leg) => leg.send(now, bytes),
        }
    }

    /// Ends the sent stream after the present data.
    pub fn close(&mut self) {
        match self {
            Leg::Tcp(leg) => leg.close(),
            Leg::Bundles(leg) => leg.close(),
        }
    }

    /// Ends the leg because the other leg has failed. Bundles still carry the data received before.
    pub fn abort(&mut self) {
        match self {
            Leg::Tcp(leg) => leg.connection_mut().abort(),
            Leg::Bundles(leg) => leg.close(),
        }
    }

    /// Sends all packets that may be sent now. The packets have the header fields of `envelope`,
    /// and are numbered from `number` on.
    pub fn flush(&mut self, now: Time, envelope: &Packet, number: &mut u32, out: &mut Outbox) {
        match self {
            Leg::Tcp(leg) => leg.flush(now, envelope, number, out),
            Leg::Bundles(leg) => leg.flush(now, envelope, number, out),
        }
    }
}

/// Data that a leg has received in order.
pub struct Delivery {
    /// Probe of the trace [`DELIVERY`](bentpipe_transport::tcp::endpoint::DELIVERY).
    probe: Option<Probe>,
    /// Number of payload bytes received in order.
    bytes: u64,
}

impl Delivery {
    /// Counts and records further bytes. `arrived` is the birth of the packet that completed them.
    fn add(
        &mut self,
        now: Time,
        bytes: u64,
        arrived: Option<Time>,
        counters: &mut DestinationCounters,
        out: &mut Outbox,
    ) {
        self.bytes += bytes;
        counters.delivered_bytes += bytes;
        counters.last_delivery = Some(now);
        if let Some(probe) = self.probe {
            let delay = arrived.map_or(f64::NAN, |birth| now.since(birth).as_secs_f64());
            out.record(probe, now, &[self.bytes as f64, delay]);
        }
    }
}
