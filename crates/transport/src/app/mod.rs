//! Applications: the sources and sinks of a flow's data. They are sans-I/O, so that the same
//! workload drives a simulated TCP or real kernel sockets: events come in, actions go out, and the
//! driver (a simulated endpoint or the socket driver of `emu`) owns the connections.
//!
//! Bytes have no content, so one end cannot tell the other how long a message is. If lengths are
//! random, both ends draw them from identical streams, the plan.

pub mod bulk;
pub mod bundles;
pub mod calls;
pub mod cbr;
pub mod command;
pub mod draw;
pub mod email;
pub mod ftp;
pub mod http;
pub mod netpipe;
pub mod sensors;
pub mod session;
pub mod voice;

use bentpipe_core::{kinds, Problems, Report, Span, Stream, Table, Time};
use bentpipe_stage::packet::datagram::Written;
use bentpipe_stage::Packet;

kinds! {
    /// The application of a flow, which decides what is sent and when. Both ends run it: the flow's
    /// source opens the connection, its destination answers.
    #[schemars(rename = "App")]
    pub enum Config: Workload, tables {
        "bulk" => Bulk(bulk::Config),
        "bundles" => Bundles(bundles::Config),
        "cbr" => Cbr(cbr::Config),
        "command" => Command(command::Config),
        "email" => Email(email::Config),
        "ftp" => Ftp(ftp::Config),
        "http" => Http(http::Config),
        "netpipe" => Netpipe(netpipe::Config),
        "sensors" => Sensors(sensors::Config),
        "voice" => Voice(voice::Config),
        "calls" => Calls(calls::Config),
    }
}

/// The factory of an application, implemented by its `Config`.
pub trait Workload {
    /// Builds the application at one end of a flow. Both ends get identical streams as their
    /// `plan`.
    fn build(&self, end: End, plan: Stream) -> Box<dyn App>;

    /// Returns true if it sends no faster than its transport permits, so that it needs a transport
    /// that sets a rate.
    fn is_elastic(&self) -> bool;

    /// Returns the rate that it offers in the long run; none if it takes whatever its transport
    /// gives.
    fn demand(&self) -> Option<Demand> {
        None
    }

    /// Returns the pages, files or mails that its user asks for, if it sends nothing else.
    fn transactions(&self) -> Option<Transactions> {
        None
    }

    /// What its destination sends besides the acknowledgments of the transport; nothing by default.
    fn answers(&self) -> Answers {
        Answers::Nothing
    }

    /// Returns the number of connections it can have.
    fn connections(&self) -> Connections {
        Connections::Fixed(1)
    }

    /// Returns the telephone calls that it stands for, if it does. They need a transport that
    /// signals them.
    fn calls(&self) -> Option<&calls::Config> {
        None
    }

    /// Returns true if its user waits for pages, files or messages, for which results are then
    /// reported.
    fn has_transactions(&self) -> bool {
        false
    }

    /// Returns the trace of which the application at the flow's destination writes rows, if any:
    /// see [`App::arrived`].
    fn measures(&self) -> Option<&'static Table> {
        None
    }

    /// Returns true if the application at the flow's source writes rows of that trace, too, under
    /// the name `NAME.reverse`.
    fn measures_both(&self) -> bool {
        false
    }

    /// Returns true if it writes into its datagrams ([`App::writes`]), for which it needs udp.
    fn writes(&self) -> bool {
        false
    }

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// What an application with a rate of its own sends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// Mean rate of the payload in bit/s, pauses included.
    pub rate_bit_s: f64,
    /// Payload of a datagram in bytes.
    pub datagram: u32,
}

/// The pages, files or mails of an application in the long run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transactions {
    /// Mean payload of one in bytes that its source sends.
    pub there: f64,
    /// Mean payload of one in bytes that its destination sends.
    pub back: f64,
    /// Number of them; none if they begin until the run ends.
    pub count: Option<u64>,
    /// Mean time between the beginnings of two of them, without transmission and round trips.
    pub pause: Span,
    /// Mean number of round trips that pass in addition.
    pub round_trips: f64,
}

/// What the destination of an application sends to its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answers {
    /// Nothing, or so little that it does not matter to a path: messages of a set-up, receipts.
    Nothing,
    /// Messages with so many bytes of payload each.
    Messages(u32),
    /// As much as its transport carries.
    Stream,
}

/// The number of connections that an application can have in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connections {
    /// A fixed number, each with its own traces.
    Fixed(u16),
    /// Connections come and go; only the first is traced.
    Endless,
}

impl Connections {
    /// Returns the number of connections that are traced.
    pub fn traced(self) -> u16 {
        match self {
            Connections::Fixed(count) => count,
            Connections::Endless => 1,
        }
    }
}

/// The end of a flow at which an application runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The flow's `from`, which opens the connection.
    Source,
    /// The flow's `to`, which accepts it.
    Destination,
}

/// An event for an application, on one of its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The flow's start time has come (source only).
    Start,
    /// The connection is established (over UDP: at once).
    Connected,
    /// Bytes have arrived in order (over UDP: one datagram).
    Received {
        /// Number of bytes that the event is about.
        bytes: u64,
    },
    /// Everything handed over so far has been acknowledged (TCP) or sent (UDP): more may be sent.
    MaySend,
    /// The time requested with [`Actions::timer`] has come. Belongs to no connection.
    Timer,
    /// The turn that the application requested on this connection with [`Actions::turn`].
    Turn,
    /// The other end has closed its direction.
    PeerClosed,
    /// The connection failed (reset, too many retries).
    Failed,
}

