//! One end of a call: its state, its numbering, and the reliable frames that wait for their
//! acknowledgments.

use super::events::OutgoingDatagram;
use super::frame::{Codec, Full, Kind};
use bentpipe_core::{Span, Time};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// State of a call at one end (RFC 5456, section 6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// This end has sent NEW and waits for the answer.
    Calling,
    /// A NEW has arrived, and this end has not accepted it yet.
    Offered,
    /// This end has sent ACCEPT and has not answered yet.
    Accepted,
    /// The call was answered, and both parties can talk.
    Up,
    /// This end has sent HANGUP or REJECT and waits for the acknowledgment.
    Ending,
}

/// A reliable frame that the other end has not acknowledged yet.
#[derive(Clone, Debug)]
pub(super) struct UnacknowledgedFrame {
    pub full: Full,
    pub data: Vec<u8>,
    pub mark: Option<u64>,
    /// Time of the next retransmission.
    pub next: Time,
    /// Interval between the last transmission and the next.
    pub interval: Span,
    /// Number of retransmissions so far.
    pub retransmissions: u32,
}

/// One end of a call: its state and its timers.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    pub state: State,
    /// Address of the other end.
    pub peer: SocketAddr,
    /// The other end's number of the call; 0 until the first frame of the other end arrives.
    pub number: u16,
    /// Time at which the time stamps of this end start.
    pub began: Time,
    /// Sequence number of the next reliable frame that this end sends (OSeqno).
    pub oseqno: u8,
    /// Sequence number of the next reliable frame of the other end (ISeqno).
    pub expected: u8,
    /// Reliable frames that the other end has not acknowledged, in the order of sending.
    pub waiting: VecDeque<UnacknowledgedFrame>,
    pub codec: Codec,
    /// Time stamp of the last speech that this end sent, if it has sent any.
    pub voice: Option<u32>,
    /// Time stamp of the latest speech that arrived; `None` before the first full frame of speech.
    pub latest_speech: Option<u32>,
    /// Time stamp of the last frame that this end sent. Time stamps must not decrease.
    pub last: u32,
    /// Time of the next PING; `Time::MAX` before the call is answered.
    pub ping: Time,
    /// Time of the next LAGRQ; `Time::MAX` before the call is answered.
    pub lag: Time,
    /// Time at which the exchange has scheduled the leg's next timer.
    pub due: Time,
}

/// Time between the first transmission of a frame and its first retransmission.
pub(super) const INITIAL_INTERVAL: Span = Span::from_secs(1);
/// Maximum interval between retransmissions. The interval doubles with each retransmission.
pub(super) const MAX_INTERVAL: Span = Span::from_secs(10);
/// Maximum number of retransmissions, after which the call is given up.
pub(super) const MAX_RETRANSMISSIONS: u32 = 4;
/// Time between two PINGs of an answered call.
pub(super) const PING: Span = Span::from_secs(20);
/// Time between two LAGRQs of an answered call.
pub(super) const LAG: Span = Span::from_secs(10);

/// Returns the answer to `full`, a frame that belongs to no call. The caller sets the kind of the
/// answer.
pub(super) fn reply(full: &Full) -> Full {
    Full {
        source: full.destination.max(1),
        destination: full.source,
        timestamp: full.timestamp,
        ..Full::default()
    }
}

impl UnacknowledgedFrame {
    /// Returns a retransmission of the frame, with the retransmission flag and the current numbers.
    pub fn retransmission(&self, to: SocketAddr, destination: u16, expected: u8) -> OutgoingDatagram {
        let full = Full { retransmitted: true, destination, expected, ..self.full };
        UnacknowledgedFrame::datagram(to, &full, &self.data, self.mark)
    }

    /// Returns a full frame as a datagram. `mark` is the mark of its speech, if it contains speech.
    pub fn datagram(to: SocketAddr, full: &Full, data: &[u8], mark: Option<u64>) -> OutgoingDatagram {
        let speech = if mark.is_some() { data.len() as u32 } else { 0 };
        OutgoingDatagram { to, bytes: full.bytes(data), marks: mark.into_iter().collect(), speech }
    }
}

impl Leg {
    /// Creates a call that begins now.
    pub fn new(now: Time, state: State, peer: SocketAddr, codec: Codec) -> Leg {
        Leg {
            state,
            peer,
            number: 0,
            began: now,
            oseqno: 0,
            expected: 0,
            waiting: VecDeque::new(),
            codec,
            voice: None,
            latest_speech: None,
            last: 0,
            ping: Time::MAX,
            lag: Time::MAX,
            due: Time::MAX,
        }
    }

    /// Returns the time at which the first of the leg's timers expires; `Time::MAX` if none runs.
    pub fn next_wake(&self) -> Time {
        let waiting = self.waiting.iter().map(|waiting| waiting.next).min();
        waiting.unwrap_or(Time::MAX).min(self.ping).min(self.lag)
    }

    /// Schedules the first PING and the first LAGRQ, which test whether the other end is alive.
    pub fn schedule_probes(&mut self, now: Time) {
        (self.ping, self.lag) = (now + PING, now + LAG);
    }

    /// Returns the time stamp of a frame that is sent now, in ms since the call began.
    pub fn next_timestamp(&mut self, now: Time) -> u32 {
        let elapsed = (now.since(self.began).as_nanos() / 1_000_000) as u32;
        self.last = self.last.max(elapsed);
        self.last
    }

    /// Removes the acknowledged frames: the other end expects the frame numbered `expected` next.
    pub fn acknowledge(&mut self, expected: u8) {
        self.waiting.retain(|waiting| waiting.full.oseqno.wrapping_sub(expected).cast_signed() >= 0);
    }

    /// Creates a frame without its own sequence number, which the other end does not acknowledge,
    /// such as ACK.
    pub fn unreliable(&mut self, now: Time, number: u16, kind: u8, timestamp: Option<u32>) -> Vec<u8> {
        let timestamp = timestamp.unwrap_or_else(|| self.next_timestamp(now));
        let full = Full {
            source: number,
            destination: self.number,
            retransmitted: false,
            timestamp,
            oseqno: self.oseqno,
            expected: self.expected,
            kind: Kind::Iax(kind),
        };
        full.bytes(&[])
    }
}
