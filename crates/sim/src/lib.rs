//! The virtual clock: jumps to the next wake, until the scenario's duration is over.

mod run;

pub use run::{drive, simulate, simulate_followed, Driven, Error, Simulated};
