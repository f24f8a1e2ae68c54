//! NACK-oriented reliable multicast (NORM, RFC 5740) over UDP: segments at a fixed rate, and repair
//! of the segments that receivers report as missing.
//!
//! The [`sender`] sends the application's data once, in segments, to all receivers. A [`receiver`]
//! that has missed segments waits for the end of their block, then for a random time ([`backoff`]),
//! and then requests them by a NACK. The sender collects requests, and retransmits each requested
//! segment once for all receivers. [`endpoint`] is the stage.
//!
//! With R receivers that each lose a packet with probability p, independently, a segment is
//! transmitted
//!
//! ```text
//! E = sum over k >= 0 of 1 - (1 - p^k)^R
//! ```
//!
//! times on average: transmission k + 1 takes place unless all receivers have received one of the
//! first k (D. Towsley, J. Kurose, S. Pingali, "A Comparison of Sender-Initiated and
//! Receiver-Initiated Reliable Multicast Protocols", 1997).
//!
//! **Timers**, in units of the group round-trip time GRTT, with the backoff factor K (RFC 5401,
//! section 3.2; RFC 5740, sections 5.3 and 5.4; from memory):
//!
//! | timer | length |
//! | --- | --- |
//! | backoff of a receiver before its NACK | random, up to K GRTT |
//! | holdoff of a receiver after its NACK, or after a suppressed one | (K + 2) GRTT |
//! | aggregation of NACKs by the sender, from the first NACK on | (K + 1) GRTT |
//! | holdoff of the sender: a segment repaired less than this ago is not repaired again | 1 GRTT |
//! | time between two advertisements of requests | at least 1 GRTT |
//! | time between two flushes | 2 GRTT |
//!
//! **Suppression.** NACKs are unicast, since the terminals of a satellite network cannot hear each
//! other. The sender therefore advertises the collected requests to all receivers:
//! NORM_CMD(REPAIR_ADV). A receiver in backoff sends no NACK if the advertisement has all segments
//! that it misses.
//!
//! **End.** When the sender has nothing to send, it sends NORM_CMD(FLUSH) up to `robust` times. A
//! flush reveals the loss of the last segments. There are no positive acknowledgments, so a
//! receiver that hears none of the flushes remains incomplete.
//!
//! Deviations: the rate is fixed, without the congestion control of RFC 5740, section 5.5.2. GRTT
//! is a key; the sender does not measure it. Repair retransmits segments and has no parity. The
//! segments of a flow are one object with consecutive numbers, and receivers have joined before it
//! starts. An idle receiver does not send NACKs on its own; a segment or a command triggers them.

pub mod backoff;
pub mod endpoint;
pub mod header;
pub mod ranges;
pub mod receiver;
pub mod sender;

pub use endpoint::Endpoint;

use super::{names, udp, EndpointParts, Packets, Supply, Transport};
use crate::app::Workload;
use crate::datagrams::{self, Probes};
use bentpipe_core::{Count, Problems, Rate, Sample, Span, Table, Tables};
use bentpipe_stage::Stage;
use endpoint::{REPORT, TRACE};
use header::DATA_HEADER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// NACK-oriented reliable multicast (NORM, RFC 5740): segments at a fixed rate, and repair of those
/// that receivers report as missing. Also carries flows with a single receiver.
///
/// ```toml
/// transport = { kind = "norm", rate = "2 Mbit/s", grtt = "600 ms" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate at which the source sends packets, at the network layer and with repairs.
    pub rate: Rate,
    /// Payload of a full segment in bytes. Default 1400.
    #[serde(default = "segment_size")]
    pub segment_size: Count<1, 65_000>,
    /// Group round-trip time (GRTT): the maximum time from the source to a receiver and back. It is
    /// the unit of all timers; longer than 0 s. Default 500 ms.
    #[serde(default = "grtt")]
    pub grtt: Span,
    /// Backoff factor K: a receiver waits for a random time of up to K GRTT before it sends a NACK.
    /// Default 4.
    #[serde(default = "backoff")]
    pub backoff: Count<0, 15>,
    /// Estimated number of receivers. For a larger group, fewer receivers draw a short backoff.
    /// Default 10 000.
    #[serde(default = "group_size")]
    pub group_size: Count<1, 500_000_000>,
    /// Number of segments in a block. A receiver requests the missing segments of a block when a
    /// later block begins. Default 64.
    #[serde(default = "block")]
    pub block: Count<1, 255>,
    /// Number of flushes at the end, and in a pause of the application. Default 20.
    #[serde(default = "robust")]
    pub robust: Count<1, 1000>,
}

fn segment_size() -> Count<1, 65_000> {
    Count::new(1400)
}

fn grtt() -> Span {
    Span::from_millis(500)
}

fn backoff() -> Count<0, 15> {
    Count::new(4)
}

fn group_size() -> Count<1, 500_000_000> {
    Count::new(10_000)
}

fn block() -> Count<1, 255> {
    Count::new(64)
}

fn robust() -> Count<1, 1000> {
    Count::new(20)
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"rate = "1 Mbit/s", segment_size = 1000, grtt = "300 ms", backoff = 3, group_size = 100, block = 16, robust = 5"#;
}

impl Config {
    /// Returns the timer of this many group round-trip times.
    pub(crate) fn grtts(&self, count: u64) -> Span {
        self.grtt * count
    }

    /// Returns the time from a receiver's NACK until it may send another one.
    pub(crate) fn receiver_holdoff(&self) -> Span {
        self.grtts(self.backoff.value() + 2)
    }

    /// Returns the time for which the sender collects NACKs.
    pub(crate) fn aggregation(&self) -> Span {
        self.grtts(self.backoff.value() + 1)
    }
}

impl Transport for Config {
    fn packets(&self, datagram: Option<u32>) -> Packets {
        let payload = datagram.unwrap_or(self.segment_size.value() as u32);
        let payload = payload.min(self.segment_size.value() as u32);
        Packets { payload, size: payload + udp::HEADER + DATA_HEADER, answer: 0, responsive: false }
    }

    fn build(&self, parts: EndpointParts, supply: &mut dyn Supply) -> Box<dyn Stage> {
        let EndpointParts { site, app, transactions, measures, stream, .. } = parts;
        let probes = Probes::of(&site, Some(&TRACE), (transactions, measures), supply);
        let streams = [stream, supply.stream(&names::backoff(&names::end(&site.name, site.end)))];
        Box::new(Endpoint::new(site, self, app, streams, probes))
    }

    fn multicast(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn max_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn largest_packet(&self) -> Option<(u64, String)> {
        let (segment, headers) = (self.segment_size.value(), u64::from(udp::HEADER + DATA_HEADER));
        Some((segment + headers, format!("{segment} + {headers}")))
    }

    fn mismatch(&self, kind: &str, app: &dyn Workload) -> Option<String> {
        if app.writes() {
            return Some(super::needs_udp(kind));
        }
        app.has_transactions().then(|| {
            format!(
                "\"{kind}\" needs a transport with data in both directions, such as tcp; allowed over norm: applications \
                 whose source alone sends, such as bulk and cbr"
            )
        })
    }

    fn check(&self, problems: &mut Problems) {
        if self.grtt == Span::ZERO {
            problems.add("grtt", "must be longer than 0 s");
        }
    }
}

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&datagrams::TRACE, &TRACE];
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}
