//! Contact plans and routes through them, as JSON.

use crate::error;
use bentpipe_core::Time;
use bentpipe_dtn::contacts::{number, read, Contact, Node, ParseError, Plan};
use bentpipe_dtn::routing::contact_graph::{Bookings, Query, Route, Search};
use pyo3::prelude::*;
use serde_json::{json, Value};

/// Largest number of errors that are shown.
const SHOWN: usize = 20;

/// Returns the problems of a plan, line by line.
fn refusal(py: Python<'_>, name: &str, text: &str, wrong: &[ParseError]) -> PyErr {
    let lines = wrong.iter().take(SHOWN).map(|wrong| match wrong.line {
        0 => format!("{name}: {}", wrong.message),
        line => format!("{name}:{line}: {}", wrong.message),
    });
    let mut lines: Vec<String> = lines.collect();
    if wrong.len() > SHOWN {
        lines.push(format!("and {} more", wrong.len() - SHOWN));
    }
    if read::plan_skipping_impossible(text).is_ok() {
        lines.push(
            "--skip-impossible (in Python skip_impossible=True) skips contacts that do not end after their start"
                .to_owned(),
        );
    }
    error::input(py, &lines.join("\n"))
}

/// Returns a node as the formats give it: a number if possible.
fn named(plan: &Plan, node: Node) -> Value {
    let name = plan.name(node);
    name.parse::<u64>().map_or_else(|_| json!(name), |number| json!(number))
}

fn described(plan: &Plan, contact: &Contact) -> Value {
    json!({
        "id": contact.id,
        "src": named(plan, contact.from),
        "dst": named(plan, contact.to),
        "start": contact.start.as_secs_f64(),
        "end": contact.end.as_secs_f64(),
        "rate_bps": contact.rate.bits_per_second(),
        "owlt_s": contact.delay.as_secs_f64(),
    })
}

/// A contact plan that has been read.
#[pyclass(frozen, module = "bentpipe")]
pub struct ContactPlan {
    plan: Plan,
    skipped: usize,
}

#[pymethods]
impl ContactPlan {
    /// Reads a plan, or raises its errors, line by line. `name` is for messages.
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str, skip_impossible: bool) -> PyResult<ContactPlan> {
        let read = match skip_impossible {
            true => read::plan_skipping_impossible(text),
            false => read::plan(text).map(|plan| (plan, Vec::new())),
        };
        let (plan, skipped) = read.map_err(|wrong| refusal(py, name, text, &wrong))?;
        Ok(ContactPlan { plan, skipped: skipped.len() })
    }

    /// Returns the nodes, contacts and number of skipped contacts of the plan.
    fn describe(&self) -> String {
        let plan = &self.plan;
        let contacts: Vec<Value> = plan.contacts().iter().map(|contact| described(plan, contact)).collect();
        let nodes: Vec<Value> = (0..plan.nodes().len() as u32).map(|node| named(plan, Node(node))).collect();
        json!({"nodes": nodes, "contacts": contacts, "skipped": self.skipped}).to_string()
    }

    /// Returns the best routes of a bundle through the plan, the best first; `at` is decimal
    /// seconds.
    #[allow(clippy::too_many_arguments, reason = "they are the arguments of the Python function")]
    fn routes(
        &self,
        py: Python<'_>,
        from: &str,
        to: &str,
        at: &str,
        bytes: u64,
        most: usize,
        without: Vec<String>,
    ) -> PyResult<String> {
        let plan = &self.plan;
        let node = |what: &str, node: &str| {
            // 01 is the node 1.
            let plain = node
                .trim()
                .parse::<u64>()
                .map_or_else(|_| node.trim().to_owned(), |number| number.to_string());
            plan.node(&plain).ok_or_else(|| {
                let known = plan.nodes().join(", ");
                error::input(py, &format!("unknown node \"{node}\" in {what}; allowed: {known}"))
            })
        };
        let at = number::nanoseconds("--at", at).map_err(|said| error::input(py, &said))?;
        let (from, to) = (node("--from", from)?, node("--to", to)?);
        let without = without.iter().map(|name| node("--without", name)).collect::<PyResult<Vec<Node>>>()?;
        let at = Time::from_nanos(at);
        if from == to {
            // The bundle is already at its destination, without a contact.
            let here = json!({
                "contacts": [],
                "arrival": at.as_secs_f64(),
                "terminates": null,
                "next_hop": named(plan, to),
            });
            return Ok(json!([here]).to_string());
        }
        let query = Query { excluded_nodes: &without, ..Query::new(from, to, at, bytes) };
        let bookings = Bookings::new(plan);
        let routes = py.detach(|| match most {
            1 => Search::default().best(plan, &query, &bookings).into_iter().collect(),
            most => Search::default().routes(plan, &query, &bookings, most),
        });
        Ok(Value::from_iter(routes.iter().map(|route| passed(plan, route))).to_string())
    }
}

fn passed(plan: &Plan, route: &Route) -> Value {
    let contacts = route.transmissions.iter().map(|transmission| {
        let mut contact = described(plan, &plan.contacts()[transmission.contact as usize]);
        contact["first_bit"] = json!(transmission.first_bit.as_secs_f64());
        contact["last_bit"] = json!(transmission.last_bit.as_secs_f64());
        contact["arrival"] = json!(transmission.arrival.as_secs_f64());
        contact
    });
    json!({
        "contacts": contacts.collect::<Vec<_>>(),
        "arrival": route.arrival.as_secs_f64(),
        "terminates": route.ends.as_secs_f64(),
        "next_hop": named(plan, route.entry),
    })
}
