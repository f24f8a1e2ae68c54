//! The effects of an acknowledgment on the sender.

use super::{Ack, Before, News, Sender};
use crate::sending::{in_flight, random_bits};
use crate::tcp::ecn::Report;
use crate::tcp::header;
use crate::tcp::recovery::AckInfo;
use crate::tcp::scoreboard::Tally;
use crate::tcp::undo::Dsack;
use bentpipe_congestion::interface::{AckSample, CA_CWR, CA_RECOVERY};
use bentpipe_core::{Span, Time};

impl Sender {
    /// Records a segment's timestamps: the other end's, and the echoed one.
    #[inline]
    pub fn note_timestamps(&mut self, value: u32, echo: u32) {
        self.state.rcv_tsval = value;
        self.state.rcv_tsecr = echo;
    }

    /// Returns true if a timestamp is newer than the last one of the other end.
    pub fn is_newer(&self, value: u32) -> bool {
        value.wrapping_sub(self.state.rcv_tsval) as i32 > 0
    }

    /// Records the ranges that the next acknowledgment names as missing.
    pub fn name_missing(&mut self, ranges: impl Iterator<Item = (u64, u64)>) {
        self.scoreboard.add_missing(ranges);
    }

    /// Handles an acknowledgment and returns its effect.
    #[inline(always)]
    pub fn acknowledge(&mut self, now: Time, ack: &Ack) -> News {
        self.probes = 0;
        self.woken_early = false;
        let outstanding = !self.scoreboard.is_empty();
        if !outstanding && ack.position == self.una && ack.window == self.window && ack.sack.is_empty() {
            // Every segment with data of the other end contains such an acknowledgment.
            self.window_from = self.window_from.max(ack.sequence);
            return News::Nothing;
        }
        self.acknowledge_news(now, ack, outstanding)
    }

    fn acknowledge_news(&mut self, now: Time, ack: &Ack, outstanding: bool) -> News {
        if ack.position > self.nxt {
            return News::NotSent;
        }
        if ack.position < self.una && ack.sack.is_empty() {
            // A later acknowledgment has overtaken this one (RFC 9293, section 3.10.7.4).
            self.last_rtt = None;
            return News::Nothing;
        }
        self.stamp(now);
        self.check_limit_at_event();
        self.count_sample();
        self.last_rtt = None;
        let before = Before { una: self.una, in_flight: in_flight(&self.state), lost: self.state.lost };
        let advanced = ack.position > self.una;
        let updated = ack.position >= self.una && self.update_window(ack);
        if self.may_freeze {
            self.follow_freeze(now, ack);
        }
        let mut tally = Tally::new(now, ack.echo, &self.state);
        for &(start, end) in ack.sack {
            let start = start.max(ack.position.max(self.una));
            if start < end && end <= self.nxt && self.recovery.uses_sack() {
                self.scoreboard.sack(start, end, &mut self.state, &mut tally);
            }
        }
        let mut delivered = tally.sacked;
        if delivered > 0 && self.recovery.has_late_reports() {
            tally.sacked_sent = None;
        }
        if advanced {
            self.una = ack.position;
            if !self.quick_start.is_off() {
                let initial = self.usage.initial();
                self.quick_start.acknowledged(self.una, self.nxt, before.in_flight, initial, &mut self.state);
            }
            self.state.snd_una = self.state.snd_nxt.wrapping_sub((self.nxt - self.una) as u32);
            self.scoreboard.acknowledge(self.una, &mut self.state, &mut tally);
            delivered += self.recovery.advanced(&mut self.state, &tally);
        }
        let newest_rtt = self.sample_rtt(now, ack, advanced, &tally, before.in_flight);
        let duplicate = !advanced && ack.position == self.una && !ack.occupies && !updated && outstanding;
        let dsack = if ack.sack.is_empty() { None } else { Dsack::find(ack.position, ack.sack) };
        if let (Some(dsack), true) = (&dsack, self.counts_segments) {
            // A duplicate SACK also counts as a delivery, as in Linux since 4.6.
            delivered += dsack.segments(self.state.mss_cache);
        }
        let marks = match ack.report {
            Some(report) => self.decode(report, delivered),
            None => 0,
        };
        let ece = ack.ece || marks > 0;
        let info =
            AckInfo { tally: &tally, advanced, from: before.una, duplicate, dsack, echo: ack.echo, ece };
        let threshold = self.state.snd_ssthresh;
        self.recovery.note_times(now, &info, &self.scoreboard, &self.state);
        if dsack.is_some() || self.recovery.is_probing() {
            self.with_parts(now, |recovery, parts| recovery.note(parts, &info, ack.position));
        }
        if self.recovery.is_dubious(&self.state, &info) || self.scoreboard.has_missing() {
            delivered += self.with_parts(now, |recovery, parts| recovery.alert(parts, &info));
        }
        self.restart_timer(now, advanced, &tally);
        self.state.delivered = self.state.delivered.wrapping_add(delivered);
        if ack.ece {
            self.state.delivered_ce = self.state.delivered_ce.wrapping_add(delivered);
        }
        if marks > 0 {
            self.state.delivered_ce = self.state.delivered_ce.wrapping_add(marks);
        }
        if self.resume.is_some() {
            self.adjust_resume(threshold);
            self.resume_acknowledged(now, delivered);
        }
        if outstanding {
            if self.has_cong_control {
                self.control(now, &tally, delivered, newest_rtt, &before);
            } else {
                if self.resume_holds() {
                    self.usage.touch(now);
                } else if matches!(self.state.ca_state, CA_CWR | CA_RECOVERY) {
                    let losses = self.state.lost != before.lost;
                    self.recovery.follow(&mut self.state, delivered, advanced, losses);
                    self.usage.touch(now);
                } else if advanced || (tally.sacked > 0 && self.recovery.grows_by_sacked()) {
                    let acknowledged = self.state.snd_nxt.wrapping_sub((self.nxt - ack.position) as u32);
                    let counted = self.counted(delivered);
                    self.congestion.cong_avoid(&mut self.state, acknowledged, counted);
                    // An unused window decays only if nothing is acknowledged either (Linux 6.1,
                    // observed in virtual time).
                    self.usage.touch(now);
                }
                if !self.resume_paces() {
                    self.pacing.follow_window(&mut self.state);
                }
            }
        }
        if !self.quick_start.is_off() {
            self.quick_start.settled(self.usage.initial(), &mut self.state);
        }
        if advanced {
            News::Advanced
        } else {
            News::Nothing
        }
    }

