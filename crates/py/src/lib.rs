//! The Python module `bentpipe._native`: conversions and errors, nothing else. `python/bentpipe/_native.pyi`
//! describes it.

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
mod sensors;
mod tcp_log;
mod telephone;
mod voice;

use bentpipe_core::{Problem, Problems};
use bentpipe_emu::EmulateError;
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_runs::Options;
use bentpipe_scenario::{load_given as load_scenario, Loaded, Source};
use follow::Follower;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An override as Python gives it: `KEY.PATH=VALUE`, or what to call it in messages and that.
#[derive(Clone, FromPyObject)]
enum Given {
    #[pyo3(transparent)]
    Text(String),
    #[pyo3(transparent)]
    Named((String, String)),
}

impl From<Given> for bentpipe_scenario::Given {
    fn from(given: Given) -> bentpipe_scenario::Given {
        match given {
            Given::Text(text) => text.into(),
            Given::Named((name, text)) => bentpipe_scenario::Given { name: Some(name), text },
        }
    }
}

fn read(
    py: Python<'_>,
    source: Option<&str>,
    text: Option<&str>,
    overrides: &[Given],
) -> PyResult<Loaded<Scenario>> {
    let source = match (source, text) {
        (name, Some(text)) => Source::Text { name: name.unwrap_or("scenario"), text },
        (Some(path), None) => Source::File(Path::new(path)),
        (None, None) => return Err(PyTypeError::new_err("neither a path nor a text")),
    };
    let overrides: Vec<_> = overrides.iter().cloned().map(bentpipe_scenario::Given::from).collect();
    load_scenario(source, &presets::all(), &overrides).map_err(|refused| error::refused(py, &refused))
}

/// The same for what is to be run from beginning to end.
fn read_to_run(
    py: Python<'_>,
    source: Option<&str>,
    text: Option<&str>,
    overrides: &[Given],
) -> PyResult<Loaded<Scenario>> {
    let loaded = read(py, source, text, overrides)?;
    loaded.refuse(loaded.value.check_run()).map_err(|refused| error::refused(py, &refused))?;
    Ok(loaded)
}

/// Reads, overrides, resolves and validates a scenario.
#[pyfunction]
fn load(py: Python<'_>, source: Option<&str>, text: Option<&str>, overrides: Vec<Given>) -> PyResult<String> {
    let loaded = read(py, source, text, &overrides)?;
    let scenario = &loaded.value;
    let seed = scenario.seed.value();
    let network = match loaded.refuse(scenario.check_simulated()) {
        Ok(()) => bentpipe_engine::instantiate(scenario, seed, 0, Default::default()),
        Err(_) => bentpipe_engine::instantiate_emulated(scenario, seed, 0, Default::default(), &[]).0,
    };
    let remarks = [scenario.check_run(), scenario.remarks()].map(|remarks| loaded.refuse(remarks));
    let warnings = remarks.into_iter().filter_map(Result::err).flat_map(|remark| remark.problems);
    let warnings: Vec<_> = warnings.map(|warning| warning.to_string()).collect();
    let campaign = scenario.campaign.as_ref().map(bentpipe_scenario::to_toml);
    Ok(json!({
        "scenario": loaded.to_json(),
        "toml": loaded.to_toml(),
        "campaign": campaign.map(|toml| toml.expect("what came from TOML can be written as TOML")),
        "nodes": scenario.nodes(),
        "stages": network.names().len(),
        "warnings": warnings,
        "memory": bentpipe_emu::memory::Need::of(scenario),
        "flows": scenario.flow,
        "links": scenario.link,
        "attached": scenario.network.iter().map(|(name, network)| (name, network.nodes())).collect::<BTreeMap<_, _>>(),
    })
    .to_string())
}

/// The facts about the paths of a scenario's flows, as JSON.
#[pyfunction]
fn facts(
    py: Python<'_>,
    source: Option<&str>,
    text: Option<&str>,
    overrides: Vec<Given>,
) -> PyResult<String> {
    let loaded = read(py, source, text, &overrides)?;
    let facts = py.detach(|| bentpipe_engine::facts::facts(&loaded.value));
    Ok(serde_json::to_string(&facts).expect("facts are numbers, texts, lists and tables"))
}

