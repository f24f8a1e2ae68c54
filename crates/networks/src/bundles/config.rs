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
/// the network is carried as a bundle to the node of the network that is nearest to the packet's
/// destination.
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
    /// The contact plan. Its nodes are nodes of the scenario. Formats are JSON, HDTN's JSON,
    /// commands of ION, comma-separated values, and TOML.
    pub plan: PlanText,
    /// True if contacts that do not end after their start are skipped, as in HDTN. False by
    /// default: a plan with such a contact is refused.
    #[serde(default)]
    pub skip_impossible: bool,
    /// Convergence layer of all contacts: `"udp"` (the default) sends each bundle as one datagram,
    /// without retransmission. `"ltp"` (RFC 5326) retransmits until the neighbour has received the
    /// bundle.
    #[serde(default)]
    pub convergence: Layer,
    /// Routing of bundles. `"contact-graph"` (CCSDS 734.3, the default) uses the contact plan.
    /// `"epidemic"`, `"spray-and-wait"` and `"prophet"` (RFC 6693) copy bundles at each contact and
    /// do not use the plan.
    #[serde(default)]
    pub routing: Method,
    /// Number of copies of a bundle with spray-and-wait routing; 8 by default.
    #[serde(default = "default_copies")]
    pub copies: Count<1, 65_536>,
    /// Lifetime of a bundle, after which it is dropped; one day by default.
    #[serde(default = "default_lifetime")]
    pub lifetime: Span,
    /// Maximum total size of the bundles that a node stores; unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Size>,
    /// Bundles that a node drops when its storage is full: the arriving bundle (`"newest"`, the
    /// default), the bundles that have been stored longest (`"oldest"`), or bundles of a lower
    /// priority than the arriving bundle (`"lowest-priority"`). Without such bundles,
    /// `"lowest-priority"` drops the arriving bundle.
    #[serde(default)]
    pub discard: Drop,
    /// Maximum size of an LTP segment, including its LTP header; 1400 B by default, at least 64 B.
    #[serde(default = "default_segment")]
    pub segment: Size,
    /// Margin of LTP timers, 1 s by default: the time allowed for transmission, queues and
    /// processing, in addition to propagation delays and closed contacts.
    #[serde(default = "default_margin")]
    pub margin: Span,
    /// Errors that corrupt datagrams on every contact; none by default.
    #[serde(default)]
    pub error: channel::Config,
    /// Intervals in which a node cannot transmit to another node although the plan has a contact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
}

/// The protocol that sends bundles over a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BundleConvergence")]
pub enum Layer {
    /// Each bundle is a UDP datagram, which is not retransmitted.
    #[default]
    Udp,
    /// Each bundle is a red block of LTP, which is retransmitted until it is complete.
    Ltp,
}

/// Bundles that a node drops when its storage is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BundleDiscard")]
pub enum Drop {
    /// The arriving bundle is dropped.
    #[default]
    Newest,
    /// The bundles that have been stored longest are dropped.
    Oldest,
    /// Bundles of a lower priority than the arriving bundle are dropped, the lowest priority first.
    /// Without such bundles, the arriving bundle is dropped.
    LowestPriority,
}

/// An interval in which one node cannot transmit to another node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContactOutage")]
pub struct Outage {
    /// Name of the node that cannot transmit.
    pub from: String,
    /// Name of the node that cannot be reached.
    pub to: String,
    /// Start of the interval, counted from the start of the run.
    pub start: Span,
    /// End of the interval, counted from the start of the run.
    pub end: Span,
    /// True if routing knows the outage in advance; false by default.
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
    /// Returns the plan without the intervals of the outages for which `wanted` returns true.
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

    /// Returns the plan of contacts that take place, and the plan that nodes use for routing.
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

    /// Returns the shortest propagation delay of the contacts from one node to another; `None` if
    /// there are no contacts.
    pub(super) fn delay(&self, from: &str, to: &str) -> Option<Span> {
        let plan = self.plan.plan();
        let ends = (plan.node(from), plan.node(to));
        let contacts =
            plan.contacts().iter().filter(|contact| (Some(contact.from), Some(contact.to)) == ends);
        contacts.map(|contact| contact.delay).min()
    }
}
