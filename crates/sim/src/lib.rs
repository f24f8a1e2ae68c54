//! The virtual clock: jumps to the next wake, until the scenario's duration is over.

mod flows;
mod run;

pub use run::{drive, simulate, Driven, Error, Options, Simulated};
