//! Voice: what a call sounds like.

pub mod codec;
pub mod emodel;
pub mod iax2;
pub mod sip;
