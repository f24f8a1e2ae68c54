//! Congestion control of a connection (RFC 9002, section 7) by bentpipe's C files, which see the
//! state of a TCP sender.
//!
//! - A packet counts as a segment, whatever its size, as in the model of TCP. RFC 9002 counts
//!   bytes; for full packets both are the same.
//! - `snd_una` and `snd_nxt` are packet numbers times the payload of a full packet.
//! - A loss, or a reported mark, starts a recovery period, unless the packet was sent before the
//!   present one began (section 7.3.2). The window falls to the slow-start threshold at once, and
//!   one packet may be sent regardless of the window. The period ends with the acknowledgment of a
//!   packet that was sent in it. A congestion control that sets the window itself keeps it.
//! - Persistent congestion (section 7.6) reduces the window to two packets, as a time-out does in
//!   TCP.
//! - The window grows only while it limits sending (section 7.8).
//! - RTT: section 5. The time-out of `rtt::Estimator` without `max_ack_delay` is the term of the
//!   probe time-out.

use super::pacer::Pacer;
use super::space::Sent;
use super::Config;
use crate::sending::careful_resume::CarefulResume;
use crate::sending::clock::Clock;
use crate::sending::rate::{self, check_application_limited};
use crate::sending::rtt::{Estimator, Rules};
use crate::sending::saved_path::SavedPath;
use crate::sending::{in_flight, random_bits, reduce, Newest};
use bentpipe_congestion::interface::{
    AckSample, Congestion, Event, State, CA_LOSS, CA_OPEN, CA_RECOVERY, INFINITE_SSTHRESH,
};
use bentpipe_core::{Span, Time};

/// Round-trip time before the first sample (`kInitialRtt`, RFC 9002, section 6.2.2).
const INITIAL_RTT: Span = Span::from_millis(333);
/// Granularity of timers (`kGranularity`, RFC 9002, section 6.1.2).
pub const GRANULARITY: Span = Span::from_millis(1);
/// Smallest window in packets (`kMinimumWindow`, RFC 9002, section 7.2).
const MINIMUM_WINDOW: u32 = 2;
/// Number of probe time-outs that persistent congestion lasts
/// (`kPersistentCongestionThreshold`, RFC 9002, section 7.6.1).
const PERSISTENT: u64 = 3;

/// The congestion control of one connection, with its estimates.
pub struct Controller {
    /// The congestion control's view of the connection.
    pub state: State,
    congestion: Box<dyn Congestion>,
    has_cong_control: bool,
    rate: rate::Estimator,
    estimator: Estimator,
    /// The last round-trip time sample.
    pub latest_rtt: Option<Span>,
    /// Time of the first sample.
    first_sample: Option<Time>,
    pacer: Pacer,
    resume: CarefulResume,
    /// Time at which the present recovery period began.
    recovery_start: Option<Time>,
    /// True if one packet may be sent regardless of the window.
    forced: bool,
    /// Number of packets sent that count as in flight.
    flights: u64,
    random: u64,
}

/// The newly acknowledged packets of an acknowledgment.
pub struct Acknowledged<'a> {
    /// The packets, in the order of their numbers.
    pub packets: &'a [Sent],
    /// Number of the first packet in flight, among those that count as in flight.
    pub first_flight: u64,
    /// Number of the first packet of the application's space in flight.
    pub first: u64,
    /// Number of packets that it made lost.
    pub losses: u32,
    /// Number of newly reported marks.
    pub marks: u32,
    /// The round-trip time sample, without the reported delay of the acknowledgment.
    pub rtt: Option<Span>,
}

impl Controller {
    /// Creates the state before the handshake. `payload` is that of a full packet, in bytes.
    pub fn new(config: &Config, congestion: Box<dyn Congestion>, payload: u32, random: u64) -> Controller {
        let state = State {
            snd_cwnd: config.initial_window.value() as u32,
            snd_cwnd_clamp: u32::MAX,
            snd_ssthresh: INFINITE_SSTHRESH,
            mss_cache: payload,
            rtt_min_us: u32::MAX,
            sk_pacing_rate: u64::MAX,
            sk_max_pacing_rate: u64::MAX,
            accurate_ecn: 1,
            ..State::default()
        };
        let pacer = Pacer::new(config.pacing, config.initial_window.value(), config.pacing_gain.value());
        let mut controller = Controller {
            has_cong_control: congestion.has_cong_control(),
            resume: CarefulResume::new(
                config.careful_resume.filter(|_| !congestion.has_cong_control()),
                congestion.name() == "cubic",
                &state,
            ),
            congestion,
            rate: rate::Estimator::default(),
            estimator: Estimator::new(Rules {
                is_linux: false,
                tick: Span::ZERO,
                clock: Clock::Exact,
                initial: INITIAL_RTT * 3,
                min: Span::ZERO,
                max: Span::MAX,
                variance_min: GRANULARITY,
            }),
            latest_rtt: None,
            first_sample: None,
            pacer,
            recovery_start: None,
            forced: false,
            flights: 0,
            random,
            state,
        };
        controller.congestion.init(&mut controller.state);
        controller
    }

