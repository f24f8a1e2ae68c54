//! Events that an agent reports to its user, and messages to send.

use std::net::SocketAddr;

/// A call of an agent, identified by a number that the agent assigns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Call(pub u32);

/// An event that an agent reports to its user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A call arrives. The user answers it with [`Agent::ring`](super::Agent::ring),
    /// [`Agent::answer`](super::Agent::answer) or [`Agent::refuse`](super::Agent::refuse).
    Incoming {
        /// The number that this agent has given to the call.
        call: Call,
        /// User part of the caller's URI (From).
        from: String,
        /// User part of the called URI (the request URI).
        to: String,
        /// Session description offered by the caller; empty if the INVITE has none.
        offer: Vec<u8>,
    },
    /// A provisional response has arrived: status 180 means that the called telephone rings.
    Progress {
        /// The call that this agent placed.
        call: Call,
        /// Status of the response, 100 to 199.
        status: u16,
    },
    /// The called telephone was answered: both parties can talk.
    Answered {
        /// The call that this agent placed.
        call: Call,
        /// Session description of the callee.
        answer: Vec<u8>,
    },
    /// The caller has acknowledged the answer (ACK).
    Acknowledged {
        /// The call that this agent answered.
        call: Call,
    },
    /// The call could not be set up.
    Failed {
        /// The failed call, which no longer exists.
        call: Call,
        /// Status of the final response; 408 if none arrived, 487 if the caller gave up, 503 if the
        /// transport failed.
        status: u16,
    },
    /// A call that had been answered has ended.
    Ended {
        /// The ended call, which no longer exists.
        call: Call,
        /// True if the other party hung up.
        by_other: bool,
    },
    /// The registrar has answered a registration, or the registration has timed out.
    Registered {
        /// Status of the response; 408 if none arrived.
        status: u16,
    },
}

/// The events and messages that result from one operation of an agent.
#[derive(Clone, Default, Debug)]
pub struct Out {
    /// Messages to send, in order, and their destinations.
    pub send: Vec<(SocketAddr, Vec<u8>)>,
    /// Events for the user, in order.
    pub events: Vec<Event>,
    /// Number of messages in `send` that are retransmissions.
    pub retransmissions: u64,
}

impl Out {
    /// Retransmits a message to its destination.
    pub(super) fn again(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.retransmissions += 1;
        self.send.push((to, bytes.to_vec()));
    }
}
