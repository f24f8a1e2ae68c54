//! Link budgets, as JSON.

use bentpipe_models::link::acm::budget::Budget;
use bentpipe_models::link::acm::{Modcods, Rule};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

/// The link budgets of a scenario's networks: network, direction, and the budget as it is printed.
#[pyfunction]
pub fn budgets(
    py: Python<'_>,
    source: Option<&str>,
    text: Option<&str>,
    overrides: Vec<crate::Given>,
) -> PyResult<String> {
    let loaded = crate::read(py, source, text, &overrides)?;
    let of = |(name, network): (&String, &bentpipe_engine::scenario::NetworkKind)| {
        let sheets = network.budgets().into_iter();
        sheets
            .map(|(direction, sheet)| json!({"network": name, "direction": direction, "budget": sheet}))
            .collect::<Vec<_>>()
    };
    Ok(json!(loaded.value.network.iter().flat_map(of).collect::<Vec<_>>()).to_string())
}

/// A link budget of comma-separated rows, with the margin in dB that the link needs above the most robust MODCOD of DVB-S2.
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
