//! Columns about each flow besides the report tables.

use bentpipe_core::FlowId;
use bentpipe_stage::packet::Leg;
use std::collections::BTreeMap;

/// Columns about each flow besides the report tables: its ends, application, goodput, ...
#[derive(Clone, Debug, Default)]
pub struct FlowColumns {
    /// Names of the flows, in the order in which the scenario lists them; rows are in that order.
    pub flows: Vec<String>,
    /// Names of the rows to which lost packets belong, by flow and leg.
    pub legs: BTreeMap<(FlowId, Leg), String>,
    /// Columns that come first in `flows.parquet`.
    pub columns: Vec<FlowColumn>,
}

/// One column, with one value per flow.
#[derive(Clone, Debug)]
pub struct FlowColumn {
    /// Name of the column, in snake case.
    pub name: String,
    /// Unit; `1` if dimensionless, and for text.
    pub unit: String,
    /// Description, in a sentence.
    pub about: String,
    /// Values of the flows, in the order of [`FlowColumns::flows`].
    pub values: FlowValues,
}

/// Values of a column, one per flow.
#[derive(Clone, Debug)]
pub enum FlowValues {
    /// Text; `None` stands for a missing value.
    Text(Vec<Option<String>>),
    /// Whole numbers; `None` stands for a missing value.
    Whole(Vec<Option<i64>>),
    /// Real numbers; NaN stands for a missing value.
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
