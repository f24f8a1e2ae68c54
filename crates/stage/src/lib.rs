//! Packets with the bodies of their layers ([`Packet`], [`Payload`]), and the contract of the
//! stages that packets pass ([`Stage`]).
//!
//! A stage is sans-I/O and gets the time as an argument: no crate of models reads a clock, starts a
//! thread or keeps a global. The models build for wasm, which `scripts/wasm` checks.

pub mod facts;
pub mod packet;
mod stage;
mod supply;

pub use packet::{
    Body, Content, Damage, Ecn, Packet, Payload, Spoiled, IPV4_HEADER, LARGEST_DATAGRAM, TCP, UDP, UDP_HEADER,
};
pub use stage::{Capture, Change, DropReason, Held, Leaving, Loss, Outbox, Port, Sent, Stage, Totals};
pub use supply::Supply;
