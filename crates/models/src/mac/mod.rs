//! Medium access: who may send when on a shared channel.

pub mod dama;
pub mod skyplex;
pub mod wifi;
