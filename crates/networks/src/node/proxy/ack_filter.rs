//! ACK filtering (RFC 3449, section 5.2.1): an acknowledgment that arrives before a slow link
//! replaces older ones of its connection that still wait there, since acknowledgments are
//! cumulative.
//!
//! Only acknowledgments without additional information are removed: those without data, with a
//! lower number, without selective acknowledgments and without flags. Duplicate acknowledgments
//! have equal numbers and all stay, so fast retransmit works. The newest goes to the end of the
//! queue, as in the section, so nothing is overtaken.
//!
//! The queue in which they wait is the proxy's own ([`super::thinning`]): `rate` is that of the
//! link beyond, or slightly less. Packets of other flows over that link do not pass through this
//! queue.
//!
//! A sender gets fewer acknowledgments, each of which acknowledges more: its bursts grow, and a
//! window that counts acknowledgments grows more slowly (section 5.2.1).
//! [`super::ack_reconstruction`] behind the link fixes both.

use super::acknowledgments::{self, pure, same_acknowledgment, sequence_difference};
use super::thinning::{Thinning, ThinningStage};
use super::Enhancement;
use crate::node::service::{ServedFlow, Supply};
use bentpipe_core::{Count, Rate, Sample, Table, Tables};
use bentpipe_stage::{DropReason, Packet, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// ACK filtering (RFC 3449, section 5.2.1): a new acknowledgment replaces older ones of its
/// connection that wait before a slow link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the slow link or network, in the direction away from the node.
    pub over: String,
    /// Rate of the slow link at the network layer, or slightly less.
    pub rate: Rate,
    /// Maximum number of waiting packets, 100 by default.
    #[serde(default = "default_queue")]
    pub queue: Count<1, 1_000_000>,
}

pub(super) fn default_queue() -> Count<1, 1_000_000> {
    Count::new(100)
}

struct Filter;

impl Thinning for Filter {
    const REASON: DropReason = DropReason::new("acknowledgment filtered");

    fn superseded(&self, queue: &VecDeque<Packet>, arriving: &Packet, places: &mut Vec<usize>) {
        let Some(new) = pure(arriving) else { return };
        let older = |packet: &Packet| {
            same_acknowledgment(packet, arriving)
                && pure(packet)
                    .is_some_and(|old| sequence_difference(new.acknowledgment, old.acknowledgment) > 0)
        };
        places.extend(queue.iter().enumerate().filter(|(_, packet)| older(packet)).map(|(place, _)| place));
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"over = "two", rate = "20 kbit/s""#;
}

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&acknowledgments::REPORT];
}

impl Enhancement for Config {
    fn build(&self, name: &str, flows: Vec<ServedFlow>, _: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(ThinningStage::new(Filter, name, flows, &self.over, self.rate, self.queue.value() as usize))
    }

    fn over(&self) -> Option<&str> {
        Some(&self.over)
    }
}
