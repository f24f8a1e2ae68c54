//! The list of all tables that runs write. The reference pages and the allowed values of
//! `record.traces` are generated from this list. Each model lists its own tables ([`Tables`]).

use bentpipe_core::{Table, Tables};
use bentpipe_link as link;
use bentpipe_networks::node::edge;
use bentpipe_networks::node::proxy::Mechanism;
use bentpipe_networks::node::service::Role;
use bentpipe_networks::{multicast, multilink, NetworkKind};
use bentpipe_transport::hosting::Site;
use bentpipe_transport::{self as transport, app};
use bentpipe_voice::recognised::Recogniser;
use std::sync::LazyLock;

/// Traces, written during a run.
pub static TRACES: LazyLock<Vec<&'static Table>> = LazyLock::new(|| {
    let of_flows = transport::Config::traces().chain(app::Config::traces()).chain(of(Site::TRACES));
    let of_nodes = of(edge::Rule::TRACES).chain(Mechanism::traces()).chain(Role::traces());
    distinct(
        of_flows
            .chain(of(link::Config::TRACES))
            .chain(NetworkKind::traces())
            .chain(of(multilink::Config::TRACES))
            .chain(of_nodes)
            .chain(of(Recogniser::TRACES)),
    )
});

/// Reports, written at the end of a run.
pub static REPORTS: LazyLock<Vec<&'static Table>> = LazyLock::new(|| {
    let of_flows = of(Site::REPORTS).chain(transport::Config::reports()).chain(app::Config::reports());
    let of_nodes = of(edge::Rule::REPORTS).chain(Mechanism::reports()).chain(Role::reports());
    distinct(
        of_flows
            .chain(of(link::Config::REPORTS))
            .chain(NetworkKind::reports())
            .chain(of(multilink::Config::REPORTS))
            .chain(of(multicast::Groups::REPORTS))
            .chain(of_nodes)
            .chain(of(Recogniser::REPORTS)),
    )
});

fn of(tables: &'static [&'static Table]) -> impl Iterator<Item = &'static Table> {
    tables.iter().copied()
}

/// Returns each table once. Several transports or applications may list the same table.
fn distinct(tables: impl Iterator<Item = &'static Table>) -> Vec<&'static Table> {
    let mut distinct: Vec<&'static Table> = Vec::new();
    for table in tables {
        if !distinct.iter().any(|known| std::ptr::eq(*known, table)) {
            distinct.push(table);
        }
    }
    distinct
}
