//! Voice: what a call sounds like.

pub mod codec;
pub mod emodel;
