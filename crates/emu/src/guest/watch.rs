//! Finds out that time stands still in a guest, and why. Its clock goes on when everything in it waits, so a program that
//! never does stops it for good: it asks again and again whether it is time, and it never is.
//!
//! The guest's kernel interrupts a program for a timer only, and timers stand still too. So the program that uses the
//! processor is interrupted from here: each program of the guest is a process of this machine that the guest's kernel
//! traces, and a SIGALRM makes it return to that kernel, which then lets the guest's first process say what runs.

use super::protocol::Told;
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// Real time without progress after which the guest is asked what runs, and between two questions.
const PATIENCE: Duration = Duration::from_secs(3);
/// What the guest's clock has to do of the processor time that it costs to be said to go on: two hundredths.
const STILL: f64 = 0.02;
/// Processor time below which nothing can be said: the guest did not get any.
const ENOUGH: f64 = 0.5;
/// Answers in a row that name a program before it is said to be why.
const ANSWERS: u32 = 2;

/// What is known of a guest's time.
pub struct Watch {
    /// Its process on this machine.
    process: u32,
    /// When it was last asked, or last said that it goes on.
    since: Instant,
    last: Option<Answer>,
}

struct Answer {
    at: u64,
    /// Processor seconds that the guest had used.
    used: f64,
    /// How often each program was named since time stood still.
    named: BTreeMap<String, u32>,
}

#[allow(clippy::disallowed_methods, reason = "how long a guest takes is real time")]
impl Watch {
    /// Of the guest whose process, or an ancestor of it, is `process`.
    pub fn new(process: u32) -> Watch {
        Watch { process, since: Instant::now(), last: None }
    }

    /// It goes on.
    pub fn progressed(&mut self) {
        self.since = Instant::now();
        self.last = None;
    }

    /// What to tell the guest now, if anything.
    pub fn question(&mut self) -> Option<Told> {
        if self.since.elapsed() < PATIENCE {
            return None;
        }
        self.since = Instant::now();
        for process in below(self.process).iter().filter(|process| process.traced) {
            let _ = kill(Pid::from_raw(process.id as i32), Signal::SIGALRM);
        }
        Some(Told::WhatRuns)
    }

    /// The guest says that `programs` run at `at` of its clock in nanoseconds: the programs for which time stands still, once
    /// that is certain.
    pub fn answer(&mut self, programs: &[String], at: u64) -> Option<Vec<String>> {
        let used = below(self.process).iter().map(|process| process.used).sum();
        self.judge(programs, at, used)
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
        // The first answer is no evidence of standing still, so one more is needed than answers in a row.
        let why: Vec<_> =
            named.iter().filter(|(_, count)| **count > ANSWERS).map(|(name, _)| name.clone()).collect();
        self.last = Some(Answer { at, used, named });
        (!why.is_empty()).then_some(why)
    }
}

/// A process of this machine.
struct Process {
    id: u32,
    /// Whether another process traces it.
    traced: bool,
    /// Processor seconds.
    used: f64,
}

/// The processes below `ancestor`.
fn below(ancestor: u32) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    for id in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        if let Some((parent, process)) = process(id) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut left = vec![ancestor];
    while let Some(parent) = left.pop() {
        let own = children.remove(&parent).unwrap_or_default();
        left.extend(own.iter().map(|process| process.id));
        found.extend(own);
    }
    found
}

/// A process and its parent: state, parent, ... from field 3 of proc_pid_stat(5) on, processor time in fields 14 and 15.
fn process(id: u32) -> Option<(u32, Process)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let number = |field: usize| -> Option<u32> { fields.get(field - 3)?.parse().ok() };
    let traced = matches!(*fields.first()?, "t") || {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        !status.lines().any(|line| line == "TracerPid:\t0")
    };
    let used = f64::from(number(14)? + number(15)?) / 100.0;
    Some((number(4)?, Process { id, traced, used }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_only_when_time_stood_still_in_three_answers_in_a_row() {
        let spin = ["spin".to_owned()];
        let mut watch = Watch::new(0);
        assert_eq!(watch.judge(&spin, 1_000, 1.0), None);
        assert_eq!(watch.judge(&spin, 1_000, 2.0), None);
        assert_eq!(watch.judge(&[], 1_000, 3.0), None);
        assert_eq!(watch.judge(&spin, 1_000, 4.0), None);
        assert_eq!(watch.judge(&spin, 1_000, 5.0), None);
        // Who gets no processor is not busy.
        assert_eq!(watch.judge(&spin, 1_000, 5.1), None);
        assert_eq!(watch.judge(&spin, 1_000, 6.0), Some(vec!["spin".to_owned()]));
        // A clock that goes on, be it at a tenth of what that costs, is none that stands still, whatever runs.
        let mut watch = Watch::new(0);
        for second in 0..10 {
            assert_eq!(watch.judge(&spin, second * 100_000_000, second as f64), None);
        }
    }

    #[test]
    fn children_are_found_with_what_they_use() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = below(std::process::id());
        let process = found.iter().find(|process| process.id == child.id()).unwrap();
        assert!(!process.traced && process.used < 1.0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
