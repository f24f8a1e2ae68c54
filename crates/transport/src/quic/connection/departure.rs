//! Departing packets: the frames that may be sent now, and their packets and datagrams.

use super::{Connection, Outgoing, LEAST_ROOM};
use crate::app::End;
use crate::quic::frames::{
    datagram_header, largest_datagram, number_bytes, Datagram, Frame, Kind, Packet, Space, SMALLEST_INITIAL,
};
use crate::quic::space::Sent;
use bentpipe_core::Time;
use std::sync::Arc;

impl Connection {
    /// Returns the next datagram that may be sent `now`.
    pub fn next_datagram(&mut self, now: Time) -> Option<Outgoing> {
        if self.failed {
            return None;
        }
        let mut room = self.mtu;
        if !self.validated {
            let allowed = (3 * self.received_bytes).saturating_sub(self.sent_bytes);
            room = room.min(u32::try_from(allowed).unwrap_or(u32::MAX));
        }
        let all = room;
        let mut first = self.mtu_probe(now);
        let is_mtu_probe = first.is_some();
        let mut more = Vec::new();
        for space in Space::ALL {
            if room < LEAST_ROOM || is_mtu_probe {
                break;
            }
            if let Some(packet) = self.packet(now, space, room) {
                room -= packet.size.min(room);
                match &first {
                    None => first = Some(packet),
                    Some(_) => more.push(packet),
                }
            }
        }
        let datagram = Arc::new(Datagram { path: self.path, first: first?, more });
        let pads = |packet: &Packet| {
            (packet.kind == Kind::Initial && (self.end == End::Source || packet.elicits()))
                || packet.frames.iter().any(Frame::validates_path)
        };
        let least = match datagram.packets().any(pads) {
            true => SMALLEST_INITIAL.min(all),
            false if is_mtu_probe => self.config.max_udp_payload_size.value() as u32,
            false => 0,
        };
        let size = datagram.size().max(least);
        self.sent_bytes += u64::from(size);
        for (place, packet) in datagram.packets().enumerate() {
            let state = &mut self.spaces[packet.kind.space() as usize];
            state.next += 1;
            if packet.elicits() {
                let flight = self.controller.sent(now, size, state.next);
                let datagram = (datagram.clone(), place);
                state.probes = state.probes.saturating_sub(1);
                state.sent(Sent { number: packet.number, at: now, flight, datagram, is_mtu_probe });
            }
        }
        if self.end == End::Source && datagram.packets().any(|packet| packet.kind == Kind::Handshake) {
            // RFC 9001, section 4.9.1.
            self.discard(Space::Initial);
        }
        Some(Outgoing { datagram, size })
    }

    /// Returns the next packet of a space, with at most `room` bytes.
    pub(super) fn packet(&mut self, now: Time, space: Space, room: u32) -> Option<Packet> {
        let at = space as usize;
        if !self.keys[at] {
            return None;
        }
        let kind = match space {
            Space::Initial => Kind::Initial,
            Space::Handshake => Kind::Handshake,
            Space::Application if self.complete || self.end == End::Destination => Kind::OneRtt,
            Space::Application => Kind::ZeroRtt,
        };
        let state = &self.spaces[at];
        let (number, probes) = (state.next, state.probes > 0);
        let number_bytes = number_bytes(number, state.largest_acknowledged);
        let mut left = room.checked_sub(kind.overhead(number_bytes))?;
        let acks = state.ack_due <= now;
        let has_data = self.has_data(space);
        let sends =
            probes || (has_data && self.controller.window_permits(now) && !self.controller.pacing_holds(now));
        let mut frames = Vec::with_capacity(2);
        if acks || (sends && self.spaces[at].has_unacknowledged()) {
            let counts = self.uses_ecn;
            if let Some(ack) = self.spaces[at].take_ack(now, counts) {
                let frame = Frame::Ack(Box::new(ack));
                left = left.saturating_sub(frame.size());
                frames.push(frame);
            }
        }
        // A probe must not wait for the requested delay of acknowledgments.
        let hastens = probes && space == Space::Application && self.has_requested;
        left = left.saturating_sub(u32::from(hastens));
        if sends {
            self.fill(space, left, &mut frames);
            if probes && !frames.iter().any(Frame::elicits) {
                if let Some(oldest) = self.spaces[at].first_in_flight().cloned() {
                    self.repeat(&oldest);
                    self.fill(space, left, &mut frames);
                }
                if !frames.iter().any(Frame::elicits) {
                    frames.push(Frame::Ping);
                }
            }
            if hastens {
                frames.push(Frame::ImmediateAck);
            }
        }
        if space == Space::Application && !has_data {
            self.controller.application_limits();
        }
        (!frames.is_empty()).then(|| Packet::new(kind, number, number_bytes, frames))
    }

