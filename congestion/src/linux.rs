//! The congestion controls of the Linux kernel itself (`net/ipv4/tcp_*.c`). One rule tells them from ours: `cubic` is
//! congestion/cubic.c, in every home; `linux-cubic` is what the kernel knows as cubic. The latter are not simulated, and
//! which of them a machine has is its own matter.

/// What a scenario calls them, in alphabetical order.
pub const LINUX: &[&str] = &[
    "linux-bbr",
    "linux-bic",
    "linux-cdg",
    "linux-cubic",
    "linux-dctcp",
    "linux-highspeed",
    "linux-htcp",
    "linux-hybla",
    "linux-illinois",
    "linux-lp",
    "linux-nv",
    "linux-reno",
    "linux-scalable",
    "linux-vegas",
    "linux-veno",
    "linux-westwood",
    "linux-yeah",
];

/// The kernel's own name for what a scenario calls `name`, when that is one of [`LINUX`].
pub fn of_linux(name: &str) -> Option<&'static str> {
    LINUX.iter().find(|known| **known == name).and_then(|known| known.strip_prefix("linux-"))
}
