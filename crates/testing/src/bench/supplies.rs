//! Random streams and traces for stages on a bench.

use bentpipe_core::{Probe, Recorder, Row, Sink, Stream, Streams, Table};
use bentpipe_stage::Supply;
use std::sync::{Arc, Mutex};

/// Returns the random stream of this name, which is the same in every test.
pub fn stream(name: &str) -> Stream {
    Streams::new(1, 0).stream(name)
}

/// Random streams by name, and a recorder if traces are recorded.
#[derive(Default)]
pub struct Supplies {
    recorder: Option<Recorder>,
    rows: Rows,
}

/// A row of a trace: table, entity and values.
type Kept = (&'static str, String, Vec<f64>);

/// The rows of all traces in the order of writing.
#[derive(Clone, Default)]
struct Rows(Arc<Mutex<Vec<Kept>>>);

impl Sink for Rows {
    fn rows(&mut self, table: &'static Table, entities: &[String], rows: Vec<Row>, values: Vec<f64>) {
        let mut kept = self.0.lock().expect("no test thread panicked");
        for (row, values) in rows.iter().zip(values.chunks(table.columns.len())) {
            kept.push((table.name, entities[row.entity as usize].clone(), values.to_vec()));
        }
    }
}

impl Supplies {
    /// Returns supplies that record all traces.
    pub fn traced() -> Supplies {
        let rows = Rows::default();
        Supplies { recorder: Some(Recorder::new(Box::new(rows.clone()))), rows }
    }

    pub(super) fn take_recorder(&mut self) -> Recorder {
        self.recorder.take().unwrap_or_default()
    }

    /// Returns the entity and the values of each row of a trace that has been flushed.
    pub(super) fn rows(&self, table: &str) -> Vec<(String, Vec<f64>)> {
        let kept = self.rows.0.lock().expect("no test thread panicked");
        let of_table = kept.iter().filter(|(name, ..)| *name == table);
        of_table.map(|(_, entity, values)| (entity.clone(), values.clone())).collect()
    }
}

impl Supply for Supplies {
    fn stream(&mut self, name: &str) -> Stream {
        stream(name)
    }

    fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe> {
        self.recorder.as_mut().map(|recorder| recorder.open(table, entity))
    }
}
