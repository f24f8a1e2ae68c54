//! The virtual clock: jumps from wake to wake until the scenario's duration is over.

use crate::{interrupted_at, Closing, Follow, Made, OnlyProgress, Options, Run, Running, Writers};
use bentpipe_core::{Report, Seen, Span, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{instantiate, Network};
use bentpipe_results::{Cost, ResultsError};
use bentpipe_stage::Totals;
use cpu_time::ThreadTime;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The outcome of a simulated run.
pub struct Simulated {
    /// The rows that the stages reported.
    pub report: Report,
    /// The packets created, consumed and dropped.
    pub totals: Totals,
    /// True if the run reached its end, false if it was interrupted.
    pub complete: bool,
    /// Number of events, real time and processor time of the run.
    pub cost: Cost,
}

/// The error of a run without results.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] pub ResultsError);

/// Minimum number of pauses in a run to report progress, check for interruption and check for a
/// full disk.
const LOOKS: u64 = 1000;

/// Maximum number of events between two pauses, some tens of milliseconds of processor time, so
/// that a long run stops as promptly as a short one.
const EVENTS: u64 = 100_000;

/// Maximum time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(100);

/// Simulates `scenario`, whose resolved text is `text`, into the folder `out`, which may contain an
/// earlier run. Calls `progress` with the completed fraction about ten times a second; it stops the
/// run by breaking.
///
/// # Errors
/// Returns an error if the folder cannot be created or written. Data written before remains
/// readable and is marked incomplete.
pub fn simulate(
    scenario: &Scenario,
    text: &str,
    out: &Path,
    options: &Options,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Simulated, Error> {
    simulate_followed(scenario, text, out, options, &mut OnlyProgress(progress))
}

/// Simulates as [`simulate`] does, with an observer that may change the scenario.
///
/// # Errors
/// Returns errors as [`simulate`] does.
#[allow(clippy::disallowed_methods, reason = "the driver is where real time is known")]
pub fn simulate_followed(
    scenario: &Scenario,
    text: &str,
    out: &Path,
    options: &Options,
    follow: &mut dyn Follow,
) -> Result<Simulated, Error> {
    let (run, Writers { recorder, capture }) = Run::open("simulate", scenario, text, out, options, 0)?;
    let (seed, number) = run.seed();
    let mut network = instantiate(scenario, seed, number, recorder);
    network.out().set_capture(capture);
    let end = Time::ZERO + scenario.duration;
    let started = Instant::now();
    let mut last = started;
    let mut changes = Vec::new();
    let driven = drive(&mut network, end, stride(end, options.pace), &mut |network, now| {
        if run.failed() {
            return ControlFlow::Break(());
        }
        let due = last.elapsed() >= PROGRESS;
        let mut look = || {
            last = Instant::now();
            follow.at(
                now.as_secs_f64() / end.as_secs_f64(),
                &mut Moment { network, now, changes: &mut changes },
            )
        };
        if let Some(pace) = options.pace {
            let moment = started + Duration::from_secs_f64(now.as_secs_f64() / pace);
            // Called during the wait, so that the run can be stopped and changed at any moment.
            while let Some(left) =
                moment.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            {
                thread::sleep(left.min(PROGRESS));
                look()?;
            }
        } else if due {
            look()?;
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
        changes: &changes,
    })?;
    Ok(Simulated { report, totals, complete, cost })
}

/// The network between two of its events.
struct Moment<'a> {
    network: &'a mut Network,
    now: Time,
    changes: &'a mut Vec<Made>,
}

impl Running for Moment<'_> {
    fn look(&mut self) -> Seen {
        self.network.out().recorder().look()
    }

    fn change(&mut self, key: &str, value: &str) -> Result<Time, String> {
        // The change follows all events due by now, like a `[[change]]` of the scenario at this
        // time.
        let at = self.now + Span::from_nanos(1);
        self.network.change(at, key, value).map_err(|refused| refused.to_string())?;
        self.changes.push(Made { at, key: key.to_owned(), value: value.to_owned() });
        Ok(at)
    }
}

/// The extent and the cost of a call of [`drive`].
#[derive(Clone, Copy, Debug)]
pub struct Driven {
    /// Time in the run at which it ended.
    pub reached: Time,
    /// Real time that the run took.
    pub wall: Duration,
    /// Processor time that this thread used for the run.
    pub cpu: Duration,
}

/// Returns the time in the run between two pauses: a thousandth of the duration, or less for a run
/// slowed down to `pace`.
fn stride(end: Time, pace: Option<f64>) -> Span {
    let stride = end.since(Time::ZERO) / LOOKS;
    let paced = pace.map(|pace| Span::from_secs_f64(pace * PROGRESS.as_secs_f64()));
    paced.map_or(stride, |paced| stride.min(paced)).max(Span::from_nanos(1))
}

/// Runs `network` on the virtual clock up to `end`. Calls `look` with the current time after each
/// `stride`, and at least every [`EVENTS`] events within a stride. Ends early when `look` breaks.
#[allow(clippy::disallowed_methods, reason = "the driver is where real time is known")]
pub fn drive(
    network: &mut Network,
    end: Time,
    stride: Span,
    look: &mut dyn FnMut(&mut Network, Time) -> ControlFlow<()>,
) -> Driven {
    let (wall, cpu) = (Instant::now(), ThreadTime::now());
    let mut reached = Time::ZERO;
    while reached < end {
        reached = network.run_some((reached + stride).min(end), EVENTS);
        if reached < end && look(network, reached).is_break() {
            break;
        }
    }
    Driven { reached, wall: wall.elapsed(), cpu: cpu.elapsed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Recorder;
    use bentpipe_engine::presets;
    use bentpipe_scenario::{load, Source};

    #[test]
    fn progress_is_reported_with_strides_of_any_length() {
        let text = r#"
            name = "busy"
            duration = "300 s"
            record.traces = []
            [[link]]
            name = "sat"
            from = "user"
            to = "server"
            rate = "20 Mbit/s"
            delay = "10 ms"
            [[flow]]
            name = "upload"
            from = "user"
            to = "server"
            app = "bulk"
            transport = "tcp"
        "#;
        let source = Source::Text { name: "busy", text };
        let scenario = load::<Scenario>(source, &presets::all(), &[]).unwrap().value;
        let mut network = instantiate(&scenario, 1, 0, Recorder::default());
        let mut looks = Vec::new();
        let end = Time::ZERO + scenario.duration;
        let driven = drive(&mut network, end, scenario.duration, &mut |network, now| {
            looks.push((now, network.events()));
            ControlFlow::Continue(())
        });
        assert!(driven.reached == end && looks.iter().all(|(now, _)| *now < end));
        assert!(looks.len() as u64 >= network.events() / (2 * EVENTS), "{looks:?}");
        assert!(looks.len() > 3, "the run has enough events to tell: {looks:?}");
        assert!(looks.is_sorted());
    }
}