/// Refuses a scenario for what a later check found at a key path.
#[pyfunction]
fn refuse(
    py: Python<'_>,
    source: Option<&str>,
    text: Option<&str>,
    overrides: Vec<Given>,
    path: Vec<String>,
    message: String,
) -> PyResult<()> {
    let loaded = read(py, source, text, &overrides)?;
    let mut problems = Problems::default();
    problems.adopt(Problem { path, message });
    loaded.refuse(problems).map_err(|refused| error::refused(py, &refused))
}

/// What Python says of a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunOptions {
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    allow_commands: bool,
    /// Whether an emulation has its ends in memory.
    #[serde(default)]
    in_memory: bool,
    started: Option<String>,
    /// Seconds of the scenario per second of real time.
    pace: Option<f64>,
}

impl RunOptions {
    fn of(self, seed: Option<u64>, run: u64) -> Options {
        let RunOptions { command, allow_commands, started, pace, .. } = self;
        Options { seed, run, command, allow_commands, started, pace, watched: false }
    }
}

/// Reads options that Python passes as JSON. A name that is not known is refused.
fn from_json<'a, T: Deserialize<'a>>(what: &str, json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

/// Runs a scenario in virtual time and writes the run folder, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are the arguments of the Python function")]
fn simulate(
    py: Python<'_>,
    source: Option<&str>,
    text: Option<&str>,
    overrides: Vec<Given>,
    seed: Option<u64>,
    run: u64,
    out: PathBuf,
    options_json: &str,
    progress: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let loaded = read_to_run(py, source, text, &overrides)?;
    loaded.refuse(loaded.value.check_simulated()).map_err(|refused| error::refused(py, &refused))?;
    let options = from_json::<RunOptions>("options", options_json)?.of(seed, run);
    let options = Options { watched: watch.is_some(), ..options };
    let mut follower = Follower::new(progress, watch);
    let done = py.detach(|| {
        bentpipe_sim::simulate_followed(&loaded.value, &loaded.to_toml(), &out, &options, &mut follower)
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
    source: Option<&str>,
    text: Option<&str>,
    overrides: Vec<Given>,
    run: u64,
    out: PathBuf,
    options_json: &str,
    progress: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let loaded = read_to_run(py, source, text, &overrides)?;
    loaded.refuse(loaded.value.check_emulated(false)).map_err(|refused| error::refused(py, &refused))?;
    let options: RunOptions = from_json("options", options_json)?;
    let in_memory = options.in_memory;
    let options = Options { watched: watch.is_some() && !in_memory, ..options.of(None, run) };
    if in_memory {
        loaded.refuse(loaded.value.check_simulated()).map_err(|refused| error::refused(py, &refused))?;
    }
    let mut follower = Follower::new(progress, watch);
    let (scenario, toml) = (&loaded.value, loaded.to_toml());
    let done = py.detach(|| match in_memory {
        true => bentpipe_emu::emulate_in_memory(scenario, &toml, &out, &options, &mut |fraction| {
            follower.progress(fraction)
        }),
        false => bentpipe_emu::emulate_followed(scenario, &toml, &out, &options, &mut follower),
    });
    follower.finish()?;
    done.map_err(|error| match error {
        EmulateError::NotAllowed(_) | EmulateError::Wifi(_) => error::input(py, &error.to_string()),
        error => PyOSError::new_err(error.to_string()),
    })?;
    Ok(std::fs::read_to_string(out.join("summary.json"))?)
}

/// Return the version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Source of scenarios is refused with what to do about it until it is allowed.
    bentpipe_compile::allow(false);
    bentpipe_scenario::read_parquet_by(parquet::text);
    module.add("ScenarioError", module.py().get_type::<error::ScenarioError>())?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(congestion::allow_code, module)?)?;
    module.add_function(wrap_pyfunction!(congestion::register_congestion, module)?)?;
    module.add_class::<congestion::Tcp>()?;
    module.add_function(wrap_pyfunction!(facts, module)?)?;
    module.add_function(wrap_pyfunction!(budgets::budgets, module)?)?;
    module.add_function(wrap_pyfunction!(budgets::budget_of, module)?)?;
    module.add_function(wrap_pyfunction!(refuse, module)?)?;
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
    module.add_function(wrap_pyfunction!(contacts::read_contacts, module)?)?;
    module.add_function(wrap_pyfunction!(contacts::route_contacts, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)
}
