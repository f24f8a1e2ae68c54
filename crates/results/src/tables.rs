//! `flows.parquet` and `tables/NAME.parquet`: the reports of the stages, as tables.

use crate::columns::{Field, Kind, Schema, Values};
use crate::table_file::TableFile;
use crate::ResultsError;
use bentpipe_core::{Report, Table};
use bentpipe_outcome::{FlowColumn, FlowColumns, FlowValues, ReportTables, Rows};
use parquet::data_type::ByteArray;
use std::path::Path;

/// Writes all tables of `report`. Tables about flows with at most one row per flow are joined into
/// `flows.parquet`; every other table has its own file.
pub(crate) fn write(root: &Path, report: &Report, flows: &FlowColumns) -> Result<(), ResultsError> {
    let tables = ReportTables::of(report);
    write_flows(root, &flows.joined(&tables))?;
    for (table, rows) in &tables.others {
        write_table(root, table, rows)?;
    }
    Ok(())
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

fn write_flows(root: &Path, flows: &FlowColumns) -> Result<(), ResultsError> {
    let fields = std::iter::once(Field::entity("flow")).chain(flows.columns.iter().map(field_of));
    let schema = Schema {
        table: "flows".to_owned(),
        about: "one row per flow, at the end of the run".to_owned(),
        fields: fields.collect(),
    };
    let mut file = TableFile::create(root, "flows.parquet", &schema)?;
    if flows.flows.is_empty() {
        return Ok(());
    }
    let mut columns: Vec<Values> = schema.fields.iter().map(Field::values).collect();
    flows.flows.iter().for_each(|name| push_text(&mut columns[0], Some(name)));
    for (values, column) in columns[1..].iter_mut().zip(&flows.columns) {
        extend(values, &column.values);
    }
    file.row_group(&columns)
}

fn field_of(column: &FlowColumn) -> Field {
    let kind = match column.values {
        FlowValues::Text(_) => Kind::Text,
        FlowValues::Whole(_) => Kind::Whole,
        FlowValues::Real(_) => Kind::Real,
    };
    Field { name: column.name.clone(), unit: column.unit.clone(), about: column.about.clone(), kind }
}

fn extend(column: &mut Values, values: &FlowValues) {
    match (&mut *column, values) {
        (Values::Text(_), FlowValues::Text(texts)) => {
            texts.iter().for_each(|text| push_text(column, text.as_deref()));
        }
        (Values::Whole(column), FlowValues::Whole(numbers)) => {
            numbers.iter().for_each(|number| column.push(*number));
        }
        (Values::Real(_), FlowValues::Real(numbers)) => column.extend_numbers(numbers.iter().copied()),
        _ => unreachable!("the column is made for the values"),
    }
}

fn push_text(column: &mut Values, text: Option<&str>) {
    let Values::Text(values) = column else { unreachable!("text for a column of numbers") };
    values.push(text.map(ByteArray::from));
}
