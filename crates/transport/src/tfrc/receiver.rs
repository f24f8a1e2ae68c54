//! The receiver's half of TFRC (RFC 5348, section 6): its reports and their times.

use super::losses::Losses;
use crate::tfrc::header::TfrcFeedback;
use bentpipe_core::{Span, Time};
use std::collections::VecDeque;

/// The receiver's half of one flow.
#[derive(Debug)]
pub struct Receiver {
    /// Nominal size of packets in bytes.
    size: f64,
    losses: Losses,
    /// Arrivals since the last report and over the last round-trip time, with their nominal bytes.
    arrivals: VecDeque<(Time, f64)>,
    rtt: Span,
    /// Transmission and arrival times of the last packet.
    last: Option<(Time, Time)>,
    reported: Time,
    /// True if anything has arrived since the last report.
    fresh: bool,
    timer: Time,
    reports: u64,
}

impl Receiver {
    /// Creates the state before the first packet.
    pub fn new(size: u64, small: bool) -> Receiver {
        Receiver {
            size: size as f64,
            losses: Losses::new(small),
            arrivals: VecDeque::new(),
            rtt: Span::ZERO,
            last: None,
            reported: Time::ZERO,
            fresh: false,
            timer: Time::MAX,
            reports: 0,
        }
    }

    /// Returns the time of the next call of [`Receiver::due`]; `Time::MAX` for never.
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// Returns the history of loss events.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Returns the number of reports so far.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Handles a packet that was sent at `sent` and counts as this many nominal bytes. Returns the
    /// report to send at once, if any: for the first packet, and for a new loss event.
    pub fn arrive(
        &mut self,
        now: Time,
        number: u64,
        (sent, rtt): (Time, Span),
        bytes: f64,
    ) -> Option<TfrcFeedback> {
        let first = self.last.is_none();
        if first {
            self.reported = now;
        }
        if rtt > Span::ZERO {
            self.rtt = rtt;
        }
        let received = self.receive_rate(now);
        self.arrivals.push_back((now, bytes));
        self.last = Some((sent, now));
        self.fresh = true;
        let began = self.losses.arrive(now, number, self.rtt, self.size, received);
        if first || began || self.timer == Time::MAX {
            return self.report(now);
        }
        None
    }

    /// Checks the timer and returns the report that is due.
    pub fn due(&mut self, now: Time) -> Option<TfrcFeedback> {
        if self.timer > now {
            return None;
        }
        // Without new arrivals, the next packet is answered at once.
        self.timer = Time::MAX;
        if self.fresh {
            self.report(now)
        } else {
            None
        }
    }

    fn report(&mut self, now: Time) -> Option<TfrcFeedback> {
        let (sent, arrived) = self.last?;
        let feedback = TfrcFeedback {
            echo: sent,
            delay: now.since(arrived),
            receive_rate: self.receive_rate(now),
            loss_event_rate: self.losses.rate(),
            granted: None,
        };
        self.reported = now;
        self.fresh = false;
        self.reports += 1;
        self.timer = if self.rtt > Span::ZERO { now + self.rtt } else { Time::MAX };
        Some(feedback)
    }

    /// Returns X_recv: since the last report, and over at least a round-trip time.
    fn receive_rate(&mut self, now: Time) -> f64 {
        let since = now.since(self.reported).max(self.rtt);
        while self.arrivals.front().is_some_and(|(time, _)| *time + since < now) {
            self.arrivals.pop_front();
        }
        let bytes: f64 = self.arrivals.iter().map(|(_, bytes)| bytes).sum();
        if since == Span::ZERO {
            return bytes;
        }
        bytes / since.as_secs_f64()
    }
}
