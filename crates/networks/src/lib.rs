//! Access networks: networks that connect several nodes and route packets between them by
//! themselves.
//!
//! A kind of network is a `Config` that implements [`AccessNetwork`], and one line in the list
//! [`NetworkKind`]. The other crates use only the trait. The engine builds and connects the stages
//! that [`AccessNetwork::build`] adds to the [`Construction`]. The checks of a scenario use the
//! network's nodes, parts and framings. Changes are passed to the stages that
//! [`AccessNetwork::changing`] returns. An emulation checks the links of [`AccessNetwork::rated`].
//!
//! There are three types of network:
//!
//! - a star ([`crate::dama`]): one stage per terminal, with one edge to and one edge from the
//!   gateway;
//! - a network with its own routing ([`crate::constellation`]): one stage with a port per node,
//!   added by [`Construction::routing_stage`]. It is built after the routes outside the network are
//!   known;
//! - a shared medium ([`crate::wifi`]): one stage with a port per pair of stations, and edges
//!   between stations that can receive each other.
//!
//! Names of stages are composed only by the kind of network that adds the stages: no other code
//! composes or splits a name such as `sat.forward`.

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
    /// An access network, which connects several nodes.
    pub enum NetworkKind: AccessNetwork, tables {
        "dvb-rcs" => DvbRcs(dama::Config),
        "skyplex" => Skyplex(skyplex::Config),
        "constellation" => Constellation(constellation::Config),
        "atm" => Atm(atm::Config),
        "wifi" => Wifi(wifi::Config),
        "bundles" => Bundles(bundles::Config),
    }
}

/// The functions of a network's `Config`. `name` is the network's name in the scenario, the prefix
/// of its stages' names.
pub trait AccessNetwork {
    /// Returns the names of the network's nodes, which can all reach each other.
    fn nodes(&self) -> Vec<String>;

    /// Returns the noun for a part of the network that results name after its node, such as
    /// "terminal", and the names of these nodes. The list is empty if results name no part after
    /// its node.
    fn named_after_nodes(&self) -> (&'static str, Vec<String>) {
        ("", Vec::new())
    }

    /// Returns the same network with every group of nodes replaced by its nodes, and the key path
    /// of each node's group within the network. Returns `None` if the network keeps its groups,
    /// because it has none or numbers their nodes itself. Adds the problems of the groups to
    /// `problems`.
    fn expanded(&self, _problems: &mut Problems) -> Option<(NetworkKind, Vec<Expanded>)> {
        None
    }

    /// Returns the traffic classes of the network's nodes, or `None` if it has none.
    fn classes(&self) -> Option<Classes> {
        None
    }

    /// Returns all named parts of the network: stages, random streams and links in results.
    fn parts(&self, name: &str) -> Vec<Part>;

    /// Adds the problems of the configuration to `problems`.
    fn check(&self, problems: &mut Problems);

    /// Adds warnings about settings that are allowed but probably not intended, for a run of
    /// `duration`.
    fn remark(&self, _duration: Span, _remarks: &mut Problems) {}

    /// Returns the network's link budgets, each with its direction.
    fn budgets(&self) -> Vec<(&'static str, Sheet)> {
        Vec::new()
    }

    /// Returns the framings that are applied to packets, each with the name of its link.
    fn framings(&self, _name: &str) -> Vec<(String, framing::Config)> {
        Vec::new()
    }

    /// Returns the links whose rate and loss an emulation compares with its measurements.
    fn rated(&self, _name: &str) -> Vec<RatedLink> {
        Vec::new()
    }

    /// Adds the network's stages, their connections, and the edges for routing.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](AccessNetwork::check).
    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>);

    /// Returns the hops of paths through the network. Each crossing is between two nodes that an
    /// edge connects.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](AccessNetwork::check).
    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop>;

    /// Returns the network's queues: the suffix of the stage's name, the rate of the link that the
    /// queue feeds, and the discipline.
    fn queues(&self) -> Vec<(String, Rate, queue::Config)>;

    /// Returns the stages to inform of a change, and the configuration for them. Returns `None` if
    /// no key of the configuration is marked as changeable.
    fn changing(&self, _name: &str) -> Option<Changing> {
        None
    }

    /// Adds the problems of this configuration as a replacement for `start`, the configuration from
    /// which the network was built, of the same kind.
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

/// A node that was listed as a member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// Key path of the node in the expanded network.
    pub path: Vec<String>,
    /// Key of the node's group, which replaces the last key of `path`.
    pub group: String,
}

/// A named part of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Full name of the part: the name of its stage, or of its rows in results.
    pub name: String,
    /// Description in messages, such as `terminal "st1"`. If `None`, messages describe the whole
    /// network.
    pub what: Option<String>,
}

impl Part {
    /// Returns a part that messages describe as the whole network.
    pub fn of_network(name: String) -> Part {
        Part { name, what: None }
    }
}

/// A link with a single rate and a row of the table [`REPORT`](bentpipe_link::REPORT) in results.
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
    /// True if a trace changes these values, so that measurements have no single value to be
    /// compared with.
    pub traced: bool,
}

/// A change of keys that may change during a run, for the stages of a network.
#[derive(Clone)]
pub struct Changing {
    /// Names of the stages.
    pub stages: Vec<String>,
    /// The configuration in the type of these stages, as returned by
    /// [`Change::of`](bentpipe_stage::Change::of).
    pub config: Arc<dyn Any + Send + Sync>,
}
