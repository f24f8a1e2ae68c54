//! Traces: the thread that runs the models passes batches of rows through a bounded channel,
//! [`TOGETHER`] batches at a time, to a thread that converts them to columns and writes them.
//!
//! Memory is limited to [`QUEUE`] bundles of batches in the channel and one row group per table. If
//! the models are faster than the disk, their thread waits. After an error, rows are dropped,
//! [`Traces::failed`] returns true, and the files keep the rows written before.

use crate::columns::{Field, Schema, Values};
use crate::deltas::BLOCK;
use crate::table_file::{TableFile, ROW_GROUP};
use crate::ResultsError;
use bentpipe_core::{Row, Sink, Table};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Number of batches sent at once. Waking the writing thread takes as long as writing some hundred
/// rows.
const TOGETHER: usize = 8;

/// Maximum number of bundles in the channel: enough to keep writing while the models compute, and
/// to keep computing while a row group is written.
const QUEUE: usize = 4;

type Batch = (Vec<Row>, Vec<f64>);

enum Message {
    Open(&'static Table),
    Rows { table: &'static Table, new_entities: Vec<String>, batch: Batch },
    Close,
}

/// The end of the channel to which a [`Recorder`](bentpipe_core::Recorder) writes.
pub struct TraceSink {
    messages: SyncSender<Vec<Message>>,
    /// Messages that have not been sent.
    waiting: Vec<Message>,
    emptied: Receiver<Batch>,
    /// Emptied buffers. The last one is reused first because its memory is still in a cache.
    spare: Vec<Batch>,
    known_entities: usize,
}

impl TraceSink {
    fn send(&mut self) {
        // The receiver exists until `finish`, which documents that later rows are lost.
        let _ = self.messages.send(std::mem::take(&mut self.waiting));
    }
}

impl Sink for TraceSink {
    fn rows(&mut self, table: &'static Table, entities: &[String], rows: Vec<Row>, values: Vec<f64>) {
        let new_entities = entities[self.known_entities..].to_vec();
        self.known_entities = entities.len();
        self.waiting.push(Message::Rows { table, new_entities, batch: (rows, values) });
        if self.waiting.len() == TOGETHER {
            self.send();
        }
    }

    fn open(&mut self, table: &'static Table) {
        self.waiting.push(Message::Open(table));
        self.send();
    }

    fn recycled(&mut self) -> Option<Batch> {
        self.spare.extend(self.emptied.try_iter());
        self.spare.pop()
    }
}

impl Drop for TraceSink {
    fn drop(&mut self) {
        self.send();
    }
}

/// The thread that writes traces.
pub struct Traces {
    messages: SyncSender<Vec<Message>>,
    thread: Option<JoinHandle<Result<Vec<Written>, ResultsError>>>,
    failed: Arc<AtomicBool>,
}

/// A trace that has been written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Name of the table.
    pub table: &'static str,
    /// Number of rows in the trace's file.
    pub rows: u64,
}

impl Traces {
    /// Starts the thread; files are written to `root/traces`, which must exist.
    pub fn start(root: &Path) -> Result<(TraceSink, Traces), ResultsError> {
        let (messages, receiver) = sync_channel(QUEUE);
        let (recycle, emptied) = channel();
        let failed = Arc::new(AtomicBool::new(false));
        let writer = Writer {
            root: root.to_owned(),
            recycle,
            failed: Arc::clone(&failed),
            problem: None,
            names: Vec::new(),
            tables: Vec::new(),
        };
        let thread = Builder::new()
            .name("traces".to_owned())
            .spawn(move || writer.run(receiver))
            .map_err(|error| ResultsError::write("traces", error))?;
        let sink = TraceSink {
            messages: messages.clone(),
            waiting: Vec::new(),
            emptied,
            spare: Vec::new(),
            known_entities: 0,
        };
        Ok((sink, Traces { messages, thread: Some(thread), failed }))
    }

