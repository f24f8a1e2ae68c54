//! A run folder from its creation to the end of the run, read with the readers that users have.

mod common;

use bentpipe_core::{Recorder, Time};
use bentpipe_results::{Ending, Existing, Provenance, ResultsError, RunFolder, Status};
use common::{fresh, read, run};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use std::fs::{self, File};
use std::path::Path;

/// Number of rows: more than one row group, and not a multiple of one.
const ROWS: u64 = 150_000;

#[test]
fn written_results_are_read_back_unchanged() {
    let path = fresh("read-back");
    let written = run(&path, Existing::Refuse, ROWS, Ending::Complete).unwrap();
    let counts: Vec<_> = written.iter().map(|trace| (trace.table, trace.rows)).collect();
    assert_eq!(counts, [("tcp", ROWS), ("handover", 0)]);

    let (rows, about) = read(&path.join("traces/tcp.parquet"));
    assert_eq!(rows.len() as u64, ROWS);
    for (number, row) in (0..).zip(&rows) {
        assert_eq!(row.get_long(0).unwrap(), number * 700_000);
        assert_eq!(row.get_string(1).unwrap(), ["up", "down"][number as usize % 2]);
        assert_eq!(row.get_long(2).ok(), (number % 1000 != 999).then_some(number * 1460));
        assert_eq!(row.get_double(3).ok(), (number % 3 != 0).then_some(0.5 + number as f64 / 1e6));
    }
    assert_eq!(about["columns"][0]["unit"], "ns");
    assert_eq!(about["columns"][2]["about"], "congestion window");

    let (rows, about) = read(&path.join("traces/handover.parquet"));
    assert_eq!((rows.len(), about["columns"].as_array().unwrap().len()), (0, 3));

    let (rows, _) = read(&path.join("tables/terminal.parquet"));
    assert_eq!((rows[0].get_string(0).unwrap().as_str(), rows[0].get_long(1).unwrap()), ("st1", 17));
    assert!(!path.join("tables/flow_source.parquet").exists());

    assert_eq!(fs::read_to_string(path.join("scenario.toml")).unwrap(), "name = \"test\"\n");
    let provenance = Provenance::read(&path).unwrap();
    assert_eq!((provenance.status, provenance.events, provenance.seed), (Status::Complete, Some(42), 7));
}

#[test]
fn flows_are_joined_in_the_order_of_the_scenario() {
    let path = fresh("flows");
    run(&path, Existing::Refuse, 0, Ending::Complete).unwrap();
    let (rows, _) = read(&path.join("flows.parquet"));
    let text: Vec<String> = rows.iter().map(ToString::to_string).collect();
    let expected = [
        "{flow: \"down\", from: \"gw\", number: 1, goodput: 2500000.0, sent_bytes: 5, completed: 12.5, \
         flow_destination_sent_bytes: 4, delay: 0.25}",
        "{flow: \"up\", from: null, number: null, goodput: null, sent_bytes: 1000000, completed: null, \
         flow_destination_sent_bytes: null, delay: null}",
        "{flow: \"unlisted\", from: null, number: null, goodput: null, sent_bytes: null, completed: null, \
         flow_destination_sent_bytes: 9, delay: 0.5}",
    ];
    assert_eq!(text, expected);
}

#[test]
fn summary_contains_tables_and_conservation() {
    let path = fresh("summary");
    run(&path, Existing::Refuse, 0, Ending::Complete).unwrap();
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["duration_seconds"], 2.5);
    assert_eq!(summary["packets"]["conserved"], true);
    assert_eq!(summary["packets"]["dropped"]["bytes"], 3040);
    assert_eq!(summary["drops"][1]["stage"], "gateway");
    assert_eq!(summary["drops"][1]["reason"], "queue full");
    let source = &summary["tables"]["flow_source"];
    assert_eq!(source[0]["flow"], "up");
    assert_eq!((&source[0]["sent_bytes"], source[0]["completed"].is_null()), (&1_000_000.into(), true));
    assert_eq!(summary["units"]["flow_destination"]["delay"], "s");
}

