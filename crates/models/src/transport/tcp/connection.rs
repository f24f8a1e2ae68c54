//! The state machine of a connection (RFC 9293, section 3.3.2), sans-I/O: segments, timers and the
//! application's wishes go in; [`Connection::next_segment`] gives the segments to send, one at a time until
//! there are none; and [`Connection::next_event`] what the application should hear.
//!
//! - Set-up: [`super::handshake`]. The window of a SYN and a SYN-ACK is not scaled, so the first flight
//!   towards the end that opened is at most 65535 bytes, as in reality. Lost SYN, SYN-ACK and last ACK are
//!   repaired by the retransmission of the SYN or SYN-ACK or by the first data.
//! - Either end or both may close; TIME-WAIT lasts 60 s after the last segment, as in Linux
//!   (`tcp_timewait_state_process`), and needs no timer, since it only answers.
//! - A reset counts when its sequence number is exactly the next expected; one elsewhere in the window, or a
//!   SYN, is answered by an acknowledgment (RFC 5961, sections 3.2 and 4.2). TIME-WAIT ignores resets (RFC
//!   1337).
//! - Explicit congestion notification (RFC 3168): agreed on by the flags of the SYNs; new data may be marked;
//!   acknowledgments echo a mark until the sender has reduced its window, once per round trip, and says so.
//! - A connection that fails says why: [`Failure`].
//!
//! Limits: no simultaneous open (only the source of a flow opens), no data on a SYN, no urgent data, no
//! keep-alive.

use super::congestion::Congestion;
use super::events::Events;
use super::handover::Signal;
use super::handshake::{Agreement, Handshake};
use super::header::{self, Numbering};
use super::receiver::Receiver;
use super::reset::Reset;
use super::sender::{Ack, Chunk, News, Sender};
use super::{config, snack, Config};
use crate::transport::flow::SourceCounters;
use bentpipe_core::{QuickStart, Segment, SegmentFlags, SegmentOptions, Span, Time, Timestamps};

pub use super::events::{Event, Failure};

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

/// How long TIME-WAIT lasts (Linux' TCP_TIMEWAIT_LEN).
pub const TIME_WAIT: Span = Span::from_secs(60);

/// The next segment of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Pending {
    #[default]
    Nothing,
    Syn,
    Reset(Reset),
}

/// Explicit congestion notification of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Ecn {
    in_use: bool,
    /// Acknowledgments echo congestion, until the other end says that it has reduced its window.
    echoes: bool,
    /// The segment that was last given out may be marked.
    capable: bool,
}

