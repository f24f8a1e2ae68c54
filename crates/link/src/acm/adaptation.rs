//! The control loop of adaptive coding and modulation: it chooses the MODCOD for a receiver from
//! the last reported signal.
//!
//! With s the Es/N0 minus the margin, the loop
//!
//! - replaces a MODCOD whose threshold is above s by the most efficient one whose threshold is not,
//!   or by none (an outage);
//! - takes a more efficient MODCOD, or any MODCOD after an outage, when s exceeds its threshold by
//!   the hysteresis.
//!
//! The loop knows the signal with a delay, the time to measure and report it and to use the new
//! MODCOD. Until then frames use the old MODCOD, and a frame whose threshold is above the
//! receiver's signal on arrival is lost. The margin is the decrease of the signal within the delay
//! that causes no loss.
//!
//! The loop costs nothing while nothing is sent: it is brought up to date on request.

use super::modcod::Modcod;
use super::signal::{Clear, Signal};
use bentpipe_core::{Probe, Span, Time};
use bentpipe_stage::Outbox;

/// The settings of a loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// Margin in dB by which a signal must exceed a threshold.
    pub margin: f64,
    /// Hysteresis in dB: the additional excess over the threshold that a more efficient MODCOD
    /// needs.
    pub hysteresis: f64,
    /// Age of the signal that the sender knows.
    pub delay: Span,
}

impl Rule {
    /// Returns the MODCOD after `current` at an Es/N0 of `esn0`.
    pub fn choose(
        &self,
        list: &[&'static Modcod],
        current: Option<&'static Modcod>,
        esn0: f64,
    ) -> Option<&'static Modcod> {
        let signal = esn0 - self.margin;
        let best = |above: f64| {
            let usable = list.iter().copied().filter(|modcod| modcod.threshold_db + above <= signal);
            usable.max_by(|a, b| a.efficiency.total_cmp(&b.efficiency))
        };
        match current {
            Some(current) if current.threshold_db <= signal => best(self.hysteresis)
                .filter(|better| better.efficiency > current.efficiency)
                .or(Some(current)),
            Some(_) => best(0.0),
            None => best(self.hysteresis),
        }
    }
}

/// A part of a run with a constant known signal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The MODCOD in use; `None` in an outage.
    pub modcod: Option<&'static Modcod>,
    /// Es/N0 in dB, as known to the sender.
    pub esn0_db: f64,
    /// Length of the part.
    pub seconds: f64,
}

