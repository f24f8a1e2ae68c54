//! Detects a guest whose time stands still, and the reason. A guest's clock advances only when all
//! its programs wait, so a program that never waits stops the clock forever.
//!
//! The guest's kernel interrupts a program only for a timer, and timers stand still, too. So this
//! module interrupts the program that uses the processor: each program of the guest is a process of
//! this machine, traced by the guest's kernel, and SIGALRM returns control to that kernel. The
//! kernel then lets the guest's first process report the running programs. If no report arrives,
//! the machine's /proc shows the busy process. A kernel may be unable to switch to another process
//! (Linux 6.12, with a program that makes no system call).

use super::outside::{below, command_line};
use super::protocol::Told;
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Interval of looks at the processor time of a guest that makes no progress.
const LOOK: Duration = Duration::from_secs(1);
/// Processor seconds without progress before the guest is queried for its running programs, and
/// between two queries. Real time does not count: an answer takes some hundred nanoseconds of the
/// guest's clock, and other work on the machine must not change a run.
const PATIENCE: f64 = 2.0;
/// Minimum progress of a guest's clock as a fraction of its processor time. With less, the clock
/// stands still.
const STILL: f64 = 0.02;
/// Minimum processor seconds between two answers. With less, the second one is late and proves
/// nothing.
const ENOUGH: f64 = 0.5;
/// Number of consecutive answers that must name a program before it is considered the reason.
const ANSWERS: u32 = 2;
/// Number of consecutive unanswered queries after which the busiest process is considered the
/// reason.
const SILENT: u32 = 5;
/// Number of such queries during the guest's start, which takes half a second of processor time and
/// in which the guest cannot answer.
const STARTING: u32 = 20;
/// Number of consecutive unanswered queries after which a guest is ended whose first process, the
/// engine, computes without a message.
const COMPUTING: u32 = 40;
/// Real time after which an idle guest is ended.
const IDLE: Duration = Duration::from_secs(120);
/// Maximum processor seconds of an idle guest in this time.
const NOTHING: f64 = 0.05;

/// The reason for which a guest's time no longer advances.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// These programs use the processor and do not wait.
    Busy(Vec<String>),
    /// The guest uses no processor time, and its clock has stood still for this long.
    Idle(Duration),
}

/// The state of the watch over a guest's time.
pub struct Watch {
    /// Number of the guest's process on this machine.
    process: u32,
    /// The command line of its first process.
    first: String,
    /// True if the guest has started.
    ready: bool,
    /// Time of the last look, or of the last progress.
    since: Instant,
    /// Processor seconds that the guest had used at the last query, or else at the first look since
    /// the last progress.
    used: Option<f64>,
    last: Option<Answer>,
    silence: Silence,
    idle: Idle,
}

/// The guest's last answer to a query.
struct Answer {
    at: u64,
    /// Processor seconds that the guest had used.
    used: f64,
    /// Number of times that each program was named since time has stood still.
    named: BTreeMap<String, u32>,
}

/// Unanswered queries since the last answered one.
#[derive(Default)]
struct Silence {
    questions: u32,
    /// Processor seconds of each process at the last query, and its use during all queries since.
    used: BTreeMap<u32, (f64, f64)>,
}

/// The last time at which the guest made progress or had used the processor.
struct Idle {
    since: Instant,
    used: f64,
}

#[allow(clippy::disallowed_methods, reason = "how long a guest takes is real time")]
impl Watch {
    /// Creates the watch over the guest whose process, or an ancestor of it, is `process`, and
    /// whose first process has the command line `first`.
    pub fn new(process: u32, first: String) -> Watch {
        let (since, silence) = (Instant::now(), Silence::default());
        let idle = Idle { since, used: 0.0 };
        Watch { process, first, ready: false, since, used: None, last: None, silence, idle }
    }

    /// Records progress; the first progress is the guest's start.
    pub fn progressed(&mut self) {
        let first = std::mem::take(&mut self.first);
        *self = Watch { ready: true, ..Watch::new(self.process, first) };
    }

    /// Queries the guest for its running programs if a query is due: sends the query with `tell`.
    /// Returns a verdict if previous answers have led to one.
    pub fn ask(&mut self, tell: impl FnOnce(Told)) -> Option<Verdict> {
        if self.since.elapsed() < LOOK {
            return None;
        }
        self.since = Instant::now();
        let processes = below(self.process);
        let used: BTreeMap<u32, f64> = processes.iter().map(|process| (process.id, process.used)).collect();
        let all = used.values().sum();
        if self.idle.look(self.since, all) {
            return Some(Verdict::Idle(IDLE));
        }
        if !self.is_due(all) {
            return None;
        }
        let patience = if self.ready { SILENT } else { STARTING };
        if let Some(busiest) = self.silence.question(&used, patience) {
            let name = command_line(busiest);
            if !name.starts_with(&self.first) || self.silence.questions >= COMPUTING {
                return Some(Verdict::Busy(vec![name]));
            }
        }
        if !self.ready {
            return None;
        }
        tell(Told::WhatRuns);
        for process in processes.iter().filter(|process| process.program) {
            let _ = kill(Pid::from_raw(process.id as i32), Signal::SIGALRM);
        }
        None
    }

