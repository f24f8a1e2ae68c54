//! The sender's half of TFRC (RFC 5348, section 4): the permitted sending rate.

use super::equation;
use crate::tfrc::header::TfrcFeedback;
use bentpipe_core::{Span, Time};

/// Seconds between packets at the minimum rate (t_mbi).
const SLOWEST: f64 = 64.0;
/// Weight of the previous round-trip time in the filter (q).
const FILTER: f64 = 0.9;
/// Maximum wait for the first feedback.
const FIRST_WAIT: Span = Span::from_secs(2);

/// The sender's half of one flow. Rates are in bytes per second of nominal packets, times in
/// seconds.
#[derive(Debug)]
pub struct Sender {
    /// s, the size of packets in the equation.
    size: f64,
    /// Permitted rate in bytes per second (X).
    allowed: f64,
    rtt: Option<f64>,
    /// Mean of the square root of samples, and the last of them, against oscillation (4.5).
    root: f64,
    sample: f64,
    damped: bool,
    loss_event_rate: f64,
    /// X_recv_set: rates that the receiver reported, with the times of the reports.
    received: Vec<(Time, f64)>,
    /// Time of the last doubling of the rate (tld).
    doubled: Time,
    nofeedback: Time,
    /// True if a packet was sent since the timer was set.
    active: bool,
    /// The last two times at which the sender had more data than permitted (8.2.1).
    limited: [Option<Time>; 2],
    covered: Time,
    /// Time and rate of a grant by the path, as long as it is valid.
    granted: Option<(Time, f64)>,
    timer_expiries: u64,
}

impl Sender {
    /// Creates the state before the first packet. `damped` enables section 4.5.
    pub fn new(size: u64, damped: bool) -> Sender {
        Sender {
            size: size as f64,
            allowed: size as f64,
            rtt: None,
            root: 0.0,
            sample: 0.0,
            damped,
            loss_event_rate: 0.0,
            received: vec![(Time::ZERO, f64::INFINITY)],
            doubled: Time::ZERO,
            nofeedback: Time::MAX,
            active: false,
            limited: [None; 2],
            covered: Time::ZERO,
            granted: None,
            timer_expiries: 0,
        }
    }

    /// Returns the permitted rate X in bytes per second.
    pub fn allowed(&self) -> f64 {
        self.allowed
    }

    /// Returns the round-trip time; zero before the first sample.
    pub fn rtt(&self) -> Span {
        Span::from_secs_f64(self.rtt.unwrap_or(0.0))
    }

    /// Returns the loss event rate in the receiver's last report.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// Returns the number of expiries of the no-feedback timer.
    pub fn timer_expiries(&self) -> u64 {
        self.timer_expiries
    }

    /// Returns the time of the next call of [`Sender::expire`]; `Time::MAX` for never.
    pub fn nofeedback(&self) -> Time {
        self.nofeedback
    }

    /// Returns the time from a packet that counts as this many bytes to the next.
    pub fn interval(&self, bytes: f64) -> Span {
        let instant = match (self.damped, self.sample > 0.0) {
            // 4.5: X_inst = X R_sqmean / sqrt(R_sample).
            (true, true) => self.allowed * self.root / self.sample.sqrt(),
            _ => self.allowed,
        };
        Span::from_secs_f64(bytes / instant.max(self.size / SLOWEST))
    }

    /// Records that a packet leaves; `waits` if another would leave if permitted.
    pub fn sent(&mut self, now: Time, waits: bool) {
        self.active = true;
        if self.nofeedback == Time::MAX {
            self.nofeedback = now + FIRST_WAIT;
        }
        if waits {
            let second = self.limited[0].is_some_and(|first| first > self.covered);
            self.limited[usize::from(second)] = Some(now);
        }
    }