    /// Returns the state at the start of another path (RFC 9000, section 9.4). Packets keep being
    /// numbered in one sequence. Careful Resume is for the first path only.
    pub fn on_new_path(&self, config: &Config, congestion: Box<dyn Congestion>, payload: u32) -> Controller {
        let config = Config { careful_resume: None, ..config.clone() };
        let next = Controller::new(&config, congestion, payload, self.random);
        Controller { flights: self.flights, rate: rate::Estimator::starting_at(self.flights), ..next }
    }

    /// Resumes from the observations of earlier connections over this path, if configured.
    pub fn resume_from(&mut self, path: SavedPath) {
        self.resume.follow_path(path);
    }

    /// Returns true for a scalable congestion control (RFC 9331, section 4.3).
    pub fn is_scalable(&self) -> bool {
        self.congestion.is_scalable()
    }

    /// Returns the estimates of the round-trip time.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// Returns SRTT + max(4 RTTVAR, 1 ms): the probe time-out without the delay of acknowledgments
    /// (RFC 9002, section 6.2.1).
    pub fn probe_term(&self) -> Span {
        self.estimator.rto()
    }

    /// Returns the age at which a packet is lost (RFC 9002, section 6.1.2).
    pub fn loss_delay(&self) -> Span {
        let longest = self.estimator.srtt().max(self.latest_rtt).unwrap_or(INITIAL_RTT);
        (longest + longest / 8).max(GRANULARITY)
    }

    /// Returns true if the window permits a packet. Otherwise the window is the limit.
    pub fn window_permits(&mut self, now: Time) -> bool {
        let mut permits = self.forced || in_flight(&self.state) < self.state.snd_cwnd;
        if !permits {
            permits = self.resume.filled(now, self.flights, &mut self.state);
        }
        if !permits {
            self.state.is_cwnd_limited = 1;
            self.state.max_packets_out = self.state.packets_out;
        }
        permits
    }

    /// Returns true if the packet must wait for the pacing rate, and then requests a wake.
    pub fn pacing_holds(&mut self, now: Time) -> bool {
        let holds = self.pacer.holds(now, &self.state);
        if holds {
            self.state.is_cwnd_limited = 1;
            self.state.max_packets_out = self.state.packets_out;
        }
        holds
    }

    /// Records that no data is left to send.
    pub fn application_limits(&mut self) {
        if in_flight(&self.state) < self.state.snd_cwnd {
            self.state.is_cwnd_limited = 0;
            self.state.max_packets_out = self.state.packets_out;
            check_application_limited(0, &mut self.state);
        }
    }

    /// Records the transmission of a packet that counts as in flight, and returns its number among
    /// these. `next` is the next packet number.
    pub fn sent(&mut self, now: Time, bytes: u32, next: u64) -> u64 {
        self.stamp(now);
        let nothing_out = self.state.packets_out == 0;
        if nothing_out {
            self.congestion.cwnd_event(&mut self.state, Event::TxStart);
        }
        if self.has_cong_control {
            self.rate.sent(now, nothing_out, &self.state);
        }
        self.forced = false;
        self.state.packets_out += 1;
        self.state.snd_nxt = self.sequence(next);
        self.state.lsndtime = now.as_nanos() / 1000;
        self.pacer.sent(now, bytes, &self.state);
        self.flights += 1;
        self.flights - 1
    }

    /// Returns the number of packets sent that count as in flight.
    pub fn flights(&self) -> u64 {
        self.flights
    }

    /// Removes packets of a discarded space from those in flight, without any other effect.
    pub fn forget(&mut self, packets: u32) {
        self.state.packets_out -= packets;
    }

    /// Adds a round-trip time sample; `ack_delay` is the delay that the other end reports (RFC
    /// 9002, section 5.3).
    ///
    /// Returns the sample without that delay.
    pub fn sample(&mut self, now: Time, latest: Span, ack_delay: Span) -> Span {
        let micros = |span: Span| u32::try_from(span.as_micros().max(1)).unwrap_or(u32::MAX);
        self.first_sample.get_or_insert(now);
        self.state.rtt_min_us = self.state.rtt_min_us.min(micros(latest));
        let least = Span::from_micros(self.state.rtt_min_us.into());
        let adjusted = if latest >= least + ack_delay { latest - ack_delay } else { latest };
        self.latest_rtt = Some(latest);
        self.estimator.sample(adjusted, &mut self.state);
        adjusted
    }

