//! The rows of the flows: each flow in each of its directions, and each leg of a flow that proxies
//! split.
//!
//! The ends of a flow and the proxies on its path report separately. This module joins the sender
//! and the receiver of a leg into the row of that leg, and the legs into the row of the whole path.

use crate::scenario::{Flow, Scenario};
use crate::splits;
use bentpipe_congestion::label;
use bentpipe_core::{FlowId, Report, Time};
use bentpipe_networks::multicast;
use bentpipe_networks::node::proxy;
use bentpipe_networks::Classes;
use bentpipe_outcome::{FlowColumn, FlowColumns, FlowValues};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::Totals;
use bentpipe_transport::app::{self, End};
use bentpipe_transport::{details, flow, names};
use std::collections::BTreeMap;

/// A connection in one direction, with the names under which its ends report.
#[derive(Clone)]
struct Connection<'a> {
    leg: Leg,
    from: &'a str,
    to: &'a str,
    sender: String,
    receiver: String,
}

/// A row of `flows.parquet`, with its connections in the order of the path.
struct Row<'a> {
    name: String,
    flow: &'a Flow,
    id: FlowId,
    is_back: bool,
    connections: Vec<Connection<'a>>,
    /// The number of a leg on its path, from 1.
    leg: Option<u64>,
}

/// Returns true if a sender of this name has reported.
fn has_sent(report: &Report, name: &str) -> bool {
    report.value("flow_source", name, "start").is_some()
}

impl Row<'_> {
    fn from(&self) -> &str {
        self.connections[0].from
    }

    fn to(&self) -> &str {
        self.connections[self.connections.len() - 1].to
    }

    /// Returns true if the network copied the packets for several receivers.
    fn is_copied(&self) -> bool {
        self.flow.multicast.is_some() && !self.is_back
    }
}

/// Returns the completion time of a transfer to one of several receivers: the time of its last
/// delivery, if the source is done and this receiver has everything.
fn completed_copy(report: &Report, one: &Connection<'_>) -> Option<f64> {
    let source = |column| report.value(flow::SOURCE.name, &one.sender, column);
    let destination = |column| report.value(flow::DESTINATION.name, &one.receiver, column);
    source("completed")?;
    destination("last_delivery").filter(|_| destination("delivered_bytes") >= source("sent_bytes"))
}

/// Returns the report with joined legs, and the first columns of `flows.parquet`, of a run that
/// ended at `end`. With `is_real`, the ends of flows that are not modelled are sockets of the
/// kernel, and the network does not know to which flow their packets belong.
pub fn joined(
    scenario: &Scenario,
    report: &Report,
    totals: &Totals,
    end: Time,
    is_real: bool,
) -> (Report, FlowColumns) {
    let rows = rows(scenario, report);
    let report = rows.joined(report);
    let columns = rows.columns(&report, totals, end, is_real);
    (report, columns)
}

/// The rows of the flows of a run.
struct Rows<'a> {
    scenario: &'a Scenario,
    rows: Vec<Row<'a>>,
}