    /// Handles a report of the receiver.
    pub fn feedback(&mut self, now: Time, feedback: &TfrcFeedback) {
        let sample = (now.since(feedback.echo).as_secs_f64() - feedback.delay.as_secs_f64()).max(1e-6);
        let first = self.rtt.is_none();
        let rtt = self.rtt.map_or(sample, |rtt| FILTER * rtt + (1.0 - FILTER) * sample);
        (self.rtt, self.sample) = (Some(rtt), sample);
        self.root = match first {
            true => sample.sqrt(),
            false => FILTER * self.root + (1.0 - FILTER) * sample.sqrt(),
        };
        let more_losses = feedback.loss_event_rate > self.loss_event_rate;
        let data_limited = self.covers_only_data_limited(now, feedback.echo);
        self.loss_event_rate = feedback.loss_event_rate;
        let initial = self.initial_rate(rtt);
        if first {
            self.allowed = initial;
            self.doubled = now;
        }
        self.granted = self.granted.filter(|(since, _)| {
            feedback.loss_event_rate == 0.0 && feedback.echo < *since + Span::from_secs_f64(rtt)
        });
        let limit = self.limit(now, rtt, feedback.receive_rate, data_limited, more_losses);
        if self.loss_event_rate > 0.0 {
            self.obey_equation(limit);
        } else if !first && now.since(self.doubled).as_secs_f64() >= rtt {
            self.allowed = (2.0 * self.allowed).min(limit).max(initial);
            self.doubled = now;
        }
        if let Some((_, granted)) = self.granted {
            self.allowed = self.allowed.max(granted);
        }
        self.restart(now);
    }

    /// Handles a grant of a rate in bytes per second. The grant is valid until a report covers a
    /// round-trip time of packets sent at that rate, or a loss.
    pub fn grant(&mut self, now: Time, rate: f64) {
        self.granted = Some((now, rate));
        self.allowed = self.allowed.max(rate);
        self.doubled = now;
    }

    /// Handles the expiry of the timer (4.4).
    pub fn expire(&mut self, now: Time) {
        self.timer_expiries += 1;
        let min = self.size / SLOWEST;
        let known = self.received.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let recover = self.rtt.map_or(self.size, |rtt| self.initial_rate(rtt));
        let p = self.loss_event_rate;
        if self.rtt.is_none() {
            self.allowed = (self.allowed / 2.0).max(min);
        } else if !self.active && ((p > 0.0 && known < recover) || (p == 0.0 && self.allowed < 2.0 * recover))
        {
            // Nothing was sent that could have been answered, and the rate is low enough.
        } else if p == 0.0 {
            self.allowed = (self.allowed / 2.0).max(min);
        } else {
            let by_equation = self.by_equation();
            let timer_limit = if by_equation > 2.0 * known { known } else { by_equation / 2.0 };
            let timer_limit = timer_limit.max(min);
            self.received = vec![(now, timer_limit / 2.0)];
            self.obey_equation(timer_limit);
        }
        self.granted = None;
        self.restart(now);
    }

    fn restart(&mut self, now: Time) {
        let wait = (4.0 * self.rtt.unwrap_or(0.5)).max(2.0 * self.size / self.allowed);
        self.nofeedback = now + Span::from_secs_f64(wait);
        self.active = false;
    }

    fn by_equation(&self) -> f64 {
        equation::rate(self.size, self.rtt.unwrap_or(1.0), self.loss_event_rate)
    }

    fn obey_equation(&mut self, limit: f64) {
        self.allowed = self.by_equation().min(limit).max(self.size / SLOWEST);
    }

    /// Returns W_init / R (RFC 3390).
    fn initial_rate(&self, rtt: f64) -> f64 {
        (4.0 * self.size).min((2.0 * self.size).max(4380.0)) / rtt
    }

    /// Stores the reported rates, and returns the limit that they set (4.3, step 4).
    fn limit(&mut self, now: Time, rtt: f64, rate: f64, data_limited: bool, more_losses: bool) -> f64 {
        if data_limited {
            let rate = match more_losses {
                true => {
                    self.received.iter_mut().for_each(|(_, rate)| *rate /= 2.0);
                    0.85 * rate
                }
                false => rate,
            };
            let finite = self.received.iter().map(|(_, rate)| *rate).filter(|rate| rate.is_finite());
            let greatest = finite.fold(rate, f64::max);
            self.received = vec![(now, greatest)];
            return if more_losses { greatest } else { 2.0 * greatest };
        }
        self.received.push((now, rate));
        let oldest = 2.0 * rtt;
        self.received.retain(|(time, _)| now.since(*time).as_secs_f64() <= oldest);
        2.0 * self.received.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// Returns true if the sender had nothing waiting during the whole time that is covered by the
    /// feedback of a packet sent at `until` (8.2.1).
    fn covers_only_data_limited(&mut self, now: Time, until: Time) -> bool {
        let from = std::mem::replace(&mut self.covered, until);
        let was = |moment: Option<Time>| moment.is_some_and(|moment| from < moment && moment <= until);
        let data_limited = !was(self.limited[0]) && !was(self.limited[1]);
        if self.limited[0].is_none_or(|first| first <= until)
            && self.limited[1].is_some_and(|second| second > until && second <= now)
        {
            self.limited[0] = self.limited[1];
        }
        data_limited
    }
}
