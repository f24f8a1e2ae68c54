//! A connection (RFC 9000, RFC 9001, RFC 9002): handshake, streams, acknowledgments, losses and
//! time-outs. A connection does no I/O: it takes datagrams, timers and the application's requests,
//! and returns the datagrams to send.
//!
//! - **Handshake.** The client sends its first message in an Initial packet of 1200 bytes. The
//!   server answers with its first message in an Initial packet and the rest, with its certificate,
//!   in Handshake packets: at most three times as many bytes as it has received, until a Handshake
//!   packet of the client arrives (section 8.1). The client finishes the handshake and may send
//!   data, after one round trip. With resumption its data leaves with the first packet, and the
//!   server sends no certificate. A server sends data after its first flight. Up to
//!   [`MAX_EARLY`] packets that arrive before their keys are kept.
//! - **Probe time-out** (RFC 9002, section 6.2): two packets are sent regardless of the window,
//!   with new or lost data, else with the oldest outstanding data.
//! - **Path MTU discovery** by one probe of the largest size, repeated up to [`MTU_PROBES`] times.
//!
//! Not modelled: keys and their updates, Retry, version negotiation, connection migration,
//! CONNECTION_CLOSE, RESET_STREAM and STOP_SENDING (an aborted stream ends early), limits on the
//! number of streams, the probe of ECN (section 13.4.2).

use super::controller::{Acknowledged, Controller};
use super::frames::{number_bytes, Ack, Datagram, Frame, Kind, Packet, Space, StreamData, SMALLEST_INITIAL};
use super::space::{Outcome, PacketSpace, Sent};
use super::streams::{ReceivePart, SendPart, Window};
use super::Config;
use crate::app::{End, Event};
use crate::flow::SourceCounters;
use bentpipe_congestion::interface::Congestion;
use bentpipe_core::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Bytes of the messages of TLS 1.3 in a usual handshake: the client's and the server's first
/// messages, the server's remaining messages without the certificate chain, and the client's last.
const CLIENT_HELLO: u64 = 300;
const SERVER_HELLO: u64 = 122;
const SERVER_FLIGHT: u64 = 400;
const RESUMED_FLIGHT: u64 = 150;
const FINISHED: u64 = 36;
/// Number of packets that are kept until their keys are available.
const MAX_EARLY: usize = 32;
/// Number of probes of the path MTU.
const MTU_PROBES: u32 = 3;
/// Least room for a packet, in bytes.
const LEAST_ROOM: u32 = 60;
/// Number of packets sent after a probe time-out (RFC 9002, section 6.2.4).
const PROBES: u32 = 2;

/// A stream, with its sending and receiving parts.
#[derive(Debug)]
struct Stream {
    send: SendPart,
    receive: ReceivePart,
}

/// The messages of the handshake in one packet number space.
#[derive(Debug)]
struct Crypto {
    send: SendPart,
    receive: ReceivePart,
}

/// A datagram that leaves now.
#[derive(Debug)]
pub struct Outgoing {
    /// The packets of the datagram.
    pub datagram: Arc<Datagram>,
    /// UDP payload in bytes, padding included.
    pub size: u32,
}

/// One end of a QUIC connection.
pub struct Connection {
    end: End,
    config: Config,
    /// Counters for the report of the flow's source.
    pub counters: SourceCounters,
    /// The congestion control and the estimates.
    pub controller: Controller,
    spaces: [PacketSpace; 3],
    /// True for spaces whose packets can be sent and read; false again once keys are discarded.
    keys: [bool; 3],
    crypto: [Crypto; 2],
    /// True once the client has sent, or the server has received, the end of the handshake.
    complete: bool,
    /// Time at which the handshake was completed.
    completed_at: Option<Time>,
    /// True once the client's address is validated; always true at the client.
    validated: bool,
    /// True once the other end is known to have validated the client's address.
    confirmed: bool,
    received_bytes: u64,
    sent_bytes: u64,
    early: Vec<(Arc<Datagram>, usize, bool)>,
    streams: BTreeMap<u16, Stream>,
    /// Streams that may have data to send, in turn.
    active: VecDeque<u16>,
    /// Streams that the application has opened before the connection could carry data.
    opening: Vec<u16>,
    /// Limit of the other end for the data of all streams, and the data sent.
    limit: u64,
    data_sent: u64,
    window: Window,
    data_read: u64,
    /// Control frames that wait for a packet.
    control: Vec<Frame>,
    /// Number of marked packets that the other end has reported.
    reported_marks: u64,
    /// True if packets are ECN-capable.
    pub uses_ecn: bool,
    mtu: u32,
    mtu_probes: u32,
    mtu_probe_due: bool,
    probe_timeouts: u32,
    last_activity: Time,
    failed: bool,
    outcome: Outcome,
    events: VecDeque<(u16, Event)>,
}