/// Returns the rows: every flow, then as NAME.reverse the flows whose destinations also sent
/// payload, then the legs of split flows, as NAME@SENDER and NAME.reverse@SENDER. SENDER is a node
/// for the first leg and a proxy for the others.
fn rows<'a>(scenario: &'a Scenario, report: &Report) -> Rows<'a> {
    let (splits, senders) = (splits(scenario), scenario.senders());
    let direction = |index: usize, is_back: bool| {
        let flow = &scenario.flow[index];
        let name = if is_back { names::reverse(&flow.name) } else { flow.name.clone() };
        let (from, to) = if is_back { (&*flow.to, &flow.from) } else { (&flow.from, &*flow.to) };
        let proxies =
            splits[index][usize::from(is_back)].iter().map(|place| (place, &scenario.proxy[*place]));
        let at = |proxy: &proxy::Config| proxy::at(&name, &proxy.name);
        let proxies: Vec<_> = proxies.filter(|(_, proxy)| has_sent(report, &at(proxy))).collect();
        let first = if is_back { Leg::BACK } else { Leg::THERE };
        // The receivers of a multicast flow have a common source.
        let sender = if is_back { name.clone() } else { scenario.flow[senders[index]].name.clone() };
        let mut connections = vec![Connection { leg: first, from, to, sender, receiver: name.clone() }];
        for (place, proxy) in proxies {
            let last = connections.last_mut().expect("there is one at the start");
            let receiver = std::mem::replace(&mut last.receiver, at(proxy));
            last.to = &proxy.node;
            let (leg, sender) = (first.beyond(*place as u16 + 1), at(proxy));
            connections.push(Connection { leg, from: &proxy.node, to, sender, receiver });
        }
        Row { name, flow, id: FlowId(index as u32), is_back, connections, leg: None }
    };
    let flows = || 0..scenario.flow.len();
    let back = flows().map(|index| direction(index, true)).filter(|row| {
        has_sent(report, &row.name) || report.value("flow_voice", &row.name, "voice_mos").is_some()
    });
    let mut rows: Vec<Row<'a>> = flows().map(|index| direction(index, false)).chain(back).collect();
    let split = rows.iter().filter(|row| row.connections.len() > 1);
    let legs = split.flat_map(|row| {
        row.connections.iter().zip(1..).map(|(connection, number)| Row {
            name: leg_name(scenario, row.flow, connection.leg),
            connections: vec![connection.clone()],
            leg: Some(number),
            ..*row
        })
    });
    let legs: Vec<Row<'a>> = legs.collect();
    rows.extend(legs);
    Rows { scenario, rows }
}

/// Returns the name of one of several legs of a flow, or of the part that a proxy sends.
fn leg_name(scenario: &Scenario, flow: &Flow, leg: Leg) -> String {
    let (name, from) = match leg.is_back() {
        true => (names::reverse(&flow.name), &*flow.to),
        false => (flow.name.clone(), &flow.from),
    };
    let proxy = usize::from(leg.proxy()).checked_sub(1).and_then(|place| scenario.proxy.get(place));
    proxy::at(&name, proxy.map_or(from, |proxy| &proxy.name))
}

