//! Queries of sensor networks: their plans, and a sink that runs one on the clock of its caller.

use crate::error;
use bentpipe_core::{Streams, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_sensors::field::Field;
use bentpipe_sensors::plan::{explained, Placement};
use bentpipe_transport::app::sensors::{Config, RadioErrors};
use bentpipe_transport::app::Config as App;
use pyo3::prelude::*;
use serde_json::json;
use std::sync::{Mutex, PoisonError};

/// Returns the sensor network of a scenario's flow: the only one if none is named.
fn network(py: Python<'_>, scenario: &Scenario, flow: Option<&str>) -> PyResult<Config> {
    let all = scenario.flow.iter().filter_map(|one| match &one.app {
        App::Sensors(config) => Some((one.name.as_str(), config)),
        _ => None,
    });
    let all: Vec<(&str, &Config)> = all.collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let found = match (flow, &all[..]) {
        (None, &[(_, config)]) => Some(config),
        (Some(flow), all) => all.iter().find(|(name, _)| *name == flow).map(|(_, config)| *config),
        _ => None,
    };
    found.cloned().ok_or_else(|| {
        let allowed = match names.len() {
            0 => "a scenario with a flow whose app is of the kind sensors".to_owned(),
            _ => format!("--flow with one of {}", names.join(", ")),
        };
        let wrong = flow.map_or("there is not exactly one sensor network".to_owned(), |flow| {
            format!("the flow \"{flow}\" has no sensor network")
        });
        error::input(py, &format!("{wrong}; allowed: {allowed}"))
    })
}

/// Returns the network with another query and another placement, if given.
fn changed(
    py: Python<'_>,
    config: Config,
    query: Option<String>,
    placement: Option<&str>,
) -> PyResult<Config> {
    let placement = match placement {
        None => config.placement,
        Some("nodes") => Placement::Nodes,
        Some("sink") => Placement::Sink,
        Some(other) => {
            return Err(error::input(py, &format!("unknown placement \"{other}\"; allowed: nodes, sink")))
        }
    };
    let query = query.unwrap_or_else(|| config.query.clone());
    Ok(Config { query, placement, ..config })
}

/// Returns the plan of a query as JSON: nodes, operators, channels and costs.
#[pyfunction]
pub fn explain_query(
    py: Python<'_>,
    scenario: PyRef<'_, crate::scenario::Scenario>,
    flow: Option<&str>,
    query: Option<String>,
    placement: Option<&str>,
) -> PyResult<String> {
    let config = changed(py, network(py, &scenario.loaded.value, flow)?, query, placement)?;
    let plan = config.plan(&config.query).map_err(|wrong| error::input(py, &wrong))?;
    let columns: Vec<&str> = plan.query.items.iter().map(|item| item.name.as_str()).collect();
    let mut document =
        serde_json::to_value(explained(&plan, &config.network())).expect("a plan is plain data");
    document["query"] = json!(config.query);
    document["columns"] = json!(columns);
    Ok(document.to_string())
}

/// A sink with its motes. Its caller passes the time in nanoseconds, and begins and ends queries.
#[pyclass]
pub struct SensorSink {
    config: Config,
    seed: u64,
    queries: u64,
    /// A lock that nothing waits for: it makes the running field usable in Python's threads.
    running: Option<Mutex<(Field, RadioErrors)>>,
}

#[pymethods]
impl SensorSink {
    #[new]
    fn new(
        py: Python<'_>,
        scenario: PyRef<'_, crate::scenario::Scenario>,
        flow: Option<&str>,
    ) -> PyResult<SensorSink> {
        let scenario = &scenario.loaded.value;
        let config = network(py, scenario, flow)?;
        Ok(SensorSink { config, seed: scenario.seed.value(), queries: 0, running: None })
    }

    /// Returns the query of the scenario.
    fn query(&self) -> String {
        self.config.query.clone()
    }

    /// Begins a query and returns the names of its columns. A running query ends.
    fn begin(&mut self, py: Python<'_>, now: u64, query: &str) -> PyResult<Vec<String>> {
        let mut draws = Streams::new(self.seed, self.queries).stream("sensors");
        self.queries += 1;
        let begun = self.config.field(query, Time::from_nanos(now), &mut draws);
        let begun = begun.map_err(|wrong| error::input(py, &wrong))?;
        let columns = begun.0.plan().query.items.iter().map(|item| item.name.clone()).collect();
        self.running = Some(Mutex::new(begun));
        Ok(columns)
    }

    /// Ends the running query, if any.
    fn end(&mut self) {
        self.running = None;
    }

    /// Returns the time of the next event.
    fn next_wake(&mut self) -> Option<u64> {
        let (field, _) = self.running()?;
        field.next_wake().map(Time::as_nanos)
    }

    /// Returns the rows that have reached the sink until now: the time of the latest sample in
    /// nanoseconds, and the values as texts.
    fn wake(&mut self, now: u64) -> Vec<(u64, Vec<String>)> {
        let Some((field, errors)) = self.running() else { return Vec::new() };
        let mut rows = Vec::new();
        field.wake(Time::from_nanos(now), errors, &mut rows);
        let texts = |row: bentpipe_sensors::field::Row| {
            (row.sampled.as_nanos(), row.values.iter().map(ToString::to_string).collect())
        };
        rows.into_iter().map(texts).collect()
    }

    /// Returns the frames and bytes on the motes' channel so far.
    fn counts(&mut self) -> (u64, u64) {
        let Some((field, _)) = self.running() else { return (0, 0) };
        let radios = field.results();
        (
            radios.iter().map(|node| node.radio.transmissions).sum(),
            radios.iter().map(|node| node.radio.bytes).sum(),
        )
    }
}

impl SensorSink {
    fn running(&mut self) -> Option<&mut (Field, RadioErrors)> {
        self.running.as_mut().map(|running| running.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}
