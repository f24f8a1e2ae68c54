//! Columns about each flow, with one value per row of `flows.parquet`.

use bentpipe_core::FlowId;
use bentpipe_stage::packet::Leg;
use std::collections::BTreeMap;

/// Columns about each flow: its ends, application, goodput, ..., and, if [joined](Self::joined),
/// those of the report tables.
#[derive(Clone, Debug, Default)]
pub struct FlowColumns {
    /// Names of the flows in the order of the scenario, which is also the order of the rows.
    pub flows: Vec<String>,
    /// Names of the rows to which lost packets belong, by flow and leg.
    pub legs: BTreeMap<(FlowId, Leg), String>,
    /// The columns of `flows.parquet` after the name of the flow.
    pub columns: Vec<FlowColumn>,
}

/// One column, with one value per flow.
#[derive(Clone, Debug)]
pub struct FlowColumn {
    /// Name of the column, in snake case.
    pub name: String,
    /// Unit of the values; `1` for text and for dimensionless values.
    pub unit: String,
    /// Description of the column, in a sentence.
    pub about: String,
    /// The values of the column, one per flow.
    pub values: FlowValues,
}

/// Values of a column, one per flow.
#[derive(Clone, Debug)]
pub enum FlowValues {
    /// Text values; `None` is a null.
    Text(Vec<Option<String>>),
    /// Whole numbers; `None` is a null.
    Whole(Vec<Option<i64>>),
    /// Real numbers; NaN stands for "no value".
    Real(Vec<f64>),
}

impl FlowValues {
    /// Returns true if there is no flow.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            FlowValues::Text(values) => values.len(),
            FlowValues::Whole(values) => values.len(),
            FlowValues::Real(values) => values.len(),
        }
    }
}
