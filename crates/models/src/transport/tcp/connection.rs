//! The state machine of a connection (RFC 9293, section 3.3.2), sans-I/O: segments, timers and the application's wishes go
//! in; [`Connection::next_segment`] gives the segments to send, one at a time until there are none; and
//! [`Connection::next_event`] what the application should hear.
//!
//! - Options of the SYN (MSS, window scale, SACK, timestamps) are in use when both ends sent them. The window of a SYN and
//!   a SYN-ACK is not scaled, so the first flight towards the end that opened is at most 65535 bytes, as in reality.
//! - Lost SYN, SYN-ACK and last ACK of the handshake: each is repaired by the retransmission of the SYN or SYN-ACK or by
//!   the first data. The time-out doubles from `rto_initial`.
//! - Either end or both may close; TIME-WAIT lasts 60 s after the last segment, as in Linux
//!   (`tcp_timewait_state_process`), and needs no timer, since it only answers.
//! - A reset counts when its sequence number is exactly the next expected; one elsewhere in the window, or a SYN, is
//!   answered by an acknowledgment (RFC 5961, sections 3.2 and 4.2). TIME-WAIT ignores resets (RFC 1337).
//! - A connection that fails says why: [`Failure`].
//!
//! Limits: no simultaneous open (only the source of a flow opens), no data on a SYN, no urgent data, no keep-alive.

use super::congestion::Congestion;
use super::header::Numbering;
use super::receiver::Receiver;
use super::rtt::Estimator;
use super::sender::{Ack, Chunk, News, Sender};
use super::timer::Timer;
use super::{config, Config};
use crate::transport::flow::SourceCounters;
use bentpipe_core::{Segment, SegmentFlags, SegmentOptions, Span, Time};

/// States of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// No connection yet, or no more.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has received a SYN and sent a SYN-ACK.
    SynReceived,
    /// Open.
    Established,
    /// Has sent a FIN.
    FinWait1,
    /// Its FIN is acknowledged.
    FinWait2,
    /// Has sent a FIN and received one before the acknowledgment of its own.
    Closing,
    /// Both FINs are acknowledged; answers late segments.
    TimeWait,
    /// Has received a FIN.
    CloseWait,
    /// Has sent a FIN after receiving one.
    LastAck,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The other end does not know the connection.
    Reset,
    /// No answer to the SYN or SYN-ACK.
    Handshake,
    /// The same data was retransmitted, or the closed window probed, too often.
    TooManyRetries,
}

/// What the application should hear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection is established.
    Connected,
    /// So many bytes have arrived in order.
    Received(u64),
    /// Everything handed over is acknowledged.
    AllAcknowledged,
    /// The other end has closed its direction.
    PeerClosed,
    /// Our FIN is acknowledged.
    Closed,
    /// The connection has failed.
    Failed(Failure),
}

/// How long TIME-WAIT lasts (Linux' TCP_TIMEWAIT_LEN).
const TIME_WAIT: Span = Span::from_secs(60);

/// Milliseconds to the tick of the timestamp clock, in nanoseconds (Linux' TCP_TS_HZ).
const TIMESTAMP_TICK: u64 = 1_000_000;

/// The timestamp option, padded.
const TIMESTAMP_BYTES: u32 = 12;

/// The next segment of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Pending {
    #[default]
    Nothing,
    Syn,
    Reset {
        sequence: u32,
        acknowledgment: Option<u32>,
    },
}

/// See the module.
pub struct Connection {
    phase: Phase,
    config: Config,
    ours: Numbering,
    theirs: Numbering,
    sender: Sender,
    receiver: Receiver,
    pending: Pending,
    /// Options in use.
    timestamps: bool,
    sack: bool,
    scale: bool,
    segment_size: u32,
    handshake: Handshake,
    /// Everything handed over was acknowledged, and the application knows it.
    told_all_acknowledged: bool,
    close_wanted: bool,
    time_wait_end: Time,
    events: Events,
}

/// The retransmission of SYN or SYN-ACK.
struct Handshake {
    timer: Timer,
    estimator: Estimator,
    sent: Time,
    /// Sent more than once, for whatever reason.
    resent: bool,
    /// Time-outs.
    retransmissions: u32,
    retries: u32,
}

