//! The Licklider Transmission Protocol (RFC 5326): blocks of red data, which is retransmitted, and
//! green data, which is not.
//!
//! A [`sender::Sender`] sends one block, a [`receiver::Receiver`] receives one, and an
//! [`engine::Engine`] has many of both. The caller passes the time to all of them. A timer starts
//! when its segment leaves, and expires when the answer is due: after two light times, the times
//! for which the path is closed in either direction, and a margin ([`AnswerDeadlines`]).
//!
//! **Limits.** There is no authentication (RFC 5327) and no aggregation of bundles into blocks: a
//! block is what its client gives. The last [`engine::MAX_ENDED_SESSIONS`] ended sessions are
//! remembered, so that late segments do not open them again.

pub mod contacts;
pub mod engine;
pub mod receiver;
pub mod segment;
pub mod sender;

use bentpipe_core::{Span, Time};

/// The settings of a session, at both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The largest segment in bytes, headers included.
    pub segment: u64,
    /// Most claims in a report; data that has arrived in more pieces takes several reports.
    pub claims: usize,
    /// Number of times that a checkpoint or report is sent before the session is cancelled.
    pub attempts: u32,
}

impl Default for Config {
    fn default() -> Config {
        // 1400 bytes fit into a datagram on every link; HDTN and ION give up after 5 and 10
        // retransmissions.
        Config { segment: 1400, claims: 20, attempts: 10 }
    }
}

/// Deadlines of answers, from light times and contacts.
pub trait AnswerDeadlines {
    /// Returns the time at which the answer from `peer` to a segment sent at `sent` is overdue.
    fn deadline(&self, peer: u64, sent: Time) -> Time;
}

/// Deadlines for a peer at a constant distance that can always be reached.
#[derive(Clone, Copy, Debug)]
pub struct ConstantDelay {
    /// Light time, one way.
    pub delay: Span,
    /// Time for transmission, queues and processing.
    pub margin: Span,
}

impl AnswerDeadlines for ConstantDelay {
    fn deadline(&self, _peer: u64, sent: Time) -> Time {
        sent + self.delay + self.delay + self.margin
    }
}
