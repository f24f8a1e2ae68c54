//! The Licklider Transmission Protocol (RFC 5326): blocks of red data, which is retransmitted, and
//! green data, which is not.
//!
//! A [`sender::Sender`] sends one block, and a [`receiver::Receiver`] receives one block. An
//! [`engine::Engine`] contains many senders and receivers. The caller passes the time to all of
//! them. A timer starts when its segment is sent, and expires when the answer is overdue: after two
//! light times, the time until the path back opens, and a margin ([`AnswerDeadlines`]).
//!
//! **Limits.** There is no authentication (RFC 5327). Bundles are not aggregated: each block
//! contains the data of one call by its client. An engine keeps the last
//! [`engine::MAX_ENDED_SESSIONS`] received sessions that have ended, so that late segments do not
//! open these sessions again.

pub mod contacts;
pub mod engine;
pub mod receiver;
pub mod segment;
pub mod sender;

use bentpipe_core::{Span, Time};

/// The settings of the sessions of an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Maximum length of a segment in bytes, including headers; 1400 by default.
    pub segment: u64,
    /// Maximum number of claims in a report; 20 by default. If the received data has more gaps,
    /// several reports are sent.
    pub claims: usize,
    /// Number of times that a checkpoint, report or cancellation is sent before its sender gives
    /// up; 10 by default.
    pub attempts: u32,
}

impl Default for Config {
    fn default() -> Config {
        // 1400 bytes fit into a packet of 1500 bytes. HDTN gives up after 5 retransmissions, and
        // ION after 10.
        Config { segment: 1400, claims: 20, attempts: 10 }
    }
}

/// Calculates the deadlines of answers from light times and contacts.
pub trait AnswerDeadlines {
    /// Returns the time at which the answer from `peer` to a segment that leaves at `sent` is
    /// overdue.
    fn deadline(&self, peer: u64, sent: Time) -> Time;
}

/// Deadlines for a peer at a constant light time that can always be reached.
#[derive(Clone, Copy, Debug)]
pub struct ConstantDelay {
    /// One-way light time.
    pub delay: Span,
    /// Time allowed for transmission, queues and processing.
    pub margin: Span,
}

impl AnswerDeadlines for ConstantDelay {
    fn deadline(&self, _peer: u64, sent: Time) -> Time {
        sent + self.delay + self.delay + self.margin
    }
}
