//! One run of a scenario on the virtual clock.

use bentpipe_core::{Report, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{instantiate, Network};
use bentpipe_models::Totals;
use bentpipe_results::{Cost, ResultsError};
use bentpipe_runs::{interrupted_at, Closing, Options, Run, Writers};
use cpu_time::ThreadTime;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// The outcome of a run.
pub struct Simulated {
    /// The rows that the stages reported.
    pub report: Report,
    /// Numbers of packets created, consumed and dropped.
    pub totals: Totals,
    /// Whether the run reached its end; it was interrupted otherwise.
    pub complete: bool,
    /// Events, real time and processor time of the run.
    pub cost: Cost,
}

/// Why a run has no results.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] pub ResultsError);

/// How many times in a run the clock stops to look at the world: progress, interruption, a full disk.
const LOOKS: u64 = 1000;

/// Longest time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(100);

/// Simulates `scenario`, whose resolved text is `text`, into the folder `out`, which may hold an earlier run.
/// `progress` is told the fraction done about ten times a second and stops the run by breaking.
///
/// # Errors
/// The folder cannot be made or written. What was written before stays readable and is marked incomplete.
#[allow(clippy::disallowed_methods, reason = "the driver is where real time is known")]
pub fn simulate(
    scenario: &Scenario,
    text: &str,
    out: &Path,
    options: &Options,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Simulated, Error> {
    let (run, Writers { recorder, capture }) = Run::open("simulate", scenario, text, out, options, 0)?;
    let (seed, number) = run.seed();
    let mut network = instantiate(scenario, seed, number, recorder);
    network.out().set_capture(capture);
    let end = Time::ZERO + scenario.duration;
    let mut last = Instant::now();
    let driven = drive(&mut network, end, &mut |now| {
        if run.failed() {
            return ControlFlow::Break(());
        }
        if last.elapsed() >= PROGRESS {
            last = Instant::now();
            return progress(now.as_secs_f64() / end.as_secs_f64());
        }
        ControlFlow::Continue(())
    });
    network.out().set_capture(None);
    network.finish(driven.reached);
    network.out().recorder().finish();
    let report = network.report(driven.reached);
    let totals = network.out().totals().clone();
    let complete = driven.reached == end;
    let cost = run.close(Closing {
        reached: driven.reached,
        report: &report,
        totals: &totals,
        held: network.held(),
        stages: network.names(),
        interrupted: (!complete).then(|| interrupted_at(driven.reached)),
        events: network.events(),
        wall_seconds: driven.wall.as_secs_f64(),
        cpu_seconds: driven.cpu.as_secs_f64(),
    })?;
    Ok(Simulated { report, totals, complete, cost })
}

/// How far [`drive`] came and what that took.
#[derive(Clone, Copy, Debug)]
pub struct Driven {
    /// Time of the run at which it ended.
    pub reached: Time,
    /// Real time that the run took.
    pub wall: Duration,
    /// Processor time that this thread used for the run.
    pub cpu: Duration,
}

/// Runs `network` on the virtual clock up to `end`, calling `look` now and then with the moment reached, and ends
/// early when that breaks.
#[allow(clippy::disallowed_methods, reason = "the driver is where real time is known")]
pub fn drive(network: &mut Network, end: Time, look: &mut dyn FnMut(Time) -> ControlFlow<()>) -> Driven {
    let (wall, cpu) = (Instant::now(), ThreadTime::now());
    let stride = end.since(Time::ZERO) / LOOKS;
    let mut reached = Time::ZERO;
    for index in 1..=LOOKS {
        reached = if index == LOOKS { end } else { Time::ZERO + stride * index };
        network.run_until(reached);
        if index < LOOKS && look(reached).is_break() {
            break;
        }
    }
    Driven { reached, wall: wall.elapsed(), cpu: cpu.elapsed() }
}