/// Events that wait, in the order in which the application hears them.
#[derive(Default)]
struct Events {
    any: bool,
    connected: bool,
    received: u64,
    all_acknowledged: bool,
    peer_closed: bool,
    closed: bool,
    failed: Option<Failure>,
}

impl Connection {
    /// A closed connection. `initial` is our initial sequence number.
    pub fn new(config: &Config, congestion: Box<dyn Congestion>, initial: u32, random: u64) -> Connection {
        Connection {
            phase: Phase::Closed,
            ours: Numbering::new(initial),
            theirs: Numbering::default(),
            sender: Sender::new(config, congestion, initial, random),
            receiver: Receiver::new(config),
            pending: Pending::Nothing,
            timestamps: config.timestamps,
            sack: config.recovery == config::Recovery::Sack,
            scale: config.window_scaling,
            segment_size: config.segment_size.value() as u32,
            handshake: Handshake {
                timer: Timer::stopped(),
                estimator: Estimator::new(config),
                sent: Time::MAX,
                resent: false,
                retransmissions: 0,
                retries: config.syn_retries.value() as u32,
            },
            told_all_acknowledged: true,
            close_wanted: false,
            time_wait_end: Time::MAX,
            events: Events::default(),
            config: config.clone(),
        }
    }

    /// Waits for the other end to open.
    pub fn listen(&mut self) {
        self.phase = Phase::Listen;
    }

    /// Opens.
    pub fn open(&mut self) {
        self.phase = Phase::SynSent;
        self.pending = Pending::Syn;
    }

    /// Hands over more bytes to send; `u64::MAX` for an endless stream.
    pub fn send(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.sender.hand_over(bytes);
        self.told_all_acknowledged = false;
    }

    /// Closes our direction once everything handed over has been sent.
    pub fn close(&mut self) {
        if !self.close_wanted {
            self.close_wanted = true;
            self.sender.close();
        }
    }

    /// Where the connection stands.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The sending half.
    #[inline]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// What the flow's source reports.
    pub fn counters_mut(&mut self) -> &mut SourceCounters {
        &mut self.sender.counters
    }

