//! The parts of its host that an emulation uses: namespaces, users, processes, ports to packets,
//! netlink.

pub mod internet;
pub(crate) mod live;
pub(crate) mod namespace;
pub(crate) mod netlink;
pub mod port;
pub mod process;
pub mod user;
