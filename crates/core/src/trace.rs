//! Traces and reports: tables whose columns are described only once, next to the model that writes
//! them.
//!
//! A [`Table`] is a constant. The scenario's builder opens a [`Probe`] on it for one entity (a
//! flow, a link, a terminal) and passes it to the stage as `Option<Probe>`. Rows go through the
//! stage's outbox to a [`Sink`] in batches. Reference pages and Parquet schemas are generated from
//! the tables.

mod watch;

use crate::{Span, Time};
use std::collections::BTreeMap;
use watch::Watch;
pub use watch::{Glimpse, Seen};

/// One column of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Column {
    /// Name of the column, in snake case.
    pub name: &'static str,
    /// Unit: `s`, `bytes`, `bit/s`, `packets`, `segments`, `slots`, ... or `1` if dimensionless.
    pub unit: &'static str,
    /// True if values are whole numbers (stored as 64-bit integers).
    pub whole: bool,
    /// Description of the value, for the reference.
    pub about: &'static str,
}

impl Column {
    /// Creates a column of whole numbers.
    pub const fn whole(name: &'static str, unit: &'static str, about: &'static str) -> Column {
        Column { name, unit, whole: true, about }
    }

    /// Creates a column of real numbers; NaN means "no value" and becomes null.
    pub const fn real(name: &'static str, unit: &'static str, about: &'static str) -> Column {
        Column { name, unit, whole: false, about }
    }
}

/// A kind of row that a model writes, either during the run (a trace) or at its end (a report).
#[derive(PartialEq, Debug)]
pub struct Table {
    /// Name of the table, as in the file `traces/NAME.parquet` or in the report.
    pub name: &'static str,
    /// Noun for the entity of a row: `flow`, `link`, `terminal`, ...
    pub entity: &'static str,
    /// Description of the table, including the times at which rows are written.
    pub about: &'static str,
    /// Value columns. In files, `time` and the entity's name precede them.
    pub columns: &'static [Column],
}

/// The tables that a model writes, listed next to its `Config`. [`kinds`](crate::kinds) collects
/// the tables of all variants.
pub trait Tables {
    /// Traces: tables written during a run.
    const TRACES: &'static [&'static Table] = &[];
    /// Reports: tables written at the end of a run.
    const REPORTS: &'static [&'static Table] = &[];
}

/// Permission to write rows to one table for one entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    table: u16,
    entity: u32,
}

/// Receives batches of rows.
pub trait Sink: Send {
    /// Receives rows of `table` and their values, row by row with `table.columns.len()` values
    /// each. The entity of a row is an index in `entities`.
    fn rows(&mut self, table: &'static Table, entities: &[String], rows: Vec<Row>, values: Vec<f64>);

    /// Called when the first probe on `table` is opened, so that the sink also knows tables that
    /// remain empty.
    fn open(&mut self, _table: &'static Table) {}

    /// Returns emptied buffers of an earlier batch for reuse, because new memory costs a page fault
    /// every 4 KiB.
    fn recycled(&mut self) -> Option<(Vec<Row>, Vec<f64>)> {
        None
    }
}

/// The common part of all rows of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Time in nanoseconds since the start of the run.
    pub time: u64,
    /// Index of the entity in [`Recorder::entities`].
    pub entity: u32,
}

struct Buffer {
    table: &'static Table,
    rows: Vec<Row>,
    values: Vec<f64>,
}

/// Collects the rows of all probes and passes them to a [`Sink`] in batches, so that memory stays
/// bounded.
#[derive(Default)]
pub struct Recorder {
    buffers: Vec<Buffer>,
    entities: Vec<String>,
    /// The index of each entity by its name.
    numbers: BTreeMap<String, u32>,
    sink: Option<Box<dyn Sink>>,
    watch: Option<Watch>,
}

/// Number of rows in a batch, large enough to amortise the cost of a batch and small enough for the
/// second-level cache.
const BATCH: usize = 2048;

impl Recorder {
    /// Creates a recorder that writes to `sink`.
    pub fn new(sink: Box<dyn Sink>) -> Recorder {
        Recorder { sink: Some(sink), ..Recorder::default() }
    }

