//! The speed of writing results: rows of a TCP-like trace through the recorder, the channel and the
//! Parquet files, and packets to a capture.
//!
//! `cargo bench -p bentpipe-results [ROWS]` prints the values per second of real time and of
//! processor time (all threads), the bytes per value, the nanoseconds per packet, and the peak
//! memory of the process.

use bentpipe_core::{Column, FlowId, NodeId, Recorder, Sink, Span, Table, Time};
use bentpipe_results::{CaptureOptions, Ending, Existing, Provenance, RunFolder, Traces};
use bentpipe_stage::packet::segment::{Segment, SegmentFlags, Timestamps};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Capture, Ecn, Packet};
use std::fs;
use std::path::Path;

static TCP: Table = Table {
    name: "tcp",
    entity: "flow",
    about: "on every acknowledgment",
    columns: &[
        Column::whole("cwnd", "bytes", "congestion window"),
        Column::whole("ssthresh", "bytes", "slow start threshold"),
        Column::whole("sequence", "bytes", "highest byte acknowledged"),
        Column::whole("inflight", "bytes", "bytes in flight"),
        Column::whole("state", "1", "state of loss recovery"),
        Column::whole("retransmissions", "packets", "retransmissions so far"),
        Column::real("srtt", "s", "smoothed round-trip time"),
        Column::real("rttvar", "s", "variation of the round-trip time"),
        Column::real("rto", "s", "retransmission time-out"),
        Column::real("rtt", "s", "round-trip time sample"),
        Column::real("pacing", "bit/s", "pacing rate"),
        Column::real("delivery", "bit/s", "delivery rate, missing in every other row"),
    ],
};

struct Nowhere;

impl Sink for Nowhere {
    fn rows(&mut self, _: &'static Table, _: &[String], _: Vec<bentpipe_core::Row>, _: Vec<f64>) {}
}

fn main() {
    let rows = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(4_000_000);
    let values = (rows * (TCP.columns.len() as u64 + 2)) as f64;
    let (_, idle) = measured(|| record(Recorder::new(Box::new(Nowhere)), rows));
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-traces");
    fs::create_dir_all(root.join("traces")).expect("the target folder can be written");
    let (wall, cpu) = measured(|| {
        let (sink, traces) = Traces::start(&root).expect("a thread");
        record(Recorder::new(Box::new(sink)), rows);
        assert_eq!(traces.finish().expect("room on disk")[0].rows, rows);
    });
    let size = fs::metadata(root.join("traces/tcp.parquet")).expect("the file").len();
    fs::remove_dir_all(&root).expect("the folder that was just made");
    println!(
        "{rows} rows of {} columns: {:.1} million values/s by wall time, {:.1} by processor time of both threads, \
         {:.1} by that of writing alone; {:.2} bytes/value; peak memory {}",
        TCP.columns.len() + 2,
        values / wall / 1e6,
        values / cpu / 1e6,
        values / (cpu - idle) / 1e6,
        size as f64 / values,
        status("VmHWM:")
    );
    for snap in [None, Some(96)] {
        let packets = 500_000;
        let (_, cpu) = measured(|| capture(&root, snap, packets));
        println!("capture, snap {snap:?}: {:.0} ns/packet of processor time", cpu * 1e9 / f64::from(packets));
        fs::remove_dir_all(&root).expect("the folder that was just made");
    }
}

/// Captures data segments of 1500 bytes.
fn capture(root: &Path, snap: Option<u32>, packets: u32) {
    let provenance = Provenance::new("bench", 0, 0);
    let mut folder = RunFolder::create(root, Existing::Refuse, "", provenance).expect("an empty folder");
    let options = CaptureOptions { snap, epoch: 0 };
    let mut capture = folder.capture(&["st1".to_owned()], options).expect("room on disk");
    let segment = Segment {
        flags: SegmentFlags::ACK,
        payload: 1448,
        timestamps: Some(Timestamps::new(1, 2)),
        window: 65_535,
        ..Segment::default()
    };
    let mut packet = Packet {
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
        body: Body::Segment(segment),
    };
    for number in 0..packets {
        packet.number = number;
        capture.packet(0, Time::from_nanos(u64::from(number) * 12_000), &packet);
    }
    folder.finish(Ending::Complete, Default::default()).expect("room on disk");
}

fn record(mut recorder: Recorder, rows: u64) {
    let flows: Vec<_> = (0..4).map(|flow| recorder.open(&TCP, &format!("upload{flow}"))).collect();
    let mut random = 1_u64;
    for row in 0..rows {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let noise = (random % 100_000) as f64;
        let number = row as f64;
        let now = Time::ZERO + Span::from_micros(row * 1000 + random % 100);
        let values = [
            (14_600 + row / 10 * 1460) as f64,
            64_000.0,
            number * 1460.0,
            (random % 500) as f64 * 1460.0,
            (row / 1000 % 4) as f64,
            (row / 5000) as f64,
            0.55 + noise / 1e7,
            0.01 + noise / 1e8,
            1.0 + (row / 50 % 100) as f64 * 0.01,
            0.55 + noise / 1e6,
            2e6,
            if row % 2 == 0 { f64::NAN } else { 1.9e6 + noise },
        ];
        recorder.record(flows[(random % 4) as usize], now, &values);
    }
    recorder.finish();
}

/// Returns the seconds of real time and of processor time that `work` takes.
fn measured(work: impl FnOnce()) -> (f64, f64) {
    #[allow(clippy::disallowed_methods, reason = "a benchmark asks the clock")]
    let start = std::time::Instant::now();
    let before = processor_seconds();
    work();
    (start.elapsed().as_secs_f64(), processor_seconds() - before)
}

/// Returns the user and system time of this process in seconds, in steps of 10 ms (proc(5): fields
/// 14 and 15, in ticks of 1/100 s).
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn status(key: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("unknown").trim().to_owned()
}
