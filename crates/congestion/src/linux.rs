//! The congestion controls of the Linux kernel itself (`net/ipv4/tcp_*.c`). One rule distinguishes
//! them from ours: `cubic` is crates/congestion/variants/cubic.c, in every home; `linux-cubic` is
//! what the kernel calls cubic. They are not simulated, and which of them are available depends on
//! the machine.

/// Their names in a scenario, in alphabetical order.
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

/// Returns the kernel's own name for `name`, if that is one of [`LINUX`].
pub fn of_linux(name: &str) -> Option<&'static str> {
    LINUX.iter().find(|known| **known == name).and_then(|known| known.strip_prefix("linux-"))
}
