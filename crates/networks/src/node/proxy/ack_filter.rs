//! ACK filtering (RFC 3449, section 5.2.1): because acknowledgments are cumulative, an
//! acknowledgment that arrives before a slow link replaces waiting older acknowledgments of its
//! connection.
//!
//! Only acknowledgments without further information are removed: they have a lower number, no data,
//! no selective acknowledgments and no flags. Duplicate acknowledgments have equal numbers and are
//! all kept, so fast retransmit works. As in the section, the newest acknowledgment is appended to
//! the queue, so it overtakes no packet.
//!
//! The proxy has its own queue ([`super::thinning`]). `rate` should be the rate of the slow link,
//! or slightly less. Packets of other flows over this link do not pass through the queue.
//!
//! The sender receives fewer acknowledgments, each for more data. Its bursts become larger, and a
//! congestion window that counts acknowledgments grows more slowly (section 5.2.1).
//! [`super::ack_reconstruction`] after the link fixes both effects.

use super::acknowledgments::{self, pure, same_acknowledgment, sequence_difference};
use super::thinning::{Thinning, ThinningStage};
use super::{Enhancement, RealForm};
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

    fn real_form(&self) -> Option<RealForm<'_>> {
        Some(RealForm::Frames)
    }
}
