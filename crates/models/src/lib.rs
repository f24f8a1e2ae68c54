//! bentpipe's models, in folders in the order in which a packet meets them, and what they have in common: packets with
//! the bodies of their layers ([`Packet`], [`Payload`]) and the contract of the stages ([`Stage`]).
//!
//! Models are sans-I/O and told the time. Nothing here reads a clock, starts a thread or keeps a global; the crate builds
//! for wasm, which CI uses as the proof.

pub mod app;
pub mod channel;
pub mod facts;
pub mod link;
pub mod mac;
pub mod net;
pub mod network;
pub mod packet;
pub mod queue;
pub mod service;
mod stage;
mod supply;
mod text_or_table;
pub mod transport;

pub use packet::{
    Body, Content, Damage, Ecn, Packet, Payload, Spoiled, IPV4_HEADER, LARGEST_DATAGRAM, TCP, UDP, UDP_HEADER,
};
pub use stage::{Capture, Change, DropReason, Held, Leaving, Loss, Outbox, Port, Sent, Stage, Totals};
pub use supply::Supply;
