//! Routings, which choose the next node of a bundle. Each routing is a file in this folder, and a
//! line in the list `routings!` if scenarios can name it.
//!
//! There are two kinds of routings. [`Forwarding`] chooses a contact of the known plan for each
//! stored bundle. [`Replication`] chooses, at each encounter of two nodes, the bundles that the
//! neighbour gets a copy of. A node always hands over bundles whose destination is the neighbour.

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

/// Declares the routings that scenarios can name. The doc comment of each routing becomes its
/// description in the reference, and the closure creates the routing.
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
            /// All methods, in the order of their declaration.
            pub const ALL: &'static [Method] = &[$(Method::$name),+];

            /// Creates the routing of this method.
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

/// The keys of a scenario that set parameters of routings.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Number of copies of each bundle for spray and wait.
    pub copies: u32,
}

/// A routing and its parameters.
pub trait Routing: Debug + Send + Sync {
    /// Creates the routing state for a network whose nodes know this plan.
    fn router(&self, known: &Plan) -> Router;
}

/// The routing state of a network.
pub enum Router {
    /// A routing that chooses a contact for each bundle.
    Forwarding(Box<dyn Forwarding>),
    /// A routing that chooses at each encounter the bundles to copy.
    Replication(Box<dyn Replication>),
}

/// A stored bundle for which a node chooses a contact.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingBundle<'a> {
    /// Time of the decision.
    pub now: Time,
    /// The node that has the bundle.
    pub node: Node,
    /// Number of the bundle.
    pub number: u64,
    /// Properties of the bundle.
    pub bundle: &'a Bundle,
    /// Number of bytes to transmit, including the overhead of the convergence layer.
    pub bytes: u64,
    /// Time at which the bundle expires.
    pub expires: Time,
}

/// A routing that chooses a contact of the known plan for each bundle.
pub trait Forwarding: Send {
    /// Chooses the contact for a bundle; `None` if no contact is suitable.
    fn choose(&mut self, known: &Plan, outgoing: &OutgoingBundle<'_>) -> Option<Contact>;

    /// Returns the bundles at a node that had no suitable contact and wait for this neighbour, and
    /// removes them from the waiting bundles.
    fn take_waiting(&mut self, _node: Node, _neighbour: Node) -> Vec<u64> {
        Vec::new()
    }

    /// Records that a node has sent a bundle over the first contact of its route.
    fn departed(&mut self, _bundle: u64, _node: Node) {}

    /// Releases the state of a bundle that its node no longer stores or that needs another route.
    /// If the bundle was sent, its reservations of later contacts remain.
    fn release(&mut self, _bundle: u64, _node: Node) {}

    /// Returns the number of searches for routes so far.
    fn searches(&self) -> u64 {
        0
    }
}

/// A routing that chooses at each encounter of two nodes the bundles to copy.
pub trait Replication: Send {
    /// Records that a contact from `node` to `other` opens.
    fn encounter(&mut self, _now: Time, _node: Node, _other: Node) {}

    /// Records that a bundle has entered the network.
    fn created(&mut self, _bundle: u64, _from: Node) {}

    /// Returns true if a node should give a copy of a bundle to a neighbour that has none. The
    /// bundle's destination is `to`.
    fn should_copy(&self, bundle: u64, node: Node, neighbour: Node, to: Node) -> bool;

    /// Records that a node has sent a copy to a neighbour and keeps a copy.
    fn copied(&mut self, _bundle: u64, _node: Node, _neighbour: Node) {}

    /// Records that the last copy of a bundle was delivered or dropped.
    fn ended(&mut self, _bundle: u64) {}
}

impl Router {
    /// Returns true for [`Forwarding`] routings.
    pub fn is_forwarding(&self) -> bool {
        matches!(self, Router::Forwarding(_))
    }

    /// Calls [`Forwarding::departed`]; no effect for [`Replication`].
    pub fn departed(&mut self, bundle: u64, node: Node) {
        if let Router::Forwarding(router) = self {
            router.departed(bundle, node);
        }
    }

    /// Calls [`Forwarding::release`]; no effect for [`Replication`].
    pub fn release(&mut self, bundle: u64, node: Node) {
        if let Router::Forwarding(router) = self {
            router.release(bundle, node);
        }
    }

    /// Returns [`Forwarding::searches`]; 0 for [`Replication`].
    pub fn searches(&self) -> u64 {
        match self {
            Router::Forwarding(router) => router.searches(),
            Router::Replication(_) => 0,
        }
    }

    /// Calls [`Replication::created`]; no effect for [`Forwarding`].
    pub fn created(&mut self, bundle: u64, from: Node) {
        if let Router::Replication(router) = self {
            router.created(bundle, from);
        }
    }

    /// Calls [`Replication::ended`]; no effect for [`Forwarding`].
    pub fn ended(&mut self, bundle: u64) {
        if let Router::Replication(router) = self {
            router.ended(bundle);
        }
    }

    /// Returns true if a node should give a bundle to a neighbour that has no copy. Always true if
    /// the neighbour is the destination.
    pub fn should_copy(&self, bundle: u64, node: Node, neighbour: Node, to: Node) -> bool {
        match self {
            Router::Replication(router) => neighbour == to || router.should_copy(bundle, node, neighbour, to),
            Router::Forwarding(_) => neighbour == to,
        }
    }

    /// Records that a node has sent a copy to a neighbour. Returns true if the node keeps a copy:
    /// only for [`Replication`], and if the neighbour is not the destination.
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
