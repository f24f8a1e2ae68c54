//! A run of a scenario, in virtual or real time: opens the run folder for the recordings that the
//! scenario requests, and closes it with the outcome.

mod follow;
pub mod virtual_time;

use bentpipe_core::{Recorder, Report, Span, Time};
use bentpipe_engine::flows;
use bentpipe_engine::scenario::Scenario;
use bentpipe_outcome::Outcome;
use bentpipe_results::{CaptureOptions, Cost, Ending, Existing, Provenance, ResultsError, RunFolder};
use bentpipe_stage::{Capture, Held, Totals};
use std::path::Path;

pub use follow::{Follow, Made, OnlyProgress, Running};

/// Options of a run in addition to the scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seed of all random streams. Default: the scenario's seed.
    pub seed: Option<u64>,
    /// Number of the replication, which selects other random streams under the same seed.
    pub run: u64,
    /// Command line, recorded in the provenance.
    pub command: Vec<String>,
    /// True if the run may start programs that the scenario names.
    pub allow_commands: bool,
    /// Start of the run in UTC (RFC 3339), for the provenance.
    pub started: Option<String>,
    /// True if rows of the traces are requested while the run is in progress.
    pub watched: bool,
    /// Pace of a run in virtual time, in seconds of the scenario per second of real time. Unlimited
    /// if unset.
    pub pace: Option<f64>,
}

/// Number of rows per entity and table that a watcher receives in a whole run: about the columns of
/// a screen.
const POINTS: u64 = 1000;

impl Options {
    /// Returns the seed and the number of a run of `scenario`, for its random streams.
    pub fn seeds(&self, scenario: &Scenario) -> (u64, u64) {
        (self.seed.unwrap_or(scenario.seed.value()), self.run)
    }
}

/// A run with an open folder. A run that is dropped before [`Run::close`] is marked incomplete.
pub struct Run<'a> {
    scenario: &'a Scenario,
    folder: RunFolder,
    seed: u64,
    number: u64,
}

/// The writers to the folder during the run.
pub struct Writers {
    /// Receives the rows of the traces.
    pub recorder: Recorder,
    /// Takes captured packets, if the scenario requests a capture.
    pub capture: Option<Box<dyn Capture>>,
}

/// The outcome of a run, for closing its folder.
pub struct Closing<'a> {
    /// Time in the run at which it ended.
    pub reached: Time,
    /// The reports of the stages, and of the real hosts if there are any.
    pub report: &'a Report,
    /// The packets created, consumed and dropped.
    pub totals: &'a Totals,
    /// Packets that the stages held at the end.
    pub held: Held,
    /// Names of the stages, by number.
    pub stages: &'a [String],
    /// The reason for an early end, if any.
    pub interrupted: Option<String>,
    /// Number of events of the event loop.
    pub events: u64,
    /// Real time of the run in seconds.
    pub wall_seconds: f64,
    /// Processor time of the run in seconds.
    pub cpu_seconds: f64,
    /// The changes that were made by hand.
    pub changes: &'a [Made],
}

impl<'a> Run<'a> {
    /// Opens the folder `out`, which may contain an earlier run, for a run of `scenario` by
    /// `instrument`. `text` is the resolved scenario. `epoch` is the moment of time zero for
    /// captures, in nanoseconds of Unix time.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created or written.
    pub fn open(
        instrument: &str,
        scenario: &'a Scenario,
        text: &str,
        out: &Path,
        options: &Options,
        epoch: u64,
    ) -> Result<(Run<'a>, Writers), ResultsError> {
        let (seed, _) = options.seeds(scenario);
        let mut provenance = Provenance::new(instrument, seed, options.run);
        provenance.command.clone_from(&options.command);
        provenance.started.clone_from(&options.started);
        let mut folder = RunFolder::create(out, Existing::Replace, text, provenance)?;
        let record = &scenario.record;
        let mut recorder = match record.traces.is_empty() {
            true => Recorder::default(),
            false => Recorder::new(Box::new(folder.traces()?)),
        };
        if options.watched {
            recorder.watch(scenario.duration / POINTS);
        }
        let capture: Option<Box<dyn Capture>> = match record.capture.is_empty() {
            true => None,
            false => {
                let snap = Some(record.capture_bytes.value() as u32);
                Some(Box::new(folder.capture(&record.capture, CaptureOptions { snap, epoch })?))
            }
        };
        let run = Run { scenario, folder, seed, number: options.run };
        Ok((run, Writers { recorder, capture }))
    }

    /// Returns the seed and the number of the run, for its random streams.
    pub fn seed(&self) -> (u64, u64) {
        (self.seed, self.number)
    }

    /// Returns the folder, for the instrument's own files and notes.
    pub fn folder(&mut self) -> &mut RunFolder {
        &mut self.folder
    }

    /// Returns true if writing has failed and continuing is pointless. The call is cheap; make it
    /// regularly.
    pub fn failed(&self) -> bool {
        self.folder.failed()
    }

    /// Writes the outcome and closes the folder. Both writers must have ended.
    ///
    /// # Errors
    /// Returns the first failure to write anything of this run. The folder is then marked
    /// incomplete with that reason.
    pub fn close(mut self, closing: Closing<'_>) -> Result<Cost, ResultsError> {
        let duration = closing.reached.since(Time::ZERO);
        if !closing.changes.is_empty() {
            self.folder.provenance().notes.insert("changes".to_owned(), follow::noted(closing.changes));
        }
        let has_real_hosts = self.folder.provenance().instrument != "simulate";
        let (report, flows) =
            flows::joined(self.scenario, closing.report, closing.totals, closing.reached, has_real_hosts);
        self.folder.outcome(&Outcome {
            duration,
            report: &report,
            totals: closing.totals,
            held: closing.held,
            stages: closing.stages,
            flows: &flows,
        })?;
        let cost = Cost {
            simulated: duration,
            events: closing.events,
            wall_seconds: closing.wall_seconds,
            cpu_seconds: closing.cpu_seconds,
        };
        let ending = closing.interrupted.map_or(Ending::Complete, Ending::Incomplete);
        self.folder.finish(ending, cost)?;
        Ok(cost)
    }
}

/// Returns the reason for a run that the user stopped at `reached`.
pub fn interrupted_at(reached: Time) -> String {
    let reached: Span = reached.since(Time::ZERO);
    format!("interrupted at {reached:?}")
}
