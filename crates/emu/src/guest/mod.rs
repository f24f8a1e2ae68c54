//! A guest: a User-Mode Linux kernel that runs as a process of this machine, in virtual time. When
//! everything in it is idle its clock jumps to the next timer, and while it works its clock stands
//! still, so that its processors are infinitely fast. Inside is what is emulated on the real clock
//! otherwise: namespaces, interfaces, sockets, the engine.
//!
//! [`machine`] is the side of this machine, [`inside`] the guest's first process, [`protocol`] what
//! they say to each other over the guest's console, [`parameters`] what is said to the guest's
//! kernel.

mod hold;
pub mod inside;
pub mod machine;
mod outside;
pub mod parameters;
pub mod protocol;
mod watch;