    pub(super) fn has_data(&mut self, space: Space) -> bool {
        if space != Space::Application {
            return self.crypto[space as usize].send.has_data(u64::MAX);
        }
        if !self.datagrams.is_empty() {
            return true;
        }
        let room = self.limit - self.data_sent;
        while let Some(id) = self.active.front() {
            if self.streams.get(id).is_some_and(|stream| stream.send.has_data(room)) {
                return true;
            }
            if room == 0 {
                // The stream may continue once the connection's limit has been raised.
                return self.active.iter().any(|id| self.streams[id].send.has_data(0))
                    || !self.control.is_empty();
            }
            self.active.pop_front();
        }
        !self.control.is_empty()
    }

    /// Adds frames with data to a packet with `left` bytes left.
    pub(super) fn fill(&mut self, space: Space, mut left: u32, frames: &mut Vec<Frame>) {
        if space != Space::Application {
            if let Some((data, _)) = self.crypto[space as usize].send.next(0, left, u64::MAX) {
                frames.push(Frame::Crypto(data));
            }
            return;
        }
        let control = self.control.iter().take_while(|frame| {
            let fits = frame.size() <= left;
            left -= if fits { frame.size() } else { 0 };
            fits
        });
        let count = control.count();
        frames.extend(self.control.drain(..count));
        let (mut fresh, mut repeated) = (0, false);
        let largest = largest_datagram(self.mtu);
        while let Some(message) = self.datagrams.front() {
            let size = datagram_header(message.length) + message.length;
            // A datagram that fits in no packet is dropped.
            if size > left && message.length <= largest {
                break;
            }
            if let Some(message) = self.datagrams.pop_front().filter(|_| size <= left) {
                left -= size;
                fresh += u64::from(message.length);
                frames.push(Frame::Datagram(message));
            }
        }
        for _ in 0..self.active.len() {
            let Some(&id) = self.active.front() else { break };
            let Some(stream) = self.streams.get_mut(&id) else { break };
            let room = self.limit - self.data_sent;
            if let Some((data, new)) = stream.send.next(id, left, room) {
                let frame = Frame::Stream(data);
                left -= frame.size();
                frames.push(frame);
                self.data_sent += new;
                fresh += new;
                repeated |= new == 0 && data.length > 0;
            } else if left < LEAST_ROOM {
                break;
            }
            // The next packet begins with another stream.
            self.active.rotate_left(1);
        }
        if fresh > 0 || repeated {
            self.counters.sent_bytes += fresh;
            self.counters.sent_packets += 1;
            self.counters.retransmissions += u64::from(repeated);
        }
    }

    /// Returns a packet that probes the path MTU, if one is due.
    pub(super) fn mtu_probe(&mut self, now: Time) -> Option<Packet> {
        if !self.mtu_probe_due
            || !self.confirmed
            || !self.controller.window_permits(now)
            || self.controller.pacing_holds(now)
        {
            return None;
        }
        self.mtu_probe_due = false;
        self.mtu_probes += 1;
        let state = &self.spaces[Space::Application as usize];
        let number_bytes = number_bytes(state.next, state.largest_acknowledged);
        Some(Packet::new(Kind::OneRtt, state.next, number_bytes, vec![Frame::Ping]))
    }
}
