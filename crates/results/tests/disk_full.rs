//! A disk that fills up: a clear error, a folder marked incomplete, and files readable up to the
//! last row group. Needs root for a small file system; otherwise the test reports this and passes.

mod common;

use bentpipe_core::{FlowId, NodeId, Recorder, Span, Time};
use bentpipe_results::{CaptureOptions, Ending, Existing, Provenance, RunFolder, Status};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Capture, Ecn, Packet};
use bentpipe_testing::skipped;
use common::{fresh, read, TCP};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system of a few megabytes, unmounted at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(name: &str, size: &str) -> Option<SmallDisk> {
        let path = fresh(name);
        fs::create_dir_all(&path).unwrap();
        let options = format!("size={size}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&path).output();
        match mounted {
            Ok(output) if output.status.success() => Some(SmallDisk(path)),
            Ok(output) => {
                skipped(String::from_utf8_lossy(&output.stderr));
                None
            }
            Err(error) => {
                skipped(format!("mount: {error}"));
                None
            }
        }
    }

    fn run(&self) -> RunFolder {
        let provenance = Provenance::new("simulate", 1, 0);
        RunFolder::create(&self.0.join("run"), Existing::Refuse, "", provenance).unwrap()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn assert_incomplete(path: &Path, file: &str) {
    let provenance = Provenance::read(path).unwrap();
    assert_eq!(provenance.status, Status::Incomplete);
    let reason = provenance.reason.unwrap();
    assert!(reason.starts_with(&format!("disk full while writing {file}: ")), "{reason}");
}

#[test]
fn traces_end_with_the_last_row_group_that_fits() {
    let Some(disk) = SmallDisk::mount("full-traces", "5m") else { return };
    let mut folder = disk.run();
    let mut recorder = Recorder::new(Box::new(folder.traces().unwrap()));
    let probe = recorder.open(&TCP, "up");
    let mut random = 1_u64;
    let mut rows = 0;
    while !folder.failed() && rows < 20_000_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let now = Time::ZERO + Span::from_micros(rows);
        recorder.record(probe, now, &[(random >> 11) as f64, random as f64]);
        rows += 1;
    }
    recorder.finish();
    let path = folder.path().to_owned();
    let error = folder.finish(Ending::Complete, Default::default()).unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    assert_incomplete(&path, "traces/tcp.parquet");
    let kept = read(&path.join("traces/tcp.parquet")).0.len() as u64;
    assert!((1..rows).contains(&kept) && (kept & 0x1_ffff) == 0, "{kept} of {rows}");
}

#[test]
fn capture_on_a_full_disk_ends_with_a_complete_block() {
    let Some(disk) = SmallDisk::mount("full-packets", "1m") else { return };
    let mut folder = disk.run();
    let mut capture = folder.capture(&["up".to_owned()], CaptureOptions::default()).unwrap();
    let packet = Packet {
        birth: Time::ZERO,
        number: 0,
        size: 1500,
        flow: FlowId(0),
        source: NodeId(0),
        destination: NodeId(1),
        connection: 0,
        leg: Leg::THERE,
        dscp: 0,
        ecn: Ecn::NotEct,
        body: Body::Datagram,
    };
    for _ in 0..2000 {
        capture.packet(0, Time::ZERO, &packet);
    }
    assert!(folder.failed());
    let path = folder.path().to_owned();
    assert!(folder.finish(Ending::Complete, Default::default()).unwrap_err().is_disk_full());
    assert_incomplete(&path, "packets.pcapng");
    let bytes = fs::read(path.join("packets.pcapng")).unwrap();
    let mut offset = 0;
    while offset < bytes.len() {
        offset += u32::from_le_bytes(bytes[offset + 4..offset + 8].try_into().unwrap()) as usize;
    }
    assert!(bytes.len() > 100_000 && offset == bytes.len());
}

#[test]
fn disk_full_from_the_start_returns_an_error() {
    let Some(disk) = SmallDisk::mount("full-start", "64k") else { return };
    let mut folder = disk.run();
    let path = folder.path().to_owned();
    // Fill the rest of the disk.
    let _ = fs::write(disk.0.join("other"), vec![1; 1 << 20]);
    common::record(&mut Recorder::new(Box::new(folder.traces().unwrap())), 100_000);
    let error = folder.finish(Ending::Complete, Default::default()).unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    // There may have been no space even for the reason, but the run is not marked complete.
    assert_ne!(Provenance::read(&path).unwrap().status, Status::Complete);
}
