//! Configuration of one direction of a link, and its checks.

use super::acm::{self, signal::Columns};
use super::{framing, jitter, series, slots};
use crate::{channel, queue};
use bentpipe_core::{ChannelRate, Count, Fraction, Problems, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ends of a link, which name the columns of a fade.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Name of the sending node.
    pub from: &'a str,
    /// Name of the receiving node.
    pub to: &'a str,
}

/// One direction of a link, with its own rate and delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LinkReturn")]
pub struct Config {
    /// Rate at the network layer. With a framing, the rate of the framing's units.
    #[schemars(extend("changeable" = true))]
    pub rate: ChannelRate,
    /// Propagation delay in this direction, one way.
    #[schemars(extend("changeable" = true))]
    pub delay: Span,
    /// Jitter: extra delay of each packet beyond `delay`, by a distribution or a series. Default
    /// none.
    #[serde(default, skip_serializing_if = "is_steady")]
    #[schemars(extend("changeable" = true))]
    pub jitter: jitter::Config,
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
    #[serde(default, skip_serializing_if = "is_none")]
    pub framing: framing::Config,
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
    pub trace: Option<series::Config>,
    /// Slots of a scheduled access over low orbits: a hole at the start of each slot, and a rate
    /// that varies around `rate`. If unset, the rate is constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<slots::Config>,
    /// Adaptive coding and modulation: packets are sent with the MODCOD that the signal allows.
    /// `rate` is then the symbol rate, expressed as the bit rate at one bit per symbol. In an
    /// outage packets wait in the queue. If unset, all packets are sent at `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acm: Option<acm::Config>,
}

/// Adds the problem of a rate in baud without ACM, which would give the bits per symbol.
pub fn check_symbol_rate(rate: ChannelRate, has_acm: bool, problems: &mut Problems) {
    if rate.is_symbol_rate() && !has_acm {
        problems
            .add("rate", "is a symbol rate, which needs the key acm; allowed: a rate such as \"10 Mbit/s\"");
    }
}

fn is_steady(jitter: &jitter::Config) -> bool {
    *jitter == jitter::Config::default()
}

fn is_none(framing: &framing::Config) -> bool {
    *framing == framing::Config::default()
}

impl Config {
    /// Adds the problems of this configuration of a link between these ends.
    pub fn check(&self, ends: Ends<'_>, problems: &mut Problems) {
        self.check_acm(ends, problems);
        problems.within("queue", |problems| self.queue.check(problems));
        problems.within("error", |problems| self.error.check(problems));
        problems.within("jitter", |problems| self.jitter.check(problems));
        if self.reorder && is_steady(&self.jitter) {
            problems.add("reorder", "has no effect without jitter; allowed: with jitter");
        }
        problems.within("framing", |problems| self.framing.check(None, problems));
        if let (framing::Config::Space(frames), channel::Config::Coded(errors)) = (&self.framing, &self.error)
        {
            if frames.code != errors.code {
                let (theirs, ours) = (frames.code.kind(), errors.code.kind());
                let message =
                    format!("{ours} is not the code of the framing ({theirs}); allowed: the same code");
                problems.within("error", |problems| problems.add("code", message));
            }
        }
        if let Some(trace) = &self.trace {
            problems.within("trace", |problems| trace.check(problems));
        }
        if let Some(slots) = &self.slots {
            problems.within("slots", |problems| slots.check(problems));
            for (key, given) in [("trace", self.trace.is_some()), ("acm", self.acm.is_some())] {
                if given {
                    problems.add("slots", format!("set the rate, as does {key}; allowed: one of them"));
                }
            }
        }
    }

    /// Adds the problems of the link's ACM.
    fn check_acm(&self, ends: Ends<'_>, problems: &mut Problems) {
        let Some(acm) = &self.acm else { return check_symbol_rate(self.rate, false, problems) };
        problems.within("acm", |problems| {
            acm.check_without_bursts(problems);
            acm.check(Columns { receivers: &[ends.to], feeder: ends.from, others: true }, problems);
        });
        if self.trace.as_ref().is_some_and(|trace| trace.drives("rate")) {
            problems.add(
                "trace",
                "sets the rate, which follows from the signal here; allowed: one of acm and a trace with rates",
            );
        }
    }
}
