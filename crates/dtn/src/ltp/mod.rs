//! The Licklider Transmission Protocol (RFC 5326): blocks of red data, which are retransmitted, and
//! green data, which are not.
//!
//! The sending of a block is a [`sender::Sender`], its receiving a [`receiver::Receiver`], and an
//! [`engine::Engine`] has many of both. All of them are told the time. A timer starts when its
//! segment leaves, and runs out when the answer could be here: two light times, the time for which
//! the way there or back is closed, and a margin ([`Patience`]).
//!
//! **Limits.** No authentication (RFC 5327), no aggregation of bundles into blocks: a block is what
//! its client gives. Sessions that are over are remembered, so that late segments open no session
//! again, up to [`engine::REMEMBERED`].

pub mod contacts;
pub mod engine;
pub mod receiver;
pub mod segment;
pub mod sender;

use bentpipe_core::{Span, Time};

/// What both ends of a session are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The largest segment in bytes, headers included.
    pub segment: u64,
    /// The most claims in a report; what has arrived in more pieces takes several reports.
    pub claims: usize,
    /// How often a checkpoint or a report is sent before the session is cancelled.
    pub attempts: u32,
}

impl Default for Config {
    fn default() -> Config {
        // 1400 bytes fit into a datagram on every link; HDTN and ION give up after 5 and 10
        // retransmissions.
        Config { segment: 1400, claims: 20, attempts: 10 }
    }
}

/// When the answer to something that leaves now can be here: it knows light time and contacts.
pub trait Patience {
    /// When the answer from `peer` to what leaves at `sent` is overdue.
    fn overdue(&self, peer: u64, sent: Time) -> Time;
}

/// A peer at a constant distance that can always be reached.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Light time, one way.
    pub delay: Span,
    /// What else it takes: transmission, queues, processing.
    pub margin: Span,
}

impl Patience for Constant {
    fn overdue(&self, _peer: u64, sent: Time) -> Time {
        sent + self.delay + self.delay + self.margin
    }
}
