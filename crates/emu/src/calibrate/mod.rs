//! What this machine can do: how many packets the engine carries and how exactly it lets them go.

pub mod load;
pub mod rig;
