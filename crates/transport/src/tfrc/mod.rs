//! TCP-Friendly Rate Control (RFC 5348) over UDP: datagrams at the average rate that TCP would
//! have, but smoothly.
//!
//! [`endpoint`] is the stage. The [`sender`] follows the throughput [`equation`] at the loss event
//! rate that the [`receiver`] reports once per round-trip time, from its history of [`losses`].
//! Before the first loss the rate doubles each round trip, up to twice the rate that the receiver
//! reports. Excess data of the application waits at the sender, and its delay counts from the
//! hand-over.
//!
//! Options: TFRC-SP (RFC 4828) and Quick-Start (RFC 4782, as in RFC 5634 for CCID 3): the first
//! packet requests a rate from the path, the first report returns the granted rate, and the sender
//! uses it until a report of packets sent at that rate has arrived.
//!
//! Deviations: the header has 12 bytes (sequence number, timestamp, round-trip time) and that of a
//! report 16. Losses of feedback reports are not counted. No ECN. Sequence numbers do not wrap.

pub mod config;
pub mod endpoint;
pub mod equation;
pub mod header;
pub mod losses;
pub mod receiver;
pub mod sender;

pub use config::Config;
pub use endpoint::Endpoint;

use super::{udp, EndpointParts, Packets, Supply, Transport};
use crate::app::Workload;
use crate::datagrams::{self, Probes};
use bentpipe_core::{Problems, Table, Tables};
use bentpipe_stage::Stage;
use endpoint::{DATA_HEADER, REPORT, REPORT_HEADER, TRACE};

impl Transport for Config {
    fn packets(&self, datagram: Option<u32>) -> Packets {
        let payload = datagram.unwrap_or(self.segment_size.value() as u32);
        let (size, answer) = (payload + udp::HEADER + DATA_HEADER, udp::HEADER + REPORT_HEADER);
        Packets { payload, size, answer, responsive: true }
    }

    fn build(&self, parts: EndpointParts, supply: &mut dyn Supply) -> Box<dyn Stage> {
        let EndpointParts { site, app, transactions, measures, stream, .. } = parts;
        let probes = Probes::of(&site, Some(&TRACE), (transactions, measures), supply);
        Box::new(Endpoint::new(site, self, app, stream, probes))
    }

    fn mismatch(&self, kind: &str, app: &dyn Workload) -> Option<String> {
        if app.writes() {
            return Some(super::needs_udp(kind));
        }
        app.has_transactions().then(|| {
            format!(
                "\"{kind}\" needs a reliable transport, such as tcp; allowed over tfrc: applications that tolerate losses, \
                 such as cbr and bulk"
            )
        })
    }

    fn check(&self, problems: &mut Problems) {
        super::check_quick_start(self.quick_start, problems);
    }
}

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&datagrams::TRACE, &TRACE];
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}
