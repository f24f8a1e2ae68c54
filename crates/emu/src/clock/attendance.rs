//! The processor time of the engine's thread, and the competition for it.

use nix::sys::resource::{getrusage, UsageWho};
use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// The kernel's counters for this thread and this machine at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Nanoseconds on a processor, and nanoseconds of waiting for one.
    ran: u64,
    waited: u64,
    involuntary: u64,
    /// Ticks of all processors: total, and stolen.
    ticks: u64,
    stolen: u64,
    real_time: bool,
}

impl Counts {
    /// Returns the counters of this thread now; zeros for those that this kernel lacks.
    pub(crate) fn now() -> Counts {
        let numbers = |text: &str| -> Vec<u64> {
            text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect()
        };
        let read = |path| read_to_string(path).unwrap_or_default();
        let thread = numbers(&read("/proc/thread-self/schedstat"));
        let machine = read("/proc/stat");
        let machine = machine.lines().next().and_then(|line| line.strip_prefix("cpu ")).map(numbers);
        let machine = machine.unwrap_or_default();
        // User time already includes guest time (proc(5)).
        let ticks = machine.iter().take(8).sum();
        let at = |values: &[u64], index: usize| values.get(index).copied().unwrap_or(0);
        let switches =
            getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches());
        Counts {
            ran: at(&thread, 0),
            waited: at(&thread, 1),
            involuntary: switches as u64,
            ticks,
            stolen: at(&machine, 7),
            real_time: policy(&read("/proc/thread-self/stat")).is_some_and(is_real_time),
        }
    }
}

/// Returns the scheduling policy, field 41 of proc_pid_stat(5); the name in field 2 may contain
/// spaces.
fn policy(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(41 - 3)?.parse().ok()
}

/// Returns true for SCHED_FIFO, SCHED_RR and SCHED_DEADLINE of sched(7); the others are ordinary,
/// batch and idle.
fn is_real_time(policy: u64) -> bool {
    matches!(policy, 1 | 2 | 6)
}

/// The processor time of the engine's thread in a run, and the competition for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attendance {
    /// Scheduling of the engine's thread: "real-time" or "ordinary".
    pub scheduling: String,
    /// Source of the machine's clock.
    pub clock_source: String,
    /// Number of processors that this process may use.
    pub processors: usize,
    /// Seconds that the engine's thread ran on a processor.
    pub cpu_s: f64,
    /// Seconds that the thread was ready to run and waited for a processor.
    pub waited_s: f64,
    /// Number of involuntary context switches to another thread.
    pub involuntary_switches: u64,
    /// Fraction of the time of all processors that the hypervisor took from the machine.
    pub steal: f64,
}

impl Attendance {
    pub(crate) fn between(begin: &Counts, end: &Counts) -> Attendance {
        let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        let ticks = end.ticks.saturating_sub(begin.ticks).max(1);
        Attendance {
            scheduling: if end.real_time { "real-time" } else { "ordinary" }.to_owned(),
            clock_source: clock_source(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            cpu_s: seconds(end.ran.saturating_sub(begin.ran)),
            waited_s: seconds(end.waited.saturating_sub(begin.waited)),
            involuntary_switches: end.involuntary.saturating_sub(begin.involuntary),
            steal: end.stolen.saturating_sub(begin.stolen) as f64 / ticks as f64,
        }
    }
}

/// Returns the kernel's clock source, such as "tsc"; empty if the kernel does not report it.
pub fn clock_source() -> String {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    read_to_string(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_thread_is_detected() {
        let begin = Counts::now();
        let until = crate::clock::cpu_time() + 30_000_000;
        while crate::clock::cpu_time() < until {}
        let attended = Attendance::between(&begin, &Counts::now());
        assert!(attended.cpu_s >= 0.02, "{attended:?}");
        assert_eq!(attended.scheduling, "ordinary");
        assert!((0.0..=1.0).contains(&attended.steal));
        let fifo =
            "7 (a (b) c) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 -2 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 0";
        assert_eq!(policy(fifo), Some(1));
        assert_eq!([0, 1, 2, 3, 5, 6].map(is_real_time), [false, true, true, false, false, true]);
    }
}