    /// The receiving half.
    #[inline]
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// When to call [`Connection::wake`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.sender.next_wake().min(self.receiver.next_wake()).min(self.handshake.timer.wake())
    }

    /// A timer may have expired. Returns whether it was a time-out for data.
    pub fn wake(&mut self, now: Time) -> bool {
        self.receiver.wake(now);
        if self.handshake.timer.expired(now) {
            if self.handshake.retransmissions >= self.handshake.retries {
                self.fail(Failure::Handshake);
                return false;
            }
            self.handshake.retransmissions += 1;
            self.handshake.estimator.back_off();
            self.pending = Pending::Syn;
        }
        match self.sender.wake(now) {
            Ok(timed_out) => timed_out,
            Err(_) => {
                self.fail(Failure::TooManyRetries);
                false
            }
        }
    }

    /// A segment arrives.
    #[inline]
    pub fn receive(&mut self, now: Time, segment: &Segment) {
        if self.phase > Phase::SynReceived || (self.phase == Phase::SynReceived && !is_syn(segment)) {
            self.receive_synchronised(now, segment);
        } else {
            self.receive_handshake(now, segment);
        }
    }

    /// The next segment to send now; ask until there is none.
    #[inline]
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if self.pending != Pending::Nothing {
            return self.next_handshake_segment(now);
        }
        if self.phase < Phase::Established {
            return None;
        }
        if self.receiver.must_acknowledge_alone() {
            return Some(self.acknowledgment(now, self.sender.nxt()));
        }
        if let Some(chunk) = self.sender.next_chunk(now) {
            if chunk.fin {
                self.fin_sent();
            }
            return Some(self.data(now, chunk));
        }
        if self.receiver.must_acknowledge() {
            return Some(self.acknowledgment(now, self.sender.nxt()));
        }
        if self.sender.take_probe() {
            return Some(self.acknowledgment(now, self.sender.una() - 1));
        }
        None
    }

    /// The next thing that the application should hear.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        if !self.events.any {
            return None;
        }
        let events = &mut self.events;
        if std::mem::take(&mut events.connected) {
            return Some(Event::Connected);
        }
        if events.received > 0 {
            return Some(Event::Received(std::mem::take(&mut events.received)));
        }
        if std::mem::take(&mut events.all_acknowledged) {
            return Some(Event::AllAcknowledged);
        }
        if std::mem::take(&mut events.peer_closed) {
            return Some(Event::PeerClosed);
        }
        if std::mem::take(&mut events.closed) {
            return Some(Event::Closed);
        }
        events.any = false;
        events.failed.take().map(Event::Failed)
    }

    /// Segments in the synchronised states, in the order of RFC 9293, section 3.10.7.4.
    #[inline]
    fn receive_synchronised(&mut self, now: Time, segment: &Segment) {
        let flags = segment.flags;
        let fin = flags.contains(SegmentFlags::FIN);
        let payload = u64::from(segment.payload);
        let occupies = payload + u64::from(fin);
        if self.phase == Phase::TimeWait {
            if now >= self.time_wait_end {
                self.phase = Phase::Closed;
                self.reset_in_answer(segment);
                return;
            }
            if flags.contains(SegmentFlags::ACK) {
                self.time_wait_end = now + TIME_WAIT;
            }
        }
        let Some(start) = self.theirs.position(segment.sequence, self.receiver.next()) else { return };
        let old = match segment.timestamps {
            Some((value, _)) if self.timestamps => self.receiver.is_old(value, start, occupies > 0),
            _ => false,
        };
        if old || !self.receiver.is_acceptable(start, occupies) {
            if !flags.contains(SegmentFlags::RST) {
                self.receiver.acknowledge_now();
            }
            return;
        }
        if flags.contains(SegmentFlags::RST) {
            match self.phase {
                Phase::TimeWait => {}
                _ if start == self.receiver.next() => self.fail(Failure::Reset),
                _ => self.receiver.acknowledge_now(),
            }
            return;
        }
        if flags.contains(SegmentFlags::SYN) {
            self.receiver.acknowledge_now();
            return;
        }
        if !flags.contains(SegmentFlags::ACK) {
            return;
        }
        if self.phase == Phase::SynReceived {
            if segment.acknowledgment != self.ours.number(1) {
                self.reset_in_answer(segment);
                return;
            }
            self.establish(now, segment);
        }
        self.take_acknowledgment(now, segment, start, occupies > 0);
        if occupies > 0 && self.phase != Phase::Closed {
            self.take_data(now, start, payload, fin);
        }
    }

    #[inline]
    fn take_acknowledgment(&mut self, now: Time, segment: &Segment, start: u64, occupies: bool) {
        let Some(position) = self.ours.position(segment.acknowledgment, self.sender.una()) else { return };
        let echo = match segment.timestamps {
            Some((_, echo)) if self.timestamps => echoed(now, echo),
            _ => None,
        };
        let ack = Ack { position, window: segment.window, sequence: start, occupies, sack: &[], echo };
        let news = match &segment.options {
            None => self.sender.acknowledge(now, &ack),
            Some(options) => self.take_blocks(now, &ack, options),
        };
        match news {
            News::Advanced => {}
            News::Nothing => return,
            News::NotSent => {
                self.receiver.acknowledge_now();
                return;
            }
        }
        if !self.told_all_acknowledged && self.sender.all_acknowledged() {
            self.told_all_acknowledged = true;
            self.events.any = true;
            self.events.all_acknowledged = true;
        }
        if self.sender.fin_acknowledged() {
            self.fin_acknowledged(now);
        }
    }

    /// An acknowledgment with SACK blocks.
    fn take_blocks(&mut self, now: Time, ack: &Ack, options: &SegmentOptions) -> News {
        let near = self.sender.una();
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for &(left, right) in options.sack.as_slice() {
            if let (Some(left), Some(right)) =
                (self.ours.position(left, near), self.ours.position(right, near))
            {
                blocks[count] = (left, right);
                count += 1;
            }
        }
        self.sender.acknowledge(now, &Ack { sack: &blocks[..count], ..*ack })
    }

    #[inline]
    fn take_data(&mut self, now: Time, start: u64, payload: u64, fin: bool) {
        let arrival = self.receiver.take(now, start, payload, fin);
        if arrival.delivered > 0 {
            self.events.any = true;
            self.events.received += arrival.delivered;
        }
        if arrival.finished {
            self.fin_received(now);
        }
    }

    fn fin_sent(&mut self) {
        self.phase = match self.phase {
            Phase::Established => Phase::FinWait1,
            Phase::CloseWait => Phase::LastAck,
            other => other,
        };
    }

    fn fin_acknowledged(&mut self, now: Time) {
        let next = match self.phase {
            Phase::FinWait1 => Phase::FinWait2,
            Phase::Closing => Phase::TimeWait,
            Phase::LastAck => Phase::Closed,
            _ => return,
        };
        self.enter(now, next);
        self.events.any = true;
        self.events.closed = true;
    }

    fn fin_received(&mut self, now: Time) {
        let next = match self.phase {
            Phase::Established => Phase::CloseWait,
            Phase::FinWait1 => Phase::Closing,
            Phase::FinWait2 => Phase::TimeWait,
            _ => return,
        };
        self.enter(now, next);
        self.events.any = true;
        self.events.peer_closed = true;
    }

    fn enter(&mut self, now: Time, phase: Phase) {
        self.phase = phase;
        if phase == Phase::TimeWait {
            self.time_wait_end = now + TIME_WAIT;
        }
    }

    fn receive_handshake(&mut self, now: Time, segment: &Segment) {
        let flags = segment.flags;
        match self.phase {
            Phase::Listen if is_syn(segment) => {
                self.take_options(segment);
                self.phase = Phase::SynReceived;
                self.pending = Pending::Syn;
            }
            // The SYN-ACK was lost, or is late.
            Phase::SynReceived if segment.sequence == self.theirs.number(0) => self.pending = Pending::Syn,
            Phase::SynSent => {
                let acknowledged = flags.contains(SegmentFlags::ACK);
                if acknowledged && segment.acknowledgment != self.ours.number(1) {
                    self.reset_in_answer(segment);
                } else if flags.contains(SegmentFlags::RST) {
                    if acknowledged {
                        self.fail(Failure::Reset);
                    }
                } else if acknowledged && flags.contains(SegmentFlags::SYN) {
                    self.take_options(segment);
                    self.establish(now, segment);
                    let start = self.theirs.position(segment.sequence, 0).unwrap_or(0);
                    self.take_acknowledgment(now, segment, start, true);
                    self.receiver.acknowledge_now();
                }
            }
            _ => self.reset_in_answer(segment),
        }
    }

    /// Takes what the other end's SYN says.
    fn take_options(&mut self, segment: &Segment) {
        self.theirs = Numbering::new(segment.sequence);
        let options = segment.options.as_deref().copied().unwrap_or_default();
        self.timestamps &= segment.timestamps.is_some();
        self.sack &= options.sack_permitted;
        self.scale &= options.window_scale.is_some();
        // RFC 9293, section 3.7.1: 536 when the other end does not say.
        let timestamps = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        let mss = options.mss.map_or(536, u32::from);
        self.segment_size = self.segment_size.min(mss.saturating_sub(timestamps).max(1));
        let scale = self.scale.then(|| self.config.window_scale());
        let timestamp = segment.timestamps.filter(|_| self.timestamps).map(|(value, _)| value);
        self.receiver.begin(self.sack, scale, timestamp);
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        self.phase = Phase::Established;
        self.handshake.timer.stop();
        let echoed = segment.timestamps.filter(|_| self.timestamps).and_then(|(_, echo)| echoed(now, echo));
        let sent = if self.handshake.resent { echoed } else { Some(self.handshake.sent) };
        let rtt = sent.map(|sent| now.since(sent));
        let retransmissions = self.handshake.retransmissions;
        self.sender.establish(now, rtt, retransmissions, self.segment_size, self.sack);
        self.events.any = true;
        self.events.connected = true;
    }

    fn fail(&mut self, failure: Failure) {
        self.phase = Phase::Closed;
        self.pending = Pending::Nothing;
        self.handshake.timer.stop();
        self.sender.stop();
        self.events.any = true;
        self.events.failed = Some(failure);
    }

    /// RFC 9293, section 3.10.7.1: a segment for a connection that does not exist.
    fn reset_in_answer(&mut self, segment: &Segment) {
        if segment.flags.contains(SegmentFlags::RST) {
            return;
        }
        self.pending = if segment.flags.contains(SegmentFlags::ACK) {
            Pending::Reset { sequence: segment.acknowledgment, acknowledgment: None }
        } else {
            let length = u32::from(segment.payload)
                + u32::from(segment.flags.contains(SegmentFlags::SYN))
                + u32::from(segment.flags.contains(SegmentFlags::FIN));
            Pending::Reset { sequence: 0, acknowledgment: Some(segment.sequence.wrapping_add(length)) }
        };
    }

    fn next_handshake_segment(&mut self, now: Time) -> Option<Segment> {
        match std::mem::take(&mut self.pending) {
            Pending::Nothing => None,
            Pending::Syn => Some(self.syn(now)),
            Pending::Reset { sequence, acknowledgment } => Some(Segment {
                sequence,
                acknowledgment: acknowledgment.unwrap_or(0),
                flags: match acknowledgment {
                    Some(_) => SegmentFlags::RST.with(SegmentFlags::ACK),
                    None => SegmentFlags::RST,
                },
                ..Segment::default()
            }),
        }
    }

    fn syn(&mut self, now: Time) -> Segment {
        let answers = self.phase == Phase::SynReceived;
        self.handshake.resent = self.handshake.sent != Time::MAX;
        self.handshake.sent = now;
        self.handshake.timer.start(now + self.handshake.estimator.rto());
        // The MSS option counts the payload and the options of data segments (RFC 6691).
        let timestamps = if self.config.timestamps { TIMESTAMP_BYTES } else { 0 };
        let mss = self.config.segment_size.value() as u32 + timestamps;
        let options = SegmentOptions {
            mss: Some(mss as u16),
            window_scale: self.scale.then(|| self.config.window_scale()),
            sack_permitted: self.sack,
            ..SegmentOptions::default()
        };
        Segment {
            sequence: self.ours.number(0),
            acknowledgment: if answers { self.theirs.number(self.receiver.next()) } else { 0 },
            window: self.config.window().min(config::UNSCALED_WINDOW) as u32,
            flags: if answers { SegmentFlags::SYN.with(SegmentFlags::ACK) } else { SegmentFlags::SYN },
            timestamps: self.stamp(now, answers),
            options: Some(Box::new(options)),
            payload: 0,
        }
    }

    #[inline]
    fn data(&mut self, now: Time, chunk: Chunk) -> Segment {
        let flags = if chunk.fin { SegmentFlags::ACK.with(SegmentFlags::FIN) } else { SegmentFlags::ACK };
        self.segment(now, chunk.start, chunk.payload as u16, flags, None)
    }

    #[inline]
    fn acknowledgment(&mut self, now: Time, sequence: u64) -> Segment {
        let sack = self.receiver.sack_blocks(self.theirs);
        let options = sack.map(|sack| Box::new(SegmentOptions { sack, ..SegmentOptions::default() }));
        self.segment(now, sequence, 0, SegmentFlags::ACK, options)
    }

    #[inline(always)]
    fn segment(
        &mut self,
        now: Time,
        sequence: u64,
        payload: u16,
        flags: SegmentFlags,
        options: Option<Box<SegmentOptions>>,
    ) -> Segment {
        let (acknowledged, window) = self.receiver.acknowledgment();
        Segment {
            sequence: self.ours.number(sequence),
            acknowledgment: self.theirs.number(acknowledged),
            window,
            payload,
            flags,
            timestamps: self.stamp(now, true),
            options,
        }
    }

    #[inline]
    fn stamp(&self, now: Time, answers: bool) -> Option<(u32, u32)> {
        self.timestamps.then(|| {
            let echo = if answers { self.receiver.echo() } else { 0 };
            ((now.as_nanos() / TIMESTAMP_TICK) as u32, echo)
        })
    }
}

#[inline]
fn is_syn(segment: &Segment) -> bool {
    segment.flags.contains(SegmentFlags::SYN)
        && segment.flags.0 & (SegmentFlags::ACK.0 | SegmentFlags::RST.0) == 0
}

/// The moment at which a timestamp was sent that is now echoed; `None` when it lies in the future.
#[inline]
fn echoed(now: Time, echo: u32) -> Option<Time> {
    let ticks = now.as_nanos() / TIMESTAMP_TICK;
    let age = (ticks as u32).wrapping_sub(echo);
    (age as i32 >= 0 && u64::from(age) <= ticks)
        .then(|| Time::from_nanos((ticks - u64::from(age)) * TIMESTAMP_TICK))
}