/// What an application asks of its driver in answer to one event, for the connection that the event
/// is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Actions {
    /// Bytes to send (over UDP: one datagram); `u64::MAX` for an endless stream.
    pub send: u64,
    /// True if the connection is to be opened.
    pub connect: bool,
    /// Close this direction once everything handed over has been sent.
    pub close: bool,
    /// Write no more, and close this direction once the send buffer is empty; without a limited
    /// buffer, discard what has not been sent.
    pub stop: bool,
    /// Raise [`Event::Timer`] then, instead of at any earlier requested time. `None` leaves the
    /// timer as it is.
    pub timer: Option<Time>,
    /// Raise [`Event::Turn`] on this connection next.
    pub turn: Option<u16>,
    /// Something that the user waited for is over.
    pub over: Option<Transaction>,
}

impl Actions {
    /// Returns true if any action concerns the connection of the event.
    #[inline]
    pub fn concern_connection(&self) -> bool {
        self.connect || self.send > 0 || self.close || self.stop
    }

    /// Returns true if any action is requested besides a timer and a turn.
    #[inline]
    pub fn is_something(&self) -> bool {
        self.concern_connection() || self.over.is_some()
    }
}

/// A unit of work that a user waits for as a whole: a page, a file, a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Time at which the user requested it.
    pub start: Time,
    /// Its payload in bytes, without requests and set-up messages.
    pub bytes: u64,
    /// Number of its objects or files.
    pub parts: u32,
    /// True if it was completed; otherwise it was aborted.
    pub complete: bool,
}

/// A datagram that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival<'a> {
    /// Bytes of its payload.
    pub bytes: u64,
    /// What the sender wrote into it. `None` if the payload is shorter than [`STAMP_BYTES`], or if
    /// that is where a wrong bit is (over real sockets; a simulated datagram has no bytes, and
    /// keeps its stamp).
    pub stamp: Option<Stamp>,
    /// True if its payload is as it was sent. If not, a channel has corrupted it and no checksum
    /// noticed.
    pub intact: bool,
    /// What the application at the other end wrote into it ([`App::writes`]). Over real sockets
    /// with what follows.
    pub content: &'a [u8],
}

/// What the sender of a datagram writes into it, behind what its application wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Place of the datagram in the order of sending, from 0. Numbers that are missing are lost or
    /// still under way.
    pub number: u32,
    /// Time at which the datagram was sent.
    pub sent: Time,
}

impl Arrival<'_> {
    /// Creates a simulated datagram that arrives with `bytes` of payload.
    pub fn of(packet: &Packet, bytes: u64, intact: bool) -> Arrival<'_> {
        let stamp = Stamp { number: packet.number, sent: packet.birth };
        let content = packet.body.datagram().unwrap_or_default();
        Arrival {
            bytes,
            stamp: (bytes >= STAMP_BYTES + content.len() as u64).then_some(stamp),
            intact,
            content,
        }
    }
}

/// Room that a stamp takes in the payload of a datagram: number, check and time.
pub const STAMP_BYTES: u64 = 16;

/// One end of an application.
pub trait App: Send {
    /// Handles an event at `now` on a connection of the flow. Connections are numbered from 0 in
    /// the order in which the source opens them; `stream` is the random stream of this end of the
    /// flow.
    fn on(&mut self, now: Time, connection: u16, event: Event, stream: &mut Stream, actions: &mut Actions);

    /// A datagram has arrived. An application that measures overrides this; by default it hears of
    /// the bytes only ([`Event::Received`]). Values that it leaves in `row` become a row of its
    /// trace ([`Workload::measures`]).
    ///
    /// A stream (TCP) has no datagrams: there all applications get [`Event::Received`].
    fn arrived(
        &mut self,
        now: Time,
        connection: u16,
        arrival: &Arrival<'_>,
        _row: &mut Vec<f64>,
        stream: &mut Stream,
        actions: &mut Actions,
    ) {
        self.on(now, connection, Event::Received { bytes: arrival.bytes }, stream, actions);
    }

    /// Returns the first bytes of the datagram that the application has just asked to send over
    /// UDP; zeros follow. By default it writes nothing.
    fn writes(&mut self) -> Written {
        Written::default()
    }

    /// Returns the number of bytes that the application at the other end wrote at the beginning of
    /// this datagram, by what they say. Real sockets ask, since what follows is theirs.
    fn written(&self, _datagram: &[u8]) -> usize {
        0
    }

    /// Returns true if it does nothing when data of a stream arrives ([`Event::Received`]), so that
    /// it need not be told.
    fn ignores_received(&self) -> bool {
        false
    }

    /// Writes at the end of the run what it knows about `flow`. The row of a table whose entity is
    /// a flow becomes columns of the flow.
    fn report(&self, _flow: &str, _report: &mut Report) {}

    /// Returns the number of transactions that the user has requested and that are neither complete
    /// nor aborted.
    fn pending(&self) -> u64 {
        0
    }

    /// Writes at the end of the run the application's results about the data that arrived here.
    /// `incoming` is the name of that direction, which is the flow's own at its destination;
    /// `lasted` is the time since the start of the flow.
    fn report_incoming(&self, _incoming: &str, _lasted: Span, _report: &mut Report) {}
}