    /// Returns true if writing has failed. The run may then stop, since its traces are no longer
    /// written. [`Traces::finish`] returns the error.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Writes all rows sent so far, closes the files, and returns the traces that were written.
    /// Call it after [`Recorder::finish`](bentpipe_core::Recorder::finish): later rows are lost.
    pub fn finish(mut self) -> Result<Vec<Written>, ResultsError> {
        let ended = self.join().expect("the thread is joined only once");
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn join(&mut self) -> Option<std::thread::Result<Result<Vec<Written>, ResultsError>>> {
        let thread = self.thread.take()?;
        let _ = self.messages.send(vec![Message::Close]);
        Some(thread.join())
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

struct Writer {
    root: PathBuf,
    recycle: Sender<Batch>,
    failed: Arc<AtomicBool>,
    problem: Option<ResultsError>,
    names: Vec<String>,
    tables: Vec<TraceTable>,
}

struct TraceTable {
    table: &'static Table,
    /// The file; `None` if it could not be created or written.
    file: Option<TableFile>,
    /// Time, entity, and the table's columns.
    columns: Vec<Values>,
    pending: usize,
    written: u64,
}

impl Writer {
    fn run(mut self, messages: Receiver<Vec<Message>>) -> Result<Vec<Written>, ResultsError> {
        for message in messages.into_iter().flatten() {
            match message {
                Message::Open(table) => {
                    self.table(table);
                }
                Message::Rows { table, new_entities, batch } => {
                    self.names.extend(new_entities);
                    self.rows(table, batch);
                }
                Message::Close => break,
            }
        }
        for index in 0..self.tables.len() {
            self.write(index);
        }
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self
                .tables
                .iter()
                .map(|table| Written { table: table.table.name, rows: table.written })
                .collect()),
        }
    }

    fn table(&mut self, table: &'static Table) -> usize {
        if let Some(index) = self.tables.iter().position(|known| known.table.name == table.name) {
            assert!(self.tables[index].table == table, "two tables are called {}", table.name);
            return index;
        }
        let fields = [Field::time(), Field::entity(table.entity)];
        let fields: Vec<Field> = fields.into_iter().chain(table.columns.iter().map(Field::of)).collect();
        let columns = fields.iter().map(Field::trace_values).collect();
        let schema = Schema { table: table.name.to_owned(), about: table.about.to_owned(), fields };
        let label = format!("traces/{}.parquet", table.name);
        let file = match TableFile::create(&self.root, &label, &schema) {
            Ok(file) => Some(file),
            Err(error) => {
                self.fail(error);
                None
            }
        };
        self.tables.push(TraceTable { table, file, columns, pending: 0, written: 0 });
        self.tables.len() - 1
    }

    fn rows(&mut self, table: &'static Table, (mut rows, mut values): Batch) {
        let index = self.table(table);
        if self.problem.is_none() {
            self.tables[index].append(&rows, &values, &self.names);
            if self.tables[index].pending >= ROW_GROUP {
                self.write(index);
            }
        }
        rows.clear();
        values.clear();
        // The sink may already be dropped; the buffers are then not needed.
        let _ = self.recycle.send((rows, values));
    }

    fn write(&mut self, index: usize) {
        let table = &mut self.tables[index];
        let Some(file) = &mut table.file else { return };
        if table.pending == 0 {
            return;
        }
        table.columns.iter_mut().for_each(Values::complete);
        let result = file.row_group(&table.columns);
        table.written = file.rows();
        table.pending = 0;
        table.columns.iter_mut().for_each(Values::clear);
        if let Err(error) = result {
            table.file = None;
            self.fail(error);
        }
    }

    fn fail(&mut self, error: ResultsError) {
        self.failed.store(true, Ordering::Relaxed);
        self.problem.get_or_insert(error);
    }
}

impl TraceTable {
    fn append(&mut self, rows: &[Row], values: &[f64], names: &[String]) {
        let width = self.table.columns.len();
        let [time, entity, columns @ ..] = &mut self.columns[..] else {
            unreachable!("a trace has a time and an entity")
        };
        let (Values::Deltas(time), Values::Names(entity)) = (time, entity) else {
            unreachable!("a trace begins with a time and an entity")
        };
        for block in rows.chunks(BLOCK) {
            entity.extend(block.iter().map(|row| row.entity), names);
            let mut times = [0; BLOCK];
            let times = &mut times[..block.len()];
            times.iter_mut().zip(block).for_each(|(time, row)| *time = row.time as i64);
            time.extend(times);
            let (minimum, maximum) = times.iter().fold((i64::MAX, i64::MIN), |(minimum, maximum), time| {
                (minimum.min(*time), maximum.max(*time))
            });
            time.note_extremes(minimum, maximum);
        }
        if width > 0 {
            // This number of rows stays in the first-level cache.
            let mut numbers = [0.0; BLOCK];
            for block in values.chunks(BLOCK * width) {
                for (index, column) in columns.iter_mut().enumerate() {
                    let numbers = &mut numbers[..block.len() / width];
                    let those = block.chunks_exact(width).map(|row| row[index]);
                    numbers.iter_mut().zip(those).for_each(|(number, that)| *number = that);
                    column.extend_trace(numbers);
                }
            }
        }
        self.pending += rows.len();
    }
}
