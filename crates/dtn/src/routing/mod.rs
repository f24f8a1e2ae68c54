//! Routing of bundles: the choice of the next contact.

pub mod contact_graph;
pub mod planner;
