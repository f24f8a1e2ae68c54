//! A TCP connection between two exchanges that carries actual bytes, for signalling over TCP (RFC
//! 3261, section 18).
//!
//! The connection is that of [`tcp`](crate::tcp), with its handshake, retransmissions, congestion
//! control and acknowledgments. Its segments carry the text of the signalling next to the header.
//!
//! The exchange at the source of the flow opens the connection with its first message and keeps it
//! open. If the connection fails, the next message of the source opens another one. Messages that
//! the destination sends while there is no connection are lost.

use super::Outgoing;
use crate::tcp::connection::{is_syn, Connection, Event};
use crate::tcp::endpoint::MakeCongestion;
use crate::tcp::{header, Config};
use bentpipe_congestion::interface::Congestion;
use bentpipe_core::{Stream as Random, Time};
use bentpipe_stage::packet::segment::{Segment, SegmentFlags};
use bentpipe_stage::{Body, Content, Damage, Packet, Payload};
use std::collections::{BTreeMap, VecDeque};

/// A TCP segment and the bytes of the stream that it carries.
#[derive(Debug)]
pub struct Carried {
    /// Number of the connection: a flow opens another one only if the previous one has failed.
    connection: u32,
    segment: Segment,
    bytes: Vec<u8>,
}

impl Payload for Carried {
    fn content(&self) -> Content {
        Content::Feedback
    }

    fn protocol(&self) -> u8 {
        self.segment.protocol()
    }

    fn header(&self, packet: &Packet, notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        self.segment.header(packet, notes, out);
        out.extend_from_slice(&self.bytes);
        0
    }

    fn damage(&self, packet: &Packet, valid: bool, byte: &mut dyn FnMut() -> u32) -> Damage {
        self.segment.damage(packet, valid, byte)
    }
}

/// The effects of an arriving segment or a timer.
#[derive(Default)]
pub struct News {
    /// True if bytes have arrived in order: they are in [`Stream::arrived`].
    pub arrived: bool,
    /// True if the connection has failed.
    pub failed: bool,
}

/// One end of the connection.
pub struct Stream {
    config: Config,
    congestion: MakeCongestion,
    random: Random,
    /// True if this end opens connections.
    opens: bool,
    /// Number of the newest connection.
    number: u32,
    line: Option<Connected>,
    /// Bytes that have arrived in order and that the reader has not taken yet.
    pub arrived: Vec<u8>,
}

/// A connection, and its bytes that are not delivered yet.
struct Connected {
    connection: Connection,
    /// Sequence number of the first byte of this end.
    first: u32,
    /// Bytes that the other end has not acknowledged, and the position of the first of them.
    unacknowledged: VecDeque<u8>,
    base: u64,
    /// Sequence number of the first byte of the other end, once its SYN has arrived.
    theirs: Option<u32>,
    /// Position of the next byte in order.
    next: u64,
    /// Bytes that have arrived out of order, by position.
    pieces: BTreeMap<u64, Vec<u8>>,
}

impl Stream {
    /// Creates an end without a connection.
    pub fn new(opens: bool, config: Config, congestion: MakeCongestion, random: Random) -> Stream {
        Stream { config, congestion, random, opens, number: 0, line: None, arrived: Vec::new() }
    }

