//! The rules that direct packets to the proxy: a table of nftables, and a rule and a route of
//! policy routing. All belong to the proxy, which touches no others.
//!
//! Packets of a client's connection carry the proxy's mark and are routed by its table, in which
//! every address is this machine's own. nft's `tproxy` and `socket` select the socket.

use crate::config::{Accept, Config};
use crate::error::{Context, Error};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Longest time that nft and ip may take. The kernel answers them in milliseconds.
const LIMIT: Duration = Duration::from_secs(30);
/// Name of the table of nftables.
const TABLE: &str = "bentpipe-pep";
/// Matches first packets: SYN alone of the flags FIN, SYN, RST and ACK. The offset, byte 13 of the
/// header, is used because nft(8) adds a test for TCP to each `tcp flags`, which is known already.
const SYN: &str = "@th,104,8 & 0x17 == 0x02";
/// Matches the answers: SYN and ACK.
const SYN_ACK: &str = "@th,104,8 & 0x12 == 0x12";

/// The rules to be removed at the end.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Rules {
    mark: u32,
    table: u32,
    ipv6: bool,
}

/// The ports at which a worker listens.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Ports {
    /// Port of the worker at 127.0.0.1.
    pub ipv4: u16,
    /// Port of the worker at ::1, if the machine has IPv6.
    pub ipv6: Option<u16>,
}

impl Rules {
    /// Returns the rules for a configuration.
    ///
    /// # Errors
    /// The table of nftables, the routing table or the mark is in use, or the interface `lo` is
    /// down.
    pub fn new(config: &Config, ipv6: bool) -> Result<Rules, Error> {
        let rules = Rules { mark: config.mark, table: config.table, ipv6 };
        if nft(&format!("list table inet {TABLE}\n")).is_ok() {
            let reason = format!("there is one, of which there is no record (nft delete table inet {TABLE})");
            return Err(io::Error::other(reason)).context(format!("making the nftables table {TABLE}"));
        }
        // SYNs come back through the loopback interface.
        if !ip(&["link", "show", "lo"])?.contains("LOOPBACK,UP") {
            return Err(io::Error::other("it is down (ip link set lo up)")).context("using the interface lo");
        }
        for version in rules.versions() {
            let taken = ip(&[version, "route", "show", "table", &rules.table.to_string()]);
            if taken.is_ok_and(|routes| !routes.trim().is_empty()) {
                return Err(Error::option("--table", rules.table, "has routes already; name another one"));
            }
            let output = ip(&[version, "rule", "show"])?;
            let mask = format!("fwmark {0:#x}", rules.mark);
            if output.lines().any(|line| line.contains(&mask)) {
                return Err(Error::option(
                    "--mark",
                    format!("{:#x}", rules.mark),
                    "has a rule already; name another one",
                ));
            }
        }
        Ok(rules)
    }

    fn versions(&self) -> impl Iterator<Item = &'static str> {
        ["-4", "-6"].into_iter().take(if self.ipv6 { 2 } else { 1 })
    }

    fn words(&self) -> [String; 3] {
        [format!("{0:#x}/{0:#x}", self.mark), self.table.to_string(), self.table.to_string()]
    }

    /// Creates the rules, for workers that listen on `ports`.
    ///
    /// # Errors
    /// There is no `nft` or `ip`, or the machine does not allow it.
    pub fn make(&self, config: &Config, ports: &[Ports]) -> Result<(), Error> {
        let [mark, table, priority] = &self.words();
        for version in self.versions() {
            ip(&[version, "rule", "add", "fwmark", mark, "lookup", table, "priority", priority])?;
            ip(&[version, "route", "add", "local", "default", "dev", "lo", "table", table])?;
        }
        nft(&self.script(config, ports)).map(drop).context(
            "making the rules of the packet filter (the kernel needs nft_tproxy, nft_socket, nft_fib, nft_hash and \
             nfnetlink_log)",
        )
    }

    /// Lets new connections pass by; existing ones continue.
    ///
    /// # Errors
    /// The machine does not allow it.
    pub fn let_pass(&self) -> Result<(), Error> {
        nft(&format!("flush chain inet {TABLE} new\n")).map(drop).context("letting new connections pass")
    }

    /// Removes the rules; it is no error if some are gone already.
    ///
    /// # Errors
    /// There is no `nft`, or the machine does not allow it.
    pub fn remove(&self) -> Result<(), Error> {
        let [mark, table, priority] = &self.words();
        for version in self.versions() {
            let _ = ip(&[version, "rule", "del", "fwmark", mark, "lookup", table, "priority", priority]);
            let _ = ip(&[version, "route", "del", "local", "default", "dev", "lo", "table", table]);
        }
        // Adding first makes the deletion succeed whether the table exists or not.
        nft(&format!("add table inet {TABLE}\ndelete table inet {TABLE}\n"))
            .map(drop)
            .context("removing the rules of the packet filter")
    }

    fn script(&self, config: &Config, ports: &[Ports]) -> String {
        let mut script = format!("table inet {TABLE} {{\n");
        let mark = format!("{:#x}", self.mark);
        let ours = format!("meta mark set meta mark | {mark} accept");
        for (worker, ports) in ports.iter().enumerate() {
            // If nobody listens, `tproxy` does not match, so packets pass by a proxy that was
            // killed.
            let listening = |then: &str| {
                let tcp = "meta l4proto tcp tproxy";
                let mut rules = format!("  meta nfproto ipv4 {tcp} ip to 127.0.0.1:{} {then}\n", ports.ipv4);
                if let Some(port) = ports.ipv6 {
                    let _ = writeln!(rules, "  meta nfproto ipv6 {tcp} ip6 to [::1]:{port} {then}");
                }
                rules
            };
            let group = usize::from(config.group) + worker;
            let log = format!("log group {group} snaplen 2048 queue-threshold 1");
            let _ = writeln!(script, " chain take{worker} {{\n{} }}", listening(&ours));
            // The copy goes to the proxy; the packet itself comes again when the proxy sends it.
            let _ = writeln!(script, " chain hold{worker} {{\n  {log}\n{} }}", listening("drop"));
            let _ = writeln!(script, " chain tell{worker} {{\n  {log}\n }}");
        }
        let first = if config.accept == Accept::Late { "hold" } else { "take" };
        let workers = ports.len();
        // To each worker that may be concerned.
        let unreachable: String = ["icmp", "icmpv6"]
            .iter()
            .flat_map(|version| {
                (0..workers).map(move |worker| {
                    format!("  {version} type destination-unreachable jump tell{worker}\n")
                })
            })
            .collect();
        let _ = writeln!(script, " chain new {{");
        for condition in conditions(config) {
            let _ = writeln!(script, "  {condition}");
        }
        // Not for packets to this machine itself.
        let _ = writeln!(script, "  fib daddr type != unicast return\n  ip6 daddr fe80::/10 return");
        script += &spread(workers, "saddr", "sport", first);
        // Most packets belong to existing connections: they take one comparison, one lookup of the
        // socket and another comparison. A server's SYN-ACK is reported only if it has a class of
        // service, which most do not.
        let _ = writeln!(
            script,
            " }}\n chain again {{\n{}\
             }}\n chain answers {{\n{}\
             }}\n chain answer {{\n  ip dscp != 0 jump answers\n  ip6 dscp != 0 jump answers\n  notrack {ours}\n \
             }}\n chain there {{\n  {SYN_ACK} goto answer\n  notrack {ours}\n }}\n \
             chain syn {{\n  iif lo meta mark & {mark} == {mark} notrack goto again\n  \
             iif != lo jump new\n  \
             socket transparent 1 goto there\n }}\n \
             chain segments {{\n  \
             {SYN} goto syn\n  \
             socket transparent 1 goto there\n }}\n \
             chain prerouting {{\n  type filter hook prerouting priority raw; policy accept;\n  \
             meta l4proto tcp goto segments\n  \
             meta l4proto {{ icmp, ipv6-icmp }} socket transparent 1 {ours}\n }}\n \
             chain sent {{\n  socket transparent 1 notrack\n }}\n \
             chain output {{\n  type filter hook output priority raw; policy accept;\n  \
             meta l4proto tcp goto sent\n\
             {unreachable} }}\n}}",
            spread(workers, "saddr", "sport", "take"),
            spread(workers, "daddr", "dport", "tell"),
        );
        script
    }
}

