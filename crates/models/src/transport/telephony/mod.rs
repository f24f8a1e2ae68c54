//! Telephone calls between two exchanges: signalling by SIP or IAX2, and speech.
//!
//! [`endpoint`] is the stage at either end: it places or answers the calls of [`app::calls`](crate::app::calls), talks, listens
//! and counts. What differs between the two protocols is a [`Line`]: [`sip`] with RTP beside it, [`iax2`] with media in band.
//! Signalling travels as the real messages and frames of [`voice::sip`](crate::voice::sip) and
//! [`voice::iax2`](crate::voice::iax2), byte by byte.

pub mod endpoint;
pub mod iax2;
pub mod results;
pub mod sip;

pub use endpoint::{Endpoint, Ends};

use crate::voice::rtp::Rtp;
use crate::voice::stream::Media;
use crate::{Body, Content, Packet, Payload};
use bentpipe_core::Time;

/// The signalling of one end, and the way of its speech.
pub trait Line: Send {
    /// Begins a call: its identity at this end, if there can be one more. `number` is the caller's.
    fn call(&mut self, now: Time, number: u32, out: &mut Signals) -> Option<u32>;
    /// The called telephone rings.
    fn ring(&mut self, now: Time, call: u32, out: &mut Signals);
    /// The called telephone is answered.
    fn answer(&mut self, now: Time, call: u32, out: &mut Signals);
    /// There is no line for it.
    fn refuse(&mut self, now: Time, call: u32, out: &mut Signals);
    /// Ends a call, whatever its state.
    fn hang_up(&mut self, now: Time, call: u32, out: &mut Signals);
    /// Sends speech of a call that has been answered.
    fn speak(&mut self, now: Time, call: u32, media: &Media, out: &mut Signals);
    /// A packet has come: whether it is one of this protocol.
    fn receive(&mut self, now: Time, body: &Body, out: &mut Signals) -> bool;
    /// Acts on the timers that have come.
    fn wake(&mut self, now: Time, out: &mut Signals);
    /// When to call [`Line::wake`]; `Time::MAX` for never.
    fn next_wake(&self) -> Time;
}

/// What a line asks for and reports.
#[derive(Default)]
pub struct Signals {
    /// Datagrams to send.
    pub send: Vec<Outgoing>,
    /// What has happened, in order.
    pub events: Vec<Signal>,
    /// Messages of signalling that had been sent before.
    pub retransmissions: u64,
}

/// A datagram to send.
pub struct Outgoing {
    /// Bytes of its UDP payload.
    pub payload: u32,
    /// Bytes of speech in it, without headers; 0 for signalling.
    pub speech: u32,
    /// Its contents.
    pub body: Body,
}

/// What has happened to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Somebody calls.
    Incoming {
        /// The call.
        call: u32,
        /// The caller's number.
        number: u32,
    },
    /// The other telephone rings.
    Ringing {
        /// The call.
        call: u32,
    },
    /// The other telephone was answered.
    Answered {
        /// The call.
        call: u32,
    },
    /// The call has failed.
    Failed {
        /// The call.
        call: u32,
        /// Status of SIP, or cause of Q.931.
        reason: u16,
    },
    /// The other side has hung up.
    Ended {
        /// The call.
        call: u32,
    },
    /// Speech has come.
    Speech {
        /// The call.
        call: u32,
        /// Its header, or what a header of RTP would say.
        rtp: Rtp,
    },
}

/// The bytes of a message, as the body of a datagram.
#[derive(Debug)]
pub struct Message {
    /// Its bytes, for a capture and for the other end.
    pub bytes: Vec<u8>,
    /// What the sender knows about the speech in it: see [`exchange`](crate::voice::iax2::exchange).
    pub marks: Vec<u64>,
}

impl Payload for Message {
    fn content(&self) -> Content {
        if self.marks.is_empty() {
            Content::Feedback
        } else {
            Content::Data
        }
    }

    fn header(&self, _packet: &Packet, _notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(&self.bytes);
        0
    }
}