    /// Handles newly acknowledged packets, after losses have been handled.
    pub fn acknowledge(&mut self, now: Time, acknowledged: &Acknowledged) {
        let Some(newest) = acknowledged.packets.last() else { return };
        self.stamp(now);
        let count = acknowledged.packets.len() as u32;
        let before = self.state.packets_out + acknowledged.losses;
        self.state.packets_out -= count;
        self.state.delivered = self.state.delivered.wrapping_add(count);
        self.state.delivered_ce = self.state.delivered_ce.wrapping_add(acknowledged.marks);
        self.state.snd_una = self.sequence(acknowledged.first);
        let is_after = |packet: &&Sent| self.recovery_start.is_none_or(|start| packet.at > start);
        let grown = acknowledged.packets.iter().filter(is_after).count() as u32;
        if grown > 0 && self.state.ca_state != CA_OPEN {
            self.leave_recovery();
        }
        let rtt = acknowledged.rtt.unwrap_or(now.since(newest.at)).as_micros().max(1);
        if self.congestion.has_pkts_acked() {
            let rtt_us = i32::try_from(rtt).unwrap_or(i32::MAX);
            let sample = AckSample { pkts_acked: count, rtt_us, in_flight: before };
            self.congestion.pkts_acked(&mut self.state, &sample);
        }
        if self.has_cong_control {
            self.state.random = random_bits(&mut self.random);
            let newest = Newest { number: newest.flight, sent: newest.at, resent: false, end: 0 };
            let flight = acknowledged.first_flight;
            let mut sample = self.rate.sample(now, Some(newest), count, flight, &mut self.state);
            sample.rtt_us = rtt as i64;
            sample.losses = acknowledged.losses as i32;
            sample.prior_in_flight = before;
            self.congestion.cong_control(&mut self.state, &sample);
        } else {
            self.resume.acknowledged(now, count, newest.flight, self.flights, &mut self.state);
            if grown > 0 && !self.resume.holds() {
                let acknowledged = self.state.snd_una;
                self.congestion.cong_avoid(&mut self.state, acknowledged, grown);
            }
        }
    }

    /// Handles lost packets (RFC 9002, appendix B.8). `ack_delay` is the maximum delay of
    /// acknowledgments.
    pub fn lose(&mut self, now: Time, packets: &[Sent], ack_delay: Span) {
        self.stamp(now);
        let count = packets.len() as u32;
        self.state.packets_out -= count;
        let signs = || packets.iter().filter(|packet| !packet.is_mtu_probe);
        let Some(last) = signs().next_back() else { return };
        self.state.lost = self.state.lost.wrapping_add(signs().count() as u32);
        self.congestion_event(now, last.at);
        if self.is_persistent(packets, ack_delay) {
            self.congestion.cwnd_event(&mut self.state, Event::Loss);
            self.set_state(CA_LOSS);
            self.state.snd_cwnd = MINIMUM_WINDOW;
            self.state.snd_cwnd_cnt = 0;
            self.recovery_start = None;
        }
    }

    /// Starts a recovery period for a packet that was sent at `sent` and has been lost or marked.
    pub fn congestion_event(&mut self, now: Time, sent: Time) {
        if self.recovery_start.is_some_and(|start| sent <= start) {
            return;
        }
        if self.state.ca_state == CA_RECOVERY {
            self.leave_recovery();
        }
        self.recovery_start = Some(now);
        reduce(&mut self.state, &mut *self.congestion);
        self.state.snd_ssthresh = self.state.snd_ssthresh.max(MINIMUM_WINDOW);
        self.set_state(CA_RECOVERY);
        if !self.has_cong_control && !self.resume.congested(self.flights, &mut self.state) {
            self.state.snd_cwnd = self.state.snd_ssthresh.min(self.state.snd_cwnd);
            self.state.snd_cwnd_cnt = 0;
        }
        self.forced = true;
    }

    fn leave_recovery(&mut self) {
        if !self.has_cong_control {
            self.congestion.cwnd_event(&mut self.state, Event::CompleteCwr);
        }
        self.set_state(CA_OPEN);
    }

    /// Returns true if packets were lost over the duration of persistent congestion and none of
    /// those sent between them was acknowledged (RFC 9002, section 7.6.2).
    fn is_persistent(&self, packets: &[Sent], ack_delay: Span) -> bool {
        let Some(first_sample) = self.first_sample else { return false };
        let duration = (self.probe_term() + ack_delay) * PERSISTENT;
        let mut run: Option<(Time, u64)> = None;
        for packet in packets.iter().filter(|packet| packet.at > first_sample) {
            let (since, _) = *run
                .filter(|(_, before)| before + 1 == packet.flight)
                .get_or_insert((packet.at, packet.flight));
            if packet.at.since(since) > duration {
                return true;
            }
            run = Some((since, packet.flight));
        }
        false
    }

    /// Returns the time of the next check of the pacing rate; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        self.pacer.next_wake()
    }

    /// Handles the requested wake.
    pub fn wake(&mut self, now: Time) {
        self.pacer.wake(now);
    }

    /// Sets the payload of a full packet in bytes.
    pub fn set_payload(&mut self, payload: u32) {
        self.state.mss_cache = payload;
    }

    fn set_state(&mut self, ca_state: u32) {
        self.congestion.set_state(&mut self.state, ca_state);
        self.state.ca_state = ca_state;
    }

    fn sequence(&self, number: u64) -> u32 {
        number.wrapping_mul(self.state.mss_cache.into()) as u32
    }

    fn stamp(&mut self, now: Time) {
        self.state.tcp_mstamp = now.as_nanos() / 1000;
        self.state.tcp_clock_cache = now.as_nanos();
    }
}
