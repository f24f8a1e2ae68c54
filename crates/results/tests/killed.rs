//! A process that is killed while it writes traces at full speed leaves files that can be read.

mod common;

use bentpipe_core::{Recorder, Time};
use bentpipe_results::{Existing, Provenance, RunFolder, Status};
use common::{fresh, TCP};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Environment variable of the process that will be killed, with the run folder that it writes.
const FOLDER: &str = "BENTPIPE_TEST_KILLED_FOLDER";
const KILLS: u64 = 5;

/// Writes until it is killed. Returns at once if it runs as an ordinary test.
#[test]
fn write_until_killed() {
    let Some(path) = std::env::var_os(FOLDER) else { return };
    let provenance = Provenance::new("simulate", 1, 0);
    let mut folder = RunFolder::create(Path::new(&path), Existing::Refuse, "", provenance).unwrap();
    let mut recorder = Recorder::new(Box::new(folder.traces().unwrap()));
    let probe = recorder.open(&TCP, "up");
    let mut random = 1_u64;
    for row in 0_u64.. {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        recorder.record(probe, Time::from_nanos(row), &[row as f64, random as f64]);
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test waits for another process, at no particular point")]
fn killed_writer_leaves_complete_row_groups() {
    let mut total = 0;
    for kill in 0..KILLS {
        let path = fresh(&format!("killed-{kill}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "write_until_killed"])
            .env(FOLDER, &path)
            .spawn()
            .unwrap();
        let file = path.join("traces/tcp.parquet");
        while !file.metadata().is_ok_and(|metadata| metadata.len() > 1_000_000) {
            assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Odd steps, to hit different phases of the writer's cycle.
        std::thread::sleep(Duration::from_micros(kill * 7_919));
        child.kill().unwrap();
        child.wait().unwrap();

        assert_eq!(Provenance::read(&path).unwrap().status, Status::Running);
        let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
        let rows = reader.metadata().file_metadata().num_rows();
        assert_eq!(rows & 0x1_ffff, 0);
        for (number, row) in (0..).zip(reader.get_row_iter(None).unwrap()) {
            assert_eq!(row.unwrap().get_long(2).unwrap(), number);
        }
        total += rows;
        let _ = std::fs::remove_dir_all(&path);
    }
    assert!(total > 0);
}
