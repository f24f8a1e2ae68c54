//! A connection in a worker.

use crate::direction::Direction;
use crate::packet::Flow;
use socket2::Socket;

/// The phase of the connection.
pub enum Phase {
    /// The server has not answered. Contains the client's SYN, if that is held back.
    Connecting(Option<Box<[u8]>>),
    /// The server has accepted, and the SYN was given back to the kernel. A copy is kept in case
    /// the client retransmits it.
    Released(Box<[u8]>),
    /// Both ends are connected.
    Open,
}

/// A connection: its two sockets and the data between them.
pub struct Connection {
    /// The client's and the server's address.
    pub flow: Flow,
    /// The phase of the connection.
    pub phase: Phase,
    /// The socket to the client, once it is accepted.
    pub client: Option<Socket>,
    /// The socket to the server.
    pub server: Option<Socket>,
    /// The direction from the client to the server.
    pub up: Direction,
    /// The direction from the server to the client.
    pub down: Direction,
    /// The type of service of the server's SYN-ACK.
    pub server_tos: u8,
    /// The worker's second of the last activity.
    pub active: u32,
    /// The worker's second in which the connection began.
    pub since: u32,
    /// True if its server is probed (keepalive).
    pub kept_alive: bool,
    /// True if the connection is in the worker's queue.
    pub queued: bool,
}