impl Connection {
    /// Creates one end of a connection. `random` seeds the congestion control.
    pub fn new(config: &Config, end: End, congestion: Box<dyn Congestion>, random: u64) -> Connection {
        let mtu = SMALLEST_INITIAL;
        let controller = Controller::new(config, congestion, payload(mtu), random);
        let crypto = || Crypto {
            send: SendPart::new(u64::MAX, false),
            receive: ReceivePart::new(Window::new(u64::MAX, u64::MAX)),
        };
        Connection {
            end,
            counters: SourceCounters::default(),
            uses_ecn: config.ecn.unwrap_or(controller.is_scalable()),
            controller,
            spaces: <[PacketSpace; 3]>::default(),
            keys: [true, false, false],
            crypto: [crypto(), crypto()],
            complete: false,
            completed_at: None,
            validated: end == End::Source,
            confirmed: false,
            received_bytes: 0,
            sent_bytes: 0,
            early: Vec::new(),
            streams: BTreeMap::new(),
            active: VecDeque::new(),
            opening: Vec::new(),
            limit: config.connection_window.bytes(),
            data_sent: 0,
            window: Window::new(config.connection_window.bytes(), config.max_connection_window.bytes()),
            data_read: 0,
            control: Vec::new(),
            reported_marks: 0,
            mtu,
            mtu_probes: 0,
            mtu_probe_due: false,
            probe_timeouts: 0,
            last_activity: Time::MAX,
            failed: false,
            outcome: Outcome::default(),
            events: VecDeque::new(),
            config: config.clone(),
        }
    }

    /// Opens stream `id`. The first one begins the handshake.
    pub fn open(&mut self, now: Time, id: u16) {
        self.counters.start.get_or_insert(now);
        self.counters.completed = None;
        if self.last_activity == Time::MAX {
            self.last_activity = now;
            self.crypto[0].send.hand_over(CLIENT_HELLO);
            self.keys[2] = self.config.resumption;
        }
        self.stream(id);
        self.activate(id);
        if self.can_carry_data() {
            self.events.push_back((id, Event::Connected));
        } else {
            self.opening.push(id);
        }
    }

    /// Adds data to a stream; `u64::MAX` for an endless one.
    pub fn send(&mut self, now: Time, id: u16, bytes: u64) {
        self.counters.start.get_or_insert(now);
        self.counters.completed = None;
        self.stream(id).send.hand_over(bytes);
        self.activate(id);
    }

    /// Ends a stream after its data.
    pub fn close(&mut self, id: u16) {
        self.stream(id).send.close();
        self.activate(id);
    }

    /// Discards unsent data of a stream and ends it.
    pub fn stop(&mut self, id: u16) {
        self.stream(id).send.stop();
        self.activate(id);
    }

    /// Returns the next event for the application, with the number of its stream.
    pub fn next_event(&mut self) -> Option<(u16, Event)> {
        self.events.pop_front()
    }

