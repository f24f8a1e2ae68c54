//! Rows of traces from other threads for the engine's thread, which writes them.

use crate::bridge::Handle;
use bentpipe_core::{Probe, Report, Time};

/// Number of rows that are handed over together, few enough not to delay the engine.
const BATCH: usize = 256;

/// A row's values, and their number.
type Values = ([f64; 12], usize);

/// Copies `rows` into `report`, with these values of the named columns.
pub fn with_values(rows: &Report, named: &[(&str, f64)], report: &mut Report) {
    for (table, entity, values) in rows.rows() {
        let mut values = values.clone();
        for (name, value) in named {
            if let Some(column) = table.columns.iter().position(|column| column.name == *name) {
                values[column] = *value;
            }
        }
        report.row(table, entity, &values);
    }
}

/// A collection of rows, handed over in batches.
pub struct Rows {
    handle: Handle,
    waiting: Vec<(Probe, Time, Values)>,
}

impl Rows {
    /// Creates an empty collection of rows.
    pub fn new(handle: Handle) -> Rows {
        Rows { handle, waiting: Vec::with_capacity(BATCH) }
    }

    /// Adds a row, if its trace is recorded.
    pub fn add(&mut self, probe: Option<Probe>, time: Time, values: &[f64]) {
        let Some(probe) = probe else { return };
        let mut all = [f64::NAN; 12];
        all[..values.len()].copy_from_slice(values);
        self.waiting.push((probe, time, (all, values.len())));
        if self.waiting.len() >= BATCH {
            self.flush();
        }
    }

    /// Hands the collected rows to the engine's thread.
    pub fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let rows = std::mem::replace(&mut self.waiting, Vec::with_capacity(BATCH));
        let record = move |bridge: &mut crate::Bridge, _| {
            for (probe, time, (values, count)) in rows {
                bridge.network().out().record(probe, time, &values[..count]);
            }
        };
        // Rows after the end belong to no run.
        let _ = self.handle.post(record);
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.flush();
    }
}