impl Rows<'_> {
    /// Returns the report with a row for each leg of a split flow, from the leg's sender and
    /// receiver, and with the sums of the legs in the row of the whole path. Times of individual
    /// legs are missing in the row of the path.
    fn joined(&self, report: &Report) -> Report {
        let split = || self.rows.iter().filter(|row| row.connections.len() > 1);
        // The names under which parts of split flows were reported, each with the name of the last
        // leg, and those of multicast flows.
        let legs = self.rows.iter().filter(|row| row.leg.is_some());
        let legs: BTreeMap<&str, &str> = legs.map(|leg| (&*leg.connections[0].sender, &*leg.name)).collect();
        let mut parts: BTreeMap<&str, &str> = split()
            .flat_map(|row| {
                let last = &row.connections[row.connections.len() - 1];
                let name = legs.get(&*last.sender).copied().unwrap_or("");
                row.connections.iter().flat_map(move |one| [(&*one.sender, name), (&*one.receiver, name)])
            })
            .collect();
        let copied = self.rows.iter().filter(|row| row.is_copied());
        parts.extend(copied.map(|row| (&*row.name, &*row.name)));
        let mut joined = Report::default();
        for (table, entity, values) in report.rows() {
            match parts.get(entity.as_str()) {
                Some(_) if [flow::SOURCE.name, flow::DESTINATION.name].contains(&table.name) => {}
                // These columns are measured at the destination.
                Some(last) if table.name == details::FLOW.name => joined.row(table, last, values),
                _ => joined.row(table, entity, values),
            }
        }
        let is_joined = |row: &&Row<'_>| row.leg.is_some() || row.connections.len() > 1 || row.is_copied();
        for row in self.rows.iter().filter(is_joined) {
            for table in [&flow::SOURCE, &flow::DESTINATION] {
                let value = |one: &Connection<'_>, column| match column {
                    "completed" if row.is_copied() => completed_copy(report, one),
                    _ if table.name == flow::SOURCE.name => report.value(table.name, &one.sender, column),
                    _ => report.value(table.name, &one.receiver, column),
                };
                let values = table.columns.iter().map(|column| {
                    let legs: Vec<_> = row.connections.iter().map(|one| value(one, column.name)).collect();
                    of_legs(column.name, &legs).unwrap_or(f64::NAN)
                });
                joined.row(table, &row.name, &values.collect::<Vec<f64>>());
            }
        }
        joined
    }

    /// Returns the first columns of `flows.parquet`. The report is [joined](Self::joined).
    fn columns(&self, report: &Report, totals: &Totals, end: Time, is_real: bool) -> FlowColumns {
        let text = |name: &str, about: &str, value: &dyn Fn(&Row<'_>) -> Option<String>| FlowColumn {
            name: name.to_owned(),
            unit: "1".to_owned(),
            about: about.to_owned(),
            values: FlowValues::Text(self.rows.iter().map(value).collect()),
        };
        let whole =
            |name: &str, unit: &str, about: &str, value: &dyn Fn(&Row<'_>) -> Option<u64>| FlowColumn {
                name: name.to_owned(),
                unit: unit.to_owned(),
                about: about.to_owned(),
                values: FlowValues::Whole(
                    self.rows.iter().map(|row| value(row).map(|value| value as i64)).collect(),
                ),
            };
        let real =
            |name: &str, unit: &str, about: &str, value: &dyn Fn(&Row<'_>) -> Option<f64>| FlowColumn {
                name: name.to_owned(),
                unit: unit.to_owned(),
                about: about.to_owned(),
                values: FlowValues::Real(
                    self.rows.iter().map(|row| value(row).unwrap_or(f64::NAN)).collect(),
                ),
            };
        let classes: Vec<Classes> =
            self.scenario.network.values().filter_map(|network| network.classes()).collect();
        let mut by_leg: BTreeMap<(FlowId, Leg), u64> = BTreeMap::new();
        for (loss, held) in totals.lost.iter().filter(|(loss, _)| loss.data) {
            *by_leg.entry((loss.flow, loss.leg)).or_default() += held.packets;
        }
        let lost = |row: &Row<'_>| {
            let of =
                |connection: &Connection<'_>| by_leg.get(&(row.id, connection.leg)).copied().unwrap_or(0);
            if row.is_copied() {
                return report
                    .value(multicast::REPORT.name, &row.name, "lost_copies")
                    .map(|lost| lost as u64);
            }
            (!is_real || row.flow.is_modelled()).then(|| row.connections.iter().map(of).sum())
        };
        let loss = |row: &Row<'_>| {
            let sent = report.value("flow_source", &row.name, "sent_packets").filter(|sent| *sent > 0.0)?;
            let lost: u64 = lost(row)?;
            Some(lost as f64 / sent)
        };
        FlowColumns {
            flows: self.rows.iter().map(|row| row.name.clone()).collect(),
            legs: self.legs(totals),
            columns: vec![
                text("from", "node of the source; of a leg, of its sender", &|row| Some(row.from().to_owned())),
                text("to", "node of the destination; of a leg, of its receiver", &|row| Some(row.to().to_owned())),
                text("group", "group of flows to which it belongs, if any, with what follows the name of the flow", &|row| {
                    let further = row.name.strip_prefix(&row.flow.name).unwrap_or_default();
                    row.flow.group.as_ref().map(|group| format!("{group}{further}"))
                }),
                whole("leg", "1", "number of a leg on the path of a flow that proxies split, from 1; null for a whole path", &|row| row.leg),
                whole("dscp", "1", "differentiated services code point of the packets", &|row| {
                    Some(row.flow.dscp.value().into())
                }),
                text("class", "traffic class at the source's terminal, if its network has classes", &|row| {
                    let own = classes.iter().find(|classes| classes.nodes.contains(row.from()))?;
                    own.by_dscp.get(usize::from(row.flow.dscp.value())).cloned()
                }),
                text("app", "application", &|row| Some(row.flow.app.kind().to_owned())),
                text("transport", "transport protocol", &|row| Some(row.flow.transport.kind().to_owned())),
                text("congestion", "congestion control; none for a proxy", &|row| {
                    let is_end = row.connections[0].leg.proxy() == 0;
                    let control = row.flow.transport.control().filter(|_| is_end);
                    control.map(|control| label(control.name).to_owned())
                }),
                real(
                    "goodput",
                    "bit/s",
                    "payload delivered in order, over the time from the start to the last delivery of a flow that \
                     ended, to the end of the run for others",
                    &|row| goodput(&row.name, report, end),
                ),
                whole(
                    "lost_packets",
                    "packets",
                    "data packets of this direction that the network dropped or corrupted; null for flows of real hosts",
                    &lost,
                ),
                real("loss", "1", "lost_packets over sent_packets", &loss),
                whole(
                    "started",
                    "1",
                    "pages, files, mails, bulk transfers of a given size or calls that began; null for other flows",
                    &|row| tasks(row, report).map(|(started, _)| started),
                ),
                whole(
                    "finished",
                    "1",
                    "tasks of `started` that are complete; a call is complete if it was answered and, in a voice flow, heard",
                    &|row| tasks(row, report).map(|(_, finished)| finished),
                ),
                whole(
                    "unfinished",
                    "1",
                    "tasks of `started` that were aborted, failed, or were incomplete at the end of the run",
                    &|row| tasks(row, report).map(|(started, finished)| started.saturating_sub(finished)),
                ),
            ],
        }
    }

    /// Returns the rows to which lost packets belong, by the leg of the loss.
    fn legs(&self, totals: &Totals) -> BTreeMap<(FlowId, Leg), String> {
        // A packet to several receivers belongs to the group.
        let single = self.rows.iter().filter(|row| row.connections.len() == 1 && !row.is_copied());
        let mut found: BTreeMap<_, _> =
            single.map(|row| ((row.id, row.connections[0].leg), row.name.clone())).collect();
        for loss in totals.lost.keys() {
            let Some(flow) = self.scenario.flow.get(loss.flow.0 as usize) else { continue };
            found.entry((loss.flow, loss.leg)).or_insert_with(|| match loss.leg {
                Leg::BACK => names::reverse(&flow.name),
                leg => flow.multicast.clone().unwrap_or_else(|| leg_name(self.scenario, flow, leg)),
            });
        }
        found
    }
}

