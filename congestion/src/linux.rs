//! The congestion controls of the Linux kernel, by the names under which it knows them (`net/ipv4/tcp_*.c`). They are
//! not simulated; which of them a machine has is its own matter.

/// Their names, in alphabetical order, without those that a file of bentpipe's has.
pub const LINUX: &[&str] = &[
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "veno",
    "westwood",
    "yeah",
];

/// Whether only the kernel has the congestion control `name`.
pub fn only_in_linux(name: &str) -> bool {
    LINUX.contains(&name) && crate::variant(name).is_err()
}
