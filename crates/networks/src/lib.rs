//! Access networks: networks that join several nodes and decide themselves how packets get from one
//! to another.
//!
//! A kind of network is a `Config` that implements [`AccessNetwork`], and one line in the list
//! [`NetworkKind`]. The rest of bentpipe uses the trait and knows no kind: the engine builds, wires
//! and routes what [`AccessNetwork::build`] adds to the [`Construction`]; the scenario's checks ask
//! for nodes, parts and framings; changes go to the stages that [`AccessNetwork::changing`]
//! returns; an emulation checks the links of [`AccessNetwork::rated`].
//!
//! There are three shapes:
//!
//! - a star ([`crate::dama`]): a stage per terminal, one edge from and to the gateway for each;
//! - a network that routes by itself ([`crate::constellation`]): one stage with a port per node,
//!   added by [`Construction::routing_stage`], which is built once the routes beyond its nodes are
//!   known;
//! - a shared medium ([`crate::wifi`]): one stage with a port per pair of stations, and edges
//!   between those that hear each other.
//!
//! Names of stages belong to the kind that adds the stages: no other code composes or splits a name
//! such as `sat.forward`.

pub mod atm;
pub mod bundles;
pub mod constellation;
mod construction;
pub mod dama;
pub mod fate;
pub mod multilink;
pub mod node;
pub mod propagation;
pub mod skyplex;
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
    pub enum NetworkKind: AccessNetwork, tables {
        "dvb-rcs" => DvbRcs(dama::Config),
        "skyplex" => Skyplex(skyplex::Config),
        "constellation" => Constellation(constellation::Config),
        "atm" => Atm(atm::Config),
        "wifi" => Wifi(wifi::Config),
        "bundles" => Bundles(bundles::Config),
    }
}

/// The functions of a network's `Config`. `name` is the network's name in the scenario, with which
/// the names of its stages begin.
pub trait AccessNetwork {
    /// Returns the names of the nodes that it joins: each of them can reach each other.
    fn nodes(&self) -> Vec<String>;

    /// Returns the word for a part of the network that results name after its node, such as the
    /// terminal at a node, and these nodes. The list is empty if results name no part after its
    /// node.
    fn named_after_nodes(&self) -> (&'static str, Vec<String>) {
        ("", Vec::new())
    }

    /// Returns the same network with every group of nodes replaced by its nodes, and the key path
    /// of each node's group within the network. Returns `None` if the network keeps its groups,
    /// because it has none or numbers their nodes itself. Adds the problems of the groups.
    fn expanded(&self, _problems: &mut Problems) -> Option<(NetworkKind, Vec<Expanded>)> {
        None
    }

    /// Returns the traffic classes into which its nodes place packets; `None` if it has none.
    fn classes(&self) -> Option<Classes> {
        None
    }

    /// Returns everything of the network that has a name: stages, random streams, links in results.
    fn parts(&self, name: &str) -> Vec<Part>;

    /// Adds the problems of the configuration.
    fn check(&self, problems: &mut Problems);

    /// Adds remarks about settings that are allowed but probably not intended, for a run of
    /// `duration`.
    fn remark(&self, _duration: Span, _remarks: &mut Problems) {}

    /// Returns its link budgets, each with its direction.
    fn budgets(&self) -> Vec<(&'static str, Sheet)> {
        Vec::new()
    }

    /// Returns the framings through which packets pass, each with the name of its link.
    fn framings(&self, _name: &str) -> Vec<(String, framing::Config)> {
        Vec::new()
    }

    /// Returns the links whose rate and loss an emulation compares with its measurements.
    fn rated(&self, _name: &str) -> Vec<RatedLink> {
        Vec::new()
    }

    /// Adds the network's stages, wires, and edges for routing.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](AccessNetwork::check).
    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>);

    /// Returns the hops of paths over it, each between two of its nodes that its edges join.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](AccessNetwork::check).
    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop>;

    /// Returns its queues: the end of the name of the stage, the rate behind it, and its
    /// discipline.
    fn queues(&self) -> Vec<(String, Rate, queue::Config)>;

    /// Returns the stages that learn of a change, and the configuration for them. Returns `None` if
    /// no key of the configuration is marked as changeable.
    fn changing(&self, _name: &str) -> Option<Changing> {
        None
    }

    /// Adds problems of this configuration as a change in a network that was built from `start`, of
    /// the same kind.
    fn check_change(&self, _start: &Changing, _problems: &mut Problems) {}
}

/// The traffic classes of a network.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Names of the nodes that have these classes.
    pub nodes: BTreeSet<String>,
    /// Name of each packet's class, by its code point.
    pub by_dscp: Vec<String>,
}

/// A node that was written as a member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// Key path of the node in the expanded network.
    pub path: Vec<String>,
    /// Key of its group, in place of the last one of `path`.
    pub group: String,
}

/// A named part of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Full name, as of its stage or its rows in results.
    pub name: String,
    /// Description in messages if it is not the network as a whole, such as `terminal "st1"`.
    pub what: Option<String>,
}

impl Part {
    /// Returns a part that messages describe by its network.
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
    /// True if a trace changes all of these, so that there is no single value to compare with.
    pub traced: bool,
}

/// The change for the stages of a network when changeable keys have changed.
#[derive(Clone)]
pub struct Changing {
    /// Names of the stages.
    pub stages: Vec<String>,
    /// The configuration in their form: [`Change::of`](bentpipe_stage::Change::of) returns it to
    /// them.
    pub config: Arc<dyn Any + Send + Sync>,
}
