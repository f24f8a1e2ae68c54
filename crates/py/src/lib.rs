//! The Python module `bentpipe._native`: conversions and errors, and nothing else.
//! `python/bentpipe/_native.pyi` describes it.

mod agent;
mod budgets;
mod congestion;
mod contacts;
mod error;
mod follow;
mod frames;
mod guest;
mod lists;
mod live;
mod machine;
mod orbits;
mod parquet;
mod pep;
mod scenario;
mod sensors;
mod tcp_log;
mod telephone;
mod voice;

use bentpipe_emu::EmulateError;
use bentpipe_runs::Options;
use follow::Follower;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use scenario::Scenario;
use serde::Deserialize;
use std::path::PathBuf;

/// Python's options of a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunOptions {
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    allow_commands: bool,
    /// True if the ends of an emulation are in memory.
    #[serde(default)]
    in_memory: bool,
    started: Option<String>,
    /// Seconds of the scenario per second of real time.
    pace: Option<f64>,
}

impl RunOptions {
    fn of(self, run: u64) -> Options {
        let RunOptions { command, allow_commands, started, pace, .. } = self;
        Options { seed: None, run, command, allow_commands, started, pace, watched: false }
    }
}

/// Reads options that Python passes as JSON. An unknown name is refused.
fn from_json<'a, T: Deserialize<'a>>(what: &str, json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

/// Runs a scenario in virtual time and writes the run folder, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are the arguments of the Python function")]
fn simulate(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    run: u64,
    out: PathBuf,
    options_json: &str,
    progress: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let loaded = scenario.to_run(py)?;
    scenario.refused(py, loaded.value.check_simulated())?;
    let options = from_json::<RunOptions>("options", options_json)?.of(run);
    let options = Options { watched: watch.is_some(), ..options };
    let mut follower = Follower::new(progress, watch);
    let done = py.detach(|| {
        bentpipe_runs::virtual_time::simulate_followed(
            &loaded.value,
            &loaded.to_toml(),
            &out,
            &options,
            &mut follower,
        )
    });
    follower.finish()?;
    done.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(std::fs::read_to_string(out.join("summary.json"))?)
}

/// Runs a scenario in real time with real hosts and writes the run folder, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are the arguments of the Python function")]
fn emulate(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    run: u64,
    out: PathBuf,
    options_json: &str,
    progress: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let loaded = scenario.to_run(py)?;
    scenario.refused(py, loaded.value.check_emulated(false))?;
    let options: RunOptions = from_json("options", options_json)?;
    let in_memory = options.in_memory;
    let options = Options { watched: watch.is_some() && !in_memory, ..options.of(run) };
    if in_memory {
        scenario.refused(py, loaded.value.check_simulated())?;
    }
    let mut follower = Follower::new(progress, watch);
    let (model, toml) = (&loaded.value, loaded.to_toml());
    let done = py.detach(|| match in_memory {
        true => bentpipe_emu::emulate_in_memory(model, &toml, &out, &options, &mut |fraction| {
            follower.progress(fraction)
        }),
        false => bentpipe_emu::emulate_followed(model, &toml, &out, &options, &mut follower),
    });
    follower.finish()?;
    done.map_err(|error| match error {
        EmulateError::NotAllowed(_) | EmulateError::Wifi(_) => error::input(py, &error.to_string()),
        error => PyOSError::new_err(error.to_string()),
    })?;
    Ok(std::fs::read_to_string(out.join("summary.json"))?)
}

/// Returns the version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Source in scenarios is refused, with the remedy, until it is allowed.
    bentpipe_congestion::compile::allow(false);
    module.add("ScenarioError", module.py().get_type::<error::ScenarioError>())?;
    module.add_class::<Scenario>()?;
    module.add_function(wrap_pyfunction!(congestion::allow_code, module)?)?;
    module.add_function(wrap_pyfunction!(congestion::register_congestion, module)?)?;
    module.add_class::<congestion::Tcp>()?;
    module.add_function(wrap_pyfunction!(budgets::budgets, module)?)?;
    module.add_function(wrap_pyfunction!(budgets::budget_of, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(emulate, module)?)?;
    module.add_function(wrap_pyfunction!(guest::emulate_in_guest, module)?)?;
    module.add_function(wrap_pyfunction!(guest::live_in_guest, module)?)?;
    module.add_function(wrap_pyfunction!(guest::processor_state_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(frames::draw_outcomes, module)?)?;
    module.add_class::<frames::FrameRuns>()?;
    module.add_class::<live::Network>()?;
    module.add_function(wrap_pyfunction!(live::exec_in_host, module)?)?;
    module.add_function(wrap_pyfunction!(live::enter_user_namespace, module)?)?;
    module.add_function(wrap_pyfunction!(live::remove_internet_rules, module)?)?;
    module.add_function(wrap_pyfunction!(agent::run_agent, module)?)?;
    module.add_function(wrap_pyfunction!(agent::send_bundles, module)?)?;
    module.add_function(wrap_pyfunction!(pep::run_pep, module)?)?;
    module.add_function(wrap_pyfunction!(pep::remove_pep, module)?)?;
    module.add_function(wrap_pyfunction!(machine::examine, module)?)?;
    module.add_function(wrap_pyfunction!(machine::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(orbits::constellation, module)?)?;
    module.add_function(wrap_pyfunction!(orbits::forwarding, module)?)?;
    module.add_function(wrap_pyfunction!(orbits::in_sight, module)?)?;
    module.add_function(wrap_pyfunction!(orbits::looks, module)?)?;
    module.add_function(wrap_pyfunction!(orbits::passes, module)?)?;
    module.add_function(wrap_pyfunction!(lists::schema, module)?)?;
    module.add_function(wrap_pyfunction!(lists::units, module)?)?;
    module.add_function(wrap_pyfunction!(lists::presets, module)?)?;
    module.add_function(wrap_pyfunction!(lists::tables, module)?)?;
    module.add_function(wrap_pyfunction!(lists::variants, module)?)?;
    module.add_class::<tcp_log::TcpLog>()?;
    module.add_function(wrap_pyfunction!(sensors::explain_query, module)?)?;
    module.add_class::<sensors::SensorSink>()?;
    module.add_class::<telephone::SipAgent>()?;
    module.add_class::<telephone::IaxExchange>()?;
    module.add_function(wrap_pyfunction!(telephone::session_description, module)?)?;
    module.add_function(wrap_pyfunction!(voice::emodel, module)?)?;
    module.add_function(wrap_pyfunction!(voice::hear, module)?)?;
    module.add_function(wrap_pyfunction!(voice::voice, module)?)?;
    module.add_class::<contacts::ContactPlan>()?;
    module.add_function(wrap_pyfunction!(version, module)?)
}
