//! The memory limits of the kernel's TCP, which all connections of a machine share (`tcp_mem` in
//! tcp(7)). Above its second limit, the kernel silently reduces windows and queues; above the
//! third, it drops segments.

use crate::host::namespace::Namespace;
use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// Effects of the limits in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpMemory {
    /// Bytes of memory above which the kernel is under pressure; `None` if the kernel does not show
    /// the limit (in a namespace).
    pub pressure_bytes: Option<u64>,
    /// Maximum number of bytes that all TCP connections of the machine used, sampled several times
    /// a second.
    pub used_max_bytes: u64,
    /// Number of times that a connection of a host put the machine under memory pressure.
    pub pressures: u64,
    /// Total duration of the memory pressure that ended at a connection of a host, in seconds.
    pub pressure_s: f64,
    /// Number of times that connections of hosts dropped received data for lack of memory or buffer
    /// space.
    pub pruned: u64,
}

/// Records the machine's TCP memory during a run.
pub struct Watch(TcpMemory);

/// Returns the size of a page in bytes.
fn page() -> u64 {
    nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |bytes| bytes as u64)
}

/// Returns the limits in bytes: no pressure, pressure, maximum.
pub fn limits() -> Option<[u64; 3]> {
    let text = read_to_string("/proc/sys/net/ipv4/tcp_mem").ok()?;
    let mut pages = text.split_whitespace().map(|word| word.parse::<u64>().ok());
    let mut next = || Some(pages.next()??.saturating_mul(page()));
    Some([next()?, next()?, next()?])
}

/// Returns the bytes that all TCP connections of the machine use, the same in every namespace.
pub fn used() -> u64 {
    let text = read_to_string("/proc/net/sockstat").unwrap_or_default();
    pages_used(&text).unwrap_or(0).saturating_mul(page())
}

/// Returns the number after `mem` in the line of TCP.
fn pages_used(sockstat: &str) -> Option<u64> {
    let mut words = sockstat.lines().find(|line| line.starts_with("TCP:"))?.split_whitespace();
    words.find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

/// Returns a counter of /proc/net/netstat, or 0.
fn count(netstat: &str, name: &str) -> u64 {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
    let found = lines.next().zip(lines.next()).and_then(|(names, values)| {
        let at = names.split_whitespace().position(|other| other == name)?;
        values.split_whitespace().nth(at)?.parse().ok()
    });
    found.unwrap_or(0)
}

impl Watch {
    /// Starts to record the memory of the machine's TCP.
    pub fn begin() -> Watch {
        let pressure_bytes = limits().map(|[_, pressure, _]| pressure);
        Watch(TcpMemory { pressure_bytes, ..TcpMemory::default() })
    }

    /// Samples the memory in use now.
    pub fn look(&mut self) {
        self.0.used_max_bytes = self.0.used_max_bytes.max(used());
    }

    /// Ends the recording. Returns the result, with the counts of the hosts since their creation.
    pub fn finish<'a>(mut self, hosts: impl Iterator<Item = &'a Namespace>) -> TcpMemory {
        self.look();
        for host in hosts {
            let text = host.within(|| read_to_string("/proc/thread-self/net/netstat"));
            let text = text.and_then(|read| read).unwrap_or_default();
            self.0.pressures += count(&text, "TCPMemoryPressures");
            self.0.pressure_s += count(&text, "TCPMemoryPressuresChrono") as f64 / 1e3;
            for name in ["PruneCalled", "RcvPruned", "OfoPruned", "TCPRcvQDrop"] {
                self.0.pruned += count(&text, name);
            }
        }
        self.0
    }
}

impl TcpMemory {
    /// Returns the problem with its remedy, if there was one.
    pub fn reason(&self) -> Option<String> {
        let million = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
        let used = million(self.used_max_bytes);
        let remedy = "windows are then cut silently; more is had by sysctl -w net.ipv4.tcp_mem=\"MIN PRESSURE MAX\" (pages)";
        match self.pressure_bytes {
            Some(limit) if self.used_max_bytes >= limit => Some(format!(
                "the machine's TCP used {used} of memory, which is under pressure from {} on: {remedy}",
                million(limit)
            )),
            _ if self.pressures > 0 => {
                let (times, seconds) = (self.pressures, self.pressure_s);
                Some(format!(
                    "the machine's TCP memory came under pressure {times} times, for {seconds:.3} s: {remedy}"
                ))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_counters_are_read() {
        let sockstat = "sockets: used 19\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 408\nUDP: inuse 0 mem 61\n";
        assert_eq!(pages_used(sockstat), Some(408));
        let netstat = "TcpExt: A TCPMemoryPressures TCPMemoryPressuresChrono\nTcpExt: 1 2 3500\nIpExt: TCPMemoryPressures\n";
        assert_eq!(
            (count(netstat, "TCPMemoryPressures"), count(netstat, "TCPMemoryPressuresChrono")),
            (2, 3500)
        );
        assert_eq!((count(netstat, "PruneCalled"), count("", "A")), (0, 0));
    }

    #[test]
    fn pressure_on_the_machine_or_a_host_is_a_reason() {
        let none = TcpMemory { pressure_bytes: Some(1000), used_max_bytes: 999, ..TcpMemory::default() };
        assert_eq!(none.reason(), None);
        let seen = TcpMemory { used_max_bytes: 1000, ..none.clone() };
        assert!(seen.reason().is_some_and(|reason| reason.contains("tcp_mem")));
        let counted = TcpMemory { pressures: 2, pressure_s: 0.5, pressure_bytes: None, ..none };
        assert!(counted.reason().is_some_and(|reason| reason.contains("2 times, for 0.500 s")));
    }
}
