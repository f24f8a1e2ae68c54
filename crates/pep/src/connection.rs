//! What a worker knows of a connection.

use crate::direction::Direction;
use crate::packet::Flow;
use socket2::Socket;

/// The phase of the connection.
pub enum Phase {
    /// The server has not answered; the client's SYN, if that is kept back.
    Connecting(Option<Box<[u8]>>),
    /// The server has accepted, and the kernel has the SYN again; it is kept for when it is
    /// repeated.
    Released(Box<[u8]>),
    /// Both ends are there.
    Open,
}

/// A connection, its two sockets and what goes between them.
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
    /// The worker's second in which something happened last.
    pub active: u32,
    /// The worker's second in which it began.
    pub since: u32,
    /// True if its server is asked whether it is there (keepalive).
    pub kept_alive: bool,
    /// True if it waits for its turn.
    pub queued: bool,
}
