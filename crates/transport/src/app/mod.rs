//! Applications: the sources and sinks of a flow's data. They do no I/O, so the same workload
//! drives a simulated TCP or real kernel sockets: events come in, actions go out, and the driver (a
//! simulated endpoint or the socket driver of `emu`) owns the connections.
//!
//! Bytes have no content, so one end cannot send the other the length of a message. Both ends draw
//! random lengths from identical streams, called the plan.

pub mod bulk;
pub mod bundles;
pub mod calls;
pub mod cbr;
pub mod command;
pub mod dash;
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
    /// The application of a flow, which determines its traffic. Both ends run it: the flow's source
    /// opens the connection, its destination answers.
    #[schemars(rename = "App")]
    pub enum Config: Workload, tables {
        "bulk" => Bulk(bulk::Config),
        "bundles" => Bundles(bundles::Config),
        "cbr" => Cbr(cbr::Config),
        "command" => Command(command::Config),
        "dash" => Dash(dash::Config),
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

    /// Returns true if the application sends only as fast as its transport permits, so it needs a
    /// transport that sets a rate.
    fn is_elastic(&self) -> bool;

    /// Returns the offered rate in the long run; `None` if the application uses all that its
    /// transport permits.
    fn demand(&self) -> Option<Demand> {
        None
    }

    /// Returns the pages, files or mails that the user requests, if the application sends nothing
    /// else.
    fn transactions(&self) -> Option<Transactions> {
        None
    }

    /// Returns the traffic of the destination in addition to the acknowledgments of the transport;
    /// nothing by default.
    fn answers(&self) -> Answers {
        Answers::Nothing
    }

    /// Returns the number of connections of the application.
    fn connections(&self) -> Connections {
        Connections::Fixed(1)
    }

    /// Returns the telephone calls that the application represents, if any. They need a transport
    /// that signals them.
    fn calls(&self) -> Option<&calls::Config> {
        None
    }

    /// Returns true if the user waits for pages, files or messages. Results are then reported for
    /// them.
    fn has_transactions(&self) -> bool {
        false
    }

    /// Returns the trace for which the application at the flow's destination writes rows, if any:
    /// see [`App::arrived`].
    fn measures(&self) -> Option<&'static Table> {
        None
    }

    /// Returns true if the application at the flow's source also writes rows of that trace, under
    /// the name `NAME.reverse`.
    fn measures_both(&self) -> bool {
        false
    }

    /// Returns true if the application writes into its datagrams ([`App::writes`]), which needs
    /// UDP.
    fn writes(&self) -> bool {
        false
    }

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// The offered traffic of an application with its own rate.
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
    /// Mean payload of a transaction that the source sends, in bytes.
    pub there: f64,
    /// Mean payload of a transaction that the destination sends, in bytes.
    pub back: f64,
    /// Number of transactions; `None` if they begin until the run ends.
    pub count: Option<u64>,
    /// Mean time between the beginnings of two transactions, without transmission and round trips.
    pub pause: Span,
    /// Mean number of additional round trips per transaction.
    pub round_trips: f64,
}

/// The traffic from the destination of an application to its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answers {
    /// No traffic that is relevant to a path: at most set-up messages or receipts.
    Nothing,
    /// Messages with this payload in bytes each.
    Messages(u32),
    /// As much data as the transport carries.
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

/// An event for an application on one of its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The flow's start time has come (source only).
    Start,
    /// The connection is established (with UDP, immediately).
    Connected,
    /// Bytes have arrived in order (over UDP: one datagram).
    Received {
        /// Number of bytes received.
        bytes: u64,
    },
    /// Everything handed over so far has been acknowledged (TCP) or sent (UDP), so more may be
    /// sent.
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

