//! A leg over a network of bundle agents: the data of a connection in payloads, which become one
//! bundle each. The rules are those of the real proxy (`bentpipe dtn proxy`): see
//! [`crate::node::proxy::dtn`].

use super::Delivery;
use bentpipe_core::{Probe, Size, Span, Time};
use bentpipe_stage::{Body, Content, Outbox, Packet, Payload, Port};
use bentpipe_transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_transport::tcp::connection::Event;
use std::collections::{BTreeMap, VecDeque};

/// Size of a payload's header in bytes: the number of the stream (8), the offset of the first data
/// byte in the stream (8), and the flag for the end of the stream (1).
pub const HEADER: u32 = 17;

/// The payload of a bundle: a part of the data of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Offset of the first data byte in the stream.
    offset: u64,
    /// Number of data bytes in this payload.
    length: u32,
    /// True if the stream ends with this payload.
    is_last: bool,
}

impl Payload for Block {
    fn content(&self) -> Content {
        if self.length > 0 {
            Content::Data
        } else {
            Content::Feedback
        }
    }

    fn header(&self, packet: &Packet, _notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(&(u64::from(packet.flow.0) << 16 | u64::from(packet.connection)).to_be_bytes());
        out.extend_from_slice(&self.offset.to_be_bytes());
        out.push(u8::from(self.is_last));
        self.length
    }
}

/// The rules for dividing a stream into payloads.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Maximum number of data bytes in a payload.
    pub block: Size,
    /// Time after its first byte at which an incomplete payload is sent.
    pub flush: Span,
}

/// The data of a connection in payloads, in both directions.
pub struct Leg {
    rules: Rules,
    delivery: Delivery,
    /// Code point (DSCP) of payloads that this leg sends.
    pub dscp: u8,
    /// Number of data bytes in the incomplete payload, and the time at which it is sent.
    unsent: u64,
    due: Time,
    /// Number of data bytes in sent payloads.
    sent: u64,
    /// True if no data will be added.
    closed: bool,
    /// True if the payload with the end of the stream has been sent.
    end_sent: bool,
    counters: SourceCounters,
    /// Offset of the next byte to receive in order.
    next: u64,
    /// Number of received data bytes, without duplicates.
    received: u64,
    /// Length and end flag of payloads after a missing one, by offset.
    waiting: BTreeMap<u64, (u32, bool)>,
    events: VecDeque<Event>,
}

impl Leg {
    /// Creates a leg without data.
    pub fn new(rules: Rules, probe: Option<Probe>, dscp: u8) -> Leg {
        Leg {
            rules,
            delivery: Delivery { probe, bytes: 0 },
            dscp,
            unsent: 0,
            due: Time::MAX,
            sent: 0,
            closed: false,
            end_sent: false,
            counters: SourceCounters::default(),
            next: 0,
            received: 0,
            waiting: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns the number of data bytes received in any order, without duplicates.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of data bytes in sent payloads.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the counters of sent payloads.
    pub fn counters(&self) -> &SourceCounters {
        &self.counters
    }

    /// Returns the counters of sent payloads and resets them.
    pub fn take_counters(&mut self) -> SourceCounters {
        std::mem::take(&mut self.counters)
    }

    /// Returns the time at which the incomplete payload is sent; `Time::MAX` if it is empty.
    pub fn next_wake(&self) -> Time {
        self.due
    }

    /// Handles an arriving payload. Payloads leave in the order of the stream, and duplicates are
    /// ignored.
    pub fn receive(&mut self, now: Time, packet: &Packet, counters: &mut DestinationCounters) {
        let Some(&Block { offset, length, is_last }) = packet.body.of::<Block>() else { return };
        if length > 0 {
            counters.delivered_packets += 1;
            counters.delay.add(packet.age(now));
        }
        if offset < self.next || self.waiting.contains_key(&offset) {
            return;
        }
        self.received += u64::from(length);
        self.waiting.insert(offset, (length, is_last));
        while let Some((length, is_last)) = self.waiting.remove(&self.next) {
            self.next += u64::from(length);
            if length > 0 {
                self.events.push_back(Event::Received(length.into()));
            }
            if is_last {
                self.events.push_back(Event::PeerClosed);
                break;
            }
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
        let event = self.events.pop_front()?;
        if let Event::Received(bytes) = event {
            self.delivery.add(now, bytes, arrived, counters, out);
        }
        Some(event)
    }

    /// Adds `bytes` bytes to the data to send.
    pub fn send(&mut self, now: Time, bytes: u64) {
        if self.closed {
            return;
        }
        self.counters.start.get_or_insert(now);
        if self.unsent == 0 {
            self.due = now + self.rules.flush;
        }
        self.unsent += bytes;
    }

    /// Ends the stream after the present data.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Sends all complete payloads, and the incomplete one if it is due or the stream has ended.
    /// Only an incomplete payload has the flag for the end of the stream: after a complete one, an
    /// empty payload follows. A stream without data has no payload.
    pub fn flush(&mut self, now: Time, envelope: &Packet, number: &mut u32, out: &mut Outbox) {
        let block = self.rules.block.bytes();
        loop {
            let length = self.unsent.min(block);
            let is_last = self.closed && length < block;
            let is_complete = length == block;
            let is_due = length > 0 && self.due <= now;
            let ends = is_last && !self.end_sent && (length > 0 || self.sent > 0);
            if !(is_complete || is_due || ends) {
                return;
            }
            let body = Body::layer(Block { offset: self.sent, length: length as u32, is_last });
            let packet = Packet {
                birth: now,
                number: *number,
                size: HEADER + length as u32,
                dscp: self.dscp,
                body,
                ..envelope.clone()
            };
            *number = number.wrapping_add(1);
            self.sent += length;
            self.unsent -= length;
            self.due = if self.unsent == 0 { Time::MAX } else { now + self.rules.flush };
            self.counters.sent_bytes += length;
            self.counters.sent_packets += u64::from(length > 0);
            if is_last {
                self.end_sent = true;
                self.counters.completed = Some(now);
            }
            out.create(Port(0), packet);
        }
    }
}
