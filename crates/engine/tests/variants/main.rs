//! Tests of congestion controls in complete runs: comparisons with measurements of Linux, with
//! published equations, and with golden tables of the congestion window.

mod bbr;
mod measured;
mod prague;
#[path = "../truth/run.rs"]
#[allow(dead_code, reason = "shared with the target `truth`")]
mod run;
#[path = "../truth/table.rs"]
mod table;
mod theory;
mod trajectories;
