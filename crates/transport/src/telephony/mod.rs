//! Telephone calls between two exchanges: signalling by SIP or IAX2, and speech.
//!
//! [`endpoint`] is the stage at either end: it places or answers the calls of
//! [`app::calls`](crate::app::calls), talks, listens and counts. The differences between the two
//! protocols are behind a [`Line`]: [`sip`] with RTP, [`iax2`] with media in band. Signalling
//! travels as the real messages and frames of [`voice::sip`](bentpipe_voice::sip) and
//! [`voice::iax2`](bentpipe_voice::iax2), byte by byte; SIP over TCP in the segments of a
//! [`stream`].

mod agenda;
pub mod endpoint;
pub mod iax2;
pub mod results;
pub mod sip;
pub mod stream;

pub use endpoint::{Endpoint, Ends};

use bentpipe_core::Time;
use bentpipe_stage::{Body, Content, Packet, Payload};
use bentpipe_voice::rtp::Rtp;
use bentpipe_voice::stream::Media;

/// The signalling of the calls at one end, and the transmission of their speech.
pub trait Line: Send {
    /// Places a call from the telephone `number`. Returns the call's identity at this end, or
    /// `None` if no further call is possible.
    fn call(&mut self, now: Time, number: u32, out: &mut Signals) -> Option<u32>;
    /// Informs the caller that the called telephone rings.
    fn ring(&mut self, now: Time, call: u32, out: &mut Signals);
    /// Answers a call that rings here.
    fn answer(&mut self, now: Time, call: u32, out: &mut Signals);
    /// Refuses a call because no line is free.
    fn refuse(&mut self, now: Time, call: u32, out: &mut Signals);
    /// Ends a call in any state.
    fn hang_up(&mut self, now: Time, call: u32, out: &mut Signals);
    /// Sends a packet of speech in a call that was answered.
    fn speak(&mut self, now: Time, call: u32, media: &Media, out: &mut Signals);
    /// Handles the body of an arriving packet. Returns true if the body belongs to this protocol.
    fn receive(&mut self, now: Time, body: &Body, out: &mut Signals) -> bool;
    /// Handles all timers that have expired.
    fn wake(&mut self, now: Time, out: &mut Signals);
    /// Returns the time of the next call of [`Line::wake`]; `Time::MAX` for never.
    fn next_wake(&self) -> Time;
}

/// The packets and events that result from one operation of a line.
#[derive(Default)]
pub struct Signals {
    /// Packets to send, in order.
    pub send: Vec<Outgoing>,
    /// Events of calls, in order.
    pub events: Vec<Signal>,
    /// Number of signalling messages (over TCP: segments) in `send` that are retransmissions.
    pub retransmissions: u64,
}

/// A packet for the endpoint to send.
pub struct Outgoing {
    /// Size of the packet at the network layer, in bytes.
    pub size: u32,
    /// Bytes of encoded speech in the packet, without headers; 0 for signalling.
    pub speech: u32,
    /// Contents of the packet, as a typed body.
    pub body: Body,
}

/// An event of a call, for the endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A call arrives from the other exchange.
    Incoming {
        /// Identity of the new call at this end.
        call: u32,
        /// Number of the calling telephone.
        number: u32,
    },
    /// The called telephone rings.
    Ringing {
        /// The call that this exchange placed.
        call: u32,
    },
    /// The called telephone was answered.
    Answered {
        /// The call that this exchange placed.
        call: u32,
    },
    /// The call could not be set up, or the other exchange is gone.
    Failed {
        /// The failed call, which no longer exists.
        call: u32,
        /// Status of SIP, or hangup cause of Q.931 with IAX2.
        reason: u16,
    },
    /// The other party has hung up.
    Ended {
        /// The ended call, which no longer exists.
        call: u32,
    },
    /// A packet of speech has arrived.
    Speech {
        /// The call to which the speech belongs.
        call: u32,
        /// RTP header of the packet; with IAX2, which has none, its equivalent.
        rtp: Rtp,
        /// Size of its encoded speech or comfort noise, in bytes.
        payload: u32,
    },
}

/// A datagram of signalling, or of IAX2's speech, with all its bytes.
#[derive(Debug)]
pub struct Message {
    /// The bytes after the UDP header.
    pub bytes: Vec<u8>,
    /// The mark of each frame of speech in the datagram, as given by its sender: see
    /// [`Exchange::voice`](bentpipe_voice::iax2::Exchange::voice).
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
