//! Events that an exchange reports to its user, and datagrams to send.

use super::frame::Codec;
use bentpipe_core::Span;
use std::net::SocketAddr;

/// A call, identified by the number that this exchange gave it (the source call number of RFC 5456,
/// section 8.1.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Call(pub u16);

/// Reasons for which calls end, as hangup causes of ITU-T Q.931 (RFC 5456, section 8.6.21).
pub mod cause {
    /// One of the two parties has hung up.
    pub const NORMAL: u8 = 16;
    /// The callee has no free line.
    pub const BUSY: u8 = 17;
    /// The call was not answered before the caller gave up.
    pub const NO_ANSWER: u8 = 19;
    /// The exchange has no free circuit.
    pub const NO_CIRCUIT: u8 = 34;
    /// The callee cannot decode the codec of the call.
    pub const NO_BEARER: u8 = 58;
    /// The other end no longer acknowledges frames.
    pub const TIMER: u8 = 102;
}

/// An event that an exchange reports to its user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A call arrives. The user answers it with [`Exchange::ring`](super::Exchange::ring),
    /// [`Exchange::answer`](super::Exchange::answer) or
    /// [`Exchange::refuse`](super::Exchange::refuse).
    Incoming {
        /// The number that this exchange has given to the call.
        call: Call,
        /// Number of the caller, empty if the caller sent none.
        from: String,
        /// Called number, empty if the caller sent none.
        to: String,
        /// Codec in which the caller will send speech.
        codec: Codec,
        /// All codecs that the caller can decode, as a bit mask.
        capability: Codec,
    },
    /// The other end has accepted the call, or the called telephone rings.
    Progress {
        /// The call that this exchange placed.
        call: Call,
        /// True if the called telephone rings; if false, the call was only accepted.
        ringing: bool,
    },
    /// The called telephone was answered: both parties can talk.
    Answered {
        /// The call that this exchange placed.
        call: Call,
    },
    /// The call could not be set up, or the other end stopped acknowledging frames.
    Failed {
        /// The failed call, which no longer exists.
        call: Call,
        /// The reason, one of the numbers in [`cause`].
        cause: u8,
    },
    /// A call that had been answered has ended.
    Ended {
        /// The ended call, which no longer exists.
        call: Call,
        /// True if the other end hung up.
        by_other: bool,
    },
    /// A frame of speech has arrived.
    Voice {
        /// The call to which the speech belongs.
        call: Call,
        /// Time at which the speech was sent, in ms since the call began, by the clock of its
        /// sender.
        timestamp: u32,
        /// Offset of the encoded speech in the datagram, in bytes.
        at: usize,
        /// Length of the encoded speech in bytes.
        bytes: u32,
        /// Position of this frame among the frames of speech in the datagram, from 0.
        place: usize,
    },
    /// A user registers an address. The user of the exchange confirms it with
    /// [`Exchange::register`](super::Exchange::register).
    Registering {
        /// The registration's exchange of frames, which ends with the confirmation.
        call: Call,
        /// Name of the registering telephone.
        user: String,
        /// Address from which the registration arrived.
        address: SocketAddr,
        /// Requested duration of the registration, in seconds; 0 to remove it.
        seconds: u16,
    },
    /// The other end has answered a LAGRQ.
    Lag {
        /// The call whose delay was measured.
        call: Call,
        /// Time from the LAGRQ to its answer.
        lag: Span,
    },
}

/// The events and datagrams that result from one operation of an exchange.
#[derive(Clone, Default, Debug)]
pub struct Out {
    /// Datagrams to send, in order.
    pub send: Vec<OutgoingDatagram>,
    /// Events for the user, in order.
    pub events: Vec<Event>,
    /// Number of frames in `send` that are retransmissions.
    pub retransmissions: u64,
}

/// A datagram for the user of the exchange to send.
#[derive(Clone, Debug)]
pub struct OutgoingDatagram {
    /// Address and port of the other exchange.
    pub to: SocketAddr,
    /// The datagram: a full frame, a mini frame, or a trunk frame.
    pub bytes: Vec<u8>,
    /// The marks that the user gave to the frames of speech in the datagram, in order: see
    /// [`Exchange::voice`](super::Exchange::voice).
    pub marks: Vec<u64>,
    /// Bytes of encoded speech in the datagram; 0 for signalling.
    pub speech: u32,
}

impl OutgoingDatagram {
    /// Creates a datagram of signalling, which carries no speech.
    pub(super) fn signalling(to: SocketAddr, bytes: Vec<u8>) -> OutgoingDatagram {
        OutgoingDatagram { to, bytes, marks: Vec::new(), speech: 0 }
    }
}

/// Settings of trunk frames, which carry the speech of all calls to one address together (RFC 5456,
/// section 8.1.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trunk {
    /// Time between two trunk frames to the same address.
    pub period: Span,
    /// True if each entry has its own time stamp, which takes 2 bytes.
    pub timestamps: bool,
    /// Maximum size of a trunk frame in bytes, including its header. Further speech is sent in
    /// additional trunk frames at the same time. A single frame of speech that exceeds this size is
    /// sent in a separate trunk frame.
    pub largest: u32,
}
