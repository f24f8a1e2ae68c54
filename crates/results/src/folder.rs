//! The run folder, from its creation to the end of the run.

use crate::capture::{self, CaptureFile, CaptureOptions, PacketCapture};
use crate::provenance::{self, replace_file, write_json};
use crate::{tables, Provenance, ResultsError, Status, TraceSink, Traces, Written};
use bentpipe_core::Span;
use bentpipe_outcome::Outcome;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The treatment of an earlier run in the folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// Keep it and return an error.
    Refuse,
    /// Replace it by the new run. Files that runs do not write remain.
    Replace,
}

/// The end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The run reached the end given in the scenario.
    Complete,
    /// The run ended earlier, for this reason, such as an interruption.
    Incomplete(String),
}

/// The cost of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Network time that was simulated.
    pub simulated: Span,
    /// Number of events that the event loop processed.
    pub events: u64,
    /// Real time of the run in seconds.
    pub wall_seconds: f64,
    /// Processor time of the run in seconds.
    pub cpu_seconds: f64,
}

/// A run folder that is being written. If it is dropped before [`RunFolder::finish`], it is marked
/// incomplete.
pub struct RunFolder {
    path: PathBuf,
    provenance: Provenance,
    traces: Option<Traces>,
    capture: Option<CaptureFile>,
    problem: Option<ResultsError>,
    finished: bool,
}

/// Files that a run writes, in addition to those in [`FOLDERS`].
const FILES: [&str; 7] = [
    "scenario.toml",
    "summary.json",
    "flows.parquet",
    capture::FILE,
    "report.html",
    "fidelity.json",
    provenance::FILE,
];

/// Folders whose files a run writes, and their suffixes.
const FOLDERS: [(&str, &[&str]); 3] =
    [("tables", &["parquet"]), ("traces", &["parquet"]), ("commands", &["stdout", "stderr"])];

impl RunFolder {
    /// Creates the folder `path` for one run. `scenario` is the text of the resolved scenario.
    ///
    /// # Errors
    /// A folder with an earlier run is rejected or replaced according to `existing`. A folder with
    /// any other content is rejected.
    pub fn create(
        path: &Path,
        existing: Existing,
        scenario: &str,
        provenance: Provenance,
    ) -> Result<RunFolder, ResultsError> {
        let problem = |error| ResultsError::write(path.display().to_string(), error);
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_dir() => return Err(ResultsError::NotAFolder(path.to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path).map_err(problem)?;
            }
            Err(error) => return Err(problem(error)),
        }
        let earlier = Provenance::read(path).is_some();
        if earlier && existing == Existing::Refuse {
            return Err(ResultsError::Exists(path.to_owned()));
        }
        if !earlier && !is_empty(path).map_err(problem)? {
            return Err(ResultsError::NotARun(path.to_owned()));
        }
        let provenance = Provenance { status: Status::Running, reason: None, ..provenance };
        provenance.write(path)?;
        if earlier {
            remove_results(path)?;
        }
        replace_file(path, "scenario.toml", scenario.as_bytes())?;
        let path = path.to_owned();
        Ok(RunFolder { path, provenance, traces: None, capture: None, problem: None, finished: false })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the content of `provenance.json`, to which notes can be added until the end.
    pub fn provenance(&mut self) -> &mut Provenance {
        &mut self.provenance
    }

    /// Starts the thread that writes traces, and returns the sink for the run's
    /// [`Recorder`](bentpipe_core::Recorder). Call it once per run.
    pub fn traces(&mut self) -> Result<TraceSink, ResultsError> {
        assert!(self.traces.is_none(), "a run has one sink for its traces");
        self.make_folder("traces")?;
        let (sink, traces) = Traces::start(&self.path)?;
        self.traces = Some(traces);
        Ok(sink)
    }

    /// Creates `packets.pcapng` with one interface per name, and returns the capture that writes to
    /// it. Call it once per run.
    pub fn capture(
        &mut self,
        interfaces: &[String],
        options: CaptureOptions,
    ) -> Result<PacketCapture, ResultsError> {
        assert!(self.capture.is_none(), "a run has one file of packets");
        let (packets, file) = capture::create(&self.path, interfaces, options)?;
        self.capture = Some(file);
        Ok(packets)
    }

