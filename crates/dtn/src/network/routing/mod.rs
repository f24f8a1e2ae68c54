//! Routings of bundles: the choice of the next node. Each routing is a file of this folder and a
//! line of the list below.
//!
//! A routing is one of two kinds. [`Forwarding`] chooses the contact of the known plan over which
//! each stored bundle leaves. [`Replication`] chooses, at each encounter of two nodes, the bundles
//! of which the neighbour gets a copy; a bundle that meets its destination is always handed over.

pub mod contact_graph;
pub mod epidemic;
pub mod prophet;
pub mod spray_and_wait;
pub mod table;

use super::Bundle;
use crate::contacts::{Contact, Node, Plan};
use bentpipe_core::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;

/// Declares the routings that scenarios can name. The doc comment becomes the description in the
/// reference, and the closure creates the routing.
macro_rules! routings {
    ($($(#[$meta:meta])* $name:ident => $routing:expr,)+) => {
        /// The rule by which a node chooses the nodes to which it gives a bundle.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        #[schemars(rename = "BundleRouting")]
        pub enum Method {
            $($(#[$meta])* $name,)+
        }

        impl Method {
            /// All methods, in the order of the list.
            pub const ALL: &'static [Method] = &[$(Method::$name),+];

            /// Returns the routing of this name.
            pub fn routing(self, keys: &Keys) -> Arc<dyn Routing> {
                match self {
                    $(Method::$name => Arc::new(build($routing, keys)),)+
                }
            }
        }
    };
}

routings! {
    /// Contact graph routing (CCSDS 734.3).
    #[default]
    ContactGraph => |_| contact_graph::ContactGraph,
    /// A copy for each node that a carrier meets and that has none.
    Epidemic => |_| epidemic::Epidemic,
    /// A given number of copies, half of which are handed over at each meeting; a last copy waits
    /// for the destination (Spyropoulos, Psounis and Raghavendra, 2005).
    SprayAndWait => |keys| spray_and_wait::SprayAndWait { copies: keys.copies },
    /// PRoPHET (RFC 6693), with its default parameters.
    Prophet => |_| prophet::Prophet::default(),
}

fn build<R: Routing>(make: fn(&Keys) -> R, keys: &Keys) -> R {
    make(keys)
}

/// The keys of a scenario that routings read.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Number of copies of a bundle that spray and wait hands out.
    pub copies: u32,
}

/// A routing and its parameters.
pub trait Routing: Debug + Send + Sync {
    /// Returns the routing at the nodes of a network with this known plan.
    fn router(&self, known: &Plan) -> Router;
}

/// A routing in operation in a network.
pub enum Router {
    /// A routing that decides for each bundle over which contact it leaves.
    Forwarding(Box<dyn Forwarding>),
    /// A routing that decides at each meeting which bundles the neighbour gets.
    Replication(Box<dyn Replication>),
}

/// A bundle that a node is to send.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingBundle<'a> {
    /// Time of the decision.
    pub now: Time,
    /// The node that has the bundle.
    pub node: Node,
    /// Number of the bundle.
    pub number: u64,
    /// The bundle.
    pub bundle: &'a Bundle,
    /// Bytes to transmit for it.
    pub bytes: u64,
    /// Time at which the bundle expires.
    pub expires: Time,
}

/// A routing that decides for each bundle over which known contact it leaves.
pub trait Forwarding: Send {
    /// Returns the contact over which a bundle is to leave, if there is one.
    fn choose(&mut self, known: &Plan, outgoing: &OutgoingBundle<'_>) -> Option<Contact>;

    /// Takes the bundles at a node for which no contact was chosen, and which leave as soon as this
    /// neighbour is there.
    fn take_waiting(&mut self, _node: Node, _neighbour: Node) -> Vec<u64> {
        Vec::new()
    }

    /// Notes that the first contact of a bundle's route has sent it.
    fn departed(&mut self, _bundle: u64, _node: Node) {}

    /// Releases the state of a bundle that its node no longer holds. Volume already promised on
    /// later contacts stays promised if the bundle was sent.
    fn release(&mut self, _bundle: u64, _node: Node) {}

    /// Returns the number of searches for routes so far.
    fn searches(&self) -> u64 {
        0
    }
}

/// A routing that decides at each meeting which bundles the neighbour gets.
pub trait Replication: Send {
    /// Notes that two nodes meet: the first sees the second.
    fn encounter(&mut self, _now: Time, _node: Node, _other: Node) {}

    /// Notes that a bundle has entered the network.
    fn created(&mut self, _bundle: u64, _from: Node) {}

    /// Returns true if a neighbour that has no copy of a bundle to `to` should get one from a node
    /// that has.
    fn should_copy(&self, bundle: u64, node: Node, neighbour: Node, to: Node) -> bool;

    /// Notes that a copy is on its way to a neighbour, and that the node keeps one.
    fn copied(&mut self, _bundle: u64, _node: Node, _neighbour: Node) {}

    /// Notes that the last copy of a bundle has ended.
    fn ended(&mut self, _bundle: u64) {}
}

impl Router {
    /// Returns true if the routing plans.
    pub fn is_forwarding(&self) -> bool {
        matches!(self, Router::Forwarding(_))
    }

    /// Passes the call to [`Forwarding::departed`]; without effect if it copies.
    pub fn departed(&mut self, bundle: u64, node: Node) {
        if let Router::Forwarding(router) = self {
            router.departed(bundle, node);
        }
    }

    /// Passes the call to [`Forwarding::release`]; without effect if it copies.
    pub fn release(&mut self, bundle: u64, node: Node) {
        if let Router::Forwarding(router) = self {
            router.release(bundle, node);
        }
    }

    /// Returns [`Forwarding::searches`]; 0 if it copies.
    pub fn searches(&self) -> u64 {
        match self {
            Router::Forwarding(router) => router.searches(),
            Router::Replication(_) => 0,
        }
    }

    /// Passes the call to [`Replication::created`]; without effect if it plans.
    pub fn created(&mut self, bundle: u64, from: Node) {
        if let Router::Replication(router) = self {
            router.created(bundle, from);
        }
    }

    /// Passes the call to [`Replication::ended`]; without effect if it plans.
    pub fn ended(&mut self, bundle: u64) {
        if let Router::Replication(router) = self {
            router.ended(bundle);
        }
    }

    /// Returns true if a neighbour without a copy should get one; always true for the destination.
    pub fn should_copy(&self, bundle: u64, node: Node, neighbour: Node, to: Node) -> bool {
        match self {
            Router::Replication(router) => neighbour == to || router.should_copy(bundle, node, neighbour, to),
            Router::Forwarding(_) => neighbour == to,
        }
    }

    /// Notes that a copy is on its way to a neighbour. Returns true if the node keeps one: not if
    /// the routing plans, and not if the neighbour is the destination.
    pub fn keeps_copy(&mut self, bundle: u64, node: Node, neighbour: Node, to: Node) -> bool {
        match self {
            Router::Replication(router) if neighbour != to => {
                router.copied(bundle, node, neighbour);
                true
            }
            _ => false,
        }
    }
}
