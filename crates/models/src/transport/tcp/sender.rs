//! The sending half of a connection: what may be sent now, and what acknowledgments and time-outs change.
//!
//! The order of work for an acknowledgment is that of Linux' `tcp_ack`: window update, SACK, cumulative
//! acknowledgment, round-trip time and `pkts_acked`, loss recovery, retransmission timer, congestion window;
//! then sending, until the window is full.
//!
//! - Window updates: as in `tcp_may_update_window`.
//! - Round-trip time: one sample per acknowledgment, from the first segment that it acknowledges, none when
//!   one of them was sent twice (Karn); else from the first one SACKed; else from the timestamp, when in use.
//! - Retransmission timer: RFC 6298, section 5; also restarted when the first segment is sent again, as in
//!   Linux.
//! - The congestion window may rise (`cong_avoid`) for acknowledgments of new data outside of recovery
//!   (`tcp_may_raise_cwnd`); whether it was the limit is told by `is_cwnd_limited`, kept as in
//!   `tcp_cwnd_validate`.
//! - Small segments: no Nagle; a segment that the receive window cuts short is sent only if that is half of
//!   the largest window seen (RFC 1122, section 4.2.3.4) or by the persist timer.
//! - Zero window (RFC 9293, section 3.8.6.1): the persist timer sends a segment without data below the
//!   window, as Linux does, which the receiver must answer.
//!
//! - Pacing: [`super::pacing`], asked last, after all else allows a segment to go.
//!
//! Deviations: no restart of the window after idle time (RFC 5681, section 4.1), no segmentation offload.

use super::congestion::{AckSample, Congestion, Event, State, CA_CWR, CA_RECOVERY, INFINITE_SSTHRESH};
use super::pacing::{pace_always, Pacing};
use super::probe::Probe;
use super::rate::{self, check_application_limited};
use super::recovery::{Facts, Parts, Recovery};
use super::rtt::Estimator;
use super::scoreboard::{in_flight, Lost, Scoreboard, Tally};
use super::timer::Timer;
use super::undo::Dsack;
use super::window::Usage;
use super::Config;
use crate::transport::flow::SourceCounters;
use bentpipe_core::{Span, Time};

/// A stretch of the stream to put into a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// Position of the first byte.
    pub start: u64,
    /// Payload bytes.
    pub payload: u32,
    /// Whether the FIN follows.
    pub fin: bool,
    /// Whether it is sent for the first time.
    pub fresh: bool,
}

/// What an incoming segment says to the sender, in positions.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Next position expected by the other end.
    pub position: u64,
    /// Receive window, bytes.
    pub window: u32,
    /// Position of the segment itself.
    pub sequence: u64,
    /// Whether the segment carries data, SYN or FIN.
    pub occupies: bool,
    /// SACK blocks.
    pub sack: &'a [(u64, u64)],
    /// When the echoed timestamp was sent.
    pub echo: Option<Time>,
    /// Timestamps as they are, of the other end and echoed; 0 without.
    pub stamps: (u32, u32),
    /// Whether it says that congestion was experienced.
    pub ece: bool,
}

/// See the module.
pub struct Sender {
    /// The congestion control's view.
    pub state: State,
    /// What the flow's source reports.
    pub counters: SourceCounters,
    congestion: Box<dyn Congestion>,
    has_cong_control: bool,
    has_pkts_acked: bool,
    scoreboard: Scoreboard,
    recovery: Recovery,
    pacing: Pacing,
    /// For a congestion control that takes samples.
    rate: rate::Estimator,
    estimator: Estimator,
    timer: Timer,
    purpose: Purpose,
    usage: Usage,
    config: Box<Config>,
    segment_size: u32,
    /// First unacknowledged position.
    una: u64,
    /// Next position to be sent for the first time.
    nxt: u64,
    /// End of what the application has handed over.
    end: u64,
    /// The application has closed: a FIN follows at `end`.
    closed: bool,
    /// First position that the receive window does not allow.
    edge: u64,
    window: u32,
    largest_window: u32,
    /// Position of the segment that last updated the window (RFC 9293's SND.WL1).
    window_from: u64,
    /// Unanswered window probes.
    probes: u32,
    probe_due: bool,
    /// Send what the window allows, however small.
    overriding: bool,
    retries: u32,
    nagle: bool,
    /// The last segment must be sent again as a probe, or new data beyond the window.
    loss_probe_due: bool,
    last_rtt: Option<Span>,
    random: u64,
}

