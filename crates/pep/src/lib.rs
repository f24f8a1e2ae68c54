//! A performance-enhancing proxy (RFC 3135). Every TCP connection through this machine becomes two,
//! each with a congestion control of its own, and neither end notices.
//!
//! - [`run`] sets the proxy up, serves until SIGTERM or SIGINT, lets the connections end and
//!   removes its rules.
//! - [`remove`] removes the rules of a proxy that was killed.
//!
//! The life of a connection (`worker`): the kernel's packet filter drops the client's first SYN and
//! passes a copy (`syn_queue`). The worker connects to the server from the client's own address
//! (IP_TRANSPARENT). When this succeeds, the worker gives the SYN back to the kernel (`raw`), the
//! kernel completes the client's handshake with a listening socket (TPROXY), and bytes go both ways
//! through `direction`. When it fails, the client gets the error that it would have got without a
//! proxy: RST, or ICMP unreachable. docs/decisions/proxies.md gives the reasons.
//!
//! There are two processes: a parent with root's rights that only waits and removes the rules
//! (`supervisor`), and its unprivileged child (`daemon`), with one thread per worker. Each thread
//! has a table of descriptors of its own, so that RLIMIT_NOFILE limits a worker and not the proxy,
//! and CAP_SYS_RESOURCE is not needed.

mod config;
mod connection;
mod control;
mod daemon;
mod direction;
mod error;
mod journal;
mod metrics;
mod packet;
mod pipe;
mod privileges;
mod raw;
mod rules;
mod sockets;
mod state;
mod supervisor;
mod syn_queue;
mod sys;
mod worker;

pub use config::{Accept, Config};
pub use error::Error;
pub use supervisor::{remove, run};
