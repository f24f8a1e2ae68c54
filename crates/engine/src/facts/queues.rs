//! The queues of a scenario's links and networks.

use super::hops::of_link;
use crate::scenario::{LinkPair, Scenario};
use bentpipe_core::{Dscp, Rate};
use bentpipe_stage::facts::{self, Traffic};
use serde::Serialize;

/// A queue of the network, with its service rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    /// The part that contains the queue, as named in results; for several equal parts, the
    /// network's name and the parts' noun.
    pub part: String,
    /// Rate of the link after it, in bit/s.
    pub rate_bit_s: f64,
    /// Kind and limits of the queue.
    pub queue: facts::Queue,
    /// Time to send a full queue of packets of 1500 B, in seconds; null for an unlimited queue.
    pub drains_in_s: Option<f64>,
}

/// Size of the packets that fill the queue for `drains_in_s`, in bytes.
const FULL: u32 = 1500;

/// Returns every queue, link by link and network by network.
pub(super) fn of(scenario: &Scenario) -> Vec<Queue> {
    let traffic = Traffic { bytes: FULL, dscp: Dscp::default(), run: scenario.duration };
    let mut queues = Vec::new();
    for pair in &scenario.link {
        for (forward, rate) in [(true, pair.forward().rate), (false, pair.back().rate)] {
            let name = if forward { pair.name.clone() } else { LinkPair::back_name(&pair.name) };
            queues.push(queue(name, *rate, of_link(pair, forward, traffic).queue));
        }
    }
    for (name, network) in &scenario.network {
        let parts = network.queues().into_iter();
        queues.extend(parts.map(|(part, rate, config)| {
            queue(format!("{name}.{part}"), rate, config.facts(rate, Dscp::default()))
        }));
    }
    queues
}

fn queue(part: String, rate: Rate, queue: facts::Queue) -> Queue {
    let rate_bit_s = rate.bits_per_second() as f64;
    Queue { part, rate_bit_s, drains_in_s: queue.drains_in(FULL, rate_bit_s), queue }
}
