//! Routing of bundles over a contact plan.

pub mod contact_graph;
pub mod planner;
