//! A synthetic run for tests, and readers of its results.
#![allow(dead_code, reason = "each test file uses a part")]

use bentpipe_core::{Column, Recorder, Report, Span, Table, Time};
use bentpipe_outcome::{FlowColumn, FlowColumns, FlowValues, Outcome};
use bentpipe_results::{Cost, Ending, Existing, Provenance, ResultsError, RunFolder, Written};
use bentpipe_stage::{DropReason, Held, Totals};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

pub static TCP: Table = Table {
    name: "tcp",
    entity: "flow",
    about: "on every acknowledgment",
    columns: &[
        Column::whole("cwnd", "bytes", "congestion window"),
        Column::real("srtt", "s", "smoothed round-trip time"),
    ],
};

pub static HANDOVER: Table = Table {
    name: "handover",
    entity: "terminal",
    about: "on every handover",
    columns: &[Column::real("elevation", "deg", "elevation of the new satellite")],
};

pub static SOURCE: Table = Table {
    name: "flow_source",
    entity: "flow",
    about: "at the end of the run",
    columns: &[
        Column::whole("sent_bytes", "bytes", "payload sent"),
        Column::real("completed", "s", "when it was done"),
    ],
};

pub static DESTINATION: Table = Table {
    name: "flow_destination",
    entity: "flow",
    about: "at the end of the run",
    columns: &[
        Column::whole("sent_bytes", "bytes", "a name that the other table has too"),
        Column::real("delay", "s", "mean delay"),
    ],
};

pub static TERMINAL: Table = Table {
    name: "terminal",
    entity: "terminal",
    about: "at the end of the run",
    columns: &[Column::whole("requests", "1", "requests sent")],
};

/// Returns a fresh folder for one test.
pub fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

/// Writes `rows` rows of traces.
pub fn record(recorder: &mut Recorder, rows: u64) {
    let flows = [recorder.open(&TCP, "up"), recorder.open(&TCP, "down")];
    recorder.open(&HANDOVER, "st1");
    for row in 0..rows {
        let now = Time::ZERO + Span::from_micros(row * 700);
        let srtt = if row % 3 == 0 { f64::NAN } else { 0.5 + row as f64 / 1e6 };
        let cwnd = if row % 1000 == 999 { f64::NAN } else { (row * 1460) as f64 };
        recorder.record(flows[(row % 2) as usize], now, &[cwnd, srtt]);
    }
    recorder.finish();
}

pub fn report() -> Report {
    let mut report = Report::default();
    report.row(&SOURCE, "up", &[1_000_000.0, f64::NAN]);
    report.row(&SOURCE, "down", &[5.0, 12.5]);
    report.row(&DESTINATION, "down", &[4.0, 0.25]);
    report.row(&DESTINATION, "unlisted", &[9.0, 0.5]);
    report.row(&TERMINAL, "st1", &[17.0]);
    report
}

pub fn totals() -> (Totals, Held) {
    let held = |packets, bytes| Held { packets, bytes };
    let full = DropReason::new("queue full");
    let dropped = BTreeMap::from([((1, full), held(2, 3000)), ((0, full), held(1, 40))]);
    let lost = BTreeMap::new();
    (Totals { created: held(10, 9000), consumed: held(6, 5000), dropped, lost }, held(1, 960))
}

pub fn flow_columns() -> FlowColumns {
    let column = |name: &str, unit: &str, values| FlowColumn {
        name: name.to_owned(),
        unit: unit.to_owned(),
        about: format!("{name} of the flow"),
        values,
    };
    FlowColumns {
        legs: BTreeMap::new(),
        flows: vec!["down".to_owned(), "up".to_owned()],
        columns: vec![
            column("from", "1", FlowValues::Text(vec![Some("gw".to_owned()), None])),
            column("number", "1", FlowValues::Whole(vec![Some(1), None])),
            column("goodput", "bit/s", FlowValues::Real(vec![2.5e6, f64::NAN])),
        ],
    }
}

/// Writes a whole run folder.
pub fn run(path: &Path, existing: Existing, rows: u64, ending: Ending) -> Result<Vec<Written>, ResultsError> {
    let provenance = Provenance::new("simulate", 7, 0);
    let mut folder = RunFolder::create(path, existing, "name = \"test\"\n", provenance)?;
    record(&mut Recorder::new(Box::new(folder.traces()?)), rows);
    let (totals, held) = totals();
    let outcome = Outcome {
        duration: Span::from_micros(2_500_000),
        report: &report(),
        totals: &totals,
        held,
        stages: &["terminal".to_owned(), "gateway".to_owned()],
        flows: &flow_columns(),
    };
    // A failure is reported again when the folder is finished.
    let _ = folder.outcome(&outcome);
    let simulated = outcome.duration;
    folder.finish(ending, Cost { simulated, events: 42, wall_seconds: 1.5, cpu_seconds: 1.25 })
}

/// Returns the rows of a Parquet file, and the description in its metadata.
pub fn read(path: &Path) -> (Vec<Row>, serde_json::Value) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let described = metadata.key_value_metadata().unwrap();
    assert_eq!(described[0].key, "bentpipe");
    let description = serde_json::from_str(described[0].value.as_ref().unwrap()).unwrap();
    let rows: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len() as i64, metadata.num_rows());
    (rows, description)
}
