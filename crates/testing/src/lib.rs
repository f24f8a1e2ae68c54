//! Shared by tests: a [bench](mod@bench) for stages, tests that this machine cannot run, and tests
//! on the real clock.
//!
//! libtest has no word for tests that the machine cannot run and counts them as passed. They report
//! the reason here, and `scripts/test` counts and prints the reasons at its end. Tests on the real
//! clock that a busy machine disturbed are repeated.

pub mod bench;

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{stderr, Write};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// Number of times that a test on the real clock runs if the machine disturbs it.
pub const ATTEMPTS: usize = 3;

/// Tests a run on the real clock: `run` makes a run, or returns `None` if this machine cannot;
/// `check` asserts the expected results; `disturbed` returns the reasons why the machine disturbed
/// the run, none if it did not.
///
/// A disturbed run whose check panics is repeated. After [`ATTEMPTS`] such runs the test counts as
/// [`skipped`].
///
/// # Panics
/// If the check of an undisturbed run does.
pub fn repeated<Run>(
    run: impl FnMut() -> Option<Run>,
    disturbed: impl Fn(&Run) -> Vec<String>,
    check: impl Fn(&Run),
) {
    if let Some(reasons) = attempts(run, disturbed, check) {
        let reasons = reasons.join("; ");
        skipped(format!("the machine disturbed all {ATTEMPTS} attempts, which failed: {reasons}"));
    }
}

/// Makes and checks runs as [`repeated`] does. Returns why the last one was disturbed if all were
/// and failed.
fn attempts<Run>(
    mut run: impl FnMut() -> Option<Run>,
    disturbed: impl Fn(&Run) -> Vec<String>,
    check: impl Fn(&Run),
) -> Option<Vec<String>> {
    let mut reasons = Vec::new();
    for _ in 0..ATTEMPTS {
        let run = run()?;
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&run))) else { return None };
        reasons = disturbed(&run);
        if reasons.is_empty() {
            resume_unwind(panic);
        }
    }
    Some(reasons)
}

/// The environment variable that names the file in which skipped tests are collected.
const COLLECTED: &str = "BENTPIPE_SKIPPED";

/// Reports that the calling test is skipped because of `reason`: one line to the file that
/// `BENTPIPE_SKIPPED` names, or to standard error if it is not set. libtest captures neither.
///
/// # Panics
/// If the line cannot be written: a skipped test must not pass unnoticed.
pub fn skipped(reason: impl Display) {
    let reason = reason.to_string();
    let test = std::thread::current().name().unwrap_or("unnamed").to_owned();
    let line = format!("{test}: {}\n", reason.trim().replace('\n', "; "));
    match std::env::var_os(COLLECTED) {
        Some(file) => {
            let mut file =
                OpenOptions::new().create(true).append(true).open(file).expect("the file can be opened");
            file.write_all(line.as_bytes()).expect("the file can be written");
        }
        None => write!(stderr(), "skipped: {line}").expect("standard error can be written"),
    }
}

#[cfg(test)]
mod tests {
    use super::{attempts, catch_unwind, AssertUnwindSafe, ATTEMPTS};

    /// Outcome of the last run: passed, failed, or disturbed with the reasons.
    #[derive(Debug, PartialEq)]
    enum End {
        Passed,
        Failed,
        Disturbed(Vec<String>),
    }

    /// Returns how often a test ran and how it ended, where `good` and `undisturbed` are the
    /// numbers of the first run that passes, and of the first one that the machine did not disturb.
    fn outcome(good: usize, undisturbed: usize) -> (usize, End) {
        let mut runs = 0;
        let run = || {
            runs += 1;
            Some(runs)
        };
        let reasons =
            |run: &usize| if *run < undisturbed { vec![format!("{run} was late")] } else { Vec::new() };
        let ended = catch_unwind(AssertUnwindSafe(|| attempts(run, reasons, |run| assert!(*run >= good))));
        let end = ended.map_or(End::Failed, |reasons| reasons.map_or(End::Passed, End::Disturbed));
        (runs, end)
    }

    #[test]
    fn a_disturbed_run_that_fails_is_repeated_and_an_undisturbed_one_fails() {
        assert_eq!(outcome(1, 9), (1, End::Passed));
        assert_eq!(outcome(2, 9), (2, End::Passed));
        assert_eq!(outcome(2, 1), (1, End::Failed));
        assert_eq!(outcome(3, 2), (2, End::Failed));
        assert_eq!(outcome(9, 9), (ATTEMPTS, End::Disturbed(vec!["3 was late".to_owned()])));
    }

    #[test]
    fn a_machine_that_cannot_run_it_is_asked_once() {
        let mut runs = 0;
        let run = || {
            runs += 1;
            None::<()>
        };
        assert_eq!(attempts(run, |()| vec!["late".to_owned()], |()| panic!("nothing ran")), None);
        assert_eq!(runs, 1);
    }
}