/// See the module.
pub struct Connection {
    phase: Phase,
    ours: Numbering,
    theirs: Numbering,
    sender: Sender,
    receiver: Receiver,
    pending: Pending,
    handshake: Handshake,
    /// Timestamps are in use.
    timestamps: bool,
    /// Acknowledgments say what is missing.
    snack: bool,
    /// Explicit congestion notification is in use, and what it has to say.
    ecn: Ecn,
    /// Window that a SYN can say.
    syn_window: u32,
    /// Everything handed over was acknowledged, and the application knows it.
    told_all_acknowledged: bool,
    close_wanted: bool,
    time_wait_end: Time,
    events: Events,
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
            handshake: Handshake::new(config),
            timestamps: config.timestamps,
            snack: false,
            ecn: Ecn::default(),
            syn_window: config.window().min(config::UNSCALED_WINDOW) as u32,
            told_all_acknowledged: true,
            close_wanted: false,
            time_wait_end: Time::MAX,
            events: Events::default(),
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
        self.events.withdraw_all_acknowledged();
    }

    /// What is known of the path below changes.
    pub fn signal(&mut self, now: Time, signal: &Signal) {
        if self.phase < Phase::Established {
            return;
        }
        match signal {
            Signal::Freeze => self.receiver.freeze(true),
            Signal::Thaw => self.receiver.freeze(false),
            Signal::Adapt(path) => self.sender.adapt(now, path),
        }
    }

    /// Closes our direction once everything handed over has been sent.
    pub fn close(&mut self) {
        if !self.close_wanted {
            self.close_wanted = true;
            self.sender.close();
        }
    }

    /// Closes our direction now: what was handed over and not sent is forgotten.
    pub fn stop(&mut self) {
        if !self.close_wanted {
            self.sender.forget_unsent();
            self.close();
        }
    }

    /// Ends the connection at once; the other end is told by a reset (RFC 9293, section 3.10.5), if it knows of us.
    pub fn abort(&mut self) {
        let phase = self.phase;
        self.end();
        if !matches!(phase, Phase::Closed | Phase::Listen | Phase::SynSent | Phase::TimeWait) {
            self.pending = Pending::Reset(Reset {
                sequence: self.ours.number(self.sender.nxt()),
                acknowledgment: Some(self.theirs.number(self.receiver.next())),
            });
        }
    }

    /// Whoever reads what arrives has room for so many bytes of the stream in all, which never become fewer. Without
    /// this, what arrives is taken at once.
    pub fn allow(&mut self, bytes: u64) {
        self.receiver.allow(bytes);
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
        self.sender.next_wake().min(self.receiver.next_wake()).min(self.handshake.next_wake())
    }

    /// A timer may have expired. Returns whether it was a time-out for data.
    pub fn wake(&mut self, now: Time) -> bool {
        self.receiver.wake(now, self.sender.estimator());
        match self.handshake.wake(now) {
            Ok(false) => {}
            Ok(true) => self.pending = Pending::Syn,
            Err(_) => {
                self.fail(Failure::Handshake);
                return false;
            }
        }
        match self.sender.wake(now) {
            Ok(timed_out) => timed_out,
            Err(_) => {
                self.fail(Failure::TooManyRetries);
                false
            }
        }
    }

    /// A segment arrives in a packet whose congestion was `experienced` (RFC 3168, section 5).
    #[inline]
    pub fn receive_marked(&mut self, now: Time, segment: &Segment, experienced: bool) {
        if self.ecn.in_use {
            self.ecn.echoes &= !segment.flags.contains(SegmentFlags::CWR);
            if experienced {
                self.ecn.echoes = true;
                self.receiver.hurry();
            }
        }
        self.receive(now, segment);
    }

    /// Whether the segment that was last given out may be marked instead of dropped: new data only (RFC 3168, sections
    /// 6.1.4 and 6.1.5).
    #[inline]
    pub fn may_be_marked(&self) -> bool {
        self.ecn.capable
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
        self.ecn.capable = false;
        if self.pending != Pending::Nothing {
            return self.next_handshake_segment(now).map(taken_apart);
        }
        if self.phase < Phase::Established {
            return None;
        }
        if self.receiver.must_acknowledge_alone() {
            return Some(self.acknowledgment(now, self.sender.nxt()));
        }
        if let Some(chunk) = self.sender.next_chunk(now) {
            if chunk.fin() {
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
        self.events.next()
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
            Some(stamps) if self.timestamps => self.receiver.is_old(stamps.value(), start, occupies > 0),
            _ => false,
        };
        if old || !self.receiver.is_acceptable(start, occupies) {
            if !flags.contains(SegmentFlags::RST) {
                self.receiver.acknowledge_old(start, payload);
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
            if self.receiver.right_sizes() {
                let stamps = segment.timestamps.filter(|_| self.timestamps);
                self.receiver.note_echo(now, stamps.and_then(|stamps| header::echoed(now, stamps.echo())));
            }
            self.take_data(now, start, payload, fin);
        }
    }

    #[inline]
    fn take_acknowledgment(&mut self, now: Time, segment: &Segment, start: u64, occupies: bool) {
        let Some(position) = self.ours.position(segment.acknowledgment, self.sender.una()) else { return };
        let echo = match segment.timestamps {
            Some(stamps) if self.timestamps => header::echoed(now, stamps.echo()),
            _ => None,
        };
        if let (Some(stamps), true) = (segment.timestamps, self.timestamps) {
            self.sender.note_timestamps(stamps.value(), stamps.echo());
        }
        let window = segment.window;
        let echo_flag = segment.flags.0 & (SegmentFlags::ECE.0 | SegmentFlags::SYN.0) == SegmentFlags::ECE.0;
        let ece = self.ecn.in_use && echo_flag;
        let ack = Ack { position, window, sequence: start, occupies, sack: &[], echo, ece };
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
            self.events.add(Event::AllAcknowledged);
        }
        if self.sender.fin_acknowledged() {
            self.fin_acknowledged(now);
        }
    }

    /// An acknowledgment with SACK blocks.
    fn take_blocks(&mut self, now: Time, ack: &Ack, options: &SegmentOptions) -> News {
        if let Some(snack) = &options.snack {
            let unit = self.sender.segment_size().into();
            let blocks: Vec<_> = snack::held(snack, ack.position, unit).collect();
            return self.sender.acknowledge(now, &Ack { sack: &blocks, ..*ack });
        }
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
        let arrival = self.receiver.take(now, self.sender.estimator(), start, payload, fin);
        if arrival.delivered > 0 {
            self.events.add(Event::Received(arrival.delivered));
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
        self.events.add(Event::Closed);
    }

    fn fin_received(&mut self, now: Time) {
        let next = match self.phase {
            Phase::Established => Phase::CloseWait,
            Phase::FinWait1 => Phase::Closing,
            Phase::FinWait2 => Phase::TimeWait,
            _ => return,
        };
        self.enter(now, next);
        self.events.add(Event::PeerClosed);
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
                self.agree(segment);
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
                    self.agree(segment);
                    self.establish(now, segment);
                    let start = self.theirs.position(segment.sequence, 0).unwrap_or(0);
                    self.take_acknowledgment(now, segment, start, true);
                    self.receiver.acknowledge_now();
                }
            }
            _ => self.reset_in_answer(segment),
        }
    }

    fn agree(&mut self, syn: &Segment) {
        self.theirs = Numbering::new(syn.sequence);
        self.handshake.agree(syn);
        self.ecn.in_use = self.handshake.agreement().ecn;
        let Agreement { timestamps, sack, snack, window_scale, .. } = *self.handshake.agreement();
        self.timestamps = timestamps;
        self.snack = snack;
        let timestamp = syn.timestamps.filter(|_| timestamps).map(Timestamps::value);
        self.receiver.begin(sack, window_scale, timestamp);
    }

    fn establish(&mut self, now: Time, answer: &Segment) {
        self.phase = Phase::Established;
        let rtt = self.handshake.finish(now, answer);
        let Agreement { sack, snack, segment_size, .. } = *self.handshake.agreement();
        self.sender.establish(now, rtt, self.handshake.timeouts(), segment_size, sack || snack);
        if let Some(rate @ 1..) = answer.options.as_ref().and_then(|options| options.granted) {
            let granted = QuickStart { rate, missed: false }.bits_per_second();
            self.sender.grant(now, granted, self.timestamps);
        }
        self.events.add(Event::Connected);
    }

    fn fail(&mut self, failure: Failure) {
        self.end();
        self.events.add(Event::Failed(failure));
    }

    fn end(&mut self) {
        self.phase = Phase::Closed;
        self.pending = Pending::Nothing;
        self.handshake.stop();
        self.sender.stop();
    }

    /// A segment for a connection that does not exist.
    fn reset_in_answer(&mut self, segment: &Segment) {
        if let Some(reset) = Reset::answering(segment) {
            self.pending = Pending::Reset(reset);
        }
    }

    fn next_handshake_segment(&mut self, now: Time) -> Option<Segment> {
        match std::mem::take(&mut self.pending) {
            Pending::Nothing => None,
            Pending::Syn => Some(self.syn(now)),
            Pending::Reset(reset) => Some(reset.segment()),
        }
    }

    fn syn(&mut self, now: Time) -> Segment {
        let answers = self.phase == Phase::SynReceived;
        let options = self.handshake.send(now);
        let flags = if answers { SegmentFlags::SYN.with(SegmentFlags::ACK) } else { SegmentFlags::SYN };
        Segment {
            sequence: self.ours.number(0),
            acknowledgment: if answers { self.theirs.number(self.receiver.next()) } else { 0 },
            window: self.syn_window,
            flags: flags.with(self.handshake.ecn_flags(answers)),
            timestamps: self.stamp(now, answers),
            options: Some(Box::new(options)),
            payload: 0,
        }
    }

    #[inline(always)]
    fn data(&mut self, now: Time, chunk: Chunk) -> Segment {
        let mut flags =
            if chunk.fin() { SegmentFlags::ACK.with(SegmentFlags::FIN) } else { SegmentFlags::ACK };
        if self.ecn.in_use && chunk.fresh() && chunk.payload() > 0 {
            self.ecn.capable = true;
            if self.sender.take_reduced() {
                flags = flags.with(SegmentFlags::CWR);
            }
        }
        self.segment(now, chunk.start(), chunk.payload() as u16, flags, None)
    }

    #[inline(always)]
    fn acknowledgment(&mut self, now: Time, sequence: u64) -> Segment {
        if self.snack {
            return self.negative_acknowledgment(now, sequence);
        }
        let (sack, granted) = (self.receiver.sack_blocks(self.theirs), self.handshake.take_granted());
        let options = (sack.is_some() || granted.is_some()).then(|| {
            Box::new(SegmentOptions { sack: sack.unwrap_or_default(), granted, ..SegmentOptions::default() })
        });
        self.segment(now, sequence, 0, SegmentFlags::ACK, options)
    }

    #[cold]
    fn negative_acknowledgment(&mut self, now: Time, sequence: u64) -> Segment {
        let snack = self.receiver.snack(self.sender.segment_size().into());
        let options =
            snack.map(|snack| Box::new(SegmentOptions { snack: Some(snack), ..Default::default() }));
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
        let (acknowledged, window) = self.receiver.acknowledgment(now, payload > 0);
        let flags = if self.ecn.echoes { flags.with(SegmentFlags::ECE) } else { flags };
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
    fn stamp(&self, now: Time, answers: bool) -> Option<Timestamps> {
        self.timestamps.then(|| {
            let echo = if answers { self.receiver.echo() } else { 0 };
            Timestamps::new(header::timestamp(now), echo)
        })
    }
}

/// The same segment, field by field: so the rare segments that are made in memory do not make the others, which live in
/// registers until they are part of a packet, take that way.
#[inline(always)]
fn taken_apart(segment: Segment) -> Segment {
    let Segment { sequence, acknowledgment, window, payload, flags, timestamps, options } = segment;
    Segment { sequence, acknowledgment, window, payload, flags, timestamps, options }
}

/// Whether a segment opens a connection, with or without asking for explicit congestion notification.
#[inline]
pub fn is_syn(segment: &Segment) -> bool {
    segment.flags.contains(SegmentFlags::SYN)
        && segment.flags.0 & (SegmentFlags::ACK.0 | SegmentFlags::RST.0) == 0
}
