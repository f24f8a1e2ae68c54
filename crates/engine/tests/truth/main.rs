//! Tests of the complete engine: equal runs of equal scenarios, conservation of packets, golden
//! tables (`tests/golden`), equations from papers, and scenarios that must be refused.
//!
//! All modules are one program, so that it is linked only once. `BLESS=1` rewrites the golden
//! files.

mod access;
mod acm;
mod arq;
mod atm;
mod bad_scenarios;
mod bad_tcp;
mod balance;
mod calls;
mod change;
mod conservation;
mod constellation;
mod corrupted;
mod descriptions;
mod determinism;
mod dtn;
mod golden;
mod groups;
mod handover;
mod kinds;
mod multicast;
mod proxy;
mod queues;
mod run;
mod service;
mod signals;
mod special;
mod table;
mod theory;