    /// Opens a probe for rows of `table` about `entity`.
    pub fn open(&mut self, table: &'static Table, entity: &str) -> Probe {
        let index = match self.buffers.iter().position(|buffer| std::ptr::eq(buffer.table, table)) {
            Some(index) => index,
            None => {
                if let Some(sink) = &mut self.sink {
                    sink.open(table);
                }
                self.buffers.push(Buffer { table, rows: Vec::new(), values: Vec::new() });
                self.buffers.len() - 1
            }
        };
        let entity = match self.numbers.get(entity) {
            Some(number) => *number,
            None => {
                let number = self.entities.len() as u32;
                self.entities.push(entity.to_owned());
                self.numbers.insert(entity.to_owned(), number);
                number
            }
        };
        Probe { table: index as u16, entity }
    }

    /// Returns the names of the entities, by index.
    pub fn entities(&self) -> &[String] {
        &self.entities
    }

    /// Returns the tables on which probes were opened, in the order of opening.
    pub fn tables(&self) -> Vec<&'static Table> {
        self.buffers.iter().map(|buffer| buffer.table).collect()
    }

    /// Writes one row of a trace: the time and the values of its columns, in their order.
    #[inline]
    pub fn record(&mut self, probe: Probe, now: Time, values: &[f64]) {
        let buffer = &mut self.buffers[probe.table as usize];
        debug_assert_eq!(values.len(), buffer.table.columns.len(), "row of {}", buffer.table.name);
        buffer.rows.push(Row { time: now.as_nanos(), entity: probe.entity });
        buffer.values.extend_from_slice(values);
        if buffer.rows.len() >= BATCH {
            self.pass_on(probe.table as usize);
        }
    }

    /// Starts to keep rows for [`look`](Self::look): at most one row per `spacing` for each entity
    /// of a table.
    pub fn watch(&mut self, spacing: Span) {
        self.watch = Some(Watch::new(spacing));
    }

    /// Returns the rows since the last call, or none unless [`watch`](Self::watch) was called. This
    /// does not affect the rows that reach the sink.
    pub fn look(&mut self) -> Seen {
        let Some(watch) = &mut self.watch else { return Seen::default() };
        for (index, buffer) in self.buffers.iter().enumerate() {
            watch.follow(index, (buffer.table, &buffer.rows, &buffer.values), &self.entities, false);
        }
        watch.take()
    }

    /// Passes the remaining rows to the sink, at the end of a run.
    pub fn flush(&mut self) {
        for index in 0..self.buffers.len() {
            if !self.buffers[index].rows.is_empty() {
                self.pass_on(index);
            }
        }
    }

    /// Flushes and returns the sink, for the caller to close.
    pub fn finish(&mut self) -> Option<Box<dyn Sink>> {
        self.flush();
        self.sink.take()
    }

    fn pass_on(&mut self, index: usize) {
        let Recorder { buffers, entities, sink, watch, .. } = self;
        let buffer = &mut buffers[index];
        if let Some(watch) = watch {
            watch.follow(index, (buffer.table, &buffer.rows, &buffer.values), entities, true);
        }
        let Some(sink) = sink else {
            buffer.rows.clear();
            buffer.values.clear();
            return;
        };
        let columns = buffer.table.columns.len();
        let (empty_rows, empty_values) = sink
            .recycled()
            .unwrap_or_else(|| (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH * columns)));
        let rows = std::mem::replace(&mut buffer.rows, empty_rows);
        let values = std::mem::replace(&mut buffer.values, empty_values);
        sink.rows(buffer.table, entities, rows, values);
    }
}

/// The rows that stages report at the end of a run, one per entity and table.
#[derive(Default)]
pub struct Report {
    rows: Vec<(&'static Table, String, Vec<f64>)>,
    /// The index of the first row of each table and entity.
    row_indices: BTreeMap<&'static str, BTreeMap<String, usize>>,
}

impl Report {
    /// Adds the row of `entity`.
    pub fn row(&mut self, table: &'static Table, entity: &str, values: &[f64]) {
        assert_eq!(values.len(), table.columns.len(), "row of {}", table.name);
        self.row_indices.entry(table.name).or_default().entry(entity.to_owned()).or_insert(self.rows.len());
        self.rows.push((table, entity.to_owned(), values.to_vec()));
    }

    /// Returns all rows in the order of writing: table, entity, values.
    pub fn rows(&self) -> &[(&'static Table, String, Vec<f64>)] {
        &self.rows
    }

    /// Returns a single value by table, entity and column, or `None` if there is no such row or the
    /// value is NaN.
    pub fn value(&self, table: &str, entity: &str, column: &str) -> Option<f64> {
        let row = self.row_indices.get(table)?.get(entity)?;
        let (table, _, values) = &self.rows[*row];
        let index = table.columns.iter().position(|c| c.name == column)?;
        Some(values[index]).filter(|value| !value.is_nan())
    }
}
