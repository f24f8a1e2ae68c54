//! ACK decimation (RFC 3449, section 5.2.2): at most `keep` acknowledgments of each connection wait
//! before a slow link. If more arrive, the oldest ones are dropped.
//!
//! This corresponds to small queues per connection that drop from the front, as the section
//! recommends. The newest acknowledgments, which have the most information, are kept. Unlike
//! [`super::ack_filter`], this mechanism also drops duplicates and selective acknowledgments.
//! Deviation: acknowledgments keep their position among the other packets, whereas queues per
//! connection would be served in turn.
//!
//! The proxy has its own queue ([`super::thinning`]). `rate` should be the rate of the slow link,
//! or slightly less.

use super::ack_filter::default_queue;
use super::acknowledgments::{self, acknowledges, same_acknowledgment};
use super::thinning::{Thinning, ThinningStage};
use super::{Enhancement, RealForm};
use crate::node::service::{ServedFlow, Supply};
use bentpipe_core::{Count, Rate, Sample, Table, Tables};
use bentpipe_stage::{DropReason, Packet, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// ACK decimation (RFC 3449, section 5.2.2): keeps only the newest acknowledgments of each
/// connection before a slow link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the slow link or network, in the direction away from the node.
    pub over: String,
    /// Rate of the slow link at the network layer, or slightly less.
    pub rate: Rate,
    /// Maximum number of waiting acknowledgments per connection, 1 by default.
    #[serde(default = "default_keep")]
    pub keep: Count<1, 1_000_000>,
    /// Maximum number of waiting packets in total, 100 by default.
    #[serde(default = "default_queue")]
    pub queue: Count<1, 1_000_000>,
}

fn default_keep() -> Count<1, 1_000_000> {
    Count::new(1)
}

struct Decimation {
    keep: usize,
}

impl Thinning for Decimation {
    const REASON: DropReason = DropReason::new("acknowledgment decimated");

    fn superseded(&self, queue: &VecDeque<Packet>, arriving: &Packet, places: &mut Vec<usize>) {
        let waits = |packet: &Packet| same_acknowledgment(packet, arriving) && acknowledges(packet);
        places.extend(queue.iter().enumerate().filter(|(_, packet)| waits(packet)).map(|(place, _)| place));
        // The arriving acknowledgment is one of the `keep` that stay.
        places.truncate((places.len() + 1).saturating_sub(self.keep));
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"over = "two", rate = "20 kbit/s", keep = 3"#;
}

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&acknowledgments::REPORT];
}

impl Enhancement for Config {
    fn build(&self, name: &str, flows: Vec<ServedFlow>, _: &mut dyn Supply) -> Box<dyn Stage> {
        let decimation = Decimation { keep: self.keep.value() as usize };
        Box::new(ThinningStage::new(
            decimation,
            name,
            flows,
            &self.over,
            self.rate,
            self.queue.value() as usize,
        ))
    }

    fn over(&self) -> Option<&str> {
        Some(&self.over)
    }

    fn real_form(&self) -> Option<RealForm<'_>> {
        Some(RealForm::Frames)
    }
}
