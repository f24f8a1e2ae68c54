//! What the nodes of a network do.

use crate::ltp;
use bentpipe_core::Span;
use std::collections::BTreeMap;

/// What all nodes of a network do.
#[derive(Clone, Debug)]
pub struct Config {
    /// How bundles pass a contact.
    pub convergence: Convergence,
    /// Where bundles go next.
    pub routing: Routing,
    /// Bytes that a node stores at most.
    pub storage: u64,
    /// What a node without room does.
    pub discard: Discard,
}

/// How bundles pass a contact.
#[derive(Clone, Debug, PartialEq)]
pub enum Convergence {
    /// A datagram per bundle: 28 bytes of IP and UDP.
    Udp,
    /// A red block of LTP per bundle, segments in datagrams.
    Ltp {
        /// Segment size and limits.
        config: ltp::Config,
        /// What an answer may take beyond light times and closed contacts.
        margin: Span,
    },
}

/// Bytes of IP and UDP headers.
pub(crate) const DATAGRAM: u64 = 28;

impl Convergence {
    /// Bytes that are sent with a bundle of `size` bytes if nothing is lost.
    pub fn overhead(&self, size: u64) -> u64 {
        match self {
            Convergence::Udp => DATAGRAM,
            Convergence::Ltp { config, .. } => {
                // Twelve bytes of a segment's header at most with small numbers, sixteen of a checkpoint's.
                let segments = size.div_ceil(config.segment.saturating_sub(16).max(1));
                segments * (DATAGRAM + 16)
            }
        }
    }
}

/// Where bundles go next.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// By the contact plan (CCSDS 734.3).
    ContactGraph,
    /// By a table: for each node (first) and destination (second) the neighbour.
    Static(BTreeMap<(u32, u32), u32>),
    /// A copy to everyone who has none (Vahdat and Becker 2000).
    Epidemic,
    /// Binary spray and wait (Spyropoulos, Psounis, Raghavendra 2005): so many copies, half of which are handed over at a meeting; a node with
    /// one copy waits for the destination.
    SprayAndWait {
        /// Copies of a bundle.
        copies: u32,
    },
    /// PRoPHET (RFC 6693): a copy to a neighbour that is likelier to meet the destination.
    Prophet(Prophet),
}

/// Parameters of PRoPHET (RFC 6693, section 3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prophet {
    /// P_encounter_max.
    pub encounter: f64,
    /// P_encounter_first.
    pub first: f64,
    /// beta, for what the neighbour can reach.
    pub transitive: f64,
    /// gamma, for each unit of time.
    pub ageing: f64,
    /// The unit of time.
    pub unit: Span,
    /// Typical time between meetings, within which a further meeting counts less.
    pub interval: Span,
}

impl Default for Prophet {
    fn default() -> Prophet {
        Prophet {
            encounter: 0.7,
            first: 0.5,
            transitive: 0.9,
            ageing: 0.999,
            unit: Span::from_secs(1),
            interval: Span::from_secs(1800),
        }
    }
}

/// What a node without room does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Discard {
    /// It refuses the new bundle.
    #[default]
    Newest,
    /// It drops the oldest ones.
    Oldest,
    /// It drops those of the lowest priority below the new one's, the oldest first, and else refuses it.
    LowestPriority,
}
