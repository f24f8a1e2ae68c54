//! Functions shared by tests: a [bench](mod@bench) for stages, tests that cannot run on this
//! machine, and tests on the real clock.
//!
//! libtest has no result for tests that cannot run on a machine, and counts them as passed. These
//! tests report the reason with the functions here, and `scripts/test` counts the reasons and
//! prints them at its end. A test on the real clock that a busy machine has disturbed is repeated.

pub mod bench;

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{stderr, Write};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// Maximum number of runs of a test on the real clock that the machine disturbs.
pub const ATTEMPTS: usize = 3;

/// Tests a run on the real clock. `run` performs a run, or returns `None` if it is impossible on
/// this machine. `check` asserts the expected results. `disturbed` returns the reasons why the
/// machine disturbed the run, or none.
///
/// A disturbed run whose check panics is repeated. After [`ATTEMPTS`] such runs, the test is
/// [`skipped`].
///
/// # Panics
/// If the check of an undisturbed run panics.
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

/// Performs and checks runs like [`repeated`]. If all runs were disturbed and failed, returns the
/// reasons of the last one.
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

/// Reports that the calling test is skipped because of `reason`. Writes one line to the file that
/// `BENTPIPE_SKIPPED` names, or to standard error if the variable is not set. libtest captures
/// neither.
///
/// # Panics
/// If the line cannot be written, because a skipped test must not pass unnoticed.
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

    /// Outcome of a test: passed, failed, or disturbed with the reasons of the last run.
    #[derive(Debug, PartialEq)]
    enum End {
        Passed,
        Failed,
        Disturbed(Vec<String>),
    }

    /// Returns the number of runs of a test, and its outcome. `good` is the number of the first run
    /// that passes. `undisturbed` is the number of the first run that the machine does not disturb.
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
    fn failed_runs_are_repeated_only_if_disturbed() {
        assert_eq!(outcome(1, 9), (1, End::Passed));
        assert_eq!(outcome(2, 9), (2, End::Passed));
        assert_eq!(outcome(2, 1), (1, End::Failed));
        assert_eq!(outcome(3, 2), (2, End::Failed));
        assert_eq!(outcome(9, 9), (ATTEMPTS, End::Disturbed(vec!["3 was late".to_owned()])));
    }

    #[test]
    fn impossible_runs_are_not_repeated() {
        let mut runs = 0;
        let run = || {
            runs += 1;
            None::<()>
        };
        assert_eq!(attempts(run, |()| vec!["late".to_owned()], |()| panic!("nothing ran")), None);
        assert_eq!(runs, 1);
    }
}
