//! Connection set-up: retransmission of the SYN or SYN-ACK, and negotiation of the options.
//!
//! - The time-out starts at `rto_initial` and doubles (RFC 6298); after `syn_retries` the
//!   connection fails. A SYN's first `syn_linear_timeouts` are not doubled and not counted (Linux's
//!   sysctl of that name).
//! - An option is in use if both SYNs carry it: window scale and timestamps (RFC 7323), SACK (RFC
//!   2018). The smaller maximum segment size applies, 536 bytes if the other end does not state one
//!   (RFC 9293, section 3.7.1). The option counts payload and options of data segments (RFC 6691),
//!   so with timestamps it is 12 bytes more than the payload.
//! - Quick-Start (RFC 4782, section 4): the first SYN and SYN-ACK request a rate from the path,
//!   retransmissions do not. The rate granted by the path is returned with the SYN-ACK, or with its
//!   acknowledgment.
//! - Explicit congestion notification (RFC 3168, RFC 9768): [`super::ecn`]. The flags of the SYNs
//!   request it and agree to it.
//! - The handshake gives a sample of the round-trip time if the SYN was sent once (Karn), or by its
//!   timestamp if it was retransmitted.

use super::timer::Timer;
use super::{
    config::{Ecn, Recovery},
    ecn, header, Config,
};
use crate::sending::rtt::Estimator;
use bentpipe_core::{Rate, Span, Time};
use bentpipe_stage::packet::quick_start::QuickStart;
use bentpipe_stage::packet::segment::{Segment, SegmentFlags, SegmentOptions};
use bentpipe_stage::Ecn as Field;

/// Maximum segment size of an end that does not state one (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// Number of SYNs or SYN-ACKs with flags of accurate feedback.
const MAX_ACCURATE: u32 = 2;

/// The options agreed by both ends; before the other end's SYN, the options that this end offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// True if timestamps are in use.
    pub timestamps: bool,
    /// True if selective acknowledgments are in use.
    pub sack: bool,
    /// True if selective negative acknowledgments are in use instead.
    pub snack: bool,
    /// The kind of explicit congestion notification.
    pub ecn: Ecn,
    /// Window scale of this end.
    pub window_scale: Option<u8>,
    /// Payload bytes of a full segment.
    pub segment_size: u32,
}

/// The error of a SYN or SYN-ACK without answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoAnswer;

/// The set-up of one connection, at one end.
#[derive(Debug)]
pub struct Handshake {
    agreement: Agreement,
    timer: Timer,
    estimator: Estimator,
    /// Time of the first transmission of the SYN or SYN-ACK.
    first: Time,
    /// Time of the last transmission.
    sent: Time,
    /// True if the SYN or SYN-ACK was sent more than once, for any reason.
    resent: bool,
    timeouts: u32,
    /// Number of transmissions of the SYN or SYN-ACK.
    transmissions: u32,
    /// The kind of explicit congestion notification that this end offers.
    offered_ecn: Ecn,
    /// ECN field of the other end's latest SYN.
    syn_field: Field,
    /// True if a SYN or SYN-ACK of an accurate connection was sent or received without a request,
    /// so that the answering end must not send ECN-capable packets (RFC 9768, section 3.1.5).
    lost_request: bool,
    retries: u32,
    /// Number of remaining time-outs of a SYN that do not double.
    linear: u32,
    /// The rate to request from the path.
    quick_start: Option<Rate>,
    /// True to detect spurious retransmissions.
    undo: bool,
    /// Rate granted to the other end's SYN, if requested and not reported yet.
    granted: Option<u8>,
}

impl Handshake {
    /// Creates the state before anything is sent.
    pub fn new(config: &Config) -> Handshake {
        Handshake {
            agreement: Agreement {
                timestamps: config.timestamps,
                sack: config.offers_sack(),
                snack: config.recovery == Recovery::Snack,
                ecn: config.ecn,
                window_scale: config.window_scaling.then(|| config.window_scale()),
                segment_size: config.segment_size.value() as u32,
            },
            timer: Timer::stopped(config.clock()),
            estimator: Estimator::new(config.into()),
            first: Time::MAX,
            sent: Time::MAX,
            resent: false,
            timeouts: 0,
            transmissions: 0,
            offered_ecn: config.ecn,
            syn_field: Field::NotEct,
            lost_request: false,
            retries: config.syn_retries.value() as u32,
            linear: config.syn_linear_timeouts.value() as u32,
            quick_start: config.quick_start,
            undo: config.syn_undo,
            granted: None,
        }
    }

