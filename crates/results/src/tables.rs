//! `flows.parquet` and `tables/NAME.parquet`: the reports of the stages, as tables.

use crate::columns::{Field, Kind, Schema, Values};
use crate::table_file::TableFile;
use crate::ResultsError;
use bentpipe_core::{Report, Table};
use bentpipe_outcome::{FlowColumns, FlowValues};
use parquet::data_type::ByteArray;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Rows<'a> = Vec<(&'a str, &'a [f64])>;

/// Writes all tables of `report`. Tables about flows with at most one row per flow are joined into
/// `flows.parquet`; every other table has its own file.
pub(crate) fn write(root: &Path, report: &Report, flows: &FlowColumns) -> Result<(), ResultsError> {
    let mut tables: Vec<(&'static Table, Rows<'_>)> = Vec::new();
    for (table, entity, values) in report.rows() {
        let index = tables.iter().position(|(known, _)| known.name == table.name).unwrap_or_else(|| {
            tables.push((table, Vec::new()));
            tables.len() - 1
        });
        tables[index].1.push((entity, values));
    }
    let (joined, apart): (Vec<_>, Vec<_>) =
        tables.into_iter().partition(|(table, rows)| table.entity == "flow" && has_unique_entities(rows));
    write_flows(root, flows, &joined)?;
    for (table, rows) in apart {
        write_table(root, table, &rows)?;
    }
    Ok(())
}

fn has_unique_entities(rows: &Rows<'_>) -> bool {
    let entities: BTreeSet<&str> = rows.iter().map(|(entity, _)| *entity).collect();
    entities.len() == rows.len()
}

fn write_table(root: &Path, table: &Table, rows: &Rows<'_>) -> Result<(), ResultsError> {
    let fields = std::iter::once(Field::entity(table.entity)).chain(table.columns.iter().map(Field::of));
    let schema =
        Schema { table: table.name.to_owned(), about: table.about.to_owned(), fields: fields.collect() };
    let mut columns: Vec<Values> = schema.fields.iter().map(Field::values).collect();
    for (entity, values) in rows {
        push_text(&mut columns[0], Some(entity));
        for (column, value) in columns[1..].iter_mut().zip(*values) {
            column.push_number(*value);
        }
    }
    TableFile::create(root, &format!("tables/{}.parquet", table.name), &schema)?.row_group(&columns)
}

fn write_flows(
    root: &Path,
    flows: &FlowColumns,
    tables: &[(&'static Table, Rows<'_>)],
) -> Result<(), ResultsError> {
    let mut names: Vec<&str> = flows.flows.iter().map(String::as_str).collect();
    let mut known: BTreeSet<&str> = names.iter().copied().collect();
    let reported = tables.iter().flat_map(|(_, rows)| rows.iter().map(|(entity, _)| *entity));
    names.extend(reported.filter(|name| known.insert(name)));

    let mut schema = Schema {
        table: "flows".to_owned(),
        about: "one row per flow, at the end of the run".to_owned(),
        fields: vec![Field::entity("flow")],
    };
    let mut columns = vec![schema.fields[0].values()];
    names.iter().for_each(|name| push_text(&mut columns[0], Some(name)));

    for column in &flows.columns {
        assert_eq!(column.values.len(), flows.flows.len(), "values of {}", column.name);
        let kind = match column.values {
            FlowValues::Text(_) => Kind::Text,
            FlowValues::Whole(_) => Kind::Whole,
            FlowValues::Real(_) => Kind::Real,
        };
        let (unit, about) = (column.unit.clone(), column.about.clone());
        let field = Field { name: unused_name(&schema, &column.name, "scenario"), unit, about, kind };
        columns.push(values_of(&column.values, names.len(), &field));
        schema.fields.push(field);
    }
    for (table, rows) in tables {
        let rows: BTreeMap<&str, &[f64]> = rows.iter().copied().collect();
        for (index, column) in table.columns.iter().enumerate() {
            let field = Field { name: unused_name(&schema, column.name, table.name), ..Field::of(column) };
            let mut values = field.values();
            values.extend_numbers(names.iter().map(|name| rows.get(name).map_or(f64::NAN, |row| row[index])));
            columns.push(values);
            schema.fields.push(field);
        }
    }
    let mut file = TableFile::create(root, "flows.parquet", &schema)?;
    if names.is_empty() {
        return Ok(());
    }
    file.row_group(&columns)
}

/// Returns the values, with nulls for flows that occur only in the reports.
fn values_of(values: &FlowValues, rows: usize, field: &Field) -> Values {
    let mut column = field.values();
    match (&mut column, values) {
        (Values::Text(_), FlowValues::Text(texts)) => {
            texts.iter().for_each(|text| push_text(&mut column, text.as_deref()));
            (texts.len()..rows).for_each(|_| push_text(&mut column, None));
        }
        (Values::Whole(column), FlowValues::Whole(numbers)) => {
            numbers.iter().for_each(|number| column.push(*number));
            (numbers.len()..rows).for_each(|_| column.push(None));
        }
        (Values::Real(_), FlowValues::Real(numbers)) => {
            let missing = std::iter::repeat_n(f64::NAN, rows - numbers.len());
            column.extend_numbers(numbers.iter().copied().chain(missing));
        }
        _ => unreachable!("the column is made for the values"),
    }
    column
}

/// Returns the name of a column. If an earlier table has a column of this name, the name of the
/// table precedes it.
fn unused_name(schema: &Schema, name: &str, table: &str) -> String {
    let is_used = |name: &str| schema.fields.iter().any(|field| field.name == name);
    let mut candidate = name.to_owned();
    while is_used(&candidate) {
        candidate = format!("{table}_{candidate}");
    }
    candidate
}

fn push_text(column: &mut Values, text: Option<&str>) {
    let Values::Text(values) = column else { unreachable!("text for a column of numbers") };
    values.push(text.map(ByteArray::from));
}
