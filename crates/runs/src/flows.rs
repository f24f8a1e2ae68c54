//! What is known of each flow besides what its endpoints report.

use bentpipe_congestion::label;
use bentpipe_core::{Report, Time};
use bentpipe_engine::scenario::{Flow, Scenario};
use bentpipe_models::net::proxy;
use bentpipe_models::network::Classes;
use bentpipe_models::transport::names;
use bentpipe_results::{FlowColumn, FlowColumns, FlowValues};

/// A flow in one of its directions, or what a proxy sends of it.
struct Direction<'a> {
    /// Name of the row in the results.
    name: String,
    flow: &'a Flow,
    from: &'a str,
    to: &'a str,
    /// The proxy that sends in this direction, if one does.
    proxy: Option<&'a proxy::Config>,
}

/// Every flow, and at the end, as NAME.reverse, those whose destinations sent payload too; then, as NAME@PROXY and
/// NAME.reverse@PROXY, what proxies received of them and sent on.
fn directions<'a>(scenario: &'a Scenario, report: &Report) -> Vec<Direction<'a>> {
    let there = |flow: &'a Flow| Direction {
        name: flow.name.clone(),
        flow,
        from: &flow.from,
        to: &flow.to,
        proxy: None,
    };
    let back = |flow: &'a Flow| Direction {
        name: names::reverse(&flow.name),
        from: &flow.to,
        to: &flow.from,
        ..there(flow)
    };
    let flows = || scenario.flow.iter();
    let at = |proxy: &'a proxy::Config| {
        let sends = move |direction: Direction<'a>| Direction {
            name: proxy::at(&direction.name, &proxy.name),
            from: &proxy.node,
            proxy: Some(proxy),
            ..direction
        };
        flows().map(there).chain(flows().map(back)).map(sends)
    };
    let reported =
        |direction: &Direction<'_>| report.value("flow_source", &direction.name, "start").is_some();
    let others = flows().map(back).chain(scenario.proxy.iter().flat_map(at));
    flows().map(there).chain(others.filter(reported)).collect()
}

/// The columns that come first in `flows.parquet`.
pub fn columns(scenario: &Scenario, report: &Report, end: Time) -> FlowColumns {
    let directions = directions(scenario, report);
    let text = |name: &str, about: &str, value: &dyn Fn(&Direction<'_>) -> Option<String>| FlowColumn {
        name: name.to_owned(),
        unit: "1".to_owned(),
        about: about.to_owned(),
        values: FlowValues::Text(directions.iter().map(value).collect()),
    };
    let classes: Vec<Classes> = scenario.network.values().filter_map(|network| network.classes()).collect();
    let goodput = directions.iter().map(|direction| goodput(&direction.name, report, end)).collect();
    FlowColumns {
        flows: directions.iter().map(|direction| direction.name.clone()).collect(),
        columns: vec![
            text("from", "node of the source", &|direction| Some(direction.from.to_owned())),
            text("to", "node of the destination", &|direction| Some(direction.to.to_owned())),
            text("group", "group of flows to which it belongs, if any, with what follows the name of the flow", &|direction| {
                let further = direction.name.strip_prefix(&direction.flow.name).unwrap_or_default();
                direction.flow.group.as_ref().map(|group| format!("{group}{further}"))
            }),
            FlowColumn {
                name: "dscp".to_owned(),
                unit: "1".to_owned(),
                about: "differentiated services code point of the packets".to_owned(),
                values: FlowValues::Whole(
                    directions.iter().map(|one| Some(i64::from(one.flow.dscp.value()))).collect(),
                ),
            },
            text("class", "traffic class at the source's terminal, if its network has classes", &|direction| {
                let own = classes.iter().find(|classes| classes.nodes.contains(direction.from))?;
                own.by_dscp.get(usize::from(direction.flow.dscp.value())).cloned()
            }),
            text("app", "application", &|direction| Some(direction.flow.app.kind().to_owned())),
            text("transport", "transport protocol", &|direction| {
                Some(direction.flow.transport.kind().to_owned())
            }),
            text("congestion", "congestion control; none for a proxy", &|direction| {
                let tcp = direction.flow.transport.tcp().filter(|_| direction.proxy.is_none());
                tcp.map(|config| label(&config.congestion).to_owned())
            }),
            FlowColumn {
                name: "goodput".to_owned(),
                unit: "bit/s".to_owned(),
                about: "payload delivered in order, over the time from the start to the last delivery of a flow that \
                        ended, to the end of the run for others"
                    .to_owned(),
                values: FlowValues::Real(goodput),
            },
        ],
    }
}

fn goodput(name: &str, report: &Report, end: Time) -> f64 {
    let source = |column| report.value("flow_source", name, column);
    let destination = |column| report.value("flow_destination", name, column);
    let Some(start) = source("start") else { return f64::NAN };
    let until = match (source("completed"), destination("last_delivery")) {
        (Some(_), Some(last)) => last,
        _ => end.as_secs_f64(),
    };
    // A program that says nothing of itself has no figures.
    let Some(bytes) = destination("delivered_bytes") else { return f64::NAN };
    if until > start {
        bytes * 8.0 / (until - start)
    } else {
        f64::NAN
    }
}
