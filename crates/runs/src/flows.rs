//! What is known of each flow besides what its endpoints report.

use bentpipe_core::{Report, Time};
use bentpipe_engine::scenario::{Flow, Scenario};
use bentpipe_models::transport;
use bentpipe_results::{FlowColumn, FlowColumns, FlowValues};

/// The columns that come first in `flows.parquet`.
pub fn columns(scenario: &Scenario, report: &Report, end: Time) -> FlowColumns {
    let flows = &scenario.flow;
    let text = |name: &str, about: &str, value: &dyn Fn(&Flow) -> Option<String>| FlowColumn {
        name: name.to_owned(),
        unit: "1".to_owned(),
        about: about.to_owned(),
        values: FlowValues::Text(flows.iter().map(value).collect()),
    };
    let goodput = flows.iter().map(|flow| goodput(flow, report, end)).collect();
    FlowColumns {
        flows: flows.iter().map(|flow| flow.name.clone()).collect(),
        columns: vec![
            text("from", "node of the source", &|flow| Some(flow.from.clone())),
            text("to", "node of the destination", &|flow| Some(flow.to.clone())),
            text("app", "application", &|flow| Some(flow.app.kind().to_owned())),
            text("transport", "transport protocol", &|flow| Some(flow.transport.kind().to_owned())),
            text("congestion", "congestion control", &|flow| match &flow.transport {
                transport::Config::Tcp(config) => Some(config.congestion.clone()),
                transport::Config::Udp(_) => None,
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

fn goodput(flow: &Flow, report: &Report, end: Time) -> f64 {
    let source = |column| report.value("flow_source", &flow.name, column);
    let destination = |column| report.value("flow_destination", &flow.name, column);
    let Some(start) = source("start") else { return f64::NAN };
    let until = match (source("completed"), destination("last_delivery")) {
        (Some(_), Some(last)) => last,
        _ => end.as_secs_f64(),
    };
    let bytes = destination("delivered_bytes").unwrap_or(0.0);
    if until > start {
        bytes * 8.0 / (until - start)
    } else {
        f64::NAN
    }
}
