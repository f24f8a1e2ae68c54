//! The engine as a whole, held to the truth (DESIGN.md, section 8): the same run twice, nothing lost without a name,
//! tables of numbers, equations from papers, and scenarios that must be refused.
//!
//! One program, so that it is linked once. `BLESS=1` writes the golden files again.

mod access;
mod bad_scenarios;
mod bad_tcp;
mod change;
mod conservation;
mod constellation;
mod descriptions;
mod determinism;
mod golden;
mod handover;
mod proxy;
mod queues;
mod run;
mod service;
mod signals;
mod special;
mod spoiled;
mod table;
mod theory;
