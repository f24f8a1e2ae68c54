//! A DiffServ edge (RFC 2475, section 2.3): classifies the packets that leave a node for others, meters them, and marks or drops them.
//!
//! The rules of a node stand in order; a packet is treated by the first that fits it. A rule has a meter for everything that it
//! fits, or one for each flow or each connection. Without a meter all its packets are green. By its colour a packet gets a code point, keeps
//! the one that it has, or is dropped.
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
//! An edge takes no time. A direction of a connection is a connection of its own, so acknowledgments that pass the node are metered apart
//! from the data.

pub mod classify;
pub mod meter;

use self::classify::{Connection, Pattern, Protocol};
use self::meter::{Colour, Meter};
use crate::{DropReason, Packet};
use bentpipe_core::{Column, Dscp, FlowId, NodeId, Problems, Report, Stream, Table, Time};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// An edge dropped the packet, since it was beyond its profile.
pub const POLICED: DropReason = DropReason::new("beyond its profile");

/// What an edge does with packets: all keys that are given must fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// Flows, by name: both directions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<String>,
    /// Nodes that packets come from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// Nodes that packets are for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Transport protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Code points that packets have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<Dscp>,
    /// What gives packets their colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<meter::Config>,
    /// What has a meter of its own.
    pub each: Each,
    /// What becomes of green packets.
    pub green: Action,
    /// What becomes of yellow packets.
    pub yellow: Action,
    /// What becomes of red packets.
    pub red: Action,
}

/// What has a meter of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Each {
    /// All that the rule fits together.
    #[default]
    Rule,
    /// Each flow in each direction.
    Flow,
    /// Each connection in each direction.
    Connection,
}

/// What becomes of a packet: `"keep"`, `"drop"`, or its new code point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// It goes on as it is.
    #[default]
    Keep,
    /// It is dropped.
    Drop,
    /// It goes on with this code point.
    Mark(Dscp),
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Action, D::Error> {
        struct Said;
        impl Visitor<'_> for Said {
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
        deserializer.deserialize_any(Said)
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
            "description": "What becomes of a packet: it is kept as it is, dropped, or gets a code point.",
            "anyOf": [{"type": "string", "enum": ["keep", "drop"]}, dscp],
        })
    }
}

impl Rule {
    /// Adds what is wrong; `flows` and `nodes` are those that there are.
    pub fn check(&self, flows: &[&str], nodes: &[&str], problems: &mut Problems) {
        for (key, names, known) in
            [("flow", &self.flow, flows), ("from", &self.from, nodes), ("to", &self.to, nodes)]
        {
            for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
                problems.add(key, format!("there is no \"{name}\"; allowed: {}", known.join(", ")));
            }
        }
        match &self.meter {
            Some(meter) => problems.within("meter", |problems| meter.check(problems)),
            None => {
                for (key, action) in [("yellow", self.yellow), ("red", self.red)] {
                    if action != Action::Keep {
                        let message = "no packet is of that colour; allowed: a meter, or green alone";
                        problems.add(key, message);
                    }
                }
            }
        }
    }
}

/// The name of the random stream of the edge at a node.
pub fn stream_name(node: &str) -> String {
    format!("{node}.edge")
}

/// What a rule of an edge did.
pub static REPORT: Table = Table {
    name: "edge",
    entity: "rule",
    about: "at the end of the run, for each rule of a node's edge",
    columns: &[
        Column::whole("green", "packets", "packets within their profile"),
        Column::whole("yellow", "packets", "packets of the middle colour"),
        Column::whole("red", "packets", "packets beyond their profile"),
        Column::whole("policed", "packets", "packets that were dropped for their colour"),
        Column::whole("meters", "1", "meters that the rule has used"),
    ],
};

/// The edge of a node.
pub struct Edge {
    name: String,
    rules: Vec<Active>,
    stream: Stream,
}

/// A rule at work.
struct Active {
    pattern: Pattern,
    config: Option<meter::Config>,
    each: Each,
    actions: [Action; 3],
    meters: BTreeMap<Connection, Box<dyn Meter>>,
    counts: [u64; 3],
    policed: u64,
}

impl Edge {
    /// The edge of node `name`, from its rules and the packets that they fit.
    pub fn new<'a>(name: &str, rules: impl Iterator<Item = (&'a Rule, Pattern)>, stream: Stream) -> Edge {
        let active = |(rule, pattern): (&Rule, Pattern)| Active {
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

    /// A packet leaves the node: marks it.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn condition(&mut self, now: Time, packet: &mut Packet) -> Result<(), DropReason> {
        let fitting = self.rules.iter_mut().find_map(|rule| Some((rule.pattern.fits(packet)?, rule)));
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

    /// Writes a row for each rule, with its number from 1.
    pub fn report(&self, report: &mut Report) {
        for (index, rule) in self.rules.iter().enumerate() {
            let [green, yellow, red] = rule.counts.map(|count| count as f64);
            let values = [green, yellow, red, rule.policed as f64, rule.meters.len() as f64];
            report.row(&REPORT, &format!("{}.{}", self.name, index + 1), &values);
        }
    }
}

impl Active {
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
