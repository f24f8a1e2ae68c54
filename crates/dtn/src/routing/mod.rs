//! Routing of bundles: which contact a bundle takes next.

pub mod contact_graph;
pub mod planner;
