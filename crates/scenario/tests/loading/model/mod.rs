//! A small scenario type with the elements of real scenarios: quantities, kinds, named lists,
//! defaults, and checks across keys.

// Each test program uses only a part of this module.
#![allow(dead_code)]

use bentpipe_core::{kinds, Count, Fraction, Problems, Rate, Sample, Size, Span};
use bentpipe_scenario::{Check, Renamed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    #[serde(default)]
    pub name: String,
    pub duration: Span,
    #[serde(default = "seed")]
    pub seed: Count<0, 1_000_000>,
    #[serde(default)]
    pub network: BTreeMap<String, Network>,
    #[serde(default)]
    pub flow: Vec<Flow>,
    #[serde(default)]
    pub record: Vec<String>,
}

kinds! {
    pub enum Network {
        "point-to-point" => PointToPoint(PointToPoint),
        "dvb-rcs" => DvbRcs(DvbRcs),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointToPoint {
    pub nodes: [String; 2],
    pub rate: Rate,
    #[serde(default)]
    pub loss: Fraction,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DvbRcs {
    pub gateway: String,
    pub terminals: Vec<String>,
    pub forward: Direction,
    pub r#return: Direction,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    pub rate: Rate,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dama: Option<Dama>,
}

kinds! {
    pub enum Dama {
        "cra" => Cra(Cra),
        "rbdc" => Rbdc(Rbdc),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cra {
    pub cra: Rate,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rbdc {
    pub gamma: Fraction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cra: Option<Rate>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub name: String,
    pub from: String,
    pub to: String,
    #[serde(default = "bulk")]
    pub app: App,
    #[serde(default = "tcp")]
    pub transport: Transport,
}

kinds! {
    pub enum App {
        "bulk" => Bulk(Bulk),
        "cbr" => Cbr(Cbr),
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bulk {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    pub rate: Rate,
    #[serde(default)]
    pub distribution: Distribution,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    #[default]
    Constant,
    Exponential,
}

kinds! {
    pub enum Transport {
        "tcp" => Tcp(Tcp),
        "udp" => Udp(Udp),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    pub congestion: Congestion,
    pub initial_ssthresh: Count<2, 1_000_000>,
    pub sack: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    #[default]
    Reno,
    Vegas,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Udp {}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp { congestion: Congestion::Reno, initial_ssthresh: Count::new(64), sack: true }
    }
}

fn seed() -> Count<0, 1_000_000> {
    Count::new(1)
}

fn bulk() -> App {
    App::Bulk(Bulk::default())
}

fn tcp() -> Transport {
    Transport::Tcp(Tcp::default())
}

impl Network {
    fn nodes(&self) -> Vec<&String> {
        match self {
            Network::PointToPoint(link) => link.nodes.iter().collect(),
            Network::DvbRcs(star) => star.terminals.iter().chain([&star.gateway]).collect(),
        }
    }
}

impl Check for Scenario {
    const RENAMED: &'static [Renamed] = &[
        ("length", "duration"),
        ("flow.*.source", "from"),
        ("network.*.return.capacity", "rate"),
        ("record.everything", "all"),
    ];

    fn check(&self, problems: &mut Problems) {
        let nodes: BTreeSet<_> = self.network.values().flat_map(Network::nodes).collect();
        let known = nodes.iter().map(|node| node.as_str()).collect::<Vec<_>>().join(", ");
        let mut names = BTreeSet::new();
        problems.within("flow", |problems| {
            for (index, flow) in self.flow.iter().enumerate() {
                // A repeated name does not identify an element, so the position is used.
                let unique = names.insert(&flow.name);
                problems.within(if unique { flow.name.clone() } else { index.to_string() }, |problems| {
                    if !unique {
                        problems.add("name", "another flow has this name");
                    }
                    for (key, node) in [("from", &flow.from), ("to", &flow.to)] {
                        if !nodes.contains(node) {
                            problems.add(key, format!("there is no node \"{node}\"; allowed: {known}"));
                        }
                    }
                    let joins = |network: &Network| {
                        let nodes = network.nodes();
                        nodes.contains(&&flow.from) && nodes.contains(&&flow.to)
                    };
                    if nodes.contains(&flow.to) && !self.network.values().any(joins) {
                        problems.add("to", format!("cannot be reached from \"{}\"", flow.from));
                    }
                });
            }
        });
    }
}

/// Implements `Sample` without keys, because the loader does not use samples.
macro_rules! without_sample {
    ($($config:ty),+ $(,)?) => {
        $(impl Sample for $config {
            const SAMPLE: &'static str = "";
        })+
    };
}

without_sample!(PointToPoint, DvbRcs, Cra, Rbdc, Bulk, Cbr, Tcp, Udp);
