//! The tables of a report, and their join with the columns about each flow.

use crate::{FlowColumn, FlowColumns, FlowValues};
use bentpipe_core::{Column, Report, Table};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of a table: the name of the entity and its values, in the order of the report.
pub type Rows<'a> = Vec<(&'a str, &'a [f64])>;

/// The tables of a report, in the order of their first rows.
pub struct ReportTables<'a> {
    /// The tables about flows with at most one row per flow. [`FlowColumns::joined`] has their
    /// columns.
    pub of_flows: Vec<(&'static Table, Rows<'a>)>,
    /// All other tables. Each has its own file in a run folder.
    pub others: Vec<(&'static Table, Rows<'a>)>,
}

impl<'a> ReportTables<'a> {
    /// Returns the tables of `report`.
    pub fn of(report: &'a Report) -> ReportTables<'a> {
        let mut tables: Vec<(&'static Table, Rows<'a>)> = Vec::new();
        for (table, entity, values) in report.rows() {
            let index = tables.iter().position(|(known, _)| known.name == table.name).unwrap_or_else(|| {
                tables.push((table, Vec::new()));
                tables.len() - 1
            });
            tables[index].1.push((entity, values));
        }
        let (of_flows, others) =
            tables.into_iter().partition(|(table, rows)| table.entity == "flow" && has_unique_entities(rows));
        ReportTables { of_flows, others }
    }
}

fn has_unique_entities(rows: &Rows<'_>) -> bool {
    let entities: BTreeSet<&str> = rows.iter().map(|(entity, _)| *entity).collect();
    entities.len() == rows.len()
}

impl FlowColumns {
    /// Returns all columns of `flows.parquet`: these columns, then those of the tables about flows.
    /// Flows that only the tables contain follow the other flows.
    ///
    /// # Panics
    /// If a column does not have one value per flow.
    pub fn joined(&self, tables: &ReportTables<'_>) -> FlowColumns {
        let mut flows = self.flows.clone();
        let mut known: BTreeSet<&str> = self.flows.iter().map(String::as_str).collect();
        let reported = tables.of_flows.iter().flat_map(|(_, rows)| rows.iter().map(|(entity, _)| *entity));
        flows.extend(reported.filter(|name| known.insert(name)).map(str::to_owned));

        let mut columns: Vec<FlowColumn> = Vec::new();
        for column in &self.columns {
            assert_eq!(column.values.len(), self.flows.len(), "values of {}", column.name);
            let name = unused_name(&columns, &column.name, "scenario");
            columns.push(FlowColumn { name, values: column.values.extended(flows.len()), ..column.clone() });
        }
        for (table, rows) in &tables.of_flows {
            let rows: BTreeMap<&str, &[f64]> = rows.iter().copied().collect();
            for (index, column) in table.columns.iter().enumerate() {
                let numbers = flows.iter().map(|name| rows.get(&**name).map_or(f64::NAN, |row| row[index]));
                columns.push(FlowColumn {
                    name: unused_name(&columns, column.name, table.name),
                    unit: column.unit.to_owned(),
                    about: column.about.to_owned(),
                    values: FlowValues::of(column, numbers),
                });
            }
        }
        FlowColumns { flows, legs: self.legs.clone(), columns }
    }
}

impl FlowValues {
    /// Returns the values of a report column; NaN stands for "no value".
    fn of(column: &Column, numbers: impl Iterator<Item = f64>) -> FlowValues {
        match column.whole {
            true => {
                FlowValues::Whole(numbers.map(|number| (!number.is_nan()).then_some(number as i64)).collect())
            }
            false => FlowValues::Real(numbers.collect()),
        }
    }

    /// Returns the values, with missing values up to a length of `rows`.
    fn extended(&self, rows: usize) -> FlowValues {
        let mut values = self.clone();
        match &mut values {
            FlowValues::Text(values) => values.resize(rows, None),
            FlowValues::Whole(values) => values.resize(rows, None),
            FlowValues::Real(values) => values.resize(rows, f64::NAN),
        }
        values
    }
}

/// Returns the name of a column. If an earlier column has this name, the name of the table precedes
/// it. The first column is the name of the flow.
fn unused_name(columns: &[FlowColumn], name: &str, table: &str) -> String {
    let is_used = |name: &str| name == "flow" || columns.iter().any(|column| column.name == name);
    let mut candidate = name.to_owned();
    while is_used(&candidate) {
        candidate = format!("{table}_{candidate}");
    }
    candidate
}
