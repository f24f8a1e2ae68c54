//! ACK decimation (RFC 3449, section 5.2.2): of each connection no more than `keep` acknowledgments wait before a slow link, and the
//! oldest goes when there are more.
//!
//! It is what small queues of their own per connection do that drop from the front, as the section recommends, so that the newest
//! and therefore the most telling stay; whether they are duplicates or carry selective acknowledgments is not looked at, other
//! than by [`super::ack_filter`]. Deviation: acknowledgments keep their place among the other packets, where queues per
//! connection would be served in turns.
//!
//! The queue is this helper's own ([`super::thinning`]): `rate` is that of the link beyond, or a little less.

use super::ack_filter::hundred;
use super::acknowledgments::{acknowledges, alike};
use super::thinning::{Thinned, Thinning};
use super::Enhancement;
use crate::service::{Served, Supply};
use crate::{DropReason, Packet, Stage};
use bentpipe_core::{Count, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Keeps few acknowledgments of each connection before a slow link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The slow link or network, in the direction away from the node.
    pub over: String,
    /// Its rate at the network layer.
    pub rate: Rate,
    /// Acknowledgments of a connection that may wait.
    #[serde(default = "one")]
    pub keep: Count<1, 1_000_000>,
    /// Packets that may wait in all.
    #[serde(default = "hundred")]
    pub queue: Count<1, 1_000_000>,
}

fn one() -> Count<1, 1_000_000> {
    Count::new(1)
}

struct Decimation {
    keep: usize,
}

impl Thinning for Decimation {
    const REASON: DropReason = DropReason::new("acknowledgment decimated");

    fn superseded(&self, queue: &VecDeque<Packet>, arriving: &Packet, places: &mut Vec<usize>) {
        let waits = |packet: &Packet| alike(packet, arriving) && acknowledges(packet);
        places.extend(queue.iter().enumerate().filter(|(_, packet)| waits(packet)).map(|(place, _)| place));
        // The new one is one of those that stay.
        places.truncate((places.len() + 1).saturating_sub(self.keep));
    }
}

impl Enhancement for Config {
    fn build(&self, name: &str, flows: Vec<Served>, _: &mut dyn Supply) -> Box<dyn Stage> {
        let decimation = Decimation { keep: self.keep.value() as usize };
        Box::new(Thinned::new(decimation, name, flows, &self.over, self.rate, self.queue.value() as usize))
    }

    fn over(&self) -> Option<&str> {
        Some(&self.over)
    }
}
