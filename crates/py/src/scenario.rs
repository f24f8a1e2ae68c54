//! A scenario that was read, resolved and validated once, with all questions that Python asks about
//! it.

use crate::{error, parquet};
use bentpipe_core::{Problem, Problems};
use bentpipe_engine::picture::picture;
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario as Model;
use bentpipe_scenario::{load_given, Loaded, Source};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// An override as Python gives it: `KEY.PATH=VALUE`, or a name for messages and that text.
#[derive(Clone, FromPyObject)]
pub enum Given {
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

/// A scenario that has passed all checks, with the tree that gives problems their file and line.
#[pyclass(frozen)]
pub struct Scenario {
    pub loaded: Loaded<Model>,
}

impl Scenario {
    /// Returns the scenario, if it can run from beginning to end.
    pub fn to_run(&self, py: Python<'_>) -> PyResult<&Loaded<Model>> {
        self.refused(py, self.loaded.value.check_run())?;
        Ok(&self.loaded)
    }

    /// Raises `ScenarioError` for problems that a later check has found.
    pub fn refused(&self, py: Python<'_>, problems: Problems) -> PyResult<()> {
        self.loaded.refuse(problems).map_err(|refused| error::refused(py, &refused))
    }
}

fn text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("facts are numbers, texts, lists and tables")
}

#[pymethods]
impl Scenario {
    /// Reads, overrides, resolves and validates a scenario.
    #[new]
    fn new(
        py: Python<'_>,
        source: Option<&str>,
        text: Option<&str>,
        overrides: Vec<Given>,
    ) -> PyResult<Scenario> {
        let source = match (source, text) {
            (name, Some(text)) => Source::Text { name: name.unwrap_or("scenario"), text },
            (Some(path), None) => Source::File(Path::new(path)),
            (None, None) => return Err(PyTypeError::new_err("neither a path nor a text")),
        };
        let overrides: Vec<_> = overrides.into_iter().map(bentpipe_scenario::Given::from).collect();
        let loaded = load_given(source, &presets::all(), &overrides, &parquet::read_file)
            .map_err(|refused| error::refused(py, &refused))?;
        Ok(Scenario { loaded })
    }

    /// Returns the resolved scenario as JSON, with groups as written.
    fn data(&self) -> String {
        self.loaded.to_json().to_string()
    }

    /// Returns the resolved scenario as TOML, with groups as written.
    fn toml(&self) -> String {
        self.loaded.to_toml()
    }

    /// Returns the table `campaign` as TOML, if there is one.
    fn campaign(&self) -> Option<String> {
        let campaign = self.loaded.value.campaign.as_ref();
        campaign
            .map(|one| bentpipe_scenario::to_toml(one).expect("what came from TOML can be written as TOML"))
    }

    /// Returns flows, links and networks as JSON, with members in place of groups.
    fn members(&self) -> String {
        let scenario = &self.loaded.value;
        let attached = scenario.network.iter().map(|(name, network)| (name, network.nodes()));
        json!({
            "flows": scenario.flow,
            "links": scenario.link,
            "attached": attached.collect::<BTreeMap<_, _>>(),
        })
        .to_string()
    }

    /// Returns the names of the nodes.
    fn nodes(&self) -> Vec<String> {
        self.loaded.value.nodes()
    }

    /// Returns the number of stages of the network.
    fn stages(&self, py: Python<'_>) -> usize {
        let scenario = &self.loaded.value;
        let seed = scenario.seed.value();
        py.detach(|| {
            let network = match self.loaded.refuse(scenario.check_simulated()) {
                Ok(()) => bentpipe_engine::instantiate(scenario, seed, 0, Default::default()),
                Err(_) => {
                    bentpipe_engine::instantiate_emulated(scenario, seed, 0, Default::default(), &[], false)
                        .network
                }
            };
            network.names().len()
        })
    }

    /// Returns settings that are allowed but probably unintended, a sentence each.
    fn warnings(&self) -> Vec<String> {
        bentpipe_engine::warnings(&self.loaded)
    }

    /// Returns the nodes and edges of a picture of the network, as JSON.
    fn picture(&self) -> String {
        text(&picture(&self.loaded.value, &self.loaded.to_json()))
    }

    /// Returns the memory of an emulation whose links are full, as JSON.
    fn memory(&self) -> String {
        text(&bentpipe_emu::report::memory::Need::of(&self.loaded.value))
    }

    /// Returns the facts of the flows' paths, as JSON.
    fn facts(&self, py: Python<'_>) -> String {
        text(&py.detach(|| bentpipe_engine::facts::facts(&self.loaded.value)))
    }

    /// Raises `ScenarioError` for problems that prevent a simulation.
    fn check_simulated(&self, py: Python<'_>) -> PyResult<()> {
        self.refused(py, self.to_run(py)?.value.check_simulated())
    }

    /// Raises `ScenarioError` for problems that prevent an emulation.
    fn check_emulated(&self, py: Python<'_>) -> PyResult<()> {
        self.refused(py, self.to_run(py)?.value.check_emulated(false))
    }

    /// Returns the parts of the scenario that an emulation does not apply: keys of flows by flow,
    /// the key paths that it refuses, and the flows with models at their ends, as JSON.
    fn simulated_only(&self) -> String {
        let scenario = &self.loaded.value;
        let refused = scenario.check_emulated(false);
        let refused: Vec<String> = refused.into_vec().iter().map(|problem| problem.path.join(".")).collect();
        let modelled = scenario.flow.iter().filter(|flow| flow.is_modelled()).map(|flow| &flow.name);
        text(&(bentpipe_emu::simulated_only(scenario), refused, modelled.collect::<Vec<_>>()))
    }

    /// Raises `ScenarioError` for a value at a key path.
    fn refuse(&self, py: Python<'_>, path: Vec<String>, message: String) -> PyResult<()> {
        let mut problems = Problems::default();
        problems.adopt(Problem { path, message });
        self.refused(py, problems)
    }
}
