//! A DiffServ edge (RFC 2475, section 2.3). It classifies the packets that leave a node for other
//! nodes, meters them, and marks or drops them.
//!
//! The rules of a node are in order, and the first rule that matches a packet applies. A rule has
//! one meter for all packets that it matches, or one meter per flow or per connection. Without a
//! meter, all packets of the rule are green. Depending on its colour, a packet gets a new code
//! point, keeps its code point, or is dropped.
//!
//! ```toml
//! [[edge.server]]
//! flow = ["files"]
//! meter = { kind = "tsw3cm", committed = "185 kbit/s", peak = "190 kbit/s" }
//! each = "connection"
//! green = "af11"
//! yellow = "af12"
//! red = "af13"
//! ```
//!
//! An edge adds no delay. Each direction of a connection is metered separately, so acknowledgments
//! are not counted together with data.

pub mod classify;
pub mod meter;

use self::classify::{Connection, Pattern, Protocol};
use self::meter::{Colour, Meter};
use bentpipe_core::{Column, Dscp, FlowId, NodeId, Problems, Report, Stream, Table, Tables, Time};
use bentpipe_stage::{DropReason, Packet};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Drop reason: the edge dropped the packet because it exceeded its profile.
pub const POLICED: DropReason = DropReason::new("beyond its profile");

/// A rule of a DiffServ edge. It matches a packet if all keys that are set match. An unset key
/// matches all packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// Names of flows. Packets of both directions match. If unset, all packets match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<String>,
    /// Names of nodes from which packets come. If unset, packets from all nodes match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// Names of nodes for which packets are destined. If unset, packets to all nodes match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Transport protocol that the rule matches. If unset, all protocols match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Code points (DSCP) that the rule matches. If unset, all code points match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<Dscp>,
    /// Meter that assigns a colour to packets. If unset, all packets are green.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<meter::Config>,
    /// Packets that share one meter: all packets of the rule (the default), each flow or each
    /// connection.
    pub each: Each,
    /// Action on green packets, which are within the profile: keep them as they are (the default),
    /// drop them, or set a code point.
    pub green: Action,
    /// Action on yellow packets, which exceed the profile slightly: keep them as they are (the
    /// default), drop them, or set a code point.
    pub yellow: Action,
    /// Action on red packets, which exceed the profile: keep them as they are (the default), drop
    /// them, or set a code point.
    pub red: Action,
}

/// The packets that share one meter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Each {
    /// One meter for all packets that the rule matches.
    #[default]
    Rule,
    /// One meter per flow and direction.
    Flow,
    /// One meter per connection and direction.
    Connection,
}

/// Action on a packet: `"keep"`, `"drop"`, or its new code point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// The packet is forwarded unchanged.
    #[default]
    Keep,
    /// The packet is dropped.
    Drop,
    /// The packet is forwarded with this code point.
    Mark(Dscp),
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Action, D::Error> {
        struct ActionVisitor;
        impl Visitor<'_> for ActionVisitor {
            type Value = Action;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"keep\", \"drop\" or a DSCP")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Action, E> {
                match text {
                    "keep" => Ok(Action::Keep),
                    "drop" => Ok(Action::Drop),
                    other => {
                        let more = |wrong: String| wrong.replace("allowed:", "allowed: keep, drop,");
                        other.parse().map(Action::Mark).map_err(|wrong| E::custom(more(wrong)))
                    }
                }
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Action, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Action, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(ActionVisitor)
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Action::Keep => serializer.serialize_str("keep"),
            Action::Drop => serializer.serialize_str("drop"),
            Action::Mark(dscp) => dscp.serialize(serializer),
        }
    }
}

impl JsonSchema for Action {
    fn schema_name() -> Cow<'static, str> {
        "Action".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let dscp = generator.subschema_for::<Dscp>();
        json_schema!({
            "description": "What to do with a packet: forward it unchanged (keep), drop it, or forward it with another code point.",
            "anyOf": [{"type": "string", "enum": ["keep", "drop"]}, dscp],
        })
    }
}

