//! A link between two nodes: two directions, identical unless the return direction is given.

use bentpipe_core::{ChannelRate, Count, Fraction, Problems, Span};
use bentpipe_link::acm::budget::Sheet;
use bentpipe_link::{self as link, channel, queue};
use bentpipe_networks::RatedLink;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link between two nodes, in both directions.
///
/// ```toml
/// [[link]]
/// name = "satellite"
/// from = "a"
/// to = "b"
/// rate = "10 Mbit/s"
/// delay = "250 ms"
/// queue = { kind = "drop-tail", packets = 417 }
/// return = { rate = "1 Mbit/s", delay = "250 ms" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkPair {
    /// Name of the link, in results and messages. In a group of links, `{}` in it is replaced by
    /// the number of the link, from 1; without `{}` the number is appended.
    pub name: String,
    /// Name of the node at one end; in the presets, on the gateway's side. In a group of links,
    /// `{}` in it is replaced by the number of the link.
    pub from: String,
    /// Name of the node at the other end; in the presets, on the user's side. In a group of links,
    /// `{}` in it is replaced by the number of the link.
    pub to: String,
    /// Number of links in a group of identical links. If unset, there is a single link with its
    /// name unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count<1, 65_000>>,
    /// Rate at the network layer. With a framing, the rate of the framing's units.
    #[schemars(extend("changeable" = true))]
    pub rate: ChannelRate,
    /// Propagation delay from one node to the other, one way.
    #[schemars(extend("changeable" = true))]
    pub delay: Span,
    /// Jitter: extra delay of each packet beyond `delay`, by a distribution or a series. Default
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("changeable" = true))]
    pub jitter: Option<link::jitter::Config>,
    /// True if packets may be reordered: a packet with less extra delay overtakes others. Default
    /// false: a packet waits for those before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reorder: bool,
    /// Queue discipline in front of the link.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub queue: queue::Config,
    /// Framing: the placement of packets into the link's transmission units. Default none. With a
    /// framing, `rate` is the rate of its units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<link::framing::Config>,
    /// Errors on the link, which corrupt packets, or units of the framing. Default none.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub error: channel::Config,
    /// Fraction of the rate that may be granted to Quick-Start requests (RFC 4782), 0 to 1. If
    /// unset, the link does not support Quick-Start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_start: Option<Fraction>,
    /// Maximum number of packets in the link, with those in flight, as in an emulator that stores
    /// packets during the delay (`limit` of netem). A packet that arrives at the limit is dropped.
    /// Default unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Count<1, 1_000_000_000>>,
    /// A time series of rate, delay and loss during the run. If unset, they are constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<link::series::Config>,
    /// Slots of a scheduled access over low orbits: a hole at the start of each slot, and a rate
    /// that varies around `rate`. If unset, the rate is constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<link::slots::Config>,
    /// Contacts: the intervals in which the link is open. If unset, it is always open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contacts: Option<link::contacts::Config>,
    /// Retransmission of lost frames by go-back-n, as in COP-1, in both directions: packets arrive
    /// complete and in order. `rate` is then the rate of the frames of Proximity-1, which are 12
    /// bytes longer than their packets; with a framing of kind `space` and `frame = "proximity-1"`,
    /// of frames with the framing's packet header and code. If unset, lost packets are not
    /// retransmitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<link::arq::Config>,
    /// Adaptive coding and modulation: packets are sent with the MODCOD that the signal allows.
    /// `rate` is then the symbol rate, expressed as the bit rate at one bit per symbol. In an
    /// outage packets wait in the queue. If unset, all packets are sent at `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acm: Option<link::acm::Config>,
    /// The direction from `to` to `from`, with all of its keys. In the presets, as in satellite
    /// networks, it is the return link: from the user. If unset, it is identical to the other
    /// direction.
    #[serde(default, rename = "return", skip_serializing_if = "Option::is_none")]
    pub back: Option<link::Config>,
}

