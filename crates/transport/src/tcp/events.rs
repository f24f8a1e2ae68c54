//! The events that a connection has for its application, kept until requested.

/// The reason for which a connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Reset: the other end does not know the connection.
    Reset,
    /// No answer to the SYN or SYN-ACK.
    Handshake,
    /// The same data was retransmitted, or the closed window probed, too often.
    TooManyRetries,
}

/// An event for the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection is established.
    Connected,
    /// This many bytes have arrived in order.
    Received(u64),
    /// Everything handed over is acknowledged.
    AllAcknowledged,
    /// The other end has closed its direction.
    PeerClosed,
    /// Our FIN has been acknowledged.
    Closed,
    /// The connection has failed.
    Failed(Failure),
}

/// Pending events. The application receives them in the order of [`Event`], so data precedes the
/// end of data, independent of the order in which one segment caused them.
#[derive(Default, Debug)]
pub(super) struct Events {
    /// A bit for each pending kind of event; the first to be delivered is the lowest.
    waiting: u8,
    received: u64,
    failed: Option<Failure>,
}

const CONNECTED: u8 = 1;
const RECEIVED: u8 = 2;
const ALL_ACKNOWLEDGED: u8 = 4;
const PEER_CLOSED: u8 = 8;
const CLOSED: u8 = 16;
const FAILED: u8 = 32;

impl Events {
    #[inline]
    pub fn add(&mut self, event: Event) {
        self.waiting |= match event {
            Event::Connected => CONNECTED,
            Event::Received(bytes) => {
                self.received += bytes;
                RECEIVED
            }
            Event::AllAcknowledged => ALL_ACKNOWLEDGED,
            Event::PeerClosed => PEER_CLOSED,
            Event::Closed => CLOSED,
            Event::Failed(failure) => {
                self.failed = Some(failure);
                FAILED
            }
        };
    }

    /// Withdraws the event, because the application has handed over more data before receiving it.
    #[inline]
    pub fn withdraw_all_acknowledged(&mut self) {
        self.waiting &= !ALL_ACKNOWLEDGED;
    }

    /// Returns true if events are pending.
    #[inline]
    pub fn are_waiting(&self) -> bool {
        self.waiting != 0
    }

    #[inline]
    pub fn next(&mut self) -> Option<Event> {
        if self.waiting == 0 {
            return None;
        }
        let first = self.waiting & self.waiting.wrapping_neg();
        self.waiting &= !first;
        match first {
            CONNECTED => Some(Event::Connected),
            RECEIVED => Some(Event::Received(std::mem::take(&mut self.received))),
            ALL_ACKNOWLEDGED => Some(Event::AllAcknowledged),
            PEER_CLOSED => Some(Event::PeerClosed),
            CLOSED => Some(Event::Closed),
            _ => self.failed.take().map(Event::Failed),
        }
    }
}
