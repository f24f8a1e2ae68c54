//! All tables that runs write, from which reference pages and the names allowed in `record.traces`
//! are generated.

use bentpipe_core::Table;
use bentpipe_link as link;
use bentpipe_link::channel::effect;
use bentpipe_networks::dama::{ncc, terminal, waits};
use bentpipe_networks::node::service::{bridge, relay};
use bentpipe_networks::node::{edge, proxy};
use bentpipe_networks::wifi;
use bentpipe_networks::{atm, bundles, constellation, multilink};
use bentpipe_transport::{self as transport, app};
use bentpipe_transport::{details, flow, hosting};
use bentpipe_voice::recognised;
use std::sync::LazyLock;

/// Traces, written during a run.
pub static TRACES: LazyLock<Vec<&'static Table>> = LazyLock::new(|| {
    let others = [
        &hosting::TRACE,
        &link::TRACE,
        &link::acm::TRACE,
        &terminal::TRACE,
        &waits::TRACE,
        &ncc::TRACE,
        &constellation::HANDOVER,
        &constellation::PATH,
        &multilink::SELECTION,
        &wifi::counters::TRACE,
    ];
    distinct(transport::Config::traces().chain(app::Config::traces()).chain(others))
});

/// Reports, written at the end of a run.
pub static REPORTS: LazyLock<Vec<&'static Table>> = LazyLock::new(|| {
    let of_flows =
        [&flow::SOURCE, &flow::DESTINATION, &details::FLOW, &details::CLASS, &hosting::TRANSACTIONS];
    let others = [
        &link::REPORT,
        &link::acm::REPORT,
        &link::arq::REPORT,
        &effect::REPORT,
        &terminal::REPORT,
        &ncc::REPORT,
        &constellation::FLOW,
        &constellation::SITE,
        &atm::connection::CONNECTION,
        &atm::leg::LEG,
        &wifi::counters::REPORT,
        &bundles::REPORT,
        &bundles::HOPS,
        &bundles::FLOW,
        &edge::REPORT,
        &proxy::split::REPORT,
        &proxy::acknowledgments::REPORT,
        &proxy::snoop::REPORT,
        &relay::REPORT,
        &bridge::REPORT,
        &recognised::STREAMS,
    ];
    let chosen = transport::Config::reports().chain(app::Config::reports());
    distinct(of_flows.into_iter().chain(chosen).chain(others))
});

/// Returns each table once: several transports or applications may write rows of the same.
fn distinct(tables: impl Iterator<Item = &'static Table>) -> Vec<&'static Table> {
    let mut distinct: Vec<&'static Table> = Vec::new();
    for table in tables {
        if !distinct.iter().any(|known| std::ptr::eq(*known, table)) {
            distinct.push(table);
        }
    }
    distinct
}
