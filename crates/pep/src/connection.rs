//! What a worker knows of a connection.

use crate::direction::Direction;
use crate::packet::Flow;
use socket2::Socket;

/// Where it stands.
pub enum Phase {
    /// The server has not answered; the client's SYN, if that is kept back.
    Connecting(Option<Box<[u8]>>),
    /// The server has accepted, and the kernel has the SYN again; it is kept for when it is repeated.
    Released(Box<[u8]>),
    /// Both ends are there.
    Open,
}

/// A connection, its two sockets and what goes between them.
pub struct Connection {
    /// Between whom.
    pub flow: Flow,
    /// Where it stands.
    pub phase: Phase,
    /// Towards the client, once accepted.
    pub client: Option<Socket>,
    /// Towards the server.
    pub server: Option<Socket>,
    /// From client to server.
    pub up: Direction,
    /// From server to client.
    pub down: Direction,
    /// The type of service of the server's SYN-ACK.
    pub server_tos: u8,
    /// The worker's second in which something happened last.
    pub active: u32,
    /// The worker's second in which it began.
    pub since: u32,
    /// Whether it waits for its turn.
    pub queued: bool,
}
