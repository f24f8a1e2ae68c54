//! A bounded live view of the traces of a run. It contains the rows that the probes write to the
//! files, thinned by time. Rows that are not fetched in time are dropped. The view does not affect
//! the files.

use super::{Row, Table};
use crate::Span;

/// Maximum number of rows kept until the next look. Further rows are dropped.
const CAPACITY: usize = 4096;

/// A row of a trace, as shown to a watcher.
#[derive(Clone, PartialEq, Debug)]
pub struct Glimpse {
    /// Table of the row.
    pub table: &'static Table,
    /// Name of the entity.
    pub entity: String,
    /// Time in nanoseconds since the start of the run.
    pub time: u64,
    /// The values, one per column of the table.
    pub values: Vec<f64>,
}

/// The rows since the last look.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// The rows by table, in the order of writing.
    pub rows: Vec<Glimpse>,
    /// Number of rows dropped because they were not fetched in time, without the rows omitted
    /// because of the spacing.
    pub dropped: u64,
}

/// The rows that a watcher has not fetched yet.
pub(crate) struct Watch {
    /// Minimum time between two rows of an entity in a table, in nanoseconds.
    spacing: u64,
    /// The watched tables, by index of the recorder's table.
    tables: Vec<WatchedTable>,
    seen: Seen,
}

/// The progress in one watched table.
#[derive(Default)]
struct WatchedTable {
    /// Number of rows of the table's buffer that have been processed.
    processed: usize,
    /// The earliest time of the next kept row, by entity.
    next: Vec<u64>,
}

impl Watch {
    pub(crate) fn new(spacing: Span) -> Watch {
        Watch { spacing: spacing.as_nanos(), tables: Vec::new(), seen: Seen::default() }
    }

    /// Processes the rows that were added to a table's buffer since the last call. `emptied` is
    /// true if the buffer will be emptied after this call.
    pub(crate) fn follow(
        &mut self,
        index: usize,
        (table, rows, values): (&'static Table, &[Row], &[f64]),
        entities: &[String],
        emptied: bool,
    ) {
        if self.tables.len() <= index {
            self.tables.resize_with(index + 1, WatchedTable::default);
        }
        let watched = &mut self.tables[index];
        let width = table.columns.len();
        for (index, row) in rows.iter().enumerate().skip(watched.processed) {
            let entity = row.entity as usize;
            if watched.next.len() <= entity {
                watched.next.resize(entity + 1, 0);
            }
            if row.time < watched.next[entity] {
                continue;
            }
            if self.seen.rows.len() >= CAPACITY {
                self.seen.dropped += 1;
                continue;
            }
            watched.next[entity] = row.time.saturating_add(self.spacing);
            self.seen.rows.push(Glimpse {
                table,
                entity: entities[entity].clone(),
                time: row.time,
                values: values[index * width..][..width].to_vec(),
            });
        }
        watched.processed = if emptied { 0 } else { rows.len() };
    }

    pub(crate) fn take(&mut self) -> Seen {
        std::mem::take(&mut self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Probe, Recorder, Sink, Time};
    use std::sync::mpsc::{channel, Sender};

    static TABLE: Table =
        Table { name: "one", entity: "thing", about: "", columns: &[Column::whole("number", "1", "")] };

    struct Files(Sender<Vec<(u64, f64)>>);

    impl Sink for Files {
        fn rows(&mut self, _: &'static Table, _: &[String], rows: Vec<Row>, values: Vec<f64>) {
            self.0.send(rows.iter().map(|row| row.time).zip(values).collect()).unwrap();
        }
    }

    /// Records `count` rows, one per 10 ns, and looks after every `every` rows. Returns the rows
    /// seen and the batches that the sink received.
    fn recorded(count: u64, every: u64, spacing: u64) -> (Seen, Vec<Vec<(u64, f64)>>) {
        let (sender, batches) = channel();
        let mut recorder = Recorder::new(Box::new(Files(sender)));
        recorder.watch(Span::from_nanos(spacing));
        let probe: Probe = recorder.open(&TABLE, "a");
        let mut all = Seen::default();
        let mut look = |recorder: &mut Recorder| {
            let seen = recorder.look();
            all.rows.extend(seen.rows);
            all.dropped += seen.dropped;
        };
        for number in 0..count {
            recorder.record(probe, Time::from_nanos(10 * number), &[number as f64]);
            if number % every == 0 {
                look(&mut recorder);
            }
        }
        look(&mut recorder);
        recorder.finish();
        (all, batches.try_iter().collect())
    }

    #[test]
    fn every_row_is_seen_once_and_in_order() {
        for every in [1, 7, 1000, 2048] {
            let (seen, _) = recorded(10_000, every, 0);
            assert_eq!(seen.dropped, 0);
            let numbers: Vec<_> = seen.rows.iter().map(|row| (row.time, row.values[0])).collect();
            assert_eq!(numbers, (0..10_000).map(|n| (10 * n, n as f64)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rows_are_thinned_by_time_and_dropped_if_not_fetched() {
        let (seen, _) = recorded(10_000, 100, 1000);
        assert_eq!(
            seen.rows.iter().map(|row| row.time).collect::<Vec<_>>(),
            (0..100).map(|n| 1000 * n).collect::<Vec<_>>()
        );
        let (seen, _) = recorded(10_000, u64::MAX, 0);
        // The first look follows row 0.
        assert_eq!((seen.rows.len(), seen.dropped), (CAPACITY + 1, 10_000 - CAPACITY as u64 - 1));
    }

    #[test]
    fn watching_does_not_change_the_batches_of_the_sink() {
        assert_eq!(recorded(10_000, 3, 0).1, recorded(10_000, u64::MAX, 0).1);
    }
}
