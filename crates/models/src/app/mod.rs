//! Who talks. Applications are sans-I/O, so that the same workload drives a simulated TCP or real kernel sockets:
//! events come in, actions go out, and the driver (a simulated endpoint or the socket driver of `emu`) owns the
//! connection.

pub mod bulk;
pub mod cbr;
pub mod command;

use bentpipe_core::{kinds, Problems, Stream, Time};

kinds! {
    /// What the application of a flow does. Both ends run it: the flow's source opens, its destination answers.
    pub enum Config: Workload {
        "bulk" => Bulk(bulk::Config),
        "cbr" => Cbr(cbr::Config),
        "command" => Command(command::Config),
    }
}

/// What an application's `Config` can do.
pub trait Workload {
    /// The application at one end of a flow.
    fn build(&self, end: End) -> Box<dyn App>;

    /// Whether it sends no faster than its transport says, so that it needs one that says so.
    fn is_elastic(&self) -> bool;

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// Which end of the flow an application runs at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// `from` of the flow: opens the connection.
    Source,
    /// `to` of the flow: accepts it.
    Destination,
}

/// What happens to an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The flow's start time has come (source only).
    Start,
    /// The connection is established (over UDP: at once).
    Connected,
    /// Bytes have arrived in order (over UDP: one datagram).
    Received {
        /// How many.
        bytes: u64,
    },
    /// All bytes handed over so far have been acknowledged (TCP) or sent (UDP): more may be sent.
    MaySend,
    /// The moment asked for with [`Actions::timer`] has come.
    Timer,
    /// The other end has closed its direction.
    PeerClosed,
    /// The connection ended with an error (reset, too many retries).
    Failed,
}

/// What an application asks of its driver in answer to one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Actions {
    /// Bytes to send (over UDP: one datagram); `u64::MAX` for an endless stream.
    pub send: u64,
    /// Open the connection.
    pub connect: bool,
    /// Close this direction once everything handed over has been sent.
    pub close: bool,
    /// Wake me then; replaces an earlier time. `None` leaves the timer as it is.
    pub timer: Option<Time>,
}

/// One end of an application.
pub trait App: Send {
    /// Something happened at `now`; `stream` is the flow end's own random stream.
    fn on(&mut self, now: Time, event: Event, stream: &mut Stream, actions: &mut Actions);
}
