//! What sees the packets between the engine and the hosts.

use bentpipe_core::{FlowId, NodeId, Time};
use bentpipe_engine::Network;
use std::os::fd::RawFd;

/// Bytes of a question, which is one of sock_diag(7).
pub const QUESTION: usize = 72;

/// What an [`Observer`] has to do with a packet that a host gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// The observer neither looks at the host nor discards the packet's data.
    Nothing,
    /// It looks at the host as soon as the host has the packet ([`Observer::got`]), with the answer
    /// to a question if there is one.
    AtHost(Option<Question>),
    /// The packet's data is discarded at this TCP socket once all packets of the moment are written
    /// ([`Observer::discarded`]).
    Discard(RawFd),
}

/// A question that is sent on a socket, which has the answer at once, as with netlink(7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// The socket, which stays open.
    pub socket: RawFd,
    /// What is sent to the socket.
    pub bytes: [u8; QUESTION],
}

/// Observes the packets between the engine and the hosts. It is called in the engine's thread and
/// delays everything there.
pub trait Observer: Send {
    /// Called first. `discards` tells whether the engine's thread can discard data at sockets.
    fn begin(&mut self, _discards: bool) {}

    /// Called when the host of `node` has received a packet of `flow`. `answer` is the answer to
    /// its question, if it was asked.
    fn got(&mut self, network: &mut Network, node: NodeId, flow: FlowId, now: Time, answer: Option<&[u8]>);

    /// Returns what there is to do with `packet`, which belongs to `flow` and is for the host of
    /// `node`.
    fn looks(&self, _node: NodeId, _flow: FlowId, _packet: &[u8]) -> Look {
        Look::AtHost(None)
    }

    /// Called when `bytes` of a socket's data have been discarded at `now`.
    fn discarded(&mut self, _network: &mut Network, _socket: RawFd, _now: Time, _bytes: usize) {}

    /// Called when the host of `node` has sent `packet`, which belongs to `flow`.
    fn sent(&mut self, network: &mut Network, node: NodeId, flow: FlowId, now: Time, packet: &[u8]);
}