/// Returns the value of a column for legs in series from their own values, or the value of a single
/// leg.
fn of_legs(column: &str, legs: &[Option<f64>]) -> Option<f64> {
    match (legs, column) {
        ([one], _) => *one,
        ([first, ..], "start" | "sent_bytes") => *first,
        ([.., last], "delivered_bytes" | "last_delivery") => *last,
        (_, "sent_packets" | "delivered_packets" | "retransmissions" | "timeouts") => {
            Some(legs.iter().flatten().sum())
        }
        // The whole path is complete when every leg is.
        (_, "completed") => legs.iter().copied().reduce(|one, other| Some(one?.max(other?))).flatten(),
        _ => None,
    }
}

/// Returns the numbers of tasks of a flow's user that were started and completed.
fn tasks(row: &Row<'_>, report: &Report) -> Option<(u64, u64)> {
    let value = |table: &str, entity: &str, column: &str| report.value(table, entity, column);
    let has_begun = value("flow_source", &row.flow.name, "start").is_some();
    let (started, finished) = match &row.flow.app {
        _ if row.leg.is_some() => return None,
        app::Config::Voice(_) => {
            let is_heard = value("flow_voice", &row.name, "voice_expected").is_some();
            (f64::from(has_begun), f64::from(has_begun && is_heard))
        }
        _ if row.is_back => return None,
        app::Config::Calls(_) => {
            let of = |column| value("calls", &names::end(&row.flow.name, End::Source), column);
            (of("attempts")?, of("answered")? + of("local")?)
        }
        app::Config::Bulk(app::bulk::Config { size: Some(_), .. }) => {
            let is_complete = value("flow_source", &row.name, "completed").is_some();
            (f64::from(has_begun), f64::from(is_complete))
        }
        _ => {
            let of = |column| value("flow_transactions", &row.name, column);
            (of("requested")?, of("transactions")?)
        }
    };
    Some((started as u64, finished as u64))
}

fn goodput(name: &str, report: &Report, end: Time) -> Option<f64> {
    let source = |column| report.value("flow_source", name, column);
    let destination = |column| report.value("flow_destination", name, column);
    let start = source("start")?;
    let until = match (source("completed"), destination("last_delivery")) {
        (Some(_), Some(last)) => last,
        _ => end.as_secs_f64(),
    };
    // A program without a report has no numbers.
    let bytes = destination("delivered_bytes")?;
    (until > start).then(|| bytes * 8.0 / (until - start))
}
