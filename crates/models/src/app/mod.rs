//! Who talks. Applications are sans-I/O, so that the same workload drives a simulated TCP or real kernel sockets:
//! events come in, actions go out, and the driver (a simulated endpoint or the socket driver of `emu`) owns the
//! connections.
//!
//! Bytes have no content, so one end cannot tell the other how long a message is. Where lengths are random both ends draw
//! them from equal streams, the plan.

pub mod bulk;
pub mod cbr;
pub mod command;
pub mod draw;
pub mod email;
pub mod ftp;
pub mod http;
pub mod session;

use bentpipe_core::{kinds, Problems, Stream, Time};

kinds! {
    /// What the application of a flow does. Both ends run it: the flow's source opens, its destination answers.
    pub enum Config: Workload {
        "bulk" => Bulk(bulk::Config),
        "cbr" => Cbr(cbr::Config),
        "command" => Command(command::Config),
        "email" => Email(email::Config),
        "ftp" => Ftp(ftp::Config),
        "http" => Http(http::Config),
    }
}

/// What an application's `Config` can do.
pub trait Workload {
    /// The application at one end of a flow. Both ends are given equal streams as their `plan`.
    fn build(&self, end: End, plan: Stream) -> Box<dyn App>;

    /// Whether it sends no faster than its transport says, so that it needs one that says so.
    fn is_elastic(&self) -> bool;

    /// How many connections it can have.
    fn connections(&self) -> Connections {
        Connections::Fixed(1)
    }

    /// Whether its user waits for pages, files or messages, of which there are results then.
    fn has_transactions(&self) -> bool {
        false
    }

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// How many connections an application can have in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connections {
    /// So many, which have traces of their own.
    Fixed(u16),
    /// They come and go, and the first is traced.
    Endless,
}

impl Connections {
    /// How many are traced.
    pub fn traced(self) -> u16 {
        match self {
            Connections::Fixed(count) => count,
            Connections::Endless => 1,
        }
    }
}

/// Which end of the flow an application runs at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// `from` of the flow: opens the connection.
    Source,
    /// `to` of the flow: accepts it.
    Destination,
}

/// What happens to an application, on one of its connections.
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
    /// The moment asked for with [`Actions::timer`] has come. It belongs to no connection.
    Timer,
    /// The application has asked for its turn on this connection with [`Actions::turn`].
    Turn,
    /// The other end has closed its direction.
    PeerClosed,
    /// The connection ended with an error (reset, too many retries).
    Failed,
}

/// What an application asks of its driver in answer to one event, for the connection that the event is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Actions {
    /// Bytes to send (over UDP: one datagram); `u64::MAX` for an endless stream.
    pub send: u64,
    /// Open the connection.
    pub connect: bool,
    /// Close this direction once everything handed over has been sent.
    pub close: bool,
    /// Close this direction now: what was handed over and not sent is forgotten.
    pub stop: bool,
    /// Wake me then; replaces an earlier time. `None` leaves the timer as it is.
    pub timer: Option<Time>,
    /// Tell me [`Event::Turn`] of that connection next.
    pub turn: Option<u16>,
    /// Something that the user waited for is over.
    pub over: Option<Transaction>,
}

impl Actions {
    /// Whether something is asked of the connection that the event is about.
    #[inline]
    pub fn concern_connection(&self) -> bool {
        self.connect || self.send > 0 || self.close || self.stop
    }

    /// Whether anything is asked for but a timer and a turn.
    #[inline]
    pub fn is_something(&self) -> bool {
        self.concern_connection() || self.over.is_some()
    }
}

/// What a user waits for as a whole: a page, a file, a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// When the user asked for it.
    pub start: Time,
    /// Its payload, requests and set-up messages not counted.
    pub bytes: u64,
    /// Of how many objects or files it consists.
    pub parts: u32,
    /// Whether it is complete; it was broken off otherwise.
    pub complete: bool,
}

/// One end of an application.
pub trait App: Send {
    /// Something happened at `now` on a connection of the flow, which are numbered from 0 in the order in which the source
    /// opens them; `stream` is the flow end's own random stream.
    fn on(&mut self, now: Time, connection: u16, event: Event, stream: &mut Stream, actions: &mut Actions);
}
