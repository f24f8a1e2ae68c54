//! Observers of the packets between the engine and the hosts.

use bentpipe_core::{FlowId, NodeId, Time};
use bentpipe_engine::Network;
use std::os::fd::RawFd;

/// Bytes of a question: a request of sock_diag(7).
pub const QUESTION: usize = 72;

/// The action of an [`Observer`] for a packet to a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// No action for this packet.
    Nothing,
    /// Calls [`Observer::got`] as soon as the host has the packet, with the answer to a question if
    /// there is one.
    AtHost(Option<Question>),
    /// The packet's data is discarded at this TCP socket once all packets of the moment are written
    /// ([`Observer::discarded`]).
    Discard(RawFd),
}

/// A question to send on a socket that answers immediately, as netlink(7) does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// The socket, which stays open.
    pub socket: RawFd,
    /// Bytes to send on the socket.
    pub bytes: [u8; QUESTION],
}

/// Observes the packets between the engine and the hosts. The engine's thread calls the observer,
/// so each call delays all packets.
pub trait Observer: Send {
    /// Called first. `discards` is true if the engine's thread can discard data at sockets.
    fn begin(&mut self, _discards: bool) {}

    /// Called when the host of `node` has received a packet of `flow`. `answer` is the answer to
    /// the question about the packet, if there was one.
    fn got(&mut self, network: &mut Network, node: NodeId, flow: FlowId, now: Time, answer: Option<&[u8]>);

    /// Returns the action for `packet`, which belongs to `flow` and is for the host of `node`.
    fn looks(&self, _node: NodeId, _flow: FlowId, _packet: &[u8]) -> Look {
        Look::AtHost(None)
    }

    /// Called when `bytes` of a socket's data have been discarded at `now`.
    fn discarded(&mut self, _network: &mut Network, _socket: RawFd, _now: Time, _bytes: usize) {}

    /// Called when the host of `node` has sent `packet`, which belongs to `flow`.
    fn sent(&mut self, network: &mut Network, node: NodeId, flow: FlowId, now: Time, packet: &[u8]);
}
