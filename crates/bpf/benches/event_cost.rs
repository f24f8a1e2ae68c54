//! Measures the kernel's cost of the log with its own statistics (bpf_stats): the mean time of each
//! program of the log, and of each operation of a congestion control, over a million segments.
//!
//!     cargo bench -p bentpipe-bpf --features bpf

#[cfg(feature = "bpf")]
#[path = "../tests/common/mod.rs"]
mod common;

#[cfg(not(feature = "bpf"))]
fn main() {
    println!("skipped: built without BPF");
}

#[cfg(feature = "bpf")]
fn main() {
    use std::collections::BTreeMap;
    use std::thread;
    use std::time::Duration;

    use bentpipe_bpf::{register, Log, Namespace, Start};

    const SEGMENTS: usize = 1_000_000;
    // `cargo test --benches` only checks that the benchmark starts.
    if common::skips() || std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let _statistics = enable_statistics();
    let vegas = register("vegas", &BTreeMap::new(), &Start::default()).expect("BPF is available");
    common::in_namespace(|| {
        let namespace = Namespace { inode: common::namespace(), tag: 0 };
        let mut log = Log::start(&[namespace]).expect("BPF is available");
        let (mut client, mut server) = common::connection(vegas.name(), None);
        let mut events = 0;
        thread::scope(|scope| {
            let work = || common::transfer_bytewise(&mut client, &mut server, SEGMENTS);
            let worker = thread::Builder::new().spawn_scoped(scope, work).expect("threads are available");
            while !worker.is_finished() {
                events += log.poll(Duration::from_millis(1), &mut |_| ()).expect("it can be read");
            }
        });
        println!("{events} events, {} lost", log.lost().expect("it can be read"));
        println!("{:<24} {:>10} {:>10}", "program", "runs", "ns/run");
        let mut spent = 0;
        for program in libbpf_rs::query::ProgInfoIter::default().filter(|program| program.run_cnt > 1000) {
            let mean = program.run_time_ns as f64 / program.run_cnt as f64;
            println!("{:<24} {:>10} {mean:>10.0}", program.name.to_string_lossy(), program.run_cnt);
            if program.name == *"segment" {
                spent = program.run_time_ns;
            }
        }
        // The time includes the receiver's segments, which are not recorded.
        println!("the log: {:.0} ns per event", spent as f64 / events as f64);
    });
}

/// Enables the kernel's statistics of BPF programs until the returned value is dropped.
#[cfg(feature = "bpf")]
fn enable_statistics() -> impl Drop {
    struct Restore(String);
    impl Drop for Restore {
        fn drop(&mut self) {
            std::fs::write(SWITCH, &self.0).expect("it was written before");
        }
    }
    const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";
    let before = std::fs::read_to_string(SWITCH).expect("BPF is available");
    std::fs::write(SWITCH, "1").expect("this is root");
    Restore(before)
}
