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
//! - **Migration** ([`migration`]): the client changes its address, and both ends reset the path's
//!   state.
//! - **Path MTU discovery** by one probe of the largest size, repeated up to [`MTU_PROBES`] times.
//!
//! Not modelled: keys and their updates, Retry, version negotiation, CONNECTION_CLOSE, RESET_STREAM
//! and STOP_SENDING (an aborted stream ends early), limits on the number of streams, the probe of
//! ECN (section 13.4.2).

mod arrival;
mod departure;
mod handshake;
mod migration;
mod timers;

use super::controller::Controller;
use super::frames::{full_packet, AckRequest, Datagram, Frame, Message, Space, SMALLEST_INITIAL};
use super::space::{AckRule, Outcome, PacketSpace};
use super::streams::{ReceivePart, SendPart, Window};
use super::Config;
use crate::app::{End, Event};
use crate::flow::SourceCounters;
use crate::tcp::endpoint::MakeCongestion;
use bentpipe_core::{Span, Time};
use bentpipe_stage::Ecn;
use handshake::CLIENT_HELLO;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Number of packets that are kept until their keys are available.
const MAX_EARLY: usize = 32;
/// Number of probes of the path MTU.
const MTU_PROBES: u32 = 3;
/// Least room for a packet, in bytes.
const LEAST_ROOM: u32 = 60;

/// A stream, or the messages of the handshake in one packet number space, in both directions.
#[derive(Debug)]
struct Stream {
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
    crypto: [Stream; 2],
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
    early: Vec<(Arc<Datagram>, usize, Ecn)>,
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
    /// Datagrams that wait for a packet, and those that have arrived.
    datagrams: VecDeque<Box<Message>>,
    arrived: VecDeque<Box<Message>>,
    /// Control frames that wait for a packet.
    control: Vec<Frame>,
    /// The rule for acknowledgments of 0-RTT and 1-RTT packets, and the number of the request that
    /// set it, if any.
    ack_rule: AckRule,
    ack_request: Option<u64>,
    /// Maximum delay of the other end's acknowledgments.
    peer_ack_delay: Span,
    /// True once acknowledgments of another frequency have been requested from the other end.
    has_requested: bool,
    /// Number of marked packets that the other end has reported.
    reported_marks: u64,
    /// True if packets are ECN-capable.
    pub uses_ecn: bool,
    /// The factory of the congestion control, for further paths.
    congestion: MakeCongestion,
    /// Number of the path, and of its first packet among those that count as in flight.
    path: u32,
    path_start: u64,
    /// True if the client migrates once the handshake is confirmed.
    migrates: bool,
    mtu: u32,
    mtu_probes: u32,
    mtu_probe_due: bool,
    probe_timeouts: u32,
    last_activity: Time,
    failed: bool,
    outcome: Outcome,
    events: VecDeque<(u16, Event)>,
    /// True if lost packets are kept for [`Connection::take_losses`].
    pub keeps_losses: bool,
    losses: Vec<(Arc<Datagram>, usize)>,
}

impl Connection {
    /// Creates one end of a connection. `random` seeds the congestion control.
    pub fn new(config: &Config, end: End, congestion: MakeCongestion, random: u64) -> Connection {
        let mtu = SMALLEST_INITIAL;
        let controller = Controller::new(config, congestion(), full_packet(mtu), random);
        let crypto = || Stream {
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
            datagrams: VecDeque::new(),
            arrived: VecDeque::new(),
            control: Vec::new(),
            ack_rule: AckRule::new(config.ack_every.value(), config.max_ack_delay),
            ack_request: None,
            peer_ack_delay: config.max_ack_delay,
            has_requested: false,
            reported_marks: 0,
            congestion,
            path: 0,
            path_start: 0,
            migrates: false,
            mtu,
            mtu_probes: 0,
            mtu_probe_due: false,
            probe_timeouts: 0,
            last_activity: Time::MAX,
            failed: false,
            outcome: Outcome::default(),
            events: VecDeque::new(),
            keeps_losses: false,
            losses: Vec::new(),
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
        self.request_acks();
    }

    /// Adds a datagram to those that wait for a packet (RFC 9221, section 5).
    pub fn send_datagram(&mut self, now: Time, message: Message) {
        self.counters.start.get_or_insert(now);
        self.datagrams.push_back(Box::new(message));
        self.request_acks();
    }

    /// Returns the next datagram that has arrived.
    pub fn next_arrived(&mut self) -> Option<Box<Message>> {
        self.arrived.pop_front()
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

    /// Returns the packets that were lost since the last call: their datagrams, and their places in
    /// these.
    pub fn take_losses(&mut self) -> Vec<(Arc<Datagram>, usize)> {
        std::mem::take(&mut self.losses)
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
        let delay = if self.complete { self.peer_ack_delay } else { Span::ZERO };
        (self.controller.probe_term() + delay) * self.backoff()
    }

    /// Requests acknowledgments of the configured frequency, once the handshake is complete and
    /// this end has data to send.
    fn request_acks(&mut self) {
        let Some(wanted) = self.config.ack_frequency else { return };
        let sends = !self.datagrams.is_empty() || self.streams.values().any(|stream| stream.send.is_used());
        if self.has_requested || !self.complete || !sends {
            return;
        }
        self.has_requested = true;
        self.peer_ack_delay = self.peer_ack_delay.max(wanted.max_ack_delay);
        self.control.push(Frame::AckFrequency(Box::new(AckRequest {
            sequence: 0,
            threshold: wanted.threshold.value(),
            max_ack_delay: wanted.max_ack_delay,
            reordering_threshold: wanted.reordering_threshold.value(),
        })));
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
}