impl LinkPair {
    /// Returns the direction from `from` to `to`.
    pub fn forward(&self) -> link::Config {
        link::Config {
            rate: self.rate,
            delay: self.delay,
            jitter: self.jitter.clone().unwrap_or_default(),
            reorder: self.reorder,
            queue: self.queue.clone(),
            framing: self.framing.clone().unwrap_or_default(),
            error: self.error.clone(),
            quick_start: self.quick_start,
            holds: self.holds,
            trace: self.trace.clone(),
            slots: self.slots.clone(),
            acm: self.acm.clone(),
        }
    }

    /// Returns the direction from `to` to `from`.
    pub fn back(&self) -> link::Config {
        self.back.clone().unwrap_or_else(|| self.forward())
    }

    /// Adds remarks: link budgets without margin, and contacts of a plan that are skipped.
    pub fn remark(&self, remarks: &mut Problems) {
        if let Some(contacts) = &self.contacts {
            remarks.within("contacts", |remarks| contacts.remark(remarks));
        }
        if let Some(acm) = &self.acm {
            remarks.within("acm", |remarks| acm.remark(remarks));
        }
        if let Some(acm) = self.back.as_ref().and_then(|back| back.acm.as_ref()) {
            remarks.within("return", |remarks| remarks.within("acm", |remarks| acm.remark(remarks)));
        }
    }

    /// Returns the link budgets of its directions, by the name of the direction.
    pub fn budgets(&self) -> Vec<(String, Sheet)> {
        let back = self.back.as_ref().and_then(|back| back.acm.as_ref());
        let both = [(self.name.clone(), self.acm.as_ref()), (LinkPair::back_name(&self.name), back)];
        both.into_iter().filter_map(|(name, acm)| Some((name, acm?.sheet()?))).collect()
    }

    /// Returns the ends of the direction from `from` to `to`.
    pub fn ends(&self) -> link::Ends<'_> {
        link::Ends { from: &self.from, to: &self.to }
    }

    /// Returns the ends of the direction from `to` to `from`.
    pub fn back_ends(&self) -> link::Ends<'_> {
        link::Ends { from: &self.to, to: &self.from }
    }

    /// Returns both directions as links whose rate an emulation checks.
    pub fn rated(&self) -> [RatedLink; 2] {
        let both = [(self.name.clone(), self.forward()), (LinkPair::back_name(&self.name), self.back())];
        both.map(|(name, link::Config { rate, delay, error, trace, acm, .. })| RatedLink {
            name,
            rate: *rate,
            delay,
            error,
            traced: trace.is_some() || acm.is_some() || self.contacts.is_some() || self.arq.is_some(),
        })
    }

    /// Returns the name of the direction from `to` to `from` of link `name`.
    pub fn back_name(name: &str) -> String {
        format!("{name}.return")
    }
}

impl bentpipe_scenario::Check for LinkPair {
    fn check(&self, problems: &mut Problems) {
        if self.from == self.to {
            problems
                .add("to", format!("\"{}\" is also the link's other end; allowed: another node", self.to));
        }
        self.forward().check(self.ends(), problems);
        if let Some(contacts) = &self.contacts {
            problems.within("contacts", |problems| contacts.check(&self.from, &self.to, problems));
            if self.acm.is_some() || self.back.as_ref().is_some_and(|back| back.acm.is_some()) {
                problems.add("contacts", "cannot be combined with acm; allowed: one of them");
            }
        }
        if let Some(back) = &self.back {
            problems.within("return", |problems| back.check(self.back_ends(), problems));
        }
        if self.arq.is_some() {
            for (which, link::Config { framing, acm, quick_start, reorder, .. }) in
                [("", self.forward()), ("return.", self.back())]
            {
                if let Some((key, why)) = link::arq::refused(&framing) {
                    let add = |problems: &mut Problems| {
                        problems.within("framing", |problems| problems.add(key, why))
                    };
                    return if which.is_empty() { add(problems) } else { problems.within("return", add) };
                }
                let beside =
                    [("acm", acm.is_some()), ("quick_start", quick_start.is_some()), ("reorder", reorder)];
                if let Some((key, _)) = beside.into_iter().find(|(_, set)| *set) {
                    return problems
                        .add("arq", format!("cannot be combined with {which}{key}; allowed: one of them"));
                }
            }
        }
    }
}
