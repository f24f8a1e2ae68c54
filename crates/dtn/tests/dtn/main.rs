//! Tests of contact plans, LTP, convergence layers and networks of bundle nodes.

mod contacts;
mod convergence;
mod ltp;
mod mutated;
mod network;