#[test]
fn equal_runs_are_equal_byte_for_byte() {
    let (first, second) = (fresh("equal-1"), fresh("equal-2"));
    run(&first, Existing::Refuse, ROWS, Ending::Complete).unwrap();
    run(&second, Existing::Refuse, ROWS, Ending::Complete).unwrap();
    let files = [
        "scenario.toml",
        "summary.json",
        "flows.parquet",
        "tables/terminal.parquet",
        "traces/tcp.parquet",
        "traces/handover.parquet",
    ];
    for file in files {
        assert!(fs::read(first.join(file)).unwrap() == fs::read(second.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn only_folders_of_earlier_runs_are_replaced() {
    let path = fresh("replace");
    run(&path, Existing::Refuse, 10, Ending::Complete).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    fs::write(path.join("traces/old.parquet"), "of a scenario with more traces").unwrap();
    let refused = run(&path, Existing::Refuse, 10, Ending::Complete).unwrap_err();
    assert!(matches!(refused, ResultsError::Exists(_)), "{refused}");
    run(&path, Existing::Replace, 20, Ending::Complete).unwrap();
    assert_eq!(read(&path.join("traces/tcp.parquet")).0.len(), 20);
    assert!(path.join("notes.txt").exists() && !path.join("traces/old.parquet").exists());

    let other = fresh("not-a-run");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("provenance.json"), "{\"tool\": \"another\"}").unwrap();
    let refused = run(&other, Existing::Replace, 10, Ending::Complete).unwrap_err();
    assert!(matches!(refused, ResultsError::NotARun(_)), "{refused}");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    let refused = run(&other.join("provenance.json"), Existing::Replace, 1, Ending::Complete).unwrap_err();
    assert!(matches!(refused, ResultsError::NotAFolder(_)), "{refused}");
}

fn begun(path: &Path, existing: Existing) -> RunFolder {
    RunFolder::create(path, existing, "", Provenance::new("simulate", 1, 0)).unwrap()
}

#[test]
fn replaced_run_is_incomplete_until_the_new_run_is_complete() {
    let path = fresh("begun");
    run(&path, Existing::Refuse, 10, Ending::Complete).unwrap();
    let folder = begun(&path, Existing::Replace);
    assert_eq!(Provenance::read(&path).unwrap().status, Status::Running);
    assert!(!path.join("summary.json").exists());
    drop(folder);
    assert_eq!(Provenance::read(&path).unwrap().status, Status::Incomplete);
}

#[test]
fn interrupted_run_keeps_its_rows_and_states_the_reason() {
    let path = fresh("interrupted");
    run(&path, Existing::Refuse, 100, Ending::Incomplete("interrupted".to_owned())).unwrap();
    let provenance = Provenance::read(&path).unwrap();
    assert_eq!((provenance.status, provenance.reason.as_deref()), (Status::Incomplete, Some("interrupted")));
    assert_eq!(read(&path.join("traces/tcp.parquet")).0.len(), 100);
}

#[test]
fn killed_run_can_be_read_up_to_its_last_row_group() {
    let path = fresh("killed");
    let mut folder = begun(&path, Existing::Refuse);
    let mut recorder = Recorder::new(Box::new(folder.traces().unwrap()));
    let probe = recorder.open(&common::TCP, "up");
    // One row group, and five rows that are still in memory when the process is killed.
    for _ in 0..131_072 + 5 {
        recorder.record(probe, Time::ZERO, &[1.0, 2.0]);
    }
    let file = path.join("traces/tcp.parquet");
    let rows = (0..10_000_000).find_map(|_| {
        std::thread::yield_now();
        let reader = SerializedFileReader::new(File::open(&file).ok()?).ok()?;
        Some(reader.metadata().file_metadata().num_rows()).filter(|rows| *rows > 0)
    });
    assert_eq!(rows, Some(131_072));
    assert_eq!(Provenance::read(&path).unwrap().status, Status::Running);
}

#[test]
fn panic_in_a_model_leaves_a_readable_incomplete_run() {
    let path = fresh("panicked");
    let mut folder = begun(&path, Existing::Refuse);
    let sink = folder.traces().unwrap();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _folder = folder;
        common::record(&mut Recorder::new(Box::new(sink)), 50);
        panic!("an invariant of a model, as this test wants it");
    }));
    assert!(panic.is_err());
    let provenance = Provenance::read(&path).unwrap();
    assert_eq!(provenance.status, Status::Incomplete);
    assert_eq!(read(&path.join("traces/tcp.parquet")).0.len(), 50);
}
