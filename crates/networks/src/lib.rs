//! Access networks: networks that join several nodes and decide themselves how packets get from one
//! to another.
//!
//! A kind of network is a `Config` that implements [`AccessNetwork`], and one line in the list
//! [`NetworkKind`]. The rest of bentpipe asks through the trait and knows no kind: the engine
//! builds, wires and routes what [`AccessNetwork::build`] adds to the [`Construction`]; the
//! scenario's checks ask for nodes, parts and framings; changes go to the stages that
//! [`AccessNetwork::changing`] names; an emulation checks the links of [`AccessNetwork::rated`].
//!
//! Three shapes fit:
//!
//! - a star ([`crate::dama`]): a stage per terminal, one edge from and to the gateway for each;
//! - a network that routes by itself ([`crate::constellation`]): one stage with a port per node,
//!   added by [`Construction::routing_stage`], which is built once the routes beyond its nodes are
//!   known;
//! - a shared medium ([`crate::wifi`]): one stage with a port per pair of stations, and edges
//!   between those that hear each other.
//!
//! Names of stages belong to the kind that adds the stages: nothing else composes or takes apart a
//! name such as `sat.forward`.

pub mod atm;
pub mod bundles;
pub mod constellation;
mod construction;
pub mod dama;
pub mod fate;
pub mod multilink;

pub mod node;
pub mod skyplex;
mod text_or_table;
pub mod wifi;

pub use construction::{Beyond, Construction, FlowEnds, RadioLink, RoutingStage, StageId};

use bentpipe_core::{kinds, Problems, Rate, Span};
use bentpipe_link::acm::budget::Sheet;
use bentpipe_link::channel;
use bentpipe_link::framing;
use bentpipe_link::queue;
use bentpipe_stage::facts::{Crossing, Hop};
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

kinds! {
    /// An access network, which joins several nodes.
    pub enum NetworkKind: AccessNetwork {
        "dvb-rcs" => DvbRcs(dama::Config),
        "skyplex" => Skyplex(skyplex::Config),
        "constellation" => Constellation(constellation::Config),
        "atm" => Atm(atm::Config),
        "wifi" => Wifi(wifi::Config),
        "bundles" => Bundles(bundles::Config),
    }
}

/// What a network's `Config` can do. `name` is the network's name in the scenario, with which the
/// names of its stages begin.
pub trait AccessNetwork {
    /// Returns the names of the nodes that it joins: each of them can reach each other.
    fn nodes(&self) -> Vec<String>;

    /// Returns the nodes after which results name a part of the network, such as the terminal at a
    /// node, and the word for such a part. None if results name no part after its node.
    fn named_after_nodes(&self) -> (&'static str, Vec<String>) {
        ("", Vec::new())
    }

    /// Returns the same network with every group of nodes replaced by its nodes, and for each node
    /// the key path of its group within the network; None if it keeps its groups, as it has none or
    /// numbers their nodes itself. Adds what is wrong with the groups.
    fn expanded(&self, _problems: &mut Problems) -> Option<(NetworkKind, Vec<Expanded>)> {
        None
    }

    /// Returns the traffic classes into which its nodes place packets; None if it has none.
    fn classes(&self) -> Option<Classes> {
        None
    }

    /// Everything of the network that has a name: stages, random streams, links in results.
    fn parts(&self, name: &str) -> Vec<Part>;

    /// Adds what is wrong with the configuration.
    fn check(&self, problems: &mut Problems);

    /// Adds what is allowed but probably not meant, for a run of `duration`.
    fn remark(&self, _duration: Span, _remarks: &mut Problems) {}

    /// Returns the link budgets that it has, each with the direction that it is of.
    fn budgets(&self) -> Vec<(&'static str, Sheet)> {
        Vec::new()
    }

    /// Returns the framings through which packets pass, each with the name of the link that has it.
    fn framings(&self, _name: &str) -> Vec<(String, framing::Config)> {
        Vec::new()
    }

    /// Returns the links whose rate and loss an emulation compares with what it measured.
    fn rated(&self, _name: &str) -> Vec<RatedLink> {
        Vec::new()
    }

    /// Adds the network's stages, wires, and edges for routing.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](AccessNetwork::check).
    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>);

    /// Returns the hops that paths take over it, each between two of its nodes that its edges join.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](AccessNetwork::check).
    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop>;

    /// Its queues: what each stands in, by the end of its name, the rate behind it, and its
    /// discipline.
    fn queues(&self) -> Vec<(String, Rate, queue::Config)>;

    /// Which stages are told of a change, and what. None if no key of the configuration is marked
    /// as changeable.
    fn changing(&self, _name: &str) -> Option<Changing> {
        None
    }

    /// Adds what this configuration must not be in a network that was built from `start`, of the
    /// same kind.
    fn check_change(&self, _start: &Changing, _problems: &mut Problems) {}
}

/// The traffic classes of a network.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Names of the nodes that have these classes.
    pub nodes: BTreeSet<String>,
    /// The name of each packet's class, by its code point.
    pub by_dscp: Vec<String>,
}

/// A node that was written as a member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// Key path of the node in the expanded network.
    pub path: Vec<String>,
    /// Key under which its group was written, in place of the last of `path`.
    pub group: String,
}

/// A named part of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its full name, as of its stage or its rows in results.
    pub name: String,
    /// What messages call it if not the network as a whole, such as `terminal "st1"`.
    pub what: Option<String>,
}

impl Part {
    /// Returns a part that messages call by its network.
    pub fn of_network(name: String) -> Part {
        Part { name, what: None }
    }
}

/// A link that transmits at one rate, with a row of the table [`REPORT`](bentpipe_link::REPORT) in
/// results.
#[derive(Clone, Debug)]
pub struct RatedLink {
    /// Name of the link in results.
    pub name: String,
    /// Transmission rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link in one direction.
    pub delay: Span,
    /// Error process of the link.
    pub error: channel::Config,
    /// True if a trace changes all of these, so that there is no one value to compare with.
    pub traced: bool,
}

/// What is told to the stages of a network when changeable keys have changed.
#[derive(Clone)]
pub struct Changing {
    /// Names of the stages.
    pub stages: Vec<String>,
    /// The configuration as they understand it: what [`Change::of`](bentpipe_stage::Change::of)
    /// returns to them.
    pub config: Arc<dyn Any + Send + Sync>,
}
