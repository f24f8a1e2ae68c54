//! Packets with typed bodies ([`Packet`], [`Payload`]), and the contract of the stages that packets
//! pass ([`Stage`]).
//!
//! A stage does no I/O and gets the time as an argument: no model crate reads a clock, starts a
//! thread or keeps a global. The models build for wasm; `scripts/wasm` checks this.

pub mod facts;
pub mod packet;
mod stage;
mod supply;

pub use packet::{
    Body, Content, Corrupted, Damage, Ecn, Packet, Payload, IPV4_HEADER, LARGEST_DATAGRAM, TCP, UDP,
    UDP_HEADER,
};
pub use stage::{Capture, Change, DropReason, Held, Leaving, Loss, Outbox, Port, Sent, Stage, Totals};
pub use supply::Supply;
