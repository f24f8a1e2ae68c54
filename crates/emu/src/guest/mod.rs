//! A guest: a User-Mode Linux kernel that runs as a process of this machine, in virtual time. When
//! the guest is idle, its clock jumps to the next timer. While it works, its clock stands still, so
//! its processors are infinitely fast. The guest runs the parts of an emulation on the real clock:
//! namespaces, interfaces, sockets, the engine.
//!
//! [`machine`] is the side of this machine, [`inside`] the guest's first process, [`protocol`]
//! their messages over the guest's console, and [`parameters`] the settings of the guest's kernel.

mod hold;
pub mod inside;
pub mod machine;
mod outside;
pub mod parameters;
pub mod protocol;
mod watch;
