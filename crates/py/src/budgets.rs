//! Link budgets of scenarios, as JSON.

use crate::scenario::Scenario;
use bentpipe_link::acm::budget::Budget;
use bentpipe_link::acm::{Modcods, Rule};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

/// Returns the link budgets of a scenario: the owner of each, and the budgets as they are printed.
#[pyfunction]
pub fn budgets(scenario: PyRef<'_, Scenario>) -> String {
    let scenario = &scenario.loaded.value;
    let links = scenario.link.iter().flat_map(bentpipe_engine::scenario::LinkPair::budgets);
    let links = links.map(|(name, sheet)| (format!("link {name}"), sheet));
    let networks = scenario.network.iter().flat_map(|(name, network)| {
        let named = |(direction, sheet)| (format!("{name}, {direction} link"), sheet);
        network.budgets().into_iter().map(named).collect::<Vec<_>>()
    });
    let all = links.chain(networks).map(|(name, sheet)| json!({"name": name, "budget": sheet}));
    json!(all.collect::<Vec<_>>()).to_string()
}

/// Returns a link budget of comma-separated rows, with the margin in dB that the link needs above
/// the most robust MODCOD of DVB-S2.
#[pyfunction]
pub fn budget_of(rows: &str, margin_db: f64) -> PyResult<String> {
    let budget = Budget::parse(rows).map_err(PyValueError::new_err)?;
    let mut problems = bentpipe_core::Problems::default();
    budget.check(&mut problems);
    if let Some(problem) = problems.into_vec().first() {
        let key = problem.path.join(".");
        return Err(PyValueError::new_err(format!(
            "{key}{}{}",
            if key.is_empty() { "" } else { ": " },
            problem.message
        )));
    }
    let rule = Rule { margin: margin_db, hysteresis: 0.0, delay: bentpipe_core::Span::ZERO };
    let sheet = budget.sheet(&Modcods::DvbS2.list(), rule);
    Ok(json!(sheet).to_string())
}
