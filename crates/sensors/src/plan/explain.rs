//! A plan as a graph for readers: operators on nodes, channels between them, and costs.

use super::cost::{cost, Cost, Power};
use super::{place, Kind, Network, Placement, Plan};
use crate::query::expression::Written;
use crate::query::{Expression, Query};
use serde::Serialize;

/// A plan with its expected cost, and with that of the plan that ships everything.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The nodes, each with the one to which it sends data for the sink.
    pub nodes: Vec<Node>,
    /// The operators, each before its successors.
    pub operators: Vec<ExplainedOperator>,
    /// The stream channels.
    pub channels: Vec<Link>,
    /// Expected cost of the plan.
    pub cost: Cost,
    /// Expected cost of the plan that ships everything to the sink.
    pub shipped: Cost,
}

/// A node of the network.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The node to which it sends data for the sink; `None` for the sink.
    pub parent: Option<String>,
}

/// An operator in a form for readers.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedOperator {
    /// Its number.
    pub id: usize,
    /// Kind of the operator, in a word.
    pub kind: &'static str,
    /// The name of its node.
    pub node: String,
    /// Expressions of the operator.
    pub detail: String,
    /// Expected number of tuples a second.
    pub rows_per_s: f64,
    /// The operators that get its tuples.
    pub outputs: Vec<usize>,
}

/// A stream channel from an operator to a node.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// The operator whose tuples it carries.
    pub operator: usize,
    /// The nodes that it passes, both ends included.
    pub path: Vec<String>,
    /// Bytes of a tuple.
    pub tuple_bytes: u32,
    /// Tuples a second.
    pub rows_per_s: f64,
}

/// Describes a plan.
pub fn explained(plan: &Plan, network: &Network) -> Explained {
    let shipped = place(&plan.query, network, Placement::Sink);
    let power = Power::default();
    let operators = plan.operators.iter().enumerate().map(|(id, operator)| {
        let mut outputs: Vec<usize> = operator.outputs.iter().map(|(to, _)| *to).collect();
        outputs.dedup();
        ExplainedOperator {
            id,
            kind: word(&operator.kind),
            node: network.name(operator.node).to_owned(),
            detail: detail(plan, &operator.kind, network),
            rows_per_s: operator.rate,
            outputs,
        }
    });
    let channels = plan.channels().into_iter().map(|(place, to)| {
        let operator = &plan.operators[place];
        let path = network.path(operator.node, to);
        Link {
            operator: place,
            path: path.into_iter().map(|node| network.name(node).to_owned()).collect(),
            tuple_bytes: operator.bytes,
            rows_per_s: operator.rate,
        }
    });
    let nodes = (0..=network.sink()).map(|node| Node {
        name: network.name(node).to_owned(),
        parent: network.parents.get(node).map(|parent| network.name(*parent).to_owned()),
    });
    Explained {
        nodes: nodes.collect(),
        operators: operators.collect(),
        channels: channels.collect(),
        cost: cost(plan, network, &power),
        shipped: cost(&shipped, network, &power),
    }
}

fn word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Sample => "sample",
        Kind::Select { .. } => "select",
        Kind::Project { .. } => "project",
        Kind::Join { .. } => "join",
        Kind::Aggregate { last: false } => "partial aggregate",
        Kind::Aggregate { last: true } => "aggregate",
        Kind::Compute => "compute",
        Kind::Deliver => "deliver",
    }
}

fn detail(plan: &Plan, kind: &Kind, network: &Network) -> String {
    let query = &plan.query;
    let names = if query.sources.len() > 1 { sources(query) } else { Vec::new() };
    let text = |expression: &Expression| {
        Written { expression, sources: &names, motes: &network.motes, aggregates: &query.aggregates }
            .to_string()
    };
    let all = |conditions: &[Expression]| conditions.iter().map(text).collect::<Vec<_>>().join(" AND ");
    match kind {
        Kind::Sample => format!("every {} s", network.period.as_secs_f64()),
        Kind::Select { conditions, .. } => all(conditions),
        Kind::Project { columns } => {
            let columns: Vec<&str> = columns.iter().map(|column| column.field.name()).collect();
            columns.join(", ")
        }
        Kind::Join { conditions, .. } => all(conditions),
        Kind::Aggregate { .. } => {
            let aggregates = (0..query.aggregates.len()).map(|place| text(&Expression::Aggregate(place)));
            let aggregates = aggregates.collect::<Vec<_>>().join(", ");
            match &query.grouping {
                Some(grouping) => {
                    let by = if grouping.node.is_some() { " per node" } else { "" };
                    format!("{aggregates}{by}, in windows of {} s", grouping.size.as_secs_f64())
                }
                None => aggregates,
            }
        }
        Kind::Compute => query.items.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(", "),
        Kind::Deliver => "to the client".to_owned(),
    }
}

fn sources(query: &Query) -> Vec<String> {
    query.sources.iter().map(|source| source.alias.clone()).collect()
}
