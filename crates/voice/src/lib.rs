//! Voice: who speaks when ([`talker`]), what is sent ([`codec`], [`rtp`], [`stream`]), when it is
//! played ([`playout`]), and what a call sounds like ([`emodel`]).

pub mod bursts;
pub mod bytes;
pub mod codec;
pub mod emodel;
pub mod iax2;
pub mod jitter;
#[cfg(test)]
mod pair;
pub mod playout;
pub mod recognised;
pub mod rtcp;
pub mod rtp;
pub mod sip;
pub mod stream;
pub mod talker;
