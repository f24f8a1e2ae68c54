//! What a connection has to tell its application, kept until it is asked for.

/// Why a connection ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The other end does not know the connection.
    Reset,
    /// No answer to the SYN or SYN-ACK.
    Handshake,
    /// The same data was retransmitted, or the closed window probed, too often.
    TooManyRetries,
}

/// What the application should hear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection is established.
    Connected,
    /// So many bytes have arrived in order.
    Received(u64),
    /// Everything handed over is acknowledged.
    AllAcknowledged,
    /// The other end has closed its direction.
    PeerClosed,
    /// Our FIN is acknowledged.
    Closed,
    /// The connection has failed.
    Failed(Failure),
}

/// Events that wait. The application hears them in the order of [`Event`], whatever the order in which one
/// segment caused them; so data comes before the end of data.
#[derive(Default, Debug)]
pub(super) struct Events {
    any: bool,
    connected: bool,
    received: u64,
    all_acknowledged: bool,
    peer_closed: bool,
    closed: bool,
    failed: Option<Failure>,
}

impl Events {
    #[inline]
    pub fn add(&mut self, event: Event) {
        self.any = true;
        match event {
            Event::Connected => self.connected = true,
            Event::Received(bytes) => self.received += bytes,
            Event::AllAcknowledged => self.all_acknowledged = true,
            Event::PeerClosed => self.peer_closed = true,
            Event::Closed => self.closed = true,
            Event::Failed(failure) => self.failed = Some(failure),
        }
    }

    /// The application has handed over more before it heard that all was acknowledged.
    #[inline]
    pub fn withdraw_all_acknowledged(&mut self) {
        self.all_acknowledged = false;
    }

    #[inline]
    pub fn next(&mut self) -> Option<Event> {
        if !self.any {
            return None;
        }
        if std::mem::take(&mut self.connected) {
            return Some(Event::Connected);
        }
        if self.received > 0 {
            return Some(Event::Received(std::mem::take(&mut self.received)));
        }
        for (waits, event) in [
            (&mut self.all_acknowledged, Event::AllAcknowledged),
            (&mut self.peer_closed, Event::PeerClosed),
            (&mut self.closed, Event::Closed),
        ] {
            if std::mem::take(waits) {
                return Some(event);
            }
        }
        self.any = false;
        self.failed.take().map(Event::Failed)
    }
}