    /// Returns true if writing has failed, such as on a full disk, so that the run can be stopped.
    /// The call is cheap; call it regularly.
    pub fn failed(&self) -> bool {
        self.problem.is_some()
            || self.traces.as_ref().is_some_and(Traces::failed)
            || self.capture.as_ref().is_some_and(CaptureFile::failed)
    }

    /// Writes `summary.json`, `flows.parquet` and `tables/`. Interrupted runs also have an outcome.
    pub fn outcome(&mut self, outcome: &Outcome<'_>) -> Result<(), ResultsError> {
        let result = self
            .make_folder("tables")
            .and_then(|()| tables::write(&self.path, outcome.report, outcome.flows))
            .and_then(|()| write_json(&self.path, "summary.json", &outcome.summary()));
        if let Err(error) = &result {
            self.problem.get_or_insert(error.again());
        }
        result
    }

    /// Closes all files and records the ending in `provenance.json`. Call it after
    /// [`Recorder::finish`](bentpipe_core::Recorder::finish). Returns the traces that were written.
    ///
    /// # Errors
    /// Returns the first error of writing this run. The folder is then marked incomplete, with the
    /// error as the reason.
    pub fn finish(mut self, ending: Ending, cost: Cost) -> Result<Vec<Written>, ResultsError> {
        self.provenance.simulated_seconds = Some(cost.simulated.as_secs_f64());
        self.provenance.events = Some(cost.events);
        self.provenance.wall_seconds = Some(cost.wall_seconds);
        self.provenance.cpu_seconds = Some(cost.cpu_seconds);
        self.end(ending)
    }

    fn end(&mut self, ending: Ending) -> Result<Vec<Written>, ResultsError> {
        self.finished = true;
        let mut written = Vec::new();
        match self.traces.take().map(Traces::finish) {
            Some(Ok(traces)) => written = traces,
            Some(Err(error)) => drop(self.problem.get_or_insert(error)),
            None => {}
        }
        if let Some(Err(error)) = self.capture.take().map(CaptureFile::finish) {
            self.problem.get_or_insert(error);
        }
        let reason = match (&self.problem, ending) {
            (Some(problem), _) => Some(problem.to_string()),
            (None, Ending::Incomplete(reason)) => Some(reason),
            (None, Ending::Complete) => None,
        };
        self.provenance.status = if reason.is_some() { Status::Incomplete } else { Status::Complete };
        self.provenance.reason = reason;
        // If this cannot be written either, the folder remains marked as running, which is not
        // complete.
        let marked = self.provenance.write(&self.path);
        match self.problem.take() {
            Some(problem) => Err(problem),
            None => marked.map(|()| written),
        }
    }

    fn make_folder(&self, name: &str) -> Result<(), ResultsError> {
        fs::create_dir_all(self.path.join(name)).map_err(|error| ResultsError::write(name, error))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.end(Ending::Incomplete("the program stopped before the end of the run".to_owned()));
        }
    }
}

/// Returns true if the folder is empty, except for the remains of a creation that was killed.
fn is_empty(path: &Path) -> io::Result<bool> {
    let partial = provenance::partial_name(provenance::FILE);
    for entry in fs::read_dir(path)? {
        if entry?.file_name() != partial.as_str() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes an earlier run, whose provenance has already been replaced.
fn remove_results(root: &Path) -> Result<(), ResultsError> {
    for name in FILES.iter().filter(|name| **name != provenance::FILE) {
        remove(root, name)?;
        remove(root, &provenance::partial_name(name))?;
    }
    for (folder, suffixes) in FOLDERS {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let suffix = Path::new(&name).extension();
            if suffix.is_some_and(|suffix| suffixes.iter().any(|other| suffix == *other)) {
                remove(root, &format!("{folder}/{}", name.to_string_lossy()))?;
            }
        }
    }
    Ok(())
}

fn remove(root: &Path, name: &str) -> Result<(), ResultsError> {
    match fs::remove_file(root.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ResultsError::write(name, error)),
        _ => Ok(()),
    }
}
