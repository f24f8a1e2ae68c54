//! The sending half of a connection: the data that may be sent now, and the effects of
//! acknowledgments and time-outs.
//!
//! The order of work for an acknowledgment is that of Linux's `tcp_ack`: window update, SACK,
//! cumulative acknowledgment, round-trip time and `pkts_acked`, loss recovery, retransmission
//! timer, congestion window; then sending, until the window is full.
//!
//! - Window updates: as in `tcp_may_update_window`.
//! - Round-trip time: at most one sample per acknowledgment. It comes from the first acknowledged
//!   segment, unless an acknowledged segment was sent twice (Karn); otherwise from the first SACKed
//!   segment; otherwise from the timestamp, if in use.
//! - Retransmission timer: RFC 6298, section 5; also restarted when the first segment is
//!   retransmitted, as in Linux.
//! - The congestion window may grow (`cong_avoid`) for acknowledgments of new data outside of
//!   recovery (`tcp_may_raise_cwnd`), if it was the limit: `is_cwnd_limited`, maintained as in
//!   `tcp_cwnd_validate`. Idle time and lack of use reduce it: [`super::window`].
//! - Small segments: Nagle's algorithm with the option `nagle` ([`super::nagle`]). A segment that
//!   the receive window limits is sent only if it is at least half of the largest window so far
//!   (RFC 1122, section 4.2.3.4), or by the persist timer.
//! - Zero window (RFC 9293, section 3.8.6.1): as in Linux, the persist timer sends a segment
//!   without data, numbered below the window, which the receiver must answer.
//! - Pacing and bursts ([`crate::sending::pacing`], [`super::bursts`]) are applied last, to
//!   segments that all other rules permit.

use super::bursts::Bursts;
use super::ecn::{Decoder, Report};
use super::nagle::Nagle;
use super::recovery::{Parts, Recovery};
use super::scoreboard::Scoreboard;
use super::timer::Timer;
use super::window::Usage;
use super::writer::Writer;
use super::{header, Config};
use crate::flow::SourceCounters;
use crate::sending::careful_resume::CarefulResume;
use crate::sending::in_flight;
use crate::sending::pacing::{pace_always, Pacing};
use crate::sending::rate::{self, check_application_limited};
use crate::sending::rtt::Estimator;
use bentpipe_congestion::interface::{Congestion, State, INFINITE_SSTHRESH};
use bentpipe_core::{Size, Span, Time};

mod acknowledgment;
mod chunk;
mod handover;
mod quick_start;
mod resume;
mod timers;
mod transmission;

pub use chunk::Chunk;
use quick_start::QuickStart;
use timers::Purpose;

/// The fields of an incoming segment that concern the sender, in positions.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Position that the other end expects next.
    pub position: u64,
    /// Receive window of the other end in bytes.
    pub window: u32,
    /// Position of the segment itself.
    pub sequence: u64,
    /// True if the segment carries data, SYN or FIN.
    pub occupies: bool,
    /// SACK blocks, as ranges of positions.
    pub sack: &'a [(u64, u64)],
    /// Transmission time of the echoed timestamp.
    pub echo: Option<Time>,
    /// True if the acknowledgment reports congestion (ECE).
    pub ece: bool,
    /// Accurate feedback of congestion, if in use.
    pub report: Option<&'a Report>,
}

/// The sending half of one connection.
pub struct Sender {
    /// The congestion control's view of the connection.
    pub state: State,
    /// Counters for the report of the flow's source.
    pub counters: SourceCounters,
    congestion: Box<dyn Congestion>,
    has_cong_control: bool,
    /// True if samples are also marked application-limited at acknowledgments and timers. False in
    /// the profiles of Linux, which mark them only at writes.
    checks_events: bool,
    has_pkts_acked: bool,
    /// True if the window grows by segments, not by acknowledgments.
    counts_segments: bool,
    estimates_delayed_acks: bool,
    scoreboard: Scoreboard,
    recovery: Recovery,
    pacing: Pacing,
    bursts: Bursts,
    quick_start: QuickStart,
    resume: Option<Box<CarefulResume>>,
    /// Delivery rate, for a congestion control that takes samples.
    rate: rate::Estimator,
    estimator: Estimator,
    timer: Timer,
    purpose: Purpose,
    /// True if the sender was woken before anything was due, so that waiting segments must not be
    /// sent.
    woken_early: bool,
    /// Time of the last start of the reordering timer.
    reordering_since: Time,
    usage: Usage,
    config: Box<Config>,
    segment_size: u32,
    /// Position of the first unacknowledged byte.
    una: u64,
    /// Next position to be sent for the first time.
    nxt: u64,
    /// End of the data that the application has handed over.
    end: u64,
    /// True if the application has closed: a FIN follows at `end`.
    closed: bool,
    /// First position beyond the receive window.
    edge: u64,
    window: u32,
    largest_window: u32,
    /// Position of the segment that last updated the window (RFC 9293's SND.WL1).
    window_from: u64,
    /// Number of unanswered window probes.
    probes: u32,
    probe_due: bool,
    /// True if the data that the window permits must be sent, regardless of its size.
    overriding: bool,
    /// True if the other end has closed its window before a disconnection, so that outstanding data
    /// is not lost. Always false unless `may_freeze`.
    frozen: bool,
    may_freeze: bool,
    /// Counters of marked packets, with accurate feedback.
    decoder: Option<Box<Decoder>>,
    retries: u32,
    /// Maximum time for which the same data is retransmitted, if limited by time, and the start of
    /// the present retransmissions.
    retry_time: Option<Span>,
    retransmitting_since: Time,
    nagle: Nagle,
    /// Maximum number of unacknowledged bytes.
    buffer: u64,
    writer: Writer,
    /// True if the present burst contains a push of the writer, so that the end of the burst has
    /// PSH.
    carries_mark: bool,
    /// True if a tail loss probe is due: new data beyond the congestion window, or the last segment
    /// again.
    loss_probe_due: bool,
    last_rtt: Option<Span>,
    /// True if the last sample has not been counted.
    uncounted: bool,
    random: u64,
}

