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
/// What the guest's clock has to do of that time to be said to go on: two hundredths.
const STILL: f64 = 0.02;
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
    seen: Instant,
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
        for program in traced(self.process) {
            let _ = kill(Pid::from_raw(program as i32), Signal::SIGALRM);
        }
        Some(Told::WhatRuns)
    }

    /// The guest says that `programs` run at `at` of its clock in nanoseconds: the programs for which time stands still, once
    /// that is certain.
    pub fn answer(&mut self, programs: &[String], at: u64) -> Option<Vec<String>> {
        let now = Instant::now();
        let earlier = self.last.take();
        let still = earlier.as_ref().is_some_and(|last| {
            (at.saturating_sub(last.at)) as f64 * 1e-9 < STILL * now.duration_since(last.seen).as_secs_f64()
        });
        let mut named = earlier.filter(|_| still).map_or_else(BTreeMap::new, |last| last.named);
        named.retain(|name, _| programs.contains(name));
        for name in programs {
            *named.entry(name.clone()).or_default() += 1;
        }
        // The first answer is no evidence of standing still, so one more is needed than answers in a row.
        let why: Vec<_> =
            named.iter().filter(|(_, count)| **count > ANSWERS).map(|(name, _)| name.clone()).collect();
        self.last = Some(Answer { at, seen: now, named });
        (!why.is_empty()).then_some(why)
    }
}

/// The processes below `ancestor` that another process traces.
fn traced(ancestor: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<(u32, bool)>> = BTreeMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    for id in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let Ok(status) = fs::read_to_string(format!("/proc/{id}/status")) else { continue };
        let number = |key: &str| -> Option<u32> {
            status.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
        };
        if let (Some(parent), Some(tracer)) = (number("PPid:"), number("TracerPid:")) {
            children.entry(parent).or_default().push((id, tracer != 0));
        }
    }
    let mut found = Vec::new();
    let mut left = vec![ancestor];
    while let Some(parent) = left.pop() {
        for (child, traced) in children.remove(&parent).unwrap_or_default() {
            left.push(child);
            if traced {
                found.push(child);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "how long a guest takes is real time")]
    fn a_program_is_named_only_when_time_stood_still_in_three_answers_in_a_row() {
        let programs = ["spin".to_owned()];
        let mut watch = Watch::new(0);
        assert_eq!(watch.answer(&programs, 1_000), None);
        assert_eq!(watch.answer(&programs, 1_000), None);
        assert_eq!(watch.answer(&[], 1_000), None);
        assert_eq!(watch.answer(&programs, 1_000), None);
        assert_eq!(watch.answer(&programs, 1_000), None);
        assert_eq!(watch.answer(&programs, 1_000), Some(vec!["spin".to_owned()]));
        // A clock that goes on as the machine's does is none that stands still, whatever runs.
        let mut watch = Watch::new(0);
        let began = Instant::now();
        for _ in 0..10 {
            assert_eq!(watch.answer(&programs, 1_000 + began.elapsed().as_nanos() as u64), None);
        }
    }
}