/// What the timer is for, when something is out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// The retransmission time-out.
    Retransmit,
    /// A tail loss probe.
    Probe,
    /// A segment that will be lost by its time (RFC 8985, section 6.2, step 5).
    Reorder,
}

/// Shortest wait of a timer that should have expired already (a tick of Linux' clock at 1000 Hz).
const SHORTEST: Span = Span::from_millis(1);
/// Grace of the reordering timer, as Linux has it.
const GRACE: Span = Span::from_millis(2);

/// How things stood before an acknowledgment.
struct Before {
    una: u64,
    in_flight: u32,
    lost: u32,
}

/// What an acknowledgment meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// It acknowledges what was not sent.
    NotSent,
    /// It acknowledges nothing new.
    Nothing,
    /// It acknowledges new data.
    Advanced,
}

/// The same data was sent too often without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyRetries;

impl Sender {
    /// Before the handshake. `initial` is the initial sequence number, `random` seeds the congestion
    /// control's draws.
    pub fn new(config: &Config, congestion: Box<dyn Congestion>, initial: u32, random: u64) -> Sender {
        let first = initial.wrapping_add(1);
        let mut state = State {
            snd_cwnd: config.initial_window.value() as u32,
            snd_cwnd_clamp: u32::MAX,
            snd_ssthresh: config
                .initial_ssthresh
                .map_or(INFINITE_SSTHRESH, |segments| segments.value() as u32),
            snd_una: first,
            snd_nxt: first,
            mss_cache: config.segment_size.value() as u32,
            rtt_min_us: u32::MAX,
            sk_pacing_rate: u64::MAX,
            sk_max_pacing_rate: u64::MAX,
            ..State::default()
        };
        if config.pacing {
            pace_always(&mut state);
        }
        let (ss_ratio, ca_ratio) = (config.pacing_ss_ratio.value(), config.pacing_ca_ratio.value());
        Sender {
            counters: SourceCounters::default(),
            has_cong_control: congestion.has_cong_control(),
            has_pkts_acked: congestion.has_pkts_acked(),
            congestion,
            scoreboard: Scoreboard::default(),
            recovery: Recovery::new(config, true),
            pacing: Pacing::new(ss_ratio, ca_ratio, config.segmentation_offload),
            rate: rate::Estimator::default(),
            estimator: Estimator::new(config),
            timer: Timer::stopped(),
            purpose: Purpose::Retransmit,
            usage: Usage::new(config),
            config: Box::new(config.clone()),
            segment_size: state.mss_cache,
            una: 1,
            nxt: 1,
            end: 1,
            closed: false,
            edge: 1,
            window: 0,
            largest_window: 0,
            window_from: 0,
            probes: 0,
            probe_due: false,
            overriding: false,
            retries: config.retries.value() as u32,
            nagle: config.nagle,
            loss_probe_due: false,
            last_rtt: None,
            random,
            state,
        }
    }

    /// The handshake is over. `rtt` is a sample from it, `syn_retransmissions` how often the SYN was sent
    /// again: after more than one the window starts at one segment (RFC 5681, section 3.1, as Linux reads
    /// it).
    pub fn establish(
        &mut self,
        now: Time,
        rtt: Option<Span>,
        syn_retransmissions: u32,
        segment_size: u32,
        sack: bool,
    ) {
        self.segment_size = self.segment_size.min(segment_size);
        self.state.mss_cache = self.segment_size;
        self.recovery = Recovery::new(&self.config, sack);
        self.scoreboard = Scoreboard::new(self.recovery.is_timed());
        self.stamp(now);
        match rtt {
            Some(rtt) => self.take_rtt(rtt),
            None => self.estimator.fall_back(),
        }
        self.state.snd_cwnd = if syn_retransmissions > 1 { 1 } else { self.usage.initial() };
        self.pacing.follow_window(&mut self.state);
        self.congestion.init(&mut self.state);
    }