    /// Returns the number of newly marked packets by accurate feedback.
    #[cold]
    fn decode(&mut self, report: &Report, delivered: u32) -> u32 {
        let decoder = self.decoder.as_mut();
        decoder.map_or(0, |decoder| decoder.decode(report, delivered, self.segment_size))
    }

    #[inline]
    pub(super) fn update_window(&mut self, ack: &Ack) -> bool {
        let newer = ack.position > self.una
            || ack.sequence > self.window_from
            || (ack.sequence == self.window_from && (ack.window > self.window || ack.window == 0));
        if !newer {
            return false;
        }
        let changed = ack.window != self.window;
        self.window_from = ack.sequence;
        self.window = ack.window;
        if ack.window > self.largest_window {
            self.largest_window = ack.window;
            self.writer.offered(ack.window);
        }
        self.edge = self.edge.max(ack.position + u64::from(ack.window));
        if self.edge > self.nxt && self.scoreboard.is_empty() && self.timer.is_running() {
            // Undoes the back-off of the persist timer.
            self.estimator.reset_back_off();
        }
        changed
    }

    /// Returns the round-trip time of the last-sent segment, in microseconds; -1 if there is none.
    #[inline]
    pub(super) fn sample_rtt(
        &mut self,
        now: Time,
        ack: &Ack,
        advanced: bool,
        tally: &Tally,
        prior_in_flight: u32,
    ) -> i32 {
        // The first segment for the estimator, the last for the congestion control.
        let times = match tally.acked_sent {
            Some(times) if !tally.resent => Some(times),
            _ => tally.sacked_sent,
        };
        let from_echo = || {
            let rtt = header::age(now, ack.echo.filter(|_| advanced)?);
            Some((rtt, rtt))
        };
        let mut newest = -1;
        let since = |(first, last)| (now.since(first), now.since(last));
        if let Some((first, last)) = times.map(since).or_else(from_echo) {
            self.add_rtt_sample(first);
            newest = last.as_micros().max(1) as i32;
        }
        if self.has_pkts_acked && tally.acked + tally.sacked > 0 {
            let sample = AckSample { pkts_acked: tally.acked, rtt_us: newest, in_flight: prior_in_flight };
            self.congestion.pkts_acked(&mut self.state, &sample);
        }
        newest
    }

    #[inline]
    pub(super) fn add_rtt_sample(&mut self, rtt: Span) {
        self.count_sample();
        self.estimator.sample(rtt, &mut self.state);
        self.uncounted = true;
        self.last_rtt = Some(rtt);
    }

    /// Counts the last sample, unless it has been counted. This happens after sending, because
    /// reading data that was just written waits for the write.
    #[inline(always)]
    pub fn count_sample(&mut self) {
        if !std::mem::take(&mut self.uncounted) {
            return;
        }
        if let Some(rtt) = self.last_rtt {
            self.counters.rtt.add(rtt);
            let (rttvar, rto, samples) = &mut self.counters.timer;
            *rttvar += self.estimator.rttvar_seconds();
            *rto += self.estimator.rto().as_secs_f64();
            *samples += 1;
        }
    }

    /// Returns the number of segments by which an acknowledgment that delivered `delivered`
    /// segments lets the window grow. While Linux counted acknowledgments, CUBIC and BIC estimated
    /// the number of covered segments for congestion avoidance (commit "tcp_cubic: limit
    /// delayed_ack ratio to prevent divide error", 2011).
    #[inline]
    fn counted(&self, delivered: u32) -> u32 {
        let estimates = self.estimates_delayed_acks && self.state.snd_cwnd >= self.state.snd_ssthresh;
        if self.counts_segments || estimates {
            delivered
        } else {
            delivered.min(1)
        }
    }

    /// Calls the `cong_control` of a congestion control that takes samples.
    #[inline]
    pub(super) fn control(
        &mut self,
        now: Time,
        tally: &Tally,
        delivered: u32,
        newest_rtt: i32,
        before: &Before,
    ) {
        self.state.random = random_bits(&mut self.random);
        let first = self.scoreboard.first();
        let mut sample = self.rate.sample(now, tally.newest, delivered, first, &mut self.state);
        sample.rtt_us = i64::from(newest_rtt);
        sample.losses = self.state.lost.wrapping_sub(before.lost) as i32;
        sample.prior_in_flight = before.in_flight;
        // A segment without followers may have waited for the delayed acknowledgment's timer (as in
        // Linux's tcp_clean_rtx_queue, FLAG_ACK_MAYBE_DELAYED).
        sample.is_ack_delayed = u32::from(
            tally.acked == 1
                && self.una - before.una < u64::from(self.segment_size)
                && sample.prior_delivered.wrapping_add(1) == self.state.delivered,
        );
        self.congestion.cong_control(&mut self.state, &sample);
    }
}