/// The actions that an application requests of its driver after an event, for the connection of the
/// event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Actions {
    /// Bytes to send (over UDP: one datagram); `u64::MAX` for an endless stream.
    pub send: u64,
    /// True to open the connection.
    pub connect: bool,
    /// True to close this direction once everything handed over has been sent.
    pub close: bool,
    /// True to write no more, and to close this direction once the send buffer is empty; without a
    /// limited buffer, unsent data is discarded.
    pub stop: bool,
    /// Time of the next [`Event::Timer`], which replaces an earlier request. `None` leaves the
    /// timer unchanged.
    pub timer: Option<Time>,
    /// Connection on which [`Event::Turn`] is raised next.
    pub turn: Option<u16>,
    /// A transaction that is over.
    pub over: Option<Transaction>,
}

impl Actions {
    /// Returns true if any action concerns the connection of the event.
    #[inline]
    pub fn concern_connection(&self) -> bool {
        self.connect || self.send > 0 || self.close || self.stop
    }

    /// Returns true if any action other than a timer or a turn is requested.
    #[inline]
    pub fn is_something(&self) -> bool {
        self.concern_connection() || self.over.is_some()
    }
}

/// A unit of work for which a user waits as a whole: a page, a file, a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Time at which the user requested it.
    pub start: Time,
    /// Payload of the transaction in bytes, without requests and set-up messages.
    pub bytes: u64,
    /// Number of objects or files.
    pub parts: u32,
    /// True if the transaction was completed, false if it was aborted.
    pub complete: bool,
}

/// A datagram that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival<'a> {
    /// Size of its payload in bytes.
    pub bytes: u64,
    /// Stamp of the sender. `None` if the payload is shorter than [`STAMP_BYTES`], or if the bit
    /// error is in the stamp (over real sockets; a simulated datagram has no bytes and keeps its
    /// stamp).
    pub stamp: Option<Stamp>,
    /// True if the payload is unchanged. If false, a channel has corrupted it undetected.
    pub intact: bool,
    /// Bytes written by the application at the other end ([`App::writes`]). Over real sockets, the
    /// bytes after them are included.
    pub content: &'a [u8],
}

/// The stamp of a datagram, which the sender writes after the bytes of its application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Number of the datagram in the order of sending, from 0. Missing numbers are lost or still in
    /// flight.
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

/// Size of a stamp in the payload of a datagram: number, check and time.
pub const STAMP_BYTES: u64 = 16;

/// One end of an application, driven by events.
pub trait App: Send {
    /// Handles an event at `now` on a connection of the flow. Connections are numbered from 0 in
    /// the order in which the source opens them; `stream` is the random stream of this end of the
    /// flow.
    fn on(&mut self, now: Time, connection: u16, event: Event, stream: &mut Stream, actions: &mut Actions);

    /// Handles an arriving datagram. An application that measures overrides this method; by default
    /// it only gets the number of bytes ([`Event::Received`]). Values left in `row` become a row of
    /// its trace ([`Workload::measures`]).
    ///
    /// A stream (TCP) has no datagrams: all applications get [`Event::Received`] instead.
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

    /// Returns the first bytes of the datagram that the application has just sent over UDP; zeros
    /// follow. Empty by default.
    fn writes(&mut self) -> Written {
        Written::default()
    }

    /// Returns the number of bytes that the application at the other end wrote at the beginning of
    /// this datagram, derived from their content. Real sockets use it, because they write the bytes
    /// after them.
    fn written(&self, _datagram: &[u8]) -> usize {
        0
    }

    /// Returns true if the application ignores arriving data of a stream ([`Event::Received`]), so
    /// the event can be omitted.
    fn ignores_received(&self) -> bool {
        false
    }

    /// Writes the application's report about `flow` at the end of the run; `lasted` is the time
    /// since the start of the flow. The row of a table whose entity is a flow becomes columns of
    /// the flow.
    fn report(&self, _flow: &str, _lasted: Span, _report: &mut Report) {}

    /// Returns the number of requested transactions that are neither complete nor aborted.
    fn pending(&self) -> u64 {
        0
    }

    /// Writes the application's results about the incoming data at the end of the run. `incoming`
    /// is the name of that direction, which is the flow's own at its destination; `lasted` is the
    /// time since the start of the flow.
    fn report_incoming(&self, _incoming: &str, _lasted: Span, _report: &mut Report) {}
}
