//! Lists of choices: the schema, units, presets, tables, congestion controls.

use bentpipe_core::Table;
use bentpipe_engine as engine;
use pyo3::prelude::*;
use serde_json::{json, Value};

/// Returns the scenario's JSON Schema.
#[pyfunction]
pub fn schema() -> String {
    serde_json::to_string_pretty(&engine::schema::of_scenario()).expect("a schema is plain data")
}

/// Returns the units of quantities by base unit, each with its size in the base unit.
#[pyfunction]
pub fn units() -> bentpipe_core::UnitsByBase {
    bentpipe_core::units()
}

/// Returns name, description and TOML text of each preset.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, &'static str, &'static str)> {
    engine::presets::PRESETS.iter().map(|preset| (preset.name, preset.about(), preset.text)).collect()
}

/// Returns every trace and report table with its columns.
#[pyfunction]
pub fn tables() -> String {
    let list = |tables: &[&Table]| tables.iter().map(|table| describe(table)).collect::<Vec<_>>();
    json!({"traces": list(&engine::tables::TRACES), "reports": list(&engine::tables::REPORTS)}).to_string()
}

fn describe(table: &Table) -> Value {
    let column = |column: &bentpipe_core::Column| {
        let kind = if column.whole { "whole" } else { "real" };
        json!({"name": column.name, "unit": column.unit, "kind": kind, "about": column.about})
    };
    let columns: Vec<_> = table.columns.iter().map(column).collect();
    json!({"name": table.name, "entity": table.entity, "about": table.about, "columns": columns})
}

/// Returns the congestion control variants that are compiled in.
#[pyfunction]
pub fn variants() -> String {
    let variants: Vec<_> = bentpipe_congestion::variants()
        .iter()
        .map(|variant| {
            let parameters = variant.parameters.iter().map(|parameter| {
                json!({
                    "name": parameter.name,
                    "default": parameter.default,
                    "min": parameter.min,
                    "max": parameter.max,
                    "about": parameter.about,
                })
            });
            json!({
                "name": variant.name,
                "about": variant.about,
                "source": variant.source,
                "head": variant.head,
                "homes": homes(variant.name),
                "parameters": parameters.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!(variants).to_string()
}

/// Returns the places where a congestion control can run: the engine has all, and the kernel those
/// with a BPF object.
fn homes(name: &str) -> Vec<String> {
    let kernel = bentpipe_bpf::list().any(|other| other == name).then(|| format!("kernel as bp_{name}"));
    std::iter::once("engine".to_owned()).chain(kernel).collect()
}