/// The sender's state before an acknowledgment.
struct Before {
    una: u64,
    in_flight: u32,
    lost: u32,
}

/// The meaning of an acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// The segment acknowledges data that was not sent.
    NotSent,
    /// The segment acknowledges nothing new.
    Nothing,
    /// The segment acknowledges new data.
    Advanced,
}

/// The error after too many transmissions of the same data without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyRetries;

impl Sender {
    /// Creates the state before the handshake. `initial` is the initial sequence number. `random`
    /// seeds the random numbers of the congestion control.
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
            // The SYN counts, as in Linux (tcpi_delivered of TCP_INFO): see `rate`.
            delivered: 1,
            rtt_min_us: u32::MAX,
            sk_pacing_rate: u64::MAX,
            sk_max_pacing_rate: u64::MAX,
            jiffy_us: config.jiffy.as_micros() as u32,
            ..State::default()
        };
        if config.pacing {
            pace_always(&mut state);
        }
        let (ss_ratio, ca_ratio) = (config.pacing_ss_ratio.value(), config.pacing_ca_ratio.value());
        let (sets_rate, is_scalable) = (congestion.has_cong_control(), congestion.is_scalable());
        let mut pacing = Pacing::new(ss_ratio, ca_ratio);
        if is_scalable {
            pacing.without_unpaced_start(Time::ZERO);
        }
        Sender {
            counters: SourceCounters::default(),
            has_cong_control: sets_rate,
            checks_events: sets_rate && !config.profile.is_linux(),
            has_pkts_acked: congestion.has_pkts_acked(),
            counts_segments: config.byte_counting,
            estimates_delayed_acks: matches!(congestion.name(), "cubic" | "bic"),
            resume: resume::state(config, &*congestion, &state),
            congestion,
            scoreboard: Scoreboard::default(),
            recovery: Recovery::new(config, true),
            pacing,
            bursts: Bursts::new(config.bursts, config.segmentation_offload, sets_rate, is_scalable),
            quick_start: QuickStart::Off,
            rate: rate::Estimator::default(),
            estimator: Estimator::new(config.into()),
            timer: Timer::stopped(config.time_out_clock()),
            purpose: Purpose::Retransmit,
            woken_early: false,
            reordering_since: Time::ZERO,
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
            frozen: false,
            may_freeze: !config.freeze.is_empty(),
            decoder: None,
            retries: config.retries.value() as u32,
            retry_time: config.retry_time(),
            retransmitting_since: Time::ZERO,
            nagle: Nagle::new(config),
            buffer: config.send_buffer.map_or(u64::MAX, |buffer| buffer.bytes()),
            writer: Writer::new(config.send_memory.map(Size::bytes), config.segment_size.value() as u32),
            carries_mark: false,
            loss_probe_due: false,
            last_rtt: None,
            uncounted: false,
            random,
            state,
        }
    }

    /// Handles the end of the handshake. `rtt` is its sample of the round-trip time,
    /// `syn_retransmissions` the number of retransmissions of the SYN. After more than one
    /// retransmission, the window starts at one segment (RFC 5681, section 3.1, as interpreted by
    /// Linux).
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
        self.writer.agree(self.segment_size);
        self.recovery = Recovery::new(&self.config, sack);
        self.scoreboard = Scoreboard::new(self.recovery.is_timed());
        self.stamp(now);
        match rtt {
            Some(rtt) => self.add_rtt_sample(rtt),
            None => self.estimator.fall_back(),
        }
        self.state.snd_cwnd = if syn_retransmissions > 1 { 1 } else { self.usage.initial() };
        if let (Some(resume), true) = (&mut self.resume, syn_retransmissions > 0) {
            resume.congested(self.nxt, &mut self.state);
        }
        self.pacing.follow_window(&mut self.state);
        self.congestion.init(&mut self.state);
    }

    /// Handles a Quick-Start grant: the path permits `bits` bit/s.
    pub fn grant(&mut self, now: Time, bits: u64, timestamps: bool) {
        let options = if timestamps { header::TIMESTAMP_BYTES } else { 0 };
        let packet = u64::from(self.segment_size + header::HEADER + options);
        if let (Some(rtt), true) = (self.last_rtt, self.state.snd_cwnd >= self.usage.initial()) {
            self.quick_start =
                QuickStart::granted(now, (bits, packet), rtt, &mut self.state, &mut self.pacing);
        }
    }

    /// Adds data to send; `u64::MAX` for an endless stream.
    pub fn hand_over(&mut self, bytes: u64) {
        self.woken_early = false;
        debug_assert!(!self.closed, "the application sends after it closed");
        self.check_application_limited();
        self.writer.begins(self.end);
        self.end = self.end.saturating_add(bytes);
    }

    /// Ends the stream: a FIN follows.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Discards data that the application has not written into the send buffer; without a limited
    /// buffer, data that has not been sent.
    pub fn discard_unwritten(&mut self) {
        let written = self.writer.written(self.una.saturating_add(self.buffer));
        let kept = if written == u64::MAX { self.nxt } else { written.max(self.nxt) };
        self.end = self.end.min(kept);
        self.writer.stop();
    }

    /// Returns true if everything handed over has been acknowledged.
    #[inline]
    pub fn all_acknowledged(&self) -> bool {
        self.una >= self.end
    }

    /// Returns true if the FIN has been sent.
    #[inline]
    pub fn fin_sent(&self) -> bool {
        self.closed && self.nxt > self.end
    }

    /// Returns true if the FIN has been acknowledged.
    #[inline]
    pub fn fin_acknowledged(&self) -> bool {
        self.closed && self.una > self.end
    }

    /// Returns the position of the first unacknowledged byte.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Returns the next position to be sent for the first time.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Returns true if sent data has not been acknowledged.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.una < self.nxt
    }

    /// Returns the number of payload bytes acknowledged so far.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.una.min(self.end) - 1
    }

    /// Returns the number of payload bytes in a full segment.
    #[inline]
    pub fn segment_size(&self) -> u32 {
        self.segment_size
    }

    /// Returns the estimator of round-trip time and time-out.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// Returns the round-trip time sample of the last acknowledgment, if any.
    pub fn last_rtt(&self) -> Option<Span> {
        self.last_rtt
    }

    /// Returns the number of segments in flight.
    pub fn in_flight(&self) -> u32 {
        in_flight(&self.state)
    }

    /// Returns the time of the next call of [`Sender::wake`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.timer.wake().min(self.pacing.next_wake())
    }

    /// Returns true if a segment waits that the pacing rate permits at `now`.
    #[inline]
    pub fn is_pacing_due(&self, now: Time) -> bool {
        self.pacing.next_wake() <= now
    }

    /// Stops the timers of a connection that has ended.
    pub fn stop(&mut self) {
        self.timer.stop();
        self.pacing.stop();
    }

    /// Returns and resets the flag of a reduced window.
    #[inline]
    pub fn take_reduced(&mut self) -> bool {
        self.recovery.take_reduced()
    }

    /// Starts to decode accurate feedback.
    pub fn decode_by(&mut self, decoder: Decoder) {
        self.decoder = Some(Box::new(decoder));
        self.state.accurate_ecn = 1;
    }

    /// Returns true if the congestion control is scalable (RFC 9331, section 4.3).
    pub fn is_scalable(&self) -> bool {
        self.congestion.is_scalable()
    }

    /// Returns true if accurate feedback permits ECN-capable packets.
    pub fn may_mark(&self) -> bool {
        self.decoder.as_ref().is_some_and(|decoder| decoder.may_mark())
    }

    /// Returns and resets the flag of a due window probe.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_due)
    }

    /// Calls [`check_application_limited`](Self::check_application_limited) when an acknowledgment
    /// arrives or a timer expires, before the sender reacts.
    #[inline]
    pub(super) fn check_limit_at_event(&mut self) {
        if self.checks_events {
            self.check_application_limited();
        }
    }

    /// Checks if the application limits the sender, for a congestion control that takes samples.
    #[inline]
    pub(super) fn check_application_limited(&mut self) {
        if self.has_cong_control {
            let written = self.writer.written(self.end);
            check_application_limited(written.saturating_sub(self.nxt), &mut self.state);
        }
    }

    #[inline]
    pub(super) fn with_parts<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&mut Recovery, &mut Parts) -> T,
    ) -> T {
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
    pub(super) fn stamp(&mut self, now: Time) {
        self.state.tcp_mstamp = now.as_nanos() / 1_000;
        self.state.tcp_clock_cache = now.as_nanos();
    }
}
