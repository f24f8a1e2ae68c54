//! An examination of this machine for emulation: its abilities, found by trying where possible,
//! with remedies for missing ones.

use crate::clock::attendance::clock_source;
use crate::host::port::tun::{self, Tun};
use crate::host::user;
use crate::report::{memory, tcp_memory};
use crate::{sys, Namespace};
use bentpipe_core::address::Plan;
use bentpipe_core::NodeId;
use nix::sys::resource::{getrlimit, Resource};
use nix::time::{clock_getres, ClockId};
use serde::Serialize;
use std::fs::{read_to_string, OpenOptions};
use std::io::ErrorKind;
use std::process::{Command, Stdio};

/// The state of one requirement of emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The machine meets the requirement.
    Ok,
    /// Emulation works, with less accuracy or fewer features.
    Limited,
    /// The requirement is not met, and something does not work without it.
    Missing,
}

/// One requirement of emulation and its state on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The requirement, in a few words.
    pub what: &'static str,
    /// The state of the requirement on this machine.
    pub status: Status,
    /// True if emulation is impossible without it.
    pub needed: bool,
    /// The state found on this machine, as a sentence.
    pub found: String,
    /// Remedy for the user, if there is one.
    pub remedy: Option<&'static str>,
}

impl Finding {
    fn ok(what: &'static str, found: impl Into<String>) -> Finding {
        Finding { what, status: Status::Ok, needed: false, found: found.into(), remedy: None }
    }

    fn limited(what: &'static str, found: impl Into<String>, remedy: &'static str) -> Finding {
        Finding { status: Status::Limited, remedy: Some(remedy), ..Finding::ok(what, found) }
    }

    fn missing(what: &'static str, found: impl Into<String>, remedy: &'static str) -> Finding {
        Finding { status: Status::Missing, ..Finding::limited(what, found, remedy) }
    }

    fn needed(self) -> Finding {
        Finding { needed: true, ..self }
    }

    fn new(what: &'static str, good: bool, found: impl Into<String>, remedy: &'static str) -> Finding {
        if good {
            Finding::ok(what, found)
        } else {
            Finding::limited(what, found, remedy)
        }
    }
}

/// All requirements with their state on this machine, and the conclusion.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// True if emulation is possible at all.
    pub possible: bool,
    /// All requirements, in the order in which they were checked.
    pub findings: Vec<Finding>,
}

/// Examines this machine as an emulation by this process would find it. Call this function before a
/// second thread exists: without root it enters a user namespace.
pub fn examine() -> Examination {
    let findings = vec![
        device().needed(),
        namespaces().needed(),
        interface().needed(),
        real_time(),
        timers(),
        clock(),
        processors(),
        bpf(),
        programs(),
        nft(),
        ipv6(),
        limit(
            "open files",
            Resource::RLIMIT_NOFILE,
            4096,
            "raise it: ulimit -n 4096, or LimitNOFILE= of the service",
        ),
        limit(
            "locked memory",
            Resource::RLIMIT_MEMLOCK,
            8 << 20,
            "raise it: ulimit -l unlimited; only kernels before 5.11 need it for BPF",
        ),
        buffers(
            "receive buffers",
            "/proc/sys/net/core/rmem_max",
            "sysctl -w net.core.rmem_max=4194304; only programs that set their buffers themselves notice",
        ),
        buffers(
            "send buffers",
            "/proc/sys/net/core/wmem_max",
            "sysctl -w net.core.wmem_max=4194304; only programs that set their buffers themselves notice",
        ),
        memory_of_tcp(),
        room(),
    ];
    let possible = !findings.iter().any(|finding| finding.needed && finding.status == Status::Missing);
    Examination { possible, findings }
}

fn device() -> Finding {
    match OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => Finding::ok("TUN device", "/dev/net/tun can be opened"),
        Err(error) => Finding::missing(
            "TUN device",
            format!("/dev/net/tun: {error}"),
            match error.kind() {
                ErrorKind::PermissionDenied => {
                    "let users open it (as root: chmod 666 /dev/net/tun), or be root"
                }
                _ => "modprobe tun; in a container pass the device on: --device /dev/net/tun",
            },
        ),
    }
}

fn namespaces() -> Finding {
    match user::enter() {
        Ok(false) => Finding::ok("network namespaces", "this process may make them"),
        Ok(true) => Finding::ok("network namespaces", "in a user namespace, without root"),
        Err(error) => Finding::missing(
            "network namespaces",
            error.to_string(),
            "run as root, or allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=1000",
        ),
    }
}

fn interface() -> Finding {
    let config = tun::Config {
        name: "sat0".to_owned(),
        mtu: 1500,
        ipv4: Plan::default().ipv4(NodeId(0)),
        ipv6: None,
        default_route: true,
    };
    match Namespace::new().and_then(|namespace| Tun::new(&namespace, &config)) {
        Ok(_) => Finding::ok("a host's interface", "made one in a namespace of its own"),
        Err(error) => Finding::missing("a host's interface", error.to_string(), "see the lines above"),
    }
}

fn real_time() -> Finding {
    let tried = std::thread::Builder::new().spawn(|| sys::real_time_priority(1));
    match tried.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))) {
        Ok(Ok(())) => Finding::ok("real-time priority", "SCHED_FIFO for the engine's thread"),
        Ok(Err(error)) | Err(error) => Finding::limited(
            "real-time priority",
            error.to_string(),
            "run as root, or: ulimit -r 1, LimitRTPRIO=1 of the service, a line \"USER - rtprio 1\" in \
             /etc/security/limits.conf; without it other programs delay packets by milliseconds",
        ),
    }
}