    /// Writes bytes into the stream, and opens a connection for them if this end may and there is
    /// none.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.line.is_none() && self.opens {
            self.number += 1;
            let mut line = Connected::new(&self.config, (self.congestion)(), &mut self.random);
            line.connection.open();
            self.line = Some(line);
        }
        if let Some(line) = &mut self.line {
            line.unacknowledged.extend(bytes);
            line.connection.send(bytes.len() as u64);
        }
    }

    /// Handles an arriving segment.
    pub fn receive(&mut self, now: Time, carried: &Carried) -> News {
        if carried.connection > self.number && !self.opens && is_syn(&carried.segment) {
            self.number = carried.connection;
            self.arrived.clear();
            let mut line = Connected::new(&self.config, (self.congestion)(), &mut self.random);
            line.connection.listen();
            self.line = Some(line);
        }
        if carried.connection != self.number {
            return News::default();
        }
        if let Some(line) = &mut self.line {
            line.take(carried);
            line.connection.receive(now, &carried.segment);
        }
        self.settle()
    }

    /// Handles all timers that have expired.
    pub fn wake(&mut self, now: Time) -> News {
        if let Some(line) = self.line.as_mut().filter(|line| line.connection.next_wake() <= now) {
            line.connection.wake(now);
        }
        self.settle()
    }

    /// Returns the time of the next call of [`Stream::wake`]; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        self.line.as_ref().map_or(Time::MAX, |line| line.connection.next_wake())
    }

    /// Appends the segments that may be sent now. Returns the number of data segments among them
    /// that are retransmissions.
    pub fn segments(&mut self, now: Time, out: &mut Vec<Outgoing>) -> u64 {
        let Some(line) = &mut self.line else { return 0 };
        let before = line.connection.sender().counters.retransmissions;
        while let Some(segment) = line.connection.next_segment(now) {
            let size = header::size(&segment, line.connection.sender().segment_size());
            let bytes = line.bytes_of(&segment);
            let body = Body::layer(Carried { connection: self.number, segment, bytes });
            out.push(Outgoing { size, speech: 0, body });
        }
        let again = line.connection.sender().counters.retransmissions - before;
        line.remove_acknowledged();
        again
    }

    /// Handles the connection's events.
    fn settle(&mut self) -> News {
        let mut news = News::default();
        let Some(line) = &mut self.line else { return news };
        while let Some(event) = line.connection.next_event() {
            match event {
                Event::Received(bytes) => {
                    news.arrived = true;
                    line.deliver(bytes, &mut self.arrived);
                }
                Event::Failed(_) => news.failed = true,
                Event::Connected | Event::AllAcknowledged | Event::PeerClosed | Event::Closed => {}
            }
        }
        if news.failed {
            self.line = None;
            self.arrived.clear();
        }
        news
    }
}

impl Connected {
    fn new(config: &Config, congestion: Box<dyn Congestion>, random: &mut Random) -> Connected {
        let bits = random.bits();
        let initial = (bits >> 32) as u32;
        Connected {
            connection: Connection::new(config, congestion, initial, bits),
            first: initial.wrapping_add(1),
            unacknowledged: VecDeque::new(),
            base: 0,
            theirs: None,
            next: 0,
            pieces: BTreeMap::new(),
        }
    }

    /// Returns the bytes of the stream that a segment of this end carries.
    fn bytes_of(&self, segment: &Segment) -> Vec<u8> {
        let from = position(segment.sequence, self.first, self.base).saturating_sub(self.base) as usize;
        self.unacknowledged.iter().skip(from).take(usize::from(segment.payload)).copied().collect()
    }

    /// Removes the bytes that the other end has acknowledged.
    fn remove_acknowledged(&mut self) {
        let acknowledged = self.connection.sender().acknowledged_bytes();
        let count = acknowledged.saturating_sub(self.base).min(self.unacknowledged.len() as u64);
        self.unacknowledged.drain(..count as usize);
        self.base += count;
    }

    /// Stores the bytes of an arriving segment until they are delivered in order.
    fn take(&mut self, carried: &Carried) {
        let segment = &carried.segment;
        if segment.flags.contains(SegmentFlags::SYN) {
            self.theirs = Some(segment.sequence.wrapping_add(1));
        } else if let (Some(first), false) = (self.theirs, carried.bytes.is_empty()) {
            let at = position(segment.sequence, first, self.next);
            if at + carried.bytes.len() as u64 > self.next {
                let piece = self.pieces.entry(at).or_default();
                if piece.len() < carried.bytes.len() {
                    piece.clone_from(&carried.bytes);
                }
            }
        }
    }

    /// Appends the next `count` bytes in order.
    fn deliver(&mut self, count: u64, arrived: &mut Vec<u8>) {
        let until = self.next + count;
        while let Some(piece) = self.pieces.first_entry().filter(|piece| *piece.key() < until) {
            let (at, bytes) = piece.remove_entry();
            let within = |position: u64| (position - at).min(bytes.len() as u64) as usize;
            let (from, to) = (within(self.next), within(until));
            arrived.extend_from_slice(&bytes[from..to]);
            self.next += (to - from) as u64;
            if to < bytes.len() {
                // The connection has not accepted the rest, which will be retransmitted.
                self.pieces.insert(until, bytes[to..].to_vec());
            }
        }
        debug_assert_eq!(self.next, until, "the connection delivers what has arrived");
    }
}

/// Returns the position in the stream of the byte with this sequence number, near the position
/// `near`.
fn position(sequence: u32, first: u32, near: u64) -> u64 {
    let ahead = sequence.wrapping_sub(first.wrapping_add(near as u32)).cast_signed();
    near.saturating_add_signed(ahead.into())
}
