//! A readable description of a plan: operators on nodes, channels between them, and costs.

use super::cost::{cost, Cost, Power};
use super::{place, Kind, Network, Placement, Plan};
use crate::query::expression::Written;
use crate::query::{Expression, Query};
use serde::Serialize;

/// The description of a plan. It includes the expected cost of the plan, and for comparison the
/// cost of the plan with all operators at the sink.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The nodes with their parents.
    pub nodes: Vec<Node>,
    /// The operators. Each operator precedes its successors.
    pub operators: Vec<ExplainedOperator>,
    /// The stream channels.
    pub channels: Vec<Link>,
    /// Expected cost of the plan.
    pub cost: Cost,
    /// Expected cost of the plan with all operators at the sink.
    pub shipped: Cost,
}

/// A node of the network.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// The next node on the path to the sink; `None` for the sink.
    pub parent: Option<String>,
}

/// The description of an operator.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedOperator {
    /// Index of the operator.
    pub id: usize,
    /// Name of the operator's kind.
    pub kind: &'static str,
    /// Name of the operator's node.
    pub node: String,
    /// The operator's expressions or parameters.
    pub detail: String,
    /// Expected number of tuples per second.
    pub rows_per_s: f64,
    /// Indices of the operators that receive the tuples.
    pub outputs: Vec<usize>,
}

/// A stream channel from an operator to a node.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Index of the operator that sends the tuples.
    pub operator: usize,
    /// The nodes on the path, including both ends.
    pub path: Vec<String>,
    /// Length of a tuple in bytes.
    pub tuple_bytes: u32,
    /// Expected number of tuples per second.
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
    let channels = plan.channels().into_iter().map(|(id, to)| {
        let operator = &plan.operators[id];
        let path = network.path(operator.node, to);
        Link {
            operator: id,
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
            let aggregates = (0..query.aggregates.len()).map(|index| text(&Expression::Aggregate(index)));
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
