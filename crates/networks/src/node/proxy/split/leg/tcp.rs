//! A leg that is a TCP connection, with its traces.

use super::Delivery;
use bentpipe_core::Time;
use bentpipe_stage::{Body, Outbox, Packet, Port};
use bentpipe_transport::flow::DestinationCounters;
use bentpipe_transport::tcp::connection::{Connection, Event};
use bentpipe_transport::tcp::endpoint::{self, Probes};
use bentpipe_transport::tcp::header;

/// A leg that is a TCP connection.
pub struct Leg {
    connection: Connection,
    probes: Probes,
    delivery: Delivery,
    /// True if the sender of this leg is traced.
    traced: bool,
    /// True if no data will be added.
    closed: bool,
    /// Code point (DSCP) of packets that this leg sends: that of the latest packet from the end of
    /// the other leg.
    pub dscp: u8,
}

impl Leg {
    /// Creates a leg with a closed connection.
    pub fn new(connection: Connection, probes: Probes, dscp: u8) -> Leg {
        let delivery = Delivery { probe: probes.delivery, bytes: 0 };
        Leg { connection, probes, delivery, traced: false, closed: false, dscp }
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Returns the number of payload bytes received in order.
    pub fn received(&self) -> u64 {
        self.delivery.bytes
    }

    /// Returns the number of payload bytes that the leg has sent and its end has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.connection.sender().acknowledged_bytes()
    }

    /// Handles an arriving segment.
    pub fn receive(&mut self, now: Time, packet: &Packet, counters: &mut DestinationCounters) {
        let Body::Segment(segment) = &packet.body else { return };
        if segment.payload > 0 {
            let size = self.connection.sender().segment_size();
            counters.delivered_packets += u64::from(u32::from(segment.payload).div_ceil(size));
            counters.delay.add(packet.age(now));
        }
        self.traced |= self.connection.sender().is_waiting();
        self.connection.receive_marked(now, segment, packet.ecn);
    }

    /// Handles all timers that have expired by `now`.
    pub fn wake(&mut self, now: Time) {
        if self.connection.next_wake() <= now {
            self.traced |= self.connection.wake(now);
        }
    }

    /// Returns the next event, and counts the bytes received in order.
    pub fn next_event(
        &mut self,
        now: Time,
        arrived: Option<Time>,
        counters: &mut DestinationCounters,
        out: &mut Outbox,
    ) -> Option<Event> {
        let event = self.connection.next_event()?;
        match event {
            Event::Received(bytes) => self.delivery.add(now, bytes, arrived, counters, out),
            Event::Closed => self.connection.counters_mut().completed = Some(now),
            _ => {}
        }
        Some(event)
    }

    /// Adds `bytes` bytes to the data to send to the end of this leg.
    pub fn send(&mut self, now: Time, bytes: u64) {
        if self.closed {
            return;
        }
        self.connection.counters_mut().start.get_or_insert(now);
        self.connection.send(bytes);
    }

    /// Closes the connection after the present data.
    pub fn close(&mut self) {
        self.closed = true;
        self.connection.close();
    }

    /// Sends all segments that may be sent now. The packets have the header fields of `envelope`,
    /// and are numbered from `number` on.
    pub fn flush(&mut self, now: Time, envelope: &Packet, number: &mut u32, out: &mut Outbox) {
        while let Some(segment) = self.connection.next_segment(now) {
            let ecn = self.connection.ecn_field();
            let size = header::size(&segment, self.connection.sender().segment_size());
            let (birth, dscp, body) = (now, self.dscp, Body::Segment(segment));
            let packet = Packet { birth, number: *number, size, dscp, ecn, body, ..envelope.clone() };
            *number = number.wrapping_add(1);
            out.create(Port(0), packet);
        }
        if std::mem::take(&mut self.traced) {
            if let Some(probe) = self.probes.sender {
                endpoint::trace(&self.connection, probe, now, out);
            }
        }
    }
}
