//! Loads scenarios, runs them in memory, and keeps all their results.

use bentpipe_core::{Recorder, Report, Row, Sink, Table, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{instantiate, presets, Network};
use bentpipe_scenario::{load, Source};
use bentpipe_stage::{Capture, Held, Packet, Totals};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Parses the text of a scenario.
pub fn scenario(text: &str) -> Scenario {
    match load(Source::Text { name: "test.toml", text }, &presets::all(), &[]) {
        Ok(loaded) => loaded.value,
        Err(error) => panic!("{error}\nin\n{text}"),
    }
}

/// Parses a scenario and removes its traces.
pub fn untraced(text: &str) -> Scenario {
    let mut scenario = scenario(text);
    scenario.record.traces.clear();
    scenario
}

/// A row of a trace, with its time.
#[derive(Clone, Debug)]
pub struct TraceRow {
    pub time: u64,
    pub entity: String,
    pub values: Vec<f64>,
}

/// Compares values bit for bit: NaN equals itself, and 0 differs from -0.
impl PartialEq for TraceRow {
    fn eq(&self, other: &TraceRow) -> bool {
        let bits = |row: &TraceRow| row.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        (self.time, &self.entity, bits(self)) == (other.time, &other.entity, bits(other))
    }
}

/// Rows by table, in the order of writing.
pub type Traces = BTreeMap<&'static str, Vec<TraceRow>>;

/// Captured packets: interface, time in nanoseconds, and all fields of the packet as text.
pub type Captured = Vec<(u32, u64, String)>;

#[derive(Clone, Default)]
struct Memory {
    traces: Arc<Mutex<Traces>>,
    captured: Arc<Mutex<Captured>>,
}

impl Sink for Memory {
    fn rows(&mut self, table: &'static Table, entities: &[String], rows: Vec<Row>, values: Vec<f64>) {
        let mut traces = self.traces.lock().expect("no test thread panicked");
        let trace = traces.entry(table.name).or_default();
        for (row, values) in rows.iter().zip(values.chunks(table.columns.len())) {
            let entity = entities[row.entity as usize].clone();
            trace.push(TraceRow { time: row.time, entity, values: values.to_vec() });
        }
    }

    fn open(&mut self, table: &'static Table) {
        self.traces.lock().expect("no test thread panicked").entry(table.name).or_default();
    }
}

impl Capture for Memory {
    fn packet(&mut self, interface: u32, now: Time, packet: &Packet) {
        let mut captured = self.captured.lock().expect("no test thread panicked");
        captured.push((interface, now.as_nanos(), format!("{packet:?}")));
    }
}

/// A network while its run is in progress.
pub struct Run {
    pub network: Network,
    pub end: Time,
    memory: Memory,
}

/// All results of a run, for comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Rows of the report: table, entity, and the values' bits.
    pub report: Vec<(&'static str, String, Vec<u64>)>,
    pub traces: Traces,
    pub captured: Captured,
    pub totals: Totals,
    pub held: Held,
    pub events: u64,
    pub receives: u64,
}

impl Run {
    pub fn new(scenario: &Scenario, seed: u64, run: u64) -> Run {
        let memory = Memory::default();
        let mut network = instantiate(scenario, seed, run, Recorder::new(Box::new(memory.clone())));
        if !scenario.record.capture.is_empty() {
            network.out().set_capture(Some(Box::new(memory.clone())));
        }
        Run { network, end: Time::ZERO + scenario.duration, memory }
    }

    /// Runs to the end of the scenario.
    pub fn finished(mut self) -> Run {
        self.network.run_until(self.end);
        self
    }

    /// Returns the reports of the stages at the end of the scenario.
    pub fn report(&self) -> Report {
        self.network.report(self.end)
    }

    pub fn results(mut self) -> Results {
        self.network.finish(self.end);
        self.network.out().recorder().flush();
        let row = |(table, entity, values): &(&'static Table, String, Vec<f64>)| {
            (table.name, entity.clone(), values.iter().map(|value| value.to_bits()).collect())
        };
        Results {
            report: self.report().rows().iter().map(row).collect(),
            traces: std::mem::take(&mut self.memory.traces.lock().expect("no test thread panicked")),
            captured: std::mem::take(&mut self.memory.captured.lock().expect("no test thread panicked")),
            totals: self.network.out().totals().clone(),
            held: self.network.held(),
            events: self.network.events(),
            receives: self.network.receives(),
        }
    }
}

/// Returns the results of one run with the scenario's own seed.
pub fn results(scenario: &Scenario) -> Results {
    Run::new(scenario, scenario.seed.value(), 0).finished().results()
}

/// Returns the report of one run of replication `run`.
pub fn report(scenario: &Scenario, run: u64) -> Report {
    Run::new(scenario, scenario.seed.value(), run).finished().report()
}

/// Returns a value of a report. Panics if the report does not have the value.
pub fn value(report: &Report, table: &str, entity: &str, column: &str) -> f64 {
    report
        .value(table, entity, column)
        .unwrap_or_else(|| panic!("no value of {column} for {entity} in {table}"))
}

/// Returns the mean goodput of a flow over `seconds`, in bit/s.
pub fn goodput(report: &Report, flow: &str, seconds: f64) -> f64 {
    value(report, "flow_destination", flow, "delivered_bytes") * 8.0 / seconds
}