/// Returns rules that send all packets of a connection to the chain of the same worker, by its
/// client's address and port.
fn spread(workers: usize, address: &str, port: &str, chain: &str) -> String {
    if workers == 1 {
        return format!("  goto {chain}0\n");
    }
    let map: Vec<_> = (0..workers).map(|worker| format!("{worker} : goto {chain}{worker}")).collect();
    let map = map.join(", ");
    ["ipv4 jhash ip", "ipv6 jhash ip6"]
        .map(|version| {
            format!("  meta nfproto {version} {address} . tcp {port} mod {workers} seed 1 vmap {{ {map} }}\n")
        })
        .concat()
}

/// Returns conditions for new connections that bypass the proxy.
fn conditions(config: &Config) -> Vec<String> {
    let mut conditions = Vec::new();
    if !config.interface.is_empty() {
        let names: Vec<_> = config.interface.iter().map(|name| format!("\"{name}\"")).collect();
        conditions.push(format!("iifname != {{ {} }} return", names.join(", ")));
    }
    if !config.port.is_empty() {
        conditions.push(format!("tcp dport != {{ {} }} return", config.port.join(", ")));
    }
    if !config.to.is_empty() {
        for (version, word) in [("ipv4", "ip"), ("ipv6", "ip6")] {
            let of_version = |network: &&String| network.contains(':') == (word == "ip6");
            let networks: Vec<_> = config.to.iter().filter(of_version).map(String::as_str).collect();
            conditions.push(match networks.is_empty() {
                true => format!("meta nfproto {version} return"),
                false => format!("{word} daddr != {{ {} }} return", networks.join(", ")),
            });
        }
    }
    conditions
}

/// Runs a script of nft(8).
fn nft(script: &str) -> io::Result<String> {
    run("nft", &["-f", "-"], script, "nftables")
}

/// Runs ip(8) with these arguments.
fn ip(words: &[&str]) -> Result<String, Error> {
    run("ip", words, "", "iproute2").context(format!("ip {}", words.join(" ")))
}

fn run(program: &str, words: &[&str], input: &str, package: &str) -> io::Result<String> {
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other(format!(
                "there is no {program} on this machine (on Debian: apt install {package})"
            )),
            _ => error,
        })?;
    child.stdin.take().expect("its input is a pipe").write_all(input.as_bytes())?;
    let number = Pid::from_raw(child.id() as i32);
    let (ended, end) = mpsc::channel::<()>();
    let output = thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, move || {
            if end.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                let _ = kill(number, Signal::SIGKILL);
            }
        })?;
        let output = child.wait_with_output();
        drop(ended);
        output
    })?;
    match (output.status.success(), output.status.signal()) {
        (true, _) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        (_, Some(9)) => Err(io::Error::other(format!("{program} did not end within {} s", LIMIT.as_secs()))),
        _ => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}