    /// Returns the number of payload bytes acknowledged so far.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.streams.values().map(|stream| stream.send.acknowledged()).sum()
    }

    /// Returns the duration of the handshake, once it is complete.
    pub fn handshake(&self) -> Option<Span> {
        Some(self.completed_at?.since(self.counters.start?))
    }

    /// Returns the UDP payload of a full packet, in bytes.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Returns the number of streams.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Returns true if the connection has ended for lack of packets.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Returns the present probe time-out, back-off included.
    pub fn probe_timeout(&self) -> Span {
        let delay = if self.complete { self.config.max_ack_delay } else { Span::ZERO };
        (self.controller.probe_term() + delay) * self.backoff()
    }

    fn backoff(&self) -> u64 {
        1 << self.probe_timeouts.min(16)
    }

    fn can_carry_data(&self) -> bool {
        self.keys[Space::Application as usize]
    }

    fn stream(&mut self, id: u16) -> &mut Stream {
        let config = &self.config;
        let opens = self.end == End::Source;
        self.streams.entry(id).or_insert_with(|| {
            let size = config.stream_window.bytes();
            let window = Window::new(size, config.max_stream_window.bytes());
            Stream { send: SendPart::new(size, opens), receive: ReceivePart::new(window) }
        })
    }

    fn activate(&mut self, id: u16) {
        if !self.active.contains(&id) {
            self.active.push_back(id);
        }
    }

    /// Handles a datagram with a UDP payload of `size` bytes; `marked` if it was marked as having
    /// experienced congestion.
    pub fn receive(&mut self, now: Time, datagram: &Arc<Datagram>, size: u32, marked: bool) {
        if self.failed {
            return;
        }
        self.last_activity = now;
        self.received_bytes += u64::from(size);
        for place in 0..=datagram.more.len() {
            self.take(now, datagram, place, marked);
        }
        if !self.early.is_empty() {
            for (datagram, place, marked) in std::mem::take(&mut self.early) {
                self.take(now, &datagram, place, marked);
            }
        }
    }

    fn take(&mut self, now: Time, datagram: &Arc<Datagram>, place: usize, marked: bool) {
        let packet = datagram.packet(place);
        let space = packet.kind.space();
        let readable = match packet.kind {
            Kind::Initial => true,
            Kind::Handshake | Kind::ZeroRtt => self.keys[space as usize] || self.is_past(space),
            Kind::OneRtt => self.complete,
        };
        if !readable {
            if self.early.len() < MAX_EARLY {
                self.early.push((datagram.clone(), place, marked));
            }
            return;
        }
        if !self.keys[space as usize] {
            // Its keys have been discarded.
            return;
        }
        let rule = match space {
            Space::Application => (self.config.ack_every.value(), self.config.max_ack_delay),
            _ => (1, Span::ZERO),
        };
        if !self.spaces[space as usize].receive(now, packet.number, (packet.elicits(), marked), rule) {
            return;
        }
        if space == Space::Handshake && self.end == End::Destination {
            self.validated = true;
            self.discard(Space::Initial);
        }
        for frame in &packet.frames {
            match frame {
                Frame::Ping => {}
                Frame::Ack(ack) => self.acknowledge(now, space, ack),
                Frame::Crypto(offset, length) => {
                    let data = StreamData { id: 0, offset: *offset, length: *length, fin: false };
                    let crypto = &mut self.crypto[space as usize];
                    crypto.receive.receive(&data);
                    let read = crypto.receive.read();
                    self.progress(now, space, read);
                }
                Frame::Stream(data) => self.take_data(now, data),
                Frame::MaxData(limit) => self.limit = self.limit.max(*limit),
                Frame::MaxStreamData(id, limit) => {
                    let send = &mut self.stream(*id).send;
                    send.limit = send.limit.max(*limit);
                    self.activate(*id);
                }
                Frame::HandshakeDone => self.confirm(),
            }
        }
    }

    /// Returns true if the keys of a space have been discarded.
    fn is_past(&self, space: Space) -> bool {
        match space {
            Space::Initial | Space::Handshake => self.confirmed,
            Space::Application => false,
        }
    }

    /// Advances the handshake after `read` bytes of the other end's messages in a space.
    fn progress(&mut self, now: Time, space: Space, read: u64) {
        let flight = match self.config.resumption {
            true => RESUMED_FLIGHT,
            false => SERVER_FLIGHT + self.config.certificate.value(),
        };
        match (self.end, space) {
            (End::Destination, Space::Initial) if read >= CLIENT_HELLO && !self.keys[1] && !self.complete => {
                self.crypto[0].send.hand_over(SERVER_HELLO);
                self.crypto[1].send.hand_over(flight);
                self.keys[1] = true;
                self.keys[2] = true;
            }
            (End::Source, Space::Initial) if read >= SERVER_HELLO && !self.keys[1] && !self.confirmed => {
                self.keys[1] = true;
            }
            (End::Source, Space::Handshake) if read >= flight && !self.complete => {
                self.crypto[1].send.hand_over(FINISHED);
                self.complete(now);
                let opening = std::mem::take(&mut self.opening);
                self.events.extend(opening.into_iter().map(|id| (id, Event::Connected)));
            }
            (End::Destination, Space::Handshake) if read >= FINISHED && !self.complete => {
                self.complete(now);
                self.control.push(Frame::HandshakeDone);
                self.confirm();
            }
            _ => {}
        }
    }

    fn complete(&mut self, now: Time) {
        self.complete = true;
        self.completed_at = Some(now);
        self.counters.start.get_or_insert(now);
        self.keys[2] = true;
        self.mtu_probe_due =
            self.config.mtu_discovery && self.config.max_udp_payload_size.value() > self.mtu.into();
    }

    /// Handles the confirmation of the handshake (RFC 9001, section 4.1.2).
    fn confirm(&mut self) {
        self.confirmed = true;
        self.discard(Space::Initial);
        self.discard(Space::Handshake);
    }

    fn discard(&mut self, space: Space) {
        let at = space as usize;
        if self.keys[at] {
            self.keys[at] = false;
            self.controller.forget(self.spaces[at].discard());
            self.probe_timeouts = 0;
        }
    }

    fn take_data(&mut self, now: Time, data: &StreamData) {
        let is_new = !self.streams.contains_key(&data.id);
        let round_trip = self.controller.estimator().srtt();
        let stream = self.stream(data.id);
        let (readable, _, ended) = stream.receive.receive(data);
        let read = stream.receive.read();
        let is_closed = stream.receive.is_closed();
        let limit = if is_closed { None } else { stream.receive.window.update(now, read, round_trip) };
        if is_new {
            self.events.push_back((data.id, Event::Connected));
        }
        if let Some(limit) = limit {
            self.control.push(Frame::MaxStreamData(data.id, limit));
        }
        if readable > 0 {
            self.data_read += readable;
            if let Some(limit) = self.window.update(now, self.data_read, round_trip) {
                self.control.push(Frame::MaxData(limit));
            }
            self.events.push_back((data.id, Event::Received { bytes: readable }));
        }
        if ended {
            self.events.push_back((data.id, Event::PeerClosed));
        }
    }

    fn acknowledge(&mut self, now: Time, space: Space, ack: &Ack) {
        let at = space as usize;
        let mut outcome = std::mem::take(&mut self.outcome);
        let newest = self.spaces[at].acknowledge(ack, &mut outcome);
        if let Some(last) = outcome.acked.last() {
            let last = last.at;
            let mut rtt = None;
            if let Some(sent) = newest {
                let delay = match space {
                    Space::Application => ack.delay.min(self.config.max_ack_delay),
                    _ => Span::ZERO,
                };
                rtt = Some(self.sample(now, now.since(sent), delay));
            }
            self.find_losses(now, space, &mut outcome);
            let marks = if ack.counts { ack.marked.saturating_sub(self.reported_marks) } else { 0 };
            self.reported_marks += marks;
            if marks > 0 && !self.controller.is_scalable() {
                self.controller.congestion_event(now, last);
            }
            let acknowledged = Acknowledged {
                packets: &outcome.acked,
                first_flight: self.first_flight(),
                first: self.first_number(),
                losses: outcome.lost.len() as u32,
                marks: marks as u32,
                rtt,
            };
            self.controller.acknowledge(now, &acknowledged);
            for packet in &outcome.acked {
                self.delivered(now, packet);
            }
            if self.end == End::Source && self.complete && is_one_rtt(&outcome.acked) {
                // RFC 9001, section 4.1.2.
                self.confirm();
            }
            if self.end == End::Destination || space != Space::Initial {
                self.probe_timeouts = 0;
            }
        }
        outcome.acked.clear();
        outcome.lost.clear();
        self.outcome = outcome;
    }

    /// Adds a round-trip time sample, and returns it without the delay of the acknowledgment.
    fn sample(&mut self, now: Time, rtt: Span, delay: Span) -> Span {
        let adjusted = self.controller.sample(now, rtt, delay);
        self.counters.rtt.add(rtt);
        let (rttvar, rto, samples) = &mut self.counters.timer;
        *rttvar += self.controller.estimator().rttvar_seconds();
        *rto += self.controller.probe_term().as_secs_f64();
        *samples += 1;
        adjusted
    }

    fn first_flight(&self) -> u64 {
        let first = self.spaces.iter().filter_map(|space| Some(space.first_in_flight()?.flight)).min();
        first.unwrap_or(self.controller.flights())
    }

    fn first_number(&self) -> u64 {
        let space = &self.spaces[Space::Application as usize];
        space.first_in_flight().map_or(space.next, |packet| packet.number)
    }

    /// Handles the losses of a space.
    fn find_losses(&mut self, now: Time, space: Space, outcome: &mut Outcome) {
        let (delay, threshold) = (self.controller.loss_delay(), self.config.packet_threshold.value());
        self.spaces[space as usize].detect_losses(now, delay, threshold, outcome);
        if outcome.lost.is_empty() {
            return;
        }
        self.controller.lose(now, &outcome.lost, self.config.max_ack_delay);
        for packet in &outcome.lost {
            self.repeat(packet);
            if packet.is_mtu_probe {
                self.mtu_probe_due = self.mtu_probes < MTU_PROBES;
            }
        }
    }

    /// Handles the delivery of a packet.
    fn delivered(&mut self, now: Time, packet: &Sent) {
        if packet.is_mtu_probe {
            self.mtu = self.config.max_udp_payload_size.value() as u32;
            self.controller.set_payload(payload(self.mtu));
        }
        let (datagram, place) = &packet.datagram;
        let sent = datagram.packet(*place);
        for frame in &sent.frames {
            match frame {
                Frame::Crypto(offset, length) => {
                    let data = StreamData { id: 0, offset: *offset, length: *length, fin: false };
                    self.crypto[sent.kind.space() as usize].send.acknowledge(&data);
                }
                Frame::Stream(data) => {
                    let Some(stream) = self.streams.get_mut(&data.id) else { continue };
                    if stream.send.acknowledge(data) {
                        self.events.push_back((data.id, Event::MaySend));
                    }
                    let ended = stream.send.is_finished();
                    if ended && self.streams.values().all(|stream| stream.send.is_finished()) {
                        self.counters.completed.get_or_insert(now);
                    }
                }
                Frame::Ack(ack) => {
                    self.spaces[sent.kind.space() as usize].forget_below(ack.ranges[0].1);
                }
                _ => {}
            }
        }
    }

    /// Puts the frames of a lost packet back into the queues of data to send.
    fn repeat(&mut self, packet: &Sent) {
        let (datagram, place) = &packet.datagram;
        let sent = datagram.packet(*place);
        for frame in &sent.frames {
            match frame {
                Frame::Crypto(offset, length) => {
                    let data = StreamData { id: 0, offset: *offset, length: *length, fin: false };
                    self.crypto[sent.kind.space() as usize].send.lose(&data);
                }
                Frame::Stream(data) => {
                    self.stream(data.id).send.lose(data);
                    self.activate(data.id);
                }
                Frame::HandshakeDone => self.control.push(Frame::HandshakeDone),
                Frame::MaxData(_) => self.control.push(Frame::MaxData(self.window.limit())),
                Frame::MaxStreamData(id, _) => {
                    let receive = &self.stream(*id).receive;
                    if !receive.is_closed() {
                        let limit = receive.window.limit();
                        self.control.push(Frame::MaxStreamData(*id, limit));
                    }
                }
                Frame::Ping | Frame::Ack(_) => {}
            }
        }
    }

    /// Returns the time of the loss detection timer (RFC 9002, appendix A.8) and its space; true if
    /// it is the age of a packet.
    fn loss_timer(&self) -> (Time, Space, bool) {
        let by_age = Space::ALL.map(|space| (self.spaces[space as usize].loss_time, space));
        let (time, space) = by_age.into_iter().min().unwrap_or((Time::MAX, Space::Initial));
        if time != Time::MAX {
            return (time, space, true);
        }
        if self.last_activity == Time::MAX || self.is_blocked() {
            return (Time::MAX, Space::Initial, false);
        }
        let term = self.controller.probe_term();
        let mut first = (Time::MAX, Space::Initial, false);
        for space in Space::ALL {
            let state = &self.spaces[space as usize];
            if state.in_flight() == 0 || (space == Space::Application && !self.complete) {
                continue;
            }
            let delay = if space == Space::Application { self.config.max_ack_delay } else { Span::ZERO };
            let time = state.last_eliciting + (term + delay) * self.backoff();
            if time < first.0 {
                first = (time, space, false);
            }
        }
        // The server may wait for a packet of the client before it can send more (section 6.2.2.1).
        let in_flight = self.spaces.iter().any(|space| space.in_flight() > 0);
        if self.end == End::Source && !self.confirmed && !self.complete && !in_flight {
            let space = if self.keys[1] { Space::Handshake } else { Space::Initial };
            first = (self.last_activity + term * self.backoff(), space, false);
        }
        first
    }

    /// Returns true if the server has sent three times as many bytes as it has received from an
    /// address that is not validated.
    fn is_blocked(&self) -> bool {
        !self.validated && self.sent_bytes + u64::from(LEAST_ROOM) > 3 * self.received_bytes
    }

    fn idle_end(&self) -> Time {
        match self.config.idle_timeout {
            Some(timeout) if self.last_activity != Time::MAX && !self.failed => {
                self.last_activity + timeout.max(self.probe_timeout() * 3)
            }
            _ => Time::MAX,
        }
    }

    /// Returns the time of the next call of [`Connection::wake`]; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        if self.failed {
            return Time::MAX;
        }
        let acks = self.spaces.iter().map(|space| space.ack_due).min().unwrap_or(Time::MAX);
        let acks = if self.is_blocked() { Time::MAX } else { acks };
        acks.min(self.loss_timer().0).min(self.controller.next_wake()).min(self.idle_end())
    }

    /// Handles everything that is due. Returns true if a probe time-out occurred.
    pub fn wake(&mut self, now: Time) -> bool {
        self.controller.wake(now);
        if self.idle_end() <= now {
            self.failed = true;
            let streams: Vec<_> = self.streams.keys().copied().collect();
            self.events.extend(streams.into_iter().map(|id| (id, Event::Failed)));
            return false;
        }
        let (time, space, by_age) = self.loss_timer();
        if time > now {
            return false;
        }
        if by_age {
            let mut outcome = std::mem::take(&mut self.outcome);
            self.find_losses(now, space, &mut outcome);
            outcome.lost.clear();
            self.outcome = outcome;
            return false;
        }
        self.probe_timeouts += 1;
        self.counters.timeouts += 1;
        let waits = self.spaces[space as usize].in_flight() == 0;
        // Restarts the timer even if nothing can be sent.
        self.spaces[space as usize].last_eliciting = now;
        self.last_activity = if waits { now } else { self.last_activity };
        for other in Space::ALL {
            // Also of the other spaces (section 6.2.4), such as the end of a handshake that the
            // window does not permit.
            let has_data = self.has_data(other) || self.spaces[other as usize].in_flight() > 0;
            if self.keys[other as usize] && (other == space || has_data) {
                self.spaces[other as usize].probes = PROBES;
            }
        }
        true
    }

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
        let datagram = Arc::new(Datagram { first: first?, more });
        let pads =
            |packet: &Packet| packet.kind == Kind::Initial && (self.end == End::Source || packet.elicits());
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
    fn packet(&mut self, now: Time, space: Space, room: u32) -> Option<Packet> {
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
        }
        if space == Space::Application && !has_data {
            self.controller.application_limits();
        }
        (!frames.is_empty()).then(|| Packet::new(kind, number, number_bytes, frames))
    }

    fn has_data(&mut self, space: Space) -> bool {
        if space != Space::Application {
            return self.crypto[space as usize].send.has_data(u64::MAX);
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
    fn fill(&mut self, space: Space, mut left: u32, frames: &mut Vec<Frame>) {
        if space != Space::Application {
            if let Some((data, _)) = self.crypto[space as usize].send.next(0, left, u64::MAX) {
                frames.push(Frame::Crypto(data.offset, data.length));
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
    fn mtu_probe(&mut self, now: Time) -> Option<Packet> {
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

/// Returns true if the last of the packets is a 1-RTT packet.
fn is_one_rtt(packets: &[Sent]) -> bool {
    packets.last().is_some_and(|packet| {
        let (datagram, place) = &packet.datagram;
        datagram.packet(*place).kind == Kind::OneRtt
    })
}

/// Returns the data of a stream in a full packet with this UDP payload, in bytes.
fn payload(mtu: u32) -> u32 {
    mtu - Kind::OneRtt.overhead(2) - 8
}
