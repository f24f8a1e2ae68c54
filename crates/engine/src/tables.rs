//! All tables that runs write, from which reference pages and the names allowed in `record.traces` are
//! generated.

use bentpipe_core::Table;
use bentpipe_models::mac::dama::{ncc, terminal, waits};
use bentpipe_models::net::{access, constellation, edge, proxy};
use bentpipe_models::service::relay;
use bentpipe_models::transport::{details, flow, hosting, tcp, tfrc, udp};
use bentpipe_models::{channel::effect, link};

/// Traces, written during a run.
pub static TRACES: &[&Table] = &[
    &tcp::endpoint::TRACE,
    &tcp::endpoint::DELIVERY,
    &udp::TRACE,
    &tfrc::endpoint::TRACE,
    &hosting::TRACE,
    &link::TRACE,
    &terminal::TRACE,
    &waits::TRACE,
    &ncc::TRACE,
    &constellation::HANDOVER,
    &constellation::PATH,
    &access::SELECTION,
];

/// Reports, written at the end of a run.
pub static REPORTS: &[&Table] = &[
    &flow::SOURCE,
    &flow::DESTINATION,
    &details::FLOW,
    &details::CLASS,
    &hosting::TRANSACTIONS,
    &tcp::endpoint::CONNECTION,
    &tfrc::endpoint::REPORT,
    &link::REPORT,
    &effect::REPORT,
    &terminal::REPORT,
    &ncc::REPORT,
    &constellation::FLOW,
    &constellation::SITE,
    &edge::REPORT,
    &proxy::split::REPORT,
    &proxy::acknowledgments::REPORT,
    &proxy::snoop::REPORT,
    &relay::REPORT,
];
