//! Congestion controls at work: measured real stacks, equations, and golden trajectories of the window.
//!
//! What takes long is `#[ignore]`d and run by `make measured`; of each such test a small part always runs.

#[path = "../truth/golden.rs"]
#[allow(dead_code, reason = "shared with the target `truth`")]
mod golden;
mod measured;
#[path = "../truth/run.rs"]
#[allow(dead_code, reason = "shared with the target `truth`")]
mod run;
mod theory;
mod trajectories;