impl Rule {
    /// Checks this rule and adds its problems to `problems`. `flows` and `nodes` are the valid
    /// names.
    pub fn check(&self, flows: &[&str], nodes: &[&str], problems: &mut Problems) {
        for (key, names, known) in
            [("flow", &self.flow, flows), ("from", &self.from, nodes), ("to", &self.to, nodes)]
        {
            for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
                problems.add(key, format!("unknown name \"{name}\"; allowed: {}", known.join(", ")));
            }
        }
        match &self.meter {
            Some(meter) => problems.within("meter", |problems| meter.check(problems)),
            None => {
                for (key, action) in [("yellow", self.yellow), ("red", self.red)] {
                    if action != Action::Keep {
                        let message =
                            "has no effect without a meter, as all packets are green; set meter as well";
                        problems.add(key, message);
                    }
                }
            }
        }
    }
}

/// Returns the name of the random stream of the edge at a node.
pub fn stream_name(node: &str) -> String {
    format!("{node}.edge")
}

impl Tables for Rule {
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

/// Counters of a rule of an edge.
pub static REPORT: Table = Table {
    name: "edge",
    entity: "rule",
    about: "at the end of the run, for each rule of a node's edge",
    columns: &[
        Column::whole("green", "packets", "green packets, within their profile"),
        Column::whole("yellow", "packets", "yellow packets, slightly beyond their profile"),
        Column::whole("red", "packets", "red packets, beyond their profile"),
        Column::whole("policed", "packets", "packets dropped because of their colour"),
        Column::whole("meters", "1", "number of meters that the rule has used"),
    ],
};

/// The edge of a node.
pub struct Edge {
    name: String,
    rules: Vec<ActiveRule>,
    stream: Stream,
}

/// The state of a rule.
struct ActiveRule {
    pattern: Pattern,
    config: Option<meter::Config>,
    each: Each,
    actions: [Action; 3],
    meters: BTreeMap<Connection, Box<dyn Meter>>,
    counts: [u64; 3],
    policed: u64,
}

impl Edge {
    /// Creates the edge of node `name` from its rules, each with its pattern.
    pub fn new<'a>(name: &str, rules: impl Iterator<Item = (&'a Rule, Pattern)>, stream: Stream) -> Edge {
        let active = |(rule, pattern): (&Rule, Pattern)| ActiveRule {
            pattern,
            config: rule.meter.clone(),
            each: rule.each,
            actions: [rule.green, rule.yellow, rule.red],
            meters: BTreeMap::new(),
            counts: [0; 3],
            policed: 0,
        };
        Edge { name: name.to_owned(), rules: rules.map(active).collect(), stream }
    }

    /// Conditions a packet that leaves the node. This can change the packet's code point.
    ///
    /// # Errors
    /// Returns the reason for which the packet is dropped.
    pub fn condition(&mut self, now: Time, packet: &mut Packet) -> Result<(), DropReason> {
        let fitting = self.rules.iter_mut().find_map(|rule| Some((rule.pattern.matches(packet)?, rule)));
        let Some((connection, rule)) = fitting else { return Ok(()) };
        let colour = rule.colour(now, connection, packet, &mut self.stream);
        rule.counts[colour as usize] += 1;
        match rule.actions[colour as usize] {
            Action::Keep => Ok(()),
            Action::Mark(dscp) => {
                packet.dscp = dscp.value();
                Ok(())
            }
            Action::Drop => {
                rule.policed += 1;
                Err(POLICED)
            }
        }
    }

    /// Writes one row per rule. Rules are numbered from 1.
    pub fn report(&self, report: &mut Report) {
        for (index, rule) in self.rules.iter().enumerate() {
            let [green, yellow, red] = rule.counts.map(|count| count as f64);
            let values = [green, yellow, red, rule.policed as f64, rule.meters.len() as f64];
            report.row(&REPORT, &format!("{}.{}", self.name, index + 1), &values);
        }
    }
}

impl ActiveRule {
    fn colour(&mut self, now: Time, connection: Connection, packet: &Packet, stream: &mut Stream) -> Colour {
        let Some(config) = &self.config else { return Colour::Green };
        let before = match Dscp::new(packet.dscp & 63).map_or(0, Dscp::precedence) {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        };
        let key = match self.each {
            Each::Connection => connection,
            Each::Flow => Connection { number: 0, ..connection },
            Each::Rule => Connection { flow: FlowId(0), source: NodeId(0), number: 0 },
        };
        let meter = self.meters.entry(key).or_insert_with(|| config.build());
        meter.meter(now, packet.size, before, stream)
    }
}