    /// More to send; `u64::MAX` for an endless stream.
    pub fn hand_over(&mut self, bytes: u64) {
        debug_assert!(!self.closed, "the application sends after it closed");
        self.check_application_limited();
        self.end = self.end.saturating_add(bytes);
    }

    /// No more to send: a FIN follows.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// What was handed over and not sent is forgotten.
    pub fn forget_unsent(&mut self) {
        self.end = self.end.min(self.nxt);
    }

    /// Whether everything handed over is acknowledged.
    #[inline]
    pub fn all_acknowledged(&self) -> bool {
        self.una >= self.end
    }

    /// Whether the FIN was sent.
    #[inline]
    pub fn fin_sent(&self) -> bool {
        self.closed && self.nxt > self.end
    }

    /// Whether the FIN is acknowledged.
    #[inline]
    pub fn fin_acknowledged(&self) -> bool {
        self.closed && self.una > self.end
    }

    /// First unacknowledged position.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Next position to be sent for the first time.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Whether something sent is not acknowledged.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.una < self.nxt
    }

    /// Payload acknowledged so far.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.una.min(self.end) - 1
    }

    /// First position that the receive window does not allow.
    pub fn window_edge(&self) -> u64 {
        self.edge
    }

    /// Payload bytes of a full segment.
    #[inline]
    pub fn segment_size(&self) -> u32 {
        self.segment_size
    }

    /// Round-trip time and time-out.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// The sample that the last acknowledgment gave.
    pub fn last_rtt(&self) -> Option<Span> {
        self.last_rtt
    }

    /// Segments in flight.
    pub fn in_flight(&self) -> u32 {
        in_flight(&self.state)
    }

    /// When to call [`Sender::wake`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.timer.wake().min(self.pacing.next_wake())
    }

    /// Stops the timers; for a connection that has ended.
    pub fn stop(&mut self) {
        self.timer.stop();
        self.pacing.stop();
    }

    /// Takes an acknowledgment.
    #[inline]
    pub fn acknowledge(&mut self, now: Time, ack: &Ack) -> News {
        self.probes = 0;
        let outstanding = !self.scoreboard.is_empty();
        if !outstanding && ack.position == self.una && ack.window == self.window && ack.sack.is_empty() {
            // What every segment of the other end's data says.
            self.window_from = self.window_from.max(ack.sequence);
            return News::Nothing;
        }
        if ack.position > self.nxt {
            return News::NotSent;
        }
        self.stamp(now);
        self.check_application_limited();
        self.last_rtt = None;
        (self.state.rcv_tsval, self.state.rcv_tsecr) = ack.stamps;
        let before = Before { una: self.una, in_flight: in_flight(&self.state), lost: self.state.lost };
        let advanced = ack.position > self.una;
        let updated = ack.position >= self.una && self.update_window(ack);
        let mut tally = Tally::default();
        for &(start, end) in ack.sack {
            let start = start.max(ack.position.max(self.una));
            if start < end && end <= self.nxt && self.recovery.uses_sack() {
                self.scoreboard.sack(start, end, &mut self.state, &mut tally);
            }
        }
        let mut delivered = tally.sacked;
        if advanced {
            self.una = ack.position;
            self.state.snd_una = self.state.snd_nxt.wrapping_sub((self.nxt - self.una) as u32);
            self.scoreboard.acknowledge(self.una, &mut self.state, &mut tally);
            delivered += self.recovery.advanced(&mut self.state, &tally);
        }
        let newest_rtt = self.learn_rtt(now, ack, advanced, &tally, before.in_flight);
        let duplicate = !advanced && ack.position == self.una && !ack.occupies && !updated && outstanding;
        let dsack = if ack.sack.is_empty() { None } else { Dsack::find(ack.position, ack.sack) };
        let facts = Facts { tally: &tally, advanced, duplicate, dsack, echo: ack.echo, ece: ack.ece };
        self.recovery.note_times(now, &facts, &self.state);
        if dsack.is_some() || self.recovery.is_probing() {
            self.with_parts(now, |recovery, parts| recovery.note(parts, &facts, ack.position));
        }
        if self.recovery.is_dubious(&self.state, &facts) {
            delivered += self.with_parts(now, |recovery, parts| recovery.alert(parts, &facts));
        }
        self.restart_timer(now, advanced, &tally);
        self.state.delivered = self.state.delivered.wrapping_add(delivered);
        if ack.ece {
            self.state.delivered_ce = self.state.delivered_ce.wrapping_add(delivered);
        }
        if outstanding {
            if self.has_cong_control {
                self.control(now, &tally, delivered, newest_rtt, &before);
            } else {
                if matches!(self.state.ca_state, CA_CWR | CA_RECOVERY) {
                    let losses = self.state.lost != before.lost;
                    self.recovery.follow(&mut self.state, delivered, advanced, losses);
                    self.usage.touch(now);
                } else if advanced {
                    let acknowledged = self.state.snd_nxt.wrapping_sub((self.nxt - ack.position) as u32);
                    self.congestion.cong_avoid(&mut self.state, acknowledged, delivered);
                }
                self.pacing.follow_window(&mut self.state);
            }
        }
        if advanced {
            News::Advanced
        } else {
            News::Nothing
        }
    }

    /// The next chunk that may be sent now, lost ones first; of several segments with segmentation offload.
    #[inline]
    pub fn next_chunk(&mut self, now: Time) -> Option<Chunk> {
        let mut chunk = self.next_segment(now)?;
        let burst = self.pacing.burst(&self.state);
        if burst > 1 {
            self.pacing.add(true);
            for _ in 1..burst {
                let Some(more) = self.following(now, &chunk) else { break };
                chunk.payload += more.payload;
                chunk.fin = more.fin;
            }
            self.pacing.add(false);
        }
        Some(chunk)
    }

    /// The segment that may be added to a packet with `chunk`: the next of the stream, lost or new as that is.
    fn following(&mut self, now: Time, chunk: &Chunk) -> Option<Chunk> {
        let end = chunk.start + u64::from(chunk.payload);
        if chunk.fin || !chunk.payload.is_multiple_of(self.segment_size) || chunk.payload == 0 {
            return None;
        }
        if end == self.nxt {
            return self.next_new(now);
        }
        self.scoreboard.next_lost().filter(|lost| lost.start == end)?;
        self.next_lost(now)
    }

    #[inline]
    fn next_segment(&mut self, now: Time) -> Option<Chunk> {
        if std::mem::take(&mut self.loss_probe_due) {
            if let Some(chunk) = self.loss_probe(now) {
                return Some(chunk);
            }
        }
        if !self.scoreboard.none_waits() {
            if self.recovery.prefers_new() {
                if let Some(chunk) = self.next_new(now) {
                    return Some(chunk);
                }
                self.recovery.nothing_new(self.nxt);
            }
            if !self.recovery.prefers_new() {
                if let Some(chunk) = self.next_lost(now) {
                    return Some(chunk);
                }
            }
        }
        let chunk = self.next_new(now);
        if chunk.is_none() {
            self.validate(now);
        }
        chunk
    }

    /// Whether the window was reduced since this was last asked.
    #[inline]
    pub fn take_reduced(&mut self) -> bool {
        self.recovery.take_reduced()
    }

    /// Whether a window probe is due; asking takes it.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_due)
    }

    /// The timer may have expired. Returns whether it was a retransmission time-out.
    ///
    /// # Errors
    /// When the connection is to be given up.
    pub fn wake(&mut self, now: Time) -> Result<bool, TooManyRetries> {
        self.pacing.wake(now);
        if !self.timer.expired(now) {
            return Ok(false);
        }
        self.stamp(now);
        self.check_application_limited();
        if self.scoreboard.is_empty() {
            if self.probes >= self.retries {
                return Err(TooManyRetries);
            }
            self.probes += 1;
            self.estimator.back_off();
            if self.edge > self.nxt {
                self.overriding = true;
            } else {
                self.probe_due = true;
                self.timer.start(self.estimator.deadline(now));
            }
            return Ok(false);
        }
        match self.purpose {
            Purpose::Retransmit => {}
            Purpose::Probe => {
                self.loss_probe_due = !self.recovery.probe_mut().is_outstanding();
                let from =
                    if self.loss_probe_due { now } else { self.scoreboard.first_sent_at().unwrap_or(now) };
                self.start_retransmission_timer(now, from);
                return Ok(false);
            }
            Purpose::Reorder => {
                self.with_parts(now, Recovery::look_again);
                self.restart_timer(now, true, &Tally::default());
                return Ok(false);
            }
        }
        if self.recovery.timeouts() >= self.retries {
            return Err(TooManyRetries);
        }
        self.counters.timeouts += 1;
        self.last_rtt = None;
        self.estimator.back_off();
        self.with_parts(now, Recovery::enter_loss);
        self.start_retransmission_timer(now, now);
        Ok(true)
    }

    #[inline]
    fn next_lost(&mut self, now: Time) -> Option<Chunk> {
        if !self.recovery.forced() && in_flight(&self.state) >= self.state.snd_cwnd {
            return None;
        }
        let lost = self.scoreboard.next_lost()?;
        if self.pacing.holds(now, &self.state) {
            return None;
        }
        if lost.first && self.purpose != Purpose::Reorder {
            self.start_retransmission_timer(now, now);
        }
        Some(self.send_again(now, &lost))
    }

    fn send_again(&mut self, now: Time, lost: &Lost) -> Chunk {
        self.scoreboard.resent(now, lost.number, &mut self.state);
        if self.has_cong_control {
            self.rate.resent(lost.number, &self.state);
        }
        self.recovery.resent(now, &self.state);
        let fin = self.closed && lost.start + u64::from(lost.length) > self.end;
        let payload = lost.length - u32::from(fin);
        self.pacing.sent(now, payload, &self.state);
        self.counters.sent_packets += 1;
        self.counters.retransmissions += 1;
        Chunk { start: lost.start, payload, fin, fresh: false }
    }

    /// RFC 8985, section 7.3: new data if there is some that the receiver's window allows, whatever the congestion
    /// window says, or the last segment again.
    fn loss_probe(&mut self, now: Time) -> Option<Chunk> {
        let size = u64::from(self.segment_size).min(self.end.saturating_sub(self.nxt));
        let nxt = self.nxt;
        if size > 0 && self.nxt + size <= self.edge {
            let chunk = self.send_new(now, size);
            // Its own time is the time-out's.
            self.usage.take_fresh();
            self.recovery.probe_mut().sent(nxt, false);
            return Some(chunk);
        }
        let last = self.scoreboard.last()?;
        let chunk = self.send_again(now, &last);
        self.recovery.probe_mut().sent(nxt, true);
        Some(chunk)
    }

    #[inline]
    fn next_new(&mut self, now: Time) -> Option<Chunk> {
        let available = self.end.saturating_sub(self.nxt);
        let fin_wanted = self.closed && self.nxt <= self.end;
        if available == 0 && !fin_wanted {
            return None;
        }
        if self.scoreboard.is_empty() {
            let rto = self.estimator.rto();
            self.usage.restart(now, rto, &mut self.state, &mut *self.congestion);
        }
        if in_flight(&self.state) >= self.state.snd_cwnd {
            self.usage.sent();
            return None;
        }
        let usable = self.edge.saturating_sub(self.nxt);
        let payload = available.min(u64::from(self.segment_size)).min(usable);
        let cut = payload < available && payload < u64::from(self.segment_size);
        if cut && (payload == 0 || (payload < u64::from(self.largest_window / 2) && !self.overriding)) {
            if self.scoreboard.is_empty() && !self.timer.is_running() {
                self.timer.start(self.estimator.deadline(now));
            }
            return None;
        }
        let room = self.state.snd_cwnd - in_flight(&self.state);
        if u64::from(room) * u64::from(self.segment_size) < available.min(usable) {
            let first_sent = self.scoreboard.first_sent_at().unwrap_or(now);
            if self.pacing.defers(room, now.since(first_sent), &self.state) {
                self.usage.deferred();
                return None;
            }
        }
        let small = payload < u64::from(self.segment_size) && !fin_wanted;
        if small && self.nagle && !self.scoreboard.is_empty() {
            return None;
        }
        if self.pacing.holds(now, &self.state) {
            return None;
        }
        Some(self.send_new(now, payload))
    }

    fn send_new(&mut self, now: Time, payload: u64) -> Chunk {
        self.overriding = false;
        let fin = self.closed && self.nxt <= self.end && self.nxt + payload == self.end;
        let length = payload as u32 + u32::from(fin);
        if in_flight(&self.state) == 0 {
            self.stamp(now);
            self.congestion.cwnd_event(&mut self.state, Event::TxStart);
        }
        let nothing_out = self.scoreboard.is_empty();
        if nothing_out {
            self.start_retransmission_timer(now, now);
        }
        if self.has_cong_control {
            self.rate.sent(now, nothing_out, &self.state);
        }
        let start = self.nxt;
        self.scoreboard.push(now, start, length, &mut self.state);
        self.recovery.sent(&self.state);
        self.nxt += u64::from(length);
        self.state.snd_nxt = self.state.snd_nxt.wrapping_add(length);
        self.usage.left(now);
        if payload > 0 {
            self.pacing.sent(now, payload as u32, &self.state);
            self.counters.sent_bytes += payload;
            self.counters.sent_packets += 1;
        }
        Chunk { start, payload: payload as u32, fin, fresh: true }
    }

    /// After sending: whether the congestion window was the limit; and a probe follows what was sent.
    #[inline]
    fn validate(&mut self, now: Time) {
        if self.usage.take_fresh() && self.recovery.may_probe(&self.state) {
            self.start_probe_timer(now, self.scoreboard.first_sent_at().unwrap_or(now));
        }
        let idle = self.nxt >= self.end;
        let rto = self.estimator.rto();
        self.usage.validate(now, (self.una, self.nxt), idle, rto, &mut self.state, self.has_cong_control);
    }

    /// After an acknowledgment, as Linux sets its one timer: for a segment whose time is running, or anew for what is
    /// acknowledged.
    #[inline]
    fn restart_timer(&mut self, now: Time, advanced: bool, tally: &Tally) {
        if self.scoreboard.is_empty() {
            if advanced {
                self.timer.stop();
                self.purpose = Purpose::Retransmit;
            }
            return;
        }
        if let Some(overdue) = self.recovery.overdue() {
            self.timer.start((overdue + GRACE).min(self.estimator.deadline(now)));
            self.purpose = Purpose::Reorder;
            return;
        }
        // Also for what was sent before the first segment was sent again, but not later, or a time-out would be put
        // off for as long as SACKs come.
        let first = self.scoreboard.first_sent_at().unwrap_or(now);
        let earlier = tally.sacked_sent.is_some_and(|(sent, _)| sent < first);
        if !advanced && !earlier && self.purpose != Purpose::Reorder {
            return;
        }
        if self.recovery.may_probe(&self.state) {
            self.start_probe_timer(now, now);
        } else {
            let from = if self.purpose == Purpose::Retransmit { now } else { first };
            self.start_retransmission_timer(now, from);
        }
    }

    /// `from`: when the time of the time-out begins.
    #[inline]
    fn start_retransmission_timer(&mut self, now: Time, from: Time) {
        self.timer.start(self.estimator.deadline(from).max(now + SHORTEST));
        self.purpose = Purpose::Retransmit;
    }

    #[inline]
    fn start_probe_timer(&mut self, now: Time, from: Time) {
        let time_out = self.estimator.deadline(from).max(now + SHORTEST);
        self.timer.start((now + Probe::patience(&self.state)).min(time_out));
        self.purpose = Purpose::Probe;
    }

    #[inline]
    fn update_window(&mut self, ack: &Ack) -> bool {
        let newer = ack.position > self.una
            || ack.sequence > self.window_from
            || (ack.sequence == self.window_from && (ack.window > self.window || ack.window == 0));
        if !newer {
            return false;
        }
        let changed = ack.window != self.window;
        self.window_from = ack.sequence;
        self.window = ack.window;
        self.largest_window = self.largest_window.max(ack.window);
        self.edge = self.edge.max(ack.position + u64::from(ack.window));
        if self.edge > self.nxt && self.scoreboard.is_empty() && self.timer.is_running() {
            // It was the persist timer that backed off.
            self.estimator.reset_back_off();
        }
        changed
    }

    /// Returns the round-trip time of the segment sent last, microseconds; -1 when there is none.
    #[inline]
    fn learn_rtt(
        &mut self,
        now: Time,
        ack: &Ack,
        advanced: bool,
        tally: &Tally,
        prior_in_flight: u32,
    ) -> i32 {
        // First segment for the estimator, last for the congestion control.
        let times = match tally.acked_sent {
            Some(times) if !tally.resent => Some(times),
            _ => tally.sacked_sent,
        };
        let from_echo = || ack.echo.filter(|_| advanced).map(|sent| (sent, sent));
        let mut newest = -1;
        if let Some((first, last)) = times.or_else(from_echo) {
            self.take_rtt(now.since(first));
            newest = now.since(last).as_micros().max(1) as i32;
        }
        if self.has_pkts_acked && tally.acked + tally.sacked > 0 {
            let sample = AckSample { pkts_acked: tally.acked, rtt_us: newest, in_flight: prior_in_flight };
            self.congestion.pkts_acked(&mut self.state, &sample);
        }
        newest
    }

    #[inline]
    fn take_rtt(&mut self, rtt: Span) {
        self.estimator.sample(rtt, &mut self.state);
        self.counters.rtt.add(rtt);
        self.last_rtt = Some(rtt);
    }

    /// For a congestion control that takes samples.
    #[inline]
    fn control(&mut self, now: Time, tally: &Tally, delivered: u32, newest_rtt: i32, before: &Before) {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.random = mix(self.random);
        let first = self.scoreboard.first();
        let mut sample = self.rate.sample(now, tally.newest, delivered, first, &mut self.state);
        sample.rtt_us = i64::from(newest_rtt);
        sample.losses = self.state.lost.wrapping_sub(before.lost) as i32;
        sample.prior_in_flight = before.in_flight;
        // One segment that is not followed by others may have waited for the delayed acknowledgment's timer (as in
        // Linux' tcp_clean_rtx_queue, FLAG_ACK_MAYBE_DELAYED).
        sample.is_ack_delayed = u32::from(
            tally.acked == 1
                && self.una - before.una < u64::from(self.segment_size)
                && sample.prior_delivered.wrapping_add(1) == self.state.delivered,
        );
        self.congestion.cong_control(&mut self.state, &sample);
    }

    #[inline]
    fn check_application_limited(&mut self) {
        if self.has_cong_control {
            check_application_limited(self.end.saturating_sub(self.nxt), &mut self.state);
        }
    }

    #[inline]
    fn with_parts<T>(&mut self, now: Time, work: impl FnOnce(&mut Recovery, &mut Parts) -> T) -> T {
        let mut parts = Parts {
            state: &mut self.state,
            congestion: &mut *self.congestion,
            scoreboard: &mut self.scoreboard,
            now,
            una: self.una,
            nxt: self.nxt,
        };
        work(&mut self.recovery, &mut parts)
    }

    #[inline]
    fn stamp(&mut self, now: Time) {
        self.state.tcp_mstamp = now.as_nanos() / 1_000;
    }
}

/// Finalizer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
fn mix(value: u64) -> u32 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((value ^ (value >> 31)) >> 32) as u32
}