fn timers() -> Finding {
    let nanoseconds = clock_getres(ClockId::CLOCK_MONOTONIC)
        .map_or(i64::MAX, |at| at.tv_sec() * 1_000_000_000 + at.tv_nsec());
    Finding::new(
        "timers",
        nanoseconds <= 1000,
        format!("resolution {nanoseconds} ns"),
        "a kernel with CONFIG_HIGH_RES_TIMERS, without highres=off",
    )
}

fn clock() -> Finding {
    let source = clock_source();
    let good = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];
    Finding::new(
        "clock source",
        good.contains(&source.as_str()),
        if source.is_empty() { "unknown".to_owned() } else { source },
        "one that is read without a call to the kernel: see \
         /sys/devices/system/clocksource/clocksource0/available_clocksource",
    )
}

fn processors() -> Finding {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    Finding::new(
        "processors",
        count >= 2,
        format!("{count} for this process"),
        "at least two: the engine needs one when many packets are under way",
    )
}

fn bpf() -> Finding {
    match bentpipe_bpf::available() {
        Ok(()) => Finding::ok("BPF", "own congestion controls and the log of connections work"),
        Err(reason) => Finding::limited(
            "BPF",
            reason.to_string(),
            "without it flows use the kernel's congestion controls, and connections are polled",
        ),
    }
}

fn programs() -> Finding {
    let skips = bentpipe_bpf::skips_programs();
    Finding::new(
        "BPF programs",
        !skips,
        if skips { "skipped while process 1 runs (bpf_prog_aux.init_owned)" } else { "always run" },
        "our congestion controls on the real clock then get late results, which runs count and repair; linux-NAME and \
         --clock kernel are not concerned (docs/measured-linux.md)",
    )
}

fn nft() -> Finding {
    let tried = Command::new("nft").arg("--version").stderr(Stdio::null()).output();
    match tried {
        Ok(said) if said.status.success() => {
            Finding::ok("nftables", String::from_utf8_lossy(&said.stdout).trim().to_owned())
        }
        _ => Finding::limited(
            "nftables",
            "there is no nft",
            "on Debian: apt install nftables; hosts reach the machine's Internet by it",
        ),
    }
}

fn ipv6() -> Finding {
    let there = std::path::Path::new("/proc/net/if_inet6").exists();
    Finding::new(
        "IPv6",
        there,
        if there { "in this kernel" } else { "not in this kernel, or switched off" },
        "boot without ipv6.disable=1; hosts then have IPv6 addresses too",
    )
}

fn limit(what: &'static str, resource: Resource, enough: u64, remedy: &'static str) -> Finding {
    let soft = getrlimit(resource).map_or(0, |(soft, _)| soft);
    let found = if soft == libc::RLIM_INFINITY { "unlimited".to_owned() } else { format!("at most {soft}") };
    Finding::new(what, soft >= enough, found, remedy)
}

fn buffers(what: &'static str, path: &str, remedy: &'static str) -> Finding {
    let bytes = read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // In some namespaces the limit cannot be read; the machine's own limit applies.
    match bytes {
        Some(bytes) => Finding::new(what, bytes >= 4 << 20, format!("at most {bytes} bytes"), remedy),
        None => Finding::ok(what, "the limit cannot be read here"),
    }
}

/// Bytes of TCP memory that a run at 1 Gbit/s and 250 ms each way may need. 62.5 MB are in flight;
/// the sender keeps them, and the receiver may hold as many out of order. Each part is doubled,
/// because the kernel also counts its own structures.
const ENOUGH: u64 = 250_000_000;

fn memory_of_tcp() -> Finding {
    let what = "memory of TCP";
    // In some namespaces the limits cannot be read; the machine's own limits apply.
    let Some([_, pressure, _]) = tcp_memory::limits() else {
        return Finding::ok(what, "the limit cannot be read here");
    };
    let used = tcp_memory::used();
    let million = |bytes: u64| bytes / 1_000_000;
    Finding::new(
        what,
        pressure.saturating_sub(used) >= ENOUGH,
        format!("{} MB in use, under pressure from {} MB on", million(used), million(pressure)),
        "sysctl -w net.ipv4.tcp_mem=\"65536 131072 262144\" or more (pages of 4 KB: minimum, pressure, maximum); all \
         connections of a machine share it, and under pressure windows are cut silently",
    )
}

fn room() -> Finding {
    let what = "memory";
    let Some(bytes) = memory::available() else {
        return Finding::ok(what, "what is available cannot be read here");
    };
    let gigabytes = bytes as f64 / 1e9;
    let seconds = memory::held(bytes) / 1.25e8;
    Finding::new(
        what,
        memory::held(bytes) >= ENOUGH as f64,
        format!("{gigabytes:.1} GB available: links hold 1 Gbit/s for {seconds:.0} s"),
        "end other programs: every packet in flight is held in memory, and `bentpipe check` says what a scenario needs",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_is_reported_with_a_remedy() {
        // As root the examination enters no namespace. Without root it cannot enter one, because
        // the test has several threads.
        let examination = examine();
        assert!(examination.findings.len() >= 10);
        for finding in &examination.findings {
            assert_eq!(finding.status == Status::Ok, finding.remedy.is_none(), "{finding:?}");
            assert!(!finding.found.is_empty(), "{finding:?}");
        }
        let lacking = |finding: &&Finding| finding.needed && finding.status == Status::Missing;
        assert_eq!(examination.possible, !examination.findings.iter().any(|finding| lacking(&finding)));
    }
}
