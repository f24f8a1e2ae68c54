//! Access networks: networks that connect several nodes and route packets between these nodes by
//! themselves.
//!
//! Each kind of network is a `Config` that implements [`AccessNetwork`], and one line in the list
//! [`NetworkKind`]. All other code of bentpipe uses only the trait:
//!
//! - The engine connects the stages and routing edges that [`AccessNetwork::build`] adds to the
//!   [`Construction`].
//! - The checks of a scenario use the network's nodes, parts and framings.
//! - Changes during a run reach the stages that [`AccessNetwork::changing`] returns.
//! - An emulation compares its measurements with the links that [`AccessNetwork::rated`] returns.
//!
//! A network has one of three structures:
//!
//! - a star ([`crate::dama`]): one stage per terminal, with one edge to the gateway and one from
//!   the gateway;
//! - a network that routes by itself ([`crate::constellation`]): one stage with a port per node.
//!   [`Construction::routing_stage`] adds the stage, and the engine builds it once the routes
//!   outside the network are known;
//! - a shared medium ([`crate::wifi`]): one stage with a port per pair of stations, and edges
//!   between stations that hear each other.
//!
//! Only the kind that adds a stage composes or parses the stage's name, such as `sat.forward`.

pub mod atm;
pub mod bundles;
pub mod constellation;
mod construction;
pub mod dama;
pub mod fate;
pub mod multicast;
pub mod multilink;
pub mod node;
pub mod propagation;
mod signalling;
pub mod skyplex;
pub mod wifi;

pub use construction::{Construction, FlowEnds, OutsideRoutes, RadioLink, RoutingStage, StageId};

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

/// The functions of a network's `Config`. The argument `name` is the network's name in the
/// scenario; the names of the network's stages begin with it.
pub trait AccessNetwork {
    /// Returns the names of the nodes that the network connects. Each of these nodes can reach
    /// every other one.
    fn nodes(&self) -> Vec<String>;

    /// Returns the noun for the parts that results name after their node, such as "terminal", and
    /// the names of these nodes. The list is empty if the network has no such parts.
    fn named_after_nodes(&self) -> (&'static str, Vec<String>) {
        ("", Vec::new())
    }

    /// Returns a copy of the network in which every group of nodes is replaced by its nodes, and
    /// the key path of each node's group within the network. Returns `None` if the network has no
    /// groups or numbers the nodes of its groups itself. Adds the problems of the groups to
    /// `problems`.
    fn expanded(&self, _problems: &mut Problems) -> Option<(NetworkKind, Vec<Expanded>)> {
        None
    }

    /// Returns the traffic classes of packets at the network's nodes; `None` if there are none.
    fn classes(&self) -> Option<Classes> {
        None
    }

    /// Returns the named parts of the network: stages, random streams, and links in results.
    fn parts(&self, name: &str) -> Vec<Part>;

    /// Checks the configuration and adds its problems to `problems`.
    fn check(&self, problems: &mut Problems);

    /// Adds remarks about settings that are valid but probably unintended in a run of `duration`.
    fn remark(&self, _duration: Span, _remarks: &mut Problems) {}

    /// Returns the network's link budgets, each with its direction.
    fn budgets(&self) -> Vec<(&'static str, Sheet)> {
        Vec::new()
    }

    /// Returns the framings of the network's links, each with the name of its link.
    fn framings(&self, _name: &str) -> Vec<(String, framing::Config)> {
        Vec::new()
    }

    /// Returns the links that an emulation checks: it compares their rate and loss with its
    /// measurements.
    fn rated(&self, _name: &str) -> Vec<RatedLink> {
        Vec::new()
    }

    /// Adds the network's stages, their connections, and the edges for routing.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](AccessNetwork::check).
    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>);

    /// Returns an error with the reason if the network cannot carry the packets of a multicast
    /// group ([`multicast`]) over `crossings`, each with its first and its last node. By default it
    /// cannot.
    ///
    /// # Errors
    /// The reason, as the end of a sentence about the network.
    fn multicast(&self, _crossings: &BTreeSet<[&str; 2]>) -> Result<(), &'static str> {
        Err("has no multicast")
    }

    /// Returns one hop per crossing. Each crossing follows a routing edge between two nodes of the
    /// network.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](AccessNetwork::check).
    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop>;

    /// Returns the network's queues. Each entry is the suffix of the stage's name, the rate at
    /// which the queue is served, and the queue discipline.
    fn queues(&self) -> Vec<(String, Rate, queue::Config)>;

    /// Returns the stages to which a change of the configuration is delivered, and the
    /// configuration for these stages. Returns `None` if no key is marked as changeable.
    fn changing(&self, _name: &str) -> Option<Changing> {
        None
    }

    /// Checks whether this configuration can replace `start`, the configuration from which the
    /// running network was built. Both have the same kind. Adds the problems to `problems`.
    fn check_change(&self, _start: &Changing, _problems: &mut Problems) {}
}

/// The traffic classes of a network.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Names of the nodes that have these classes.
    pub nodes: BTreeSet<String>,
    /// Names of the classes, indexed by DSCP.
    pub by_dscp: Vec<String>,
}

/// A node that the scenario defines as a member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// Key path of the node in the expanded network.
    pub path: Vec<String>,
    /// Key of the node's group. It replaces the last key of `path` to give the group's key path.
    pub group: String,
}

/// A named part of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Full name of the stage, the random stream or the rows in results.
    pub name: String,
    /// Description in messages, such as `terminal "st1"`; `None` if the part is the network as a
    /// whole.
    pub what: Option<String>,
}

impl Part {
    /// Returns a part that messages describe as the network as a whole.
    pub fn of_network(name: String) -> Part {
        Part { name, what: None }
    }
}

/// A link with a single transmission rate and one row of the table
/// [`REPORT`](bentpipe_link::REPORT) in results.
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
    /// True if a trace varies rate, delay and error during the run. Measurements then have no
    /// single reference value.
    pub traced: bool,
}

/// A change of changeable keys, as delivered to the stages of a network.
#[derive(Clone)]
pub struct Changing {
    /// Names of the stages that receive the change.
    pub stages: Vec<String>,
    /// The new configuration, in the type that these stages pass to
    /// [`Change::of`](bentpipe_stage::Change::of).
    pub config: Arc<dyn Any + Send + Sync>,
}
