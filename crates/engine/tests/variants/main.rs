//! Congestion controls in use: measured real stacks, equations, and golden trajectories of the
//! window.

mod bbr;
mod measured;
#[path = "../truth/run.rs"]
#[allow(dead_code, reason = "shared with the target `truth`")]
mod run;
#[path = "../truth/table.rs"]
mod table;
mod theory;
mod trajectories;