/// A change of the MODCOD: its time, the Es/N0 and the MODCOD.
type Changed = (Time, f64, Option<&'static Modcod>);

/// The loop of one receiver.
pub struct Adaptation {
    list: Vec<&'static Modcod>,
    rule: Rule,
    signal: Signal,
    current: Option<&'static Modcod>,
    /// The time up to which the sender knows the signal, and the known value.
    reported_at: Time,
    /// Time at which the sender learns of the next change; the end of time if there is none.
    next: Time,
    /// The present signal and the time until which it lasts.
    present: (f64, Time, Time),
    counters: Counters,
    /// Changes that have not been written to the trace yet.
    log: Option<(Probe, Vec<Changed>)>,
}

/// Counters of a loop.
#[derive(Clone, Copy, Default)]
struct Counters {
    since: Time,
    /// Sum over the MODCODs of efficiency times seconds of use.
    carried: f64,
    outage: Span,
    changes: u64,
    lost: u64,
}

impl Adaptation {
    /// Starts a loop that knows the signal at the start.
    pub fn new(list: Vec<&'static Modcod>, rule: Rule, signal: Signal, probe: Option<Probe>) -> Adaptation {
        let esn0 = signal.at(Time::ZERO);
        // The first MODCOD is chosen without hysteresis, as if the signal had lasted for long.
        let current = Rule { hysteresis: 0.0, ..rule }.choose(&list, None, esn0);
        let log = probe.map(|probe| (probe, vec![(Time::ZERO, esn0, current)]));
        let mut adaptation = Adaptation {
            list,
            rule,
            signal,
            current,
            reported_at: Time::ZERO,
            next: Time::MAX,
            present: (esn0, Time::ZERO, Time::ZERO),
            counters: Counters::default(),
            log,
        };
        adaptation.look_ahead();
        adaptation
    }

    fn look_ahead(&mut self) {
        self.next = self.signal.after(self.reported_at).map_or(Time::MAX, |at| at + self.rule.delay);
    }

    /// Returns the MODCOD that the sender uses at `now`; `None` in an outage.
    #[inline]
    pub fn at(&mut self, now: Time) -> Option<&'static Modcod> {
        if self.next <= now {
            self.advance(now);
        }
        self.current
    }

    #[cold]
    fn advance(&mut self, now: Time) {
        while self.next <= now {
            let at = self.next;
            self.reported_at = Time::ZERO + (at.since(Time::ZERO) - self.rule.delay);
            self.decide(at, self.signal.at(self.reported_at));
            self.look_ahead();
        }
    }

    fn decide(&mut self, at: Time, esn0: f64) {
        let chosen = self.rule.choose(&self.list, self.current, esn0);
        if chosen.map(|modcod| modcod.name) == self.current.map(|modcod| modcod.name) {
            return;
        }
        self.count(at);
        self.counters.changes += 1;
        self.current = chosen;
        if let Some((_, log)) = &mut self.log {
            log.push((at, esn0, chosen));
        }
    }

    /// Adds the time up to `at` to the counters of the present MODCOD.
    fn count(&mut self, at: Time) {
        let time = at.since(self.counters.since);
        self.counters.since = at;
        match self.current {
            None => self.counters.outage += time,
            Some(modcod) => self.counters.carried += modcod.efficiency * time.as_secs_f64(),
        }
    }

    /// Returns the MODCOD that the sender used at the last call of [`at`](Self::at).
    pub fn current(&self) -> Option<&'static Modcod> {
        self.current
    }

    /// Returns the next time at which the sender may use another MODCOD, as far as is known now.
    pub fn next(&self) -> Option<Time> {
        (self.next != Time::MAX).then_some(self.next)
    }

    /// Returns the receiver's actual Es/N0 in dB at `now`.
    #[inline]
    pub fn signal(&mut self, now: Time) -> f64 {
        let (esn0, from, until) = self.present;
        if (from..until).contains(&now) {
            return esn0;
        }
        self.present = (self.signal.at(now), now, self.signal.after(now).unwrap_or(Time::MAX));
        self.present.0
    }

    /// Returns the threshold of the most robust MODCOD.
    pub fn most_robust(&self) -> f64 {
        self.list.iter().map(|modcod| modcod.threshold_db).fold(f64::INFINITY, f64::min)
    }

    /// Returns true if the receiver can decode the most robust MODCOD at `now`, the one used for
    /// signalling.
    #[inline]
    pub fn receives_signalling(&mut self, now: Time) -> bool {
        let min = self.most_robust();
        self.signal(now) >= min
    }

    /// Counts a packet that was lost because the signal was below the threshold of its MODCOD.
    pub fn lose(&mut self) {
        self.counters.lost += 1;
    }

    /// Continues with another rule and another Es/N0 in clear sky.
    pub fn change(&mut self, now: Time, rule: Rule, clear: Clear) {
        self.at(now);
        self.signal.set_clear(now, clear);
        self.present = (0.0, Time::ZERO, Time::ZERO);
        let known = self.signal.at(self.reported_at);
        self.rule = rule;
        self.decide(now, known);
        self.look_ahead();
    }

    /// Writes the rows of [`super::TRACE`] for the changes up to `now`.
    pub fn record(&mut self, now: Time, out: &mut Outbox) {
        self.at(now);
        let Some((probe, log)) = &mut self.log else { return };
        for (at, esn0, modcod) in log.drain(..) {
            let (id, efficiency) = modcod.map_or((0, 0.0), |modcod| (modcod.id, modcod.efficiency));
            out.record(*probe, at, &[esn0, f64::from(id), efficiency]);
        }
    }

    /// Counts up to the end of a run and writes the rest of the trace.
    pub fn finish(&mut self, now: Time, out: &mut Outbox) {
        self.record(now, out);
        self.count(now);
    }

    /// Returns the values of [`super::REPORT`], after [`finish`](Self::finish).
    pub fn report(&self) -> [f64; 4] {
        let Counters { since, carried, outage, changes, lost } = self.counters;
        [carried / since.as_secs_f64(), outage.as_secs_f64(), changes as f64, lost as f64]
    }

    /// Returns the MODCODs of a run of this length, in order of time.
    pub fn course(mut self, run: Span) -> Vec<Interval> {
        let end = Time::ZERO + run;
        let (mut parts, mut at) = (Vec::new(), Time::ZERO);
        loop {
            let until = self.next().filter(|next| *next < end).unwrap_or(end);
            if until > at {
                let esn0_db = self.signal.at(self.reported_at);
                parts.push(Interval {
                    modcod: self.current,
                    esn0_db,
                    seconds: until.since(at).as_secs_f64(),
                });
            }
            if until == end {
                return parts;
            }
            at = until;
            self.at(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::modcod::Modcods;
    use super::super::signal::tests::fade;
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(seconds)
    }

    fn adaptation(series: &str, (margin, hysteresis, delay): (f64, f64, u64)) -> Adaptation {
        let fade = fade(&format!("time,a\n{series}"), r#", "quantity": "esn0""#);
        let signal = Signal::new(Clear { own: 12.0, feeder: None }, Some(&fade), &["a"], "gw");
        let rule = Rule { margin, hysteresis, delay: Span::from_millis(delay) };
        Adaptation::new(Modcods::DvbS2.list(), rule, signal, None)
    }

    fn names(adaptation: &mut Adaptation, times: &[f64]) -> Vec<&'static str> {
        times.iter().map(|time| adaptation.at(at(*time)).map_or("outage", |modcod| modcod.name)).collect()
    }

    #[test]
    fn a_fade_to_an_outage_and_back_matches_values_by_hand() {
        // Thresholds: 16APSK 3/4 10.21, 8PSK 3/4 7.91, QPSK 3/4 4.03, QPSK 1/4 -2.35; margin 1 dB,
        // hysteresis 0.5 dB, 500 ms.
        let mut slow = adaptation("0,11.3\n10,9\n20,5.1\n30,-1.4\n40,-1\n50,-0.84\n60,12\n", (1.0, 0.5, 500));
        let found = names(&mut slow, &[0.0, 10.4, 10.5, 20.5, 30.4, 30.5, 40.5, 50.5, 60.4, 60.5]);
        // 30 s: -1.4 - 1 = -2.4 is below -2.35. 40 s: -2 is above that, but not by 0.5 dB; at 50 s
        // it is -1.84.
        let expected = [
            "16APSK 3/4",
            "16APSK 3/4",
            "8PSK 3/4",
            "QPSK 3/4",
            "QPSK 3/4",
            "outage",
            "outage",
            "QPSK 1/4",
            "QPSK 1/4",
            "16APSK 3/4",
        ];
        assert_eq!(found, expected);
        slow.count(at(70.0));
        let [_, outage, changes, _] = slow.report();
        assert_eq!((outage, changes), (20.0, 5.0));
    }

    #[test]
    fn hysteresis_prevents_modcod_changes_for_a_signal_near_a_threshold() {
        // Around 8PSK 3/4 (7.91 dB), by 0.2 dB to each side.
        let series: String =
            (0..100).map(|step| format!("{step},{}\n", if step % 2 == 0 { 8.11 } else { 7.71 })).collect();
        let changes = |hysteresis| {
            let mut one = adaptation(&series, (0.0, hysteresis, 0));
            names(&mut one, &[100.0]);
            one.report()[2]
        };
        assert_eq!((changes(0.0), changes(0.5)), (99.0, 1.0));
    }

    #[test]
    fn signal_reports_are_delayed_and_packets_sent_meanwhile_are_lost() {
        let mut late = adaptation("0,10.3\n5,6\n", (0.0, 0.0, 750));
        let sent = late.at(at(5.2)).unwrap();
        assert_eq!(sent.name, "16APSK 3/4");
        assert!(late.signal(at(4.99)) >= sent.threshold_db && late.signal(at(5.2)) < sent.threshold_db);
        let sent = late.at(at(5.75)).unwrap();
        assert!(sent.name == "8PSK 3/5" && late.signal(at(5.75)) >= sent.threshold_db);
        assert!(late.receives_signalling(at(6.0)));
    }

    #[test]
    fn a_manual_change_takes_effect_after_the_delay() {
        let signal = Signal::new(Clear { own: 12.0, feeder: None }, None, &["a"], "gw");
        let rule = Rule { margin: 0.0, hysteresis: 0.0, delay: Span::from_secs(1) };
        let mut one = Adaptation::new(Modcods::DvbS2.list(), rule, signal, None);
        one.change(at(3.0), rule, Clear { own: -5.0, feeder: None });
        assert_eq!(names(&mut one, &[3.0, 3.99, 4.0]), ["16APSK 5/6", "16APSK 5/6", "outage"]);
        assert!(!one.receives_signalling(at(3.0)), "what it cannot hear it does not hear at once");
        // A change of the margin needs no report, because it is the sender's own.
        one.change(at(5.0), Rule { margin: 4.0, ..rule }, Clear { own: 12.0, feeder: None });
        assert_eq!(names(&mut one, &[5.0, 6.0]), ["outage", "8PSK 3/4"]);
    }

    proptest! {
        #[test]
        fn the_modcod_is_independent_of_the_number_of_calls_and_fits_the_signal(
            levels in prop::collection::vec(-6.0f64..18.0, 1..60), margin in 0.0f64..3.0, hysteresis in 0.0f64..2.0,
            delay in 0u64..3000, asked in prop::collection::vec(0.0f64..70.0, 0..80),
        ) {
            let series: String = levels.iter().enumerate().map(|(step, level)| format!("{step},{level}\n")).collect();
            let rule = (margin, hysteresis, delay);
            let (mut often, mut once) = (adaptation(&series, rule), adaptation(&series, rule));
            let mut asked = asked;
            asked.sort_by(f64::total_cmp);
            for time in asked {
                let modcod = often.at(at(time));
                let known = (time - delay as f64 / 1e3).max(0.0);
                if let Some(modcod) = modcod {
                    prop_assert!(modcod.threshold_db + margin <= once.signal.at(at(known)) + 1e-9);
                } else {
                    prop_assert!(once.signal.at(at(known)) - margin < -2.35 + hysteresis);
                }
            }
            prop_assert_eq!(names(&mut often, &[70.0]), names(&mut once, &[70.0]));
            once.count(at(80.0));
            let parts = adaptation(&series, rule).course(Span::from_secs(80));
            let mean = parts.iter().map(|part| part.modcod.map_or(0.0, |one| one.efficiency) * part.seconds).sum::<f64>() / 80.0;
            prop_assert!((mean - once.report()[0]).abs() < 1e-9);
        }
    }
}
