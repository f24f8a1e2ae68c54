//! Voice: talk spurts ([`talker`]), codecs and packets ([`codec`], [`rtp`], [`stream`]), de-jitter
//! buffers ([`playout`]), and the quality of a call ([`emodel`]).

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
