//! A run of a scenario that advances in steps, without files, threads or clocks: from a [`Request`]
//! to an [`Answer`] with the summary, the flow columns and the traces. Pages run this crate in a
//! browser (`crates/web`). A [`Check`] describes a scenario without running it.
//!
//! The random streams, the summary and the trace rows equal those of `bentpipe simulate`.

mod check;
mod packets;
mod traces;

use bentpipe_core::{Recorder, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{flows, instantiate, presets, Network};
use bentpipe_outcome::{FlowColumns, FlowValues, Outcome, ReportTables};
use bentpipe_scenario::{load_given, Given, Loaded, Source};
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

pub use bentpipe_scenario::ScenarioError;
pub use check::Check;
use packets::Packets;
pub use packets::PACKETS;
pub use traces::{Trace, Traces};

/// The scenario and the options of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Text of the scenario, as TOML or JSON.
    pub toml: String,
    /// Name of the text in messages. Default: `scenario`.
    pub name: Option<String>,
    /// Contents of the files that the scenario includes, by their paths in the scenario.
    pub files: BTreeMap<String, String>,
    /// Overrides in the form `KEY.PATH=VALUE`.
    pub overrides: Vec<String>,
    /// Seed of all random streams. Default: the scenario's seed.
    pub seed: Option<u64>,
    /// Number of the replication, which selects different random streams for the same seed.
    pub run: u64,
    /// Names of the recorded traces. Default: those of the scenario.
    pub traces: Option<Vec<String>>,
    /// Minimum time in seconds between two kept rows of an entity in a trace. Default: 0, which
    /// keeps every row.
    pub spacing_s: f64,
    /// True to keep a row of the trace [`PACKETS`] for each packet that passes a node of the
    /// scenario's `record.capture`.
    pub packets: bool,
}

impl Request {
    /// Loads and checks the scenario.
    ///
    /// # Errors
    /// Returns the problems, as `bentpipe check` does.
    pub fn load(&self) -> Result<Loaded<Scenario>, ScenarioError> {
        let name = self.name.as_deref().unwrap_or("scenario");
        let source = Source::Text { name, text: &self.toml };
        let traces = self.traces.as_ref().map(|names| format!("record.traces={}", json!(names)));
        let overrides: Vec<Given> = self.overrides.iter().cloned().chain(traces).map(Given::from).collect();
        load_given(source, &presets::all(), &overrides, &|path: &Path| {
            let content = self.files.get(&path.display().to_string());
            content.map(|text| text.clone().into_bytes()).ok_or_else(|| "there is no such file".to_owned())
        })
    }
}

/// A run in progress, advanced by its caller.
pub struct Preview {
    loaded: Loaded<Scenario>,
    network: Network,
    traces: Traces,
    reached: Time,
    end: Time,
}

impl Preview {
    /// Loads the scenario and builds its network.
    ///
    /// # Errors
    /// Returns the problems of the scenario, and the problems that prevent a simulation.
    pub fn open(request: &Request) -> Result<Preview, ScenarioError> {
        let loaded = request.load()?;
        loaded.refuse(loaded.value.check_run())?;
        loaded.refuse(loaded.value.check_simulated())?;
        let scenario = &loaded.value;
        let traces = Traces::new(request.spacing_s);
        let recorder = match scenario.record.traces.is_empty() {
            true => Recorder::default(),
            false => Recorder::new(traces.sink()),
        };
        let seed = request.seed.unwrap_or(scenario.seed.value());
        let mut network = instantiate(scenario, seed, request.run, recorder);
        if request.packets {
            let capture = Packets::new(&traces, &scenario.record.capture);
            network.out().set_capture(Some(Box::new(capture)));
        }
        let end = Time::ZERO + scenario.duration;
        Ok(Preview { loaded, network, traces, reached: Time::ZERO, end })
    }

    /// Processes at most `events` events. Returns the completed fraction of the duration, from 0 to
    /// 1.
    pub fn advance(&mut self, events: u64) -> f64 {
        if self.reached < self.end {
            self.reached = self.network.run_some(self.end, events);
        }
        self.reached.as_secs_f64() / self.end.as_secs_f64()
    }

    /// Returns the number of events processed so far.
    pub fn events(&self) -> u64 {
        self.network.events()
    }

    /// Ends the run at its present time.
    pub fn close(mut self) -> Answer {
        let reached = self.reached;
        self.network.finish(reached);
        self.network.out().recorder().finish();
        let report = self.network.report(reached);
        let totals = self.network.out().totals().clone();
        let (report, columns) = flows::joined(&self.loaded.value, &report, &totals, reached, false);
        let outcome = Outcome {
            duration: reached.since(Time::ZERO),
            report: &report,
            totals: &totals,
            held: self.network.held(),
            stages: self.network.names(),
            flows: &columns,
        };
        Answer {
            summary: outcome.summary(),
            flows: table(&columns.joined(&ReportTables::of(&report))),
            complete: reached == self.end,
            events: self.network.events(),
            traces: self.traces.take(),
        }
    }
}

/// The outcome of a run, as passed to a page.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The content of `summary.json`.
    pub summary: Value,
    /// The content of `flows.parquet`, as one object per row.
    pub flows: Vec<Value>,
    /// True if the run reached the end of the scenario.
    pub complete: bool,
    /// Number of events that the event loop processed.
    pub events: u64,
    /// The kept rows of the traces.
    #[serde(skip)]
    pub traces: Vec<Trace>,
}

/// Returns the columns as one object per flow. Missing values are null.
fn table(columns: &FlowColumns) -> Vec<Value> {
    let row = |(index, flow): (usize, &String)| {
        let mut row = Map::from_iter([("flow".to_owned(), json!(flow))]);
        for column in &columns.columns {
            let value = match &column.values {
                FlowValues::Text(values) => json!(values[index]),
                FlowValues::Whole(values) => json!(values[index]),
                FlowValues::Real(values) => json!(values[index]),
            };
            row.insert(column.name.clone(), value);
        }
        Value::Object(row)
    };
    columns.flows.iter().enumerate().map(row).collect()
}
