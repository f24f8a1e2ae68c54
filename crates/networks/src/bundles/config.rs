//! The configuration of a delay-tolerant network.

use bentpipe_core::{Count, Sample, Size, Span, Time};
use bentpipe_dtn::contacts::{Contact, Plan};
use bentpipe_dtn::ltp;
use bentpipe_dtn::network::routing::{Keys, Method};
use bentpipe_dtn::network::{self, Convergence, Discard};
use bentpipe_link::channel;
use bentpipe_link::contacts::PlanText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A delay-tolerant network: bundle agents at the nodes of a contact plan. Every packet that enters
/// the network at one of its nodes is carried as a bundle to the node behind which its destination
/// lies.
///
/// ```toml
/// [network.space]
/// kind = "bundles"
/// plan = { file = "mars-day.csv" }
/// convergence = "ltp"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The contact plan, whose nodes are nodes of the scenario: JSON, HDTN's JSON, commands of ION,
    /// comma-separated values, or TOML.
    pub plan: PlanText,
    /// True if contacts of the plan that do not end after their start are skipped, as HDTN does.
    /// Off by default: a plan with such a contact is refused.
    #[serde(default)]
    pub skip_impossible: bool,
    /// Convergence layer of a contact: `"udp"`, a datagram per bundle that is lost or not, or
    /// `"ltp"` (RFC 5326), which retransmits until the neighbour has the bundle. UDP by default.
    #[serde(default)]
    pub convergence: Layer,
    /// Routing of bundles: by the contact plan (`"contact-graph"`, CCSDS 734.3) by default;
    /// `"epidemic"`, `"spray-and-wait"` and `"prophet"` (RFC 6693) copy bundles at meetings and use
    /// no plan.
    #[serde(default)]
    pub routing: Method,
    /// Number of copies of a bundle under spray-and-wait, 8 by default.
    #[serde(default = "default_copies")]
    pub copies: Count<1, 65_536>,
    /// Time after which a bundle is worthless and dropped. One day by default.
    #[serde(default = "default_lifetime")]
    pub lifetime: Span,
    /// Maximum number of bytes of bundles that a node stores. Unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Size>,
    /// Bundles that a node without room drops: `"newest"`, the one that arrives, by default;
    /// `"oldest"`, those stored longest; `"lowest-priority"`, those of a lower priority than the
    /// one that arrives, if any.
    #[serde(default)]
    pub discard: Drop,
    /// Largest LTP segment in bytes, headers of LTP included; 1400 B by default.
    #[serde(default = "default_segment")]
    pub segment: Size,
    /// Time that an LTP answer may take beyond light times and closed contacts, for transmission,
    /// queues and processing. 1 s by default.
    #[serde(default = "default_margin")]
    pub margin: Span,
    /// Errors that corrupt datagrams on every contact; none by default.
    #[serde(default)]
    pub error: channel::Config,
    /// Contacts or parts of them that do not take place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
}

/// The protocol by which bundles are sent over a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BundleConvergence")]
pub enum Layer {
    /// Each bundle is a UDP datagram, which is not retransmitted.
    #[default]
    Udp,
    /// A red block of LTP per bundle.
    Ltp,
}

/// Bundles that a node without room drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BundleDiscard")]
pub enum Drop {
    /// The bundle that arrives is refused.
    #[default]
    Newest,
    /// The bundles that have been stored longest are dropped.
    Oldest,
    /// Bundles of a lower priority than the one that arrives are dropped, the lowest first; if
    /// there are none, it is refused.
    LowestPriority,
}

/// An interval in which nobody transmits from one node to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContactOutage")]
pub struct Outage {
    /// Name of the node that cannot transmit.
    pub from: String,
    /// Name of the node that it cannot reach.
    pub to: String,
    /// Start of the interval, counted from the start of the run.
    pub start: Span,
    /// End of the interval, counted from the start of the run.
    pub end: Span,
    /// True if routing knows the outage in advance; off by default.
    #[serde(default)]
    pub announced: bool,
}

fn default_copies() -> Count<1, 65_536> {
    Count::new(8)
}

fn default_lifetime() -> Span {
    Span::from_secs(86_400)
}

fn default_segment() -> Size {
    Size::from_bytes(1400)
}

fn default_margin() -> Span {
    Span::from_secs(1)
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"plan = "src,dst,start,end,rate_bps,owlt_s\na,b,0,4,2000000,0.3\nb,a,1,9,2000000,0.3\na,b,6,9,2000000,0.3", convergence = "ltp", storage = "50 kB", outages = [{ from = "a", to = "b", start = "2 s", end = "3 s" }]"#;
}

impl Config {
    /// Returns the plan without the outages for which `wanted` returns true.
    fn without(&self, wanted: impl Fn(&Outage) -> bool) -> Plan {
        let plan = self.plan.plan();
        let mut contacts: Vec<Contact> = plan.contacts().to_vec();
        for outage in self.outages.iter().filter(|outage| wanted(outage)) {
            let (start, end) = (Time::ZERO + outage.start, Time::ZERO + outage.end);
            let ends = (plan.node(&outage.from), plan.node(&outage.to));
            contacts = contacts
                .into_iter()
                .flat_map(|contact| {
                    let hit = (Some(contact.from), Some(contact.to)) == ends
                        && start < contact.end
                        && end > contact.start;
                    let before = Contact { end: if hit { start } else { contact.end }, ..contact };
                    let after = Contact { start: end, ..contact };
                    [Some(before), hit.then_some(after)]
                        .into_iter()
                        .flatten()
                        .filter(|part| part.start < part.end)
                })
                .collect();
        }
        Plan::of(plan.nodes().to_vec(), contacts)
    }

    /// Returns the contacts that take place, and those by which nodes route.
    pub(super) fn plans(&self) -> [Plan; 2] {
        [self.without(|_| true), self.without(|outage| outage.announced)]
    }

    /// Returns the configuration of the agents.
    pub(super) fn agents(&self) -> network::Config {
        let config = ltp::Config { segment: self.segment.bytes(), ..ltp::Config::default() };
        network::Config {
            convergence: match self.convergence {
                Layer::Udp => Convergence::Udp,
                Layer::Ltp => Convergence::Ltp { config, margin: self.margin },
            },
            routing: self.routing.routing(&Keys { copies: self.copies.value() as u32 }),
            storage: self.storage.map_or(u64::MAX, Size::bytes),
            discard: match self.discard {
                Drop::Newest => Discard::Newest,
                Drop::Oldest => Discard::Oldest,
                Drop::LowestPriority => Discard::LowestPriority,
            },
        }
    }

    /// Returns the shortest light time between two nodes, if they have contacts.
    pub(super) fn delay(&self, from: &str, to: &str) -> Option<Span> {
        let plan = self.plan.plan();
        let ends = (plan.node(from), plan.node(to));
        let contacts =
            plan.contacts().iter().filter(|contact| (Some(contact.from), Some(contact.to)) == ends);
        contacts.map(|contact| contact.delay).min()
    }
}