    /// Returns true if a query is due, after `used` processor seconds of the guest.
    fn is_due(&mut self, used: f64) -> bool {
        // Programs that have ended no longer count.
        let before = self.used.map_or(used, |before| before.min(used));
        let due = used - before >= PATIENCE;
        self.used = Some(if due { used } else { before });
        due
    }

    /// Handles the guest's report that `programs` run at time `at` of its clock, in nanoseconds.
    /// Returns a verdict if it is certain.
    pub fn answer(&mut self, programs: &[String], at: u64) -> Option<Verdict> {
        let used = below(self.process).iter().map(|process| process.used).sum();
        self.silence = Silence::default();
        self.judge(programs, at, used).map(Verdict::Busy)
    }

    fn judge(&mut self, programs: &[String], at: u64, used: f64) -> Option<Vec<String>> {
        if self.last.as_ref().is_some_and(|last| used - last.used < ENOUGH) {
            return None;
        }
        let earlier = self.last.take();
        let still = earlier
            .as_ref()
            .is_some_and(|last| (at.saturating_sub(last.at)) as f64 * 1e-9 < STILL * (used - last.used));
        let mut named = earlier.filter(|_| still).map_or_else(BTreeMap::new, |last| last.named);
        named.retain(|name, _| programs.contains(name));
        for name in programs {
            *named.entry(name.clone()).or_default() += 1;
        }
        // The first answer does not prove that time stands still, so one answer more is needed than
        // consecutive answers.
        let why: Vec<_> =
            named.iter().filter(|(_, count)| **count > ANSWERS).map(|(name, _)| name.clone()).collect();
        self.last = Some(Answer { at, used, named });
        (!why.is_empty()).then_some(why)
    }
}

impl Silence {
    /// Records a question and the processor seconds that each process has used. Returns the busiest
    /// process if `patience` questions were left unanswered.
    fn question(&mut self, used: &BTreeMap<u32, f64>, patience: u32) -> Option<u32> {
        let before = std::mem::take(&mut self.used);
        for (id, now) in used {
            let (last, sum) = before.get(id).copied().unwrap_or((*now, 0.0));
            self.used.insert(*id, (*now, sum + now - last));
        }
        self.questions += 1;
        let busiest = self.used.iter().max_by(|(_, one), (_, other)| one.1.total_cmp(&other.1));
        busiest.filter(|_| self.questions >= patience).map(|(id, _)| *id)
    }
}

impl Idle {
    /// Records the processor seconds of the guest. Returns true if it has been idle for too long.
    fn look(&mut self, now: Instant, used: f64) -> bool {
        if (used - self.used).abs() >= NOTHING {
            *self = Idle { since: now, used };
        }
        now - self.since >= IDLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_after_three_consecutive_answers_without_progress() {
        let spin = ["spin".to_owned()];
        let mut watch = Watch::new(0, String::new());
        assert_eq!(watch.judge(&spin, 1_000, 1.0), None);
        assert_eq!(watch.judge(&spin, 1_000, 2.0), None);
        assert_eq!(watch.judge(&[], 1_000, 3.0), None);
        assert_eq!(watch.judge(&spin, 1_000, 4.0), None);
        assert_eq!(watch.judge(&spin, 1_000, 5.0), None);
        // A program that gets no processor time is not busy.
        assert_eq!(watch.judge(&spin, 1_000, 5.1), None);
        assert_eq!(watch.judge(&spin, 1_000, 6.0), Some(vec!["spin".to_owned()]));
        // A clock that advances, even at a tenth of the processor time, does not stand still.
        let mut watch = Watch::new(0, String::new());
        for second in 0..10 {
            assert_eq!(watch.judge(&spin, second * 100_000_000, second as f64), None);
        }
    }

    /// A query changes times in the guest, so it must not depend on other work on the machine.
    #[test]
    fn only_processor_time_without_progress_leads_to_a_query() {
        let mut watch = Watch::new(0, String::new());
        assert!((0..100).all(|look| !watch.is_due(7.0 + 0.01 * f64::from(look))));
        assert!(watch.is_due(9.0) && !watch.is_due(9.0) && !watch.is_due(10.9));
        // A program ends.
        assert!(!watch.is_due(4.0) && !watch.is_due(5.9) && watch.is_due(6.0));
        watch.progressed();
        assert!(!watch.is_due(9.0));
    }

    #[test]
    fn the_busiest_process_is_named_after_unanswered_questions() {
        let used = |kernel: f64, program: f64| BTreeMap::from([(1, kernel), (2, program)]);
        let mut silence = Silence::default();
        for question in 0..SILENT {
            let seconds = f64::from(question);
            let expected = (question + 1 >= SILENT).then_some(2);
            assert_eq!(silence.question(&used(50.0 + 0.1 * seconds, seconds), SILENT), expected);
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "any time can be the first")]
    fn a_guest_without_activity_is_idle() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut idle = Idle { since: start, used: 0.0 };
        assert!(!idle.look(at(10), 7.0));
        assert!((11..130).all(|second| !idle.look(at(second), 7.01)));
        assert!(idle.look(at(130), 7.02));
        let mut idle = Idle { since: start, used: 0.0 };
        assert!((0..1000).all(|second| !idle.look(at(second), 0.001 * second as f64)));
    }
}
