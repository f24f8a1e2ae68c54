//! The rows of traces in memory, stored by column.

use bentpipe_core::{Row, Sink, Table, Time};
use std::sync::{Arc, Mutex, MutexGuard};

/// Maximum number of values kept in all traces together, with time and entity of each row (256 MB).
/// Further rows are only counted as dropped.
const VALUES: usize = 32 << 20;

/// The kept rows of one trace.
#[derive(Debug)]
pub struct Trace {
    /// The table, with the description of its columns.
    pub table: &'static Table,
    /// Names of the entities, by the indices in `entity`.
    pub entities: Vec<String>,
    /// Times in nanoseconds since the start of the run, one per row.
    pub time: Vec<f64>,
    /// Indices of the entities, one per row.
    pub entity: Vec<u32>,
    /// The values of each column, one per row. NaN stands for a missing value.
    pub columns: Vec<Vec<f64>>,
    /// Number of rows dropped because of the memory limit.
    pub dropped: u64,
    /// Earliest time of the next kept row, by entity.
    next: Vec<u64>,
}

#[derive(Debug, Default)]
struct Kept {
    traces: Vec<Trace>,
    values: usize,
}

/// The traces of a run in progress.
#[derive(Clone, Debug)]
pub struct Traces {
    kept: Arc<Mutex<Kept>>,
    /// Minimum time between two kept rows of an entity, in nanoseconds.
    spacing: u64,
}

impl Traces {
    /// Creates an empty store that keeps at most one row per `spacing_s` seconds for each entity of
    /// a table.
    pub fn new(spacing_s: f64) -> Traces {
        Traces { kept: Arc::default(), spacing: (spacing_s.max(0.0) * 1e9) as u64 }
    }

    /// Returns the sink to which a recorder writes.
    pub fn sink(&self) -> Box<dyn Sink> {
        Box::new(self.clone())
    }

    /// Opens a table with these entities.
    pub(crate) fn open_with(&self, table: &'static Table, entities: &[String]) {
        let mut kept = self.lock();
        let index = kept.trace(table);
        kept.traces[index].entities = entities.to_vec();
    }

    /// Keeps one row, regardless of the time since the previous row.
    pub(crate) fn keep(&self, table: &'static Table, entity: u32, now: Time, values: &[f64]) {
        let mut kept = self.lock();
        let index = kept.trace(table);
        let room = VALUES - kept.values;
        let taken = kept.traces[index].push(now.as_nanos(), entity, values, room);
        kept.values += taken;
    }

    /// Returns the kept rows, in the order in which their tables were opened.
    pub fn take(&self) -> Vec<Trace> {
        std::mem::take(&mut self.lock().traces)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no holder of the lock panics")
    }
}

impl Trace {
    /// Adds a row if its values, time and entity fit into `room` values, and otherwise counts the
    /// row as dropped. Returns the number of values added.
    fn push(&mut self, time: u64, entity: u32, values: &[f64], room: usize) -> usize {
        let size = values.len() + 2;
        if room < size {
            self.dropped += 1;
            return 0;
        }
        self.time.push(time as f64);
        self.entity.push(entity);
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(*value);
        }
        size
    }
}

impl Kept {
    fn trace(&mut self, table: &'static Table) -> usize {
        let known = self.traces.iter().position(|trace| std::ptr::eq(trace.table, table));
        known.unwrap_or_else(|| {
            self.traces.push(Trace {
                table,
                entities: Vec::new(),
                time: Vec::new(),
                entity: Vec::new(),
                columns: vec![Vec::new(); table.columns.len()],
                dropped: 0,
                next: Vec::new(),
            });
            self.traces.len() - 1
        })
    }
}

impl Sink for Traces {
    fn open(&mut self, table: &'static Table) {
        self.lock().trace(table);
    }

    fn rows(&mut self, table: &'static Table, entities: &[String], rows: Vec<Row>, values: Vec<f64>) {
        let spacing = self.spacing;
        let mut kept = self.lock();
        let index = kept.trace(table);
        let mut room = VALUES - kept.values;
        let trace = &mut kept.traces[index];
        let width = table.columns.len();
        trace.entities.extend_from_slice(&entities[trace.entities.len()..]);
        trace.next.resize(entities.len(), 0);
        for (row, values) in rows.iter().zip(values.chunks_exact(width)) {
            let entity = row.entity as usize;
            if row.time < trace.next[entity] {
                continue;
            }
            trace.next[entity] = row.time.saturating_add(spacing);
            room -= trace.push(row.time, row.entity, values, room);
        }
        kept.values = VALUES - room;
    }
}