    /// Returns the flags of this end's SYN or SYN-ACK that request, or agree to, explicit
    /// congestion notification. From the third transmission on, a request or agreement of accurate
    /// feedback is left out, because the path may drop it (RFC 9768, sections 3.1.4.1 and
    /// 3.2.3.2.2).
    pub fn ecn_flags(&mut self, answers: bool) -> SegmentFlags {
        let kind = self.agreement.ecn;
        if kind == Ecn::Accurate && self.transmissions > MAX_ACCURATE {
            self.lost_request |= answers;
            return SegmentFlags::default();
        }
        match answers {
            true => ecn::agreement(kind, self.syn_field),
            false => ecn::request(kind),
        }
    }

    /// Returns true if the SYN or SYN-ACK has been sent once, and the other end has not repeated
    /// its SYN.
    pub fn is_first(&self) -> bool {
        self.transmissions == 1
    }

    /// Returns true if this end must not send ECN-capable packets although both ends have agreed to
    /// accurate feedback.
    pub fn forbids_marks(&self) -> bool {
        self.lost_request
    }

    /// Handles another SYN of the same connection, in a packet with the ECN field `field`. Returns
    /// false if it contradicts the first one, so that the connection must be reset.
    pub fn agree_again(&mut self, syn: &Segment, field: Field) -> bool {
        self.syn_field = field;
        self.lost_request |= syn.flags.ace() == 0;
        !ecn::is_contradiction(self.agreement.ecn, self.offered_ecn, syn.flags)
    }

    /// Returns the options on which both ends have agreed so far.
    #[inline]
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Returns the number of retransmissions of the SYN or SYN-ACK by time-out, before the
    /// `answer`. With `syn_undo`, none if the answer echoes the timestamp of the first
    /// transmission (RFC 3522, section 3.2): the first was not lost.
    pub fn retransmissions(&self, answer: &Segment) -> u32 {
        let stamps = answer.timestamps.filter(|_| self.undo && self.agreement.timestamps);
        match stamps.is_some_and(|stamps| stamps.echo() == header::timestamp(self.first)) {
            true => 0,
            false => self.timeouts,
        }
    }

