//! The congestion controls of the Linux kernel itself (`net/ipv4/tcp_*.c`). Their names have a
//! prefix: `linux-cubic` is the kernel's own CUBIC, while `cubic` always means
//! crates/congestion/variants/cubic.c. They are not simulated. Their availability depends on the
//! machine.

/// The names in a scenario, in alphabetical order.
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

/// Returns the kernel's own name for `name`; `None` if `name` is not in [`LINUX`].
pub fn of_linux(name: &str) -> Option<&'static str> {
    LINUX.iter().find(|known| **known == name).and_then(|known| known.strip_prefix("linux-"))
}
