//! A run of a scenario, on whatever clock: opens the run folder with what the scenario wants
//! recorded, and closes it with what came of it.

mod flows;
mod follow;
pub mod virtual_time;

use bentpipe_core::{Recorder, Report, Span, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_results::{
    CaptureOptions, Cost, Ending, Existing, Outcome, Provenance, ResultsError, RunFolder,
};
use bentpipe_stage::{Capture, Held, Totals};
use std::path::Path;

pub use follow::{Follow, Made, OnlyProgress, Running};

/// What to do besides what the scenario says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seed of all random streams; the scenario's if unset.
    pub seed: Option<u64>,
    /// Number of the replication: other random streams under the same seed.
    pub run: u64,
    /// Command line that is recorded in the provenance.
    pub command: Vec<String>,
    /// True if programs that the scenario names may be run.
    pub allow_commands: bool,
    /// When the run starts, in UTC as of RFC 3339, for the provenance.
    pub started: Option<String>,
    /// True if someone wants to see rows of the traces while the run is in progress.
    pub watched: bool,
    /// Seconds of the scenario per second of real time, for a run in virtual time; as fast as
    /// possible if unset.
    pub pace: Option<f64>,
}

/// Rows of an entity in a table that a watcher gets to see in a whole run: about the columns of a
/// screen.
const POINTS: u64 = 1000;

impl Options {
    /// Seed and number of a run of `scenario`, for its random streams.
    pub fn seeds(&self, scenario: &Scenario) -> (u64, u64) {
        (self.seed.unwrap_or(scenario.seed.value()), self.run)
    }
}

/// A run whose folder is open. One that is dropped before [`Run::close`] is marked incomplete.
pub struct Run<'a> {
    scenario: &'a Scenario,
    folder: RunFolder,
    seed: u64,
    number: u64,
}

/// What writes to the folder while the run goes on.
pub struct Writers {
    /// Receives the rows of the traces.
    pub recorder: Recorder,
    /// Takes captured packets, when the scenario wants any.
    pub capture: Option<Box<dyn Capture>>,
}

/// How a run ended, and what it left.
pub struct Closing<'a> {
    /// Time of the run at which it ended.
    pub reached: Time,
    /// What the stages, and the real hosts if there were any, reported.
    pub report: &'a Report,
    /// Numbers of packets created, consumed and dropped.
    pub totals: &'a Totals,
    /// Packets that the stages held at the end.
    pub held: Held,
    /// Names of the stages, by number.
    pub stages: &'a [String],
    /// Why it ended early, if it did.
    pub interrupted: Option<String>,
    /// Number of events of the event loop.
    pub events: u64,
    /// Real time of the run in seconds.
    pub wall_seconds: f64,
    /// Processor time of the run in seconds.
    pub cpu_seconds: f64,
    /// Changes made by hand.
    pub changes: &'a [Made],
}

impl<'a> Run<'a> {
    /// Opens the folder `out`, which may hold an earlier run, for a run of `scenario`, whose
    /// resolved text is `text`, by `instrument`. `epoch` is the moment of time zero for captures,
    /// in nanoseconds of Unix time.
    ///
    /// # Errors
    /// The folder cannot be made or written.
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

    /// Seed and number of the run, for its random streams.
    pub fn seed(&self) -> (u64, u64) {
        (self.seed, self.number)
    }

    /// Returns the folder, for files and notes of the instrument's own.
    pub fn folder(&mut self) -> &mut RunFolder {
        &mut self.folder
    }

    /// Returns true if writing has failed, so that going on is of no use. Cheap; ask it now and
    /// then.
    pub fn failed(&self) -> bool {
        self.folder.failed()
    }

    /// Writes what came of it and closes the folder. Both writers have ended by then.
    ///
    /// # Errors
    /// The first failure to write anything of this run; the folder is then marked incomplete with
    /// that reason.
    pub fn close(mut self, closing: Closing<'_>) -> Result<Cost, ResultsError> {
        let duration = closing.reached.since(Time::ZERO);
        if !closing.changes.is_empty() {
            self.folder.provenance().notes.insert("changes".to_owned(), follow::noted(closing.changes));
        }
        let rows = flows::rows(self.scenario, closing.report);
        let report = &rows.joined(closing.report);
        let has_real_hosts = self.folder.provenance().instrument != "simulate";
        let flows = rows.columns(report, closing.totals, closing.reached, has_real_hosts);
        self.folder.outcome(&Outcome {
            duration,
            report,
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

/// Returns the reason to give for a run that the user stopped at `reached`.
pub fn interrupted_at(reached: Time) -> String {
    let reached: Span = reached.since(Time::ZERO);
    format!("interrupted at {reached:?}")
}