    /// Returns the time of the next call of [`Handshake::wake`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.timer.wake()
    }

    /// Checks the timer. Returns true if the SYN or SYN-ACK must be retransmitted.
    ///
    /// # Errors
    /// Returns an error if it has been sent too often.
    pub fn wake(&mut self, now: Time) -> Result<bool, NoAnswer> {
        if !self.timer.expired(now) {
            return Ok(false);
        }
        if self.timeouts >= self.retries + self.linear {
            return Err(NoAnswer);
        }
        self.timeouts += 1;
        if self.timeouts > self.linear {
            self.estimator.back_off();
        }
        Ok(true)
    }

    /// Handles the transmission of the SYN or SYN-ACK and returns its options.
    pub fn send(&mut self, now: Time) -> SegmentOptions {
        self.resent = self.sent != Time::MAX;
        self.transmissions += 1;
        self.first = self.first.min(now);
        self.sent = now;
        self.timer.start(now, self.estimator.rto());
        let Agreement { timestamps, sack, snack, window_scale, segment_size, .. } = self.agreement;
        let mss = segment_size + if timestamps { header::TIMESTAMP_BYTES } else { 0 };
        SegmentOptions {
            mss: u16::try_from(mss).ok(),
            window_scale,
            sack_permitted: sack,
            snack_permitted: snack,
            quick_start: self
                .quick_start
                .filter(|_| !self.resent)
                .map(|rate| QuickStart::asking(rate.bits_per_second() as f64)),
            granted: self.granted.take(),
            ..SegmentOptions::default()
        }
    }

    /// Handles the other end's SYN or SYN-ACK, in a packet with the ECN field `field`.
    pub fn agree(&mut self, syn: &Segment, field: Field) {
        self.syn_field = field;
        if self.sent == Time::MAX {
            // Our own SYN will be a SYN-ACK.
            self.linear = 0;
        }
        let options = syn.options.as_deref().copied().unwrap_or_default();
        let agreement = &mut self.agreement;
        agreement.timestamps &= syn.timestamps.is_some();
        agreement.sack &= options.sack_permitted;
        agreement.snack &= options.snack_permitted;
        agreement.ecn = ecn::negotiated(agreement.ecn, syn.flags, syn.flags.contains(SegmentFlags::ACK));
        self.granted =
            options.quick_start.map(|request| if request.missed { 0 } else { request.rate }).or(self.granted);
        if options.window_scale.is_none() {
            agreement.window_scale = None;
        }
        let taken = if agreement.timestamps { header::TIMESTAMP_BYTES } else { 0 };
        let theirs = options.mss.map_or(DEFAULT_MSS, u32::from).saturating_sub(taken).max(1);
        agreement.segment_size = agreement.segment_size.min(theirs);
    }

    /// Ends the handshake; `answer` acknowledges our SYN. Returns a sample of the round-trip time,
    /// if the answer gives one.
    pub fn finish(&mut self, now: Time, answer: &Segment) -> Option<Span> {
        self.stop();
        if !self.resent {
            return Some(now.since(self.sent));
        }
        let stamps = answer.timestamps.filter(|_| self.agreement.timestamps)?;
        header::echoed(now, stamps.echo()).map(|sent| header::age(now, sent))
    }

    /// Returns the rate granted to the other end, which the next acknowledgment reports.
    #[inline]
    pub fn take_granted(&mut self) -> Option<u8> {
        self.granted.take()
    }

    /// Stops sending segments of the handshake.
    pub fn stop(&mut self) {
        self.timer.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_stage::packet::segment::Timestamps;

    #[test]
    fn options_are_agreed_on_when_both_ends_offer_them() {
        let config = Config { timestamps: true, ..Config::default() };
        let answer = |timestamps: bool, sack, scale, mss| {
            let mut handshake = Handshake::new(&config);
            let offered = handshake.send(Time::ZERO);
            assert_eq!(
                (offered.mss, offered.window_scale, offered.sack_permitted),
                (Some(1472), Some(10), true)
            );
            let options =
                SegmentOptions { mss, window_scale: scale, sack_permitted: sack, ..Default::default() };
            let syn = Segment {
                timestamps: timestamps.then_some(Timestamps::new(1, 0)),
                options: Some(Box::new(options)),
                ..Segment::default()
            };
            handshake.agree(&syn, Field::NotEct);
            *handshake.agreement()
        };
        let all = Agreement {
            timestamps: true,
            sack: true,
            snack: false,
            window_scale: Some(10),
            segment_size: 1460,
            ecn: Ecn::Off,
        };
        assert_eq!(answer(true, true, Some(3), Some(1472)), all);
        assert_eq!(
            answer(true, false, None, Some(1000)),
            Agreement { sack: false, window_scale: None, segment_size: 988, ..all }
        );
        assert_eq!(
            answer(false, true, Some(0), None),
            Agreement { timestamps: false, segment_size: 536, ..all }
        );
    }

    /// RFC 3522, section 3.2: the answer to one of three SYNs. An answer to the first shows that
    /// the others were spurious.
    #[test]
    fn an_answer_to_the_first_syn_shows_that_no_syn_was_lost() {
        let retransmissions = |syn_undo, answered: usize| {
            let mut handshake = Handshake::new(&Config { syn_undo, timestamps: true, ..Config::default() });
            let mut sent = vec![Time::ZERO];
            handshake.send(Time::ZERO);
            while sent.len() < 3 {
                let now = handshake.next_wake();
                if handshake.wake(now) == Ok(true) {
                    handshake.send(now);
                    sent.push(now);
                }
            }
            let echo = header::timestamp(sent[answered]);
            let answer = Segment { timestamps: Some(Timestamps::new(1, echo)), ..Segment::default() };
            handshake.retransmissions(&answer)
        };
        assert_eq!([0, 1, 2].map(|answered| retransmissions(true, answered)), [0, 2, 2]);
        assert_eq!(retransmissions(false, 0), 2);
    }
}
