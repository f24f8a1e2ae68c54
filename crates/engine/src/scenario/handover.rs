//! Multilinks, whose links carry traffic one at a time, and the handovers between them.

use super::Scenario;
use bentpipe_core::{Span, Time};
use bentpipe_networks::fate::Fate;
use bentpipe_networks::multilink::policy::Decision;
use bentpipe_networks::multilink::{self, Direction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A handover: from a given time on, packets use another link of a `[[multilink]]`, or, with an
/// interruption, the same link after it.
///
/// ```toml
/// [[handover]]
/// at = "20 s"
/// to = "wired"
/// interruption = "500 ms"
/// packets = "lose"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// Name of the multilink. Optional if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multilink: Option<String>,
    /// Time at which the handover starts. It precedes all other events of the multilink at that
    /// time, except arrivals.
    pub at: Span,
    /// Name of the link to use from then on.
    pub to: String,
    /// Directions of the handover: `"both"` (the default), or one of them.
    #[serde(default)]
    pub direction: Direction,
    /// Interruption: time without a link to send over. If unset, as configured for the multilink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interruption: Option<Span>,
    /// Overlap: time for which the old link continues to send its waiting packets. If unset, as
    /// configured for the multilink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Span>,
    /// Treatment of the affected packets. If unset, as configured for the multilink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<Fate>,
}

impl Handover {
    pub(crate) fn how(&self, multilink: &multilink::Config) -> multilink::Handover {
        let default = multilink.handover;
        multilink::Handover {
            interruption: self.interruption.unwrap_or(default.interruption),
            overlap: self.overlap.unwrap_or(default.overlap),
            packets: self.packets.unwrap_or(default.packets),
        }
    }
}

impl Scenario {
    /// Returns the handovers planned for a multilink, in order of time.
    pub(crate) fn schedule_of(&self, multilink: &multilink::Config) -> Vec<(Time, Decision)> {
        let planned = self.planned(multilink).into_iter();
        let orders = planned.filter_map(|(_, handover)| {
            let to = multilink.links.iter().position(|link| *link == handover.to)?;
            let decision = Decision { to, direction: handover.direction, handover: handover.how(multilink) };
            Some((Time::ZERO + handover.at, decision))
        });
        orders.collect()
    }

    /// Returns the handovers of a multilink in order of time, with their indices in the file.
    pub(crate) fn planned(&self, multilink: &multilink::Config) -> Vec<(usize, &Handover)> {
        let only = self.multilink.len() == 1;
        let mine = |handover: &Handover| match &handover.multilink {
            Some(name) => *name == multilink.name,
            None => only,
        };
        let mut planned: Vec<_> =
            self.handover.iter().enumerate().filter(|(_, handover)| mine(handover)).collect();
        planned.sort_by_key(|(_, handover)| handover.at);
        planned
    }

    /// Returns the multilink to which a link belongs, and the link's index there.
    pub(crate) fn multilink_of(&self, link: &str) -> Option<(&multilink::Config, usize)> {
        self.multilink.iter().find_map(|multilink| {
            multilink.links.iter().position(|name| name == link).map(|place| (multilink, place))
        })
    }
}
