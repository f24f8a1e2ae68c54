//! ACK filtering (RFC 3449, section 5.2.1): an acknowledgment that arrives before a slow link takes the place of older ones of
//! its connection that still wait there, since acknowledgments are cumulative.
//!
//! Removed is only what says nothing more than the new one: acknowledgments without data, of a lower number, without
//! selective acknowledgments and without flags. Duplicate acknowledgments have equal numbers and all stay, so fast retransmit
//! works. The newest goes to the end of the queue, as the section has it, so nothing overtakes.
//!
//! The queue in which they wait is this helper's own ([`super::thinning`]): `rate` is that of the link beyond, or a little less.
//! What other flows send over that link does not pass here.
//!
//! A sender sees fewer acknowledgments that say more at a time: its bursts grow, and a window that counts acknowledgments grows
//! more slowly (section 5.2.1); [`super::ack_reconstruction`] behind the link mends both.

use super::acknowledgments::{ahead, alike, pure};
use super::thinning::{Thinned, Thinning};
use super::Enhancement;
use crate::service::{Served, Supply};
use crate::{DropReason, Packet, Stage};
use bentpipe_core::{Count, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Filters acknowledgments before a slow link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The slow link or network, in the direction away from the node.
    pub over: String,
    /// Its rate at the network layer.
    pub rate: Rate,
    /// Packets that may wait.
    #[serde(default = "hundred")]
    pub queue: Count<1, 1_000_000>,
}

pub(super) fn hundred() -> Count<1, 1_000_000> {
    Count::new(100)
}

struct Filter;

impl Thinning for Filter {
    const REASON: DropReason = DropReason::new("acknowledgment filtered");

    fn superseded(&self, queue: &VecDeque<Packet>, arriving: &Packet, places: &mut Vec<usize>) {
        let Some(new) = pure(arriving) else { return };
        let older = |packet: &Packet| {
            alike(packet, arriving)
                && pure(packet).is_some_and(|old| ahead(new.acknowledgment, old.acknowledgment) > 0)
        };
        places.extend(queue.iter().enumerate().filter(|(_, packet)| older(packet)).map(|(place, _)| place));
    }
}

impl Enhancement for Config {
    fn build(&self, name: &str, flows: Vec<Served>, _: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(Thinned::new(Filter, name, flows, &self.over, self.rate, self.queue.value() as usize))
    }

    fn over(&self) -> Option<&str> {
        Some(&self.over)
    }
}
