//! The common part of the endpoints of all transports: their position in the network, and the
//! application that they host.

use super::flow::{DestinationCounters, SourceCounters};
use super::names;
use super::statistics::SpanStatistics;
use super::{details, flow};
use crate::app::{Actions, App, Arrival, End, Event, Transaction};
use bentpipe_core::{Column, FlowId, NodeId, Report, Span, Stream, Table, Tables, Time};
use bentpipe_stage::packet::datagram::Written;
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Ecn, Outbox, Packet, Port};

/// One end of a flow: its place and its name.
#[derive(Clone, Debug)]
pub struct Site {
    /// Number of the flow in the run.
    pub flow: FlowId,
    /// Name of the flow, for results.
    pub name: String,
    /// The node at this end.
    pub node: NodeId,
    /// The node of the other end.
    pub peer: NodeId,
    /// The end of the flow: source or destination.
    pub end: End,
    /// Time at which the application starts (at the source).
    pub start: Time,
    /// DSCP of all packets of the flow.
    pub dscp: u8,
    /// True if the destination measures details.
    pub details: bool,
    /// The interface under which packets are captured, if any.
    pub capture: Option<u32>,
}

impl Site {
    /// Returns the leg of the flow on which this end sends.
    #[inline]
    pub fn leg(&self) -> Leg {
        match self.end {
            End::Source => Leg::THERE,
            End::Destination => Leg::BACK,
        }
    }

    /// Returns the name of the incoming direction: the flow's own name at its destination.
    pub fn incoming(&self) -> String {
        match self.end {
            End::Source => names::reverse(&self.name),
            End::Destination => self.name.clone(),
        }
    }

    /// Returns the names under which the sender and the receiver of a connection are traced at this
    /// end.
    pub fn traced_as(&self, connection: u16) -> (String, String) {
        names::traced_as(&self.name, self.end, connection)
    }

    /// Sends a packet to the other end: its time of origin, number and size, and its body.
    #[inline]
    pub fn send(&self, now: Time, of: (Time, u32, u32), body: Body, out: &mut Outbox) {
        self.send_marked(now, of, Ecn::NotEct, body, out);
    }

    /// Like [`Site::send`], with this ECN field.
    #[inline]
    pub fn send_marked(
        &self,
        now: Time,
        (birth, number, size): (Time, u32, u32),
        ecn: Ecn,
        body: Body,
        out: &mut Outbox,
    ) {
        let packet = Packet {
            birth,
            number,
            size,
            flow: self.flow,
            source: self.node,
            destination: self.peer,
            connection: 0,
            leg: self.leg(),
            dscp: self.dscp,
            ecn,
            body,
        };
        if let Some(interface) = self.capture {
            out.capture(interface, now, &packet);
        }
        out.create(Port(0), packet);
    }

    /// Takes a packet that has arrived, and captures it.
    #[inline]
    pub fn take(&self, now: Time, packet: Packet, out: &mut Outbox) -> Packet {
        if let Some(interface) = self.capture {
            out.capture(interface, now, &packet);
        }
        out.consume(packet)
    }

    /// Writes the rows of the sent and received data of this end. The flow's own rows describe the
    /// direction from source to destination. If data also flows in the other direction, its rows
    /// have the name `NAME.reverse`.
    pub fn report(&self, sent: &SourceCounters, received: &DestinationCounters, report: &mut Report) {
        let reverse = || names::reverse(&self.name);
        match self.end {
            End::Source => {
                sent.report(&self.name, report);
                if received.delivered_packets > 0 {
                    received.report(&reverse(), report);
                }
            }
            End::Destination => {
                received.report(&self.name, report);
                if sent.sent_packets > 0 {
                    sent.report(&reverse(), report);
                }
            }
        }
    }
}

/// The tables of flows over any transport.
impl Tables for Site {
    const TRACES: &'static [&'static Table] = &[&TRACE];
    const REPORTS: &'static [&'static Table] =
        &[&flow::SOURCE, &flow::DESTINATION, &details::FLOW, &details::CLASS, &TRANSACTIONS];
}

/// Trace of the transactions that the user of an application waits for.
pub static TRACE: Table = Table {
    name: "transaction",
    entity: "flow",
    about: "when a page, a file or a message is complete or has been aborted",
    columns: &[
        Column::real("started", "s", "when the user requested it"),
        Column::real("took", "s", "time from the request to the end of the transaction"),
        Column::whole("bytes", "bytes", "payload, without requests and set-up messages"),
        Column::whole("parts", "1", "number of objects or files of the transaction"),
        Column::whole("complete", "1", "1 if the transaction is complete, 0 if it was aborted"),
    ],
};

/// Totals of the transactions that the user of an application waited for.
pub static TRANSACTIONS: Table = Table {
    name: "flow_transactions",
    entity: "flow",
    about: "at the end of the run, by the source of a flow whose user requested pages, files or messages: \
            requested = transactions + broken_off + pending; times and rate are of the completed ones",
    columns: &[
        Column::whole("requested", "1", "number of transactions that the user requested"),
        Column::whole("transactions", "1", "number of completed transactions"),
        Column::whole("broken_off", "1", "number of aborted transactions"),
        Column::whole("pending", "1", "number of transactions that are neither complete nor aborted"),
        Column::whole(
            "transaction_bytes",
            "bytes",
            "payload of the completed transactions, without requests and set-up messages",
        ),
        Column::real("transaction_mean", "s", "mean time from the user's request to its completion"),
        Column::real("transaction_min", "s", "shortest time from request to completion"),
        Column::real("transaction_p50", "s", "median time from request to completion"),
        Column::real("transaction_p95", "s", "95th percentile of the time from request to completion"),
        Column::real("transaction_max", "s", "longest time from request to completion"),
        Column::real("transaction_rate", "bit/s", "mean over the transactions of payload divided by time"),
    ],
};

/// Counters of the transactions that the user waited for.
#[derive(Clone, Debug, Default)]
struct Transactions {
    took: SpanStatistics,
    broken_off: u64,
    bytes: u64,
    /// Sum of the transactions' rates in bit/s.
    rates: f64,
}

impl Transactions {
    fn add(&mut self, now: Time, over: &Transaction) {
        if over.complete {
            self.took.add(now.since(over.start));
            self.bytes += over.bytes;
            let took = now.since(over.start).as_secs_f64();
            if took > 0.0 {
                self.rates += over.bytes as f64 * 8.0 / took;
            }
        } else {
            self.broken_off += 1;
        }
    }
}

/// Returns the row of [`TRACE`] for a transaction that is over at `now`.
pub fn row(now: Time, over: &Transaction) -> [f64; 5] {
    let took = now.since(over.start).as_secs_f64();
    [
        over.start.as_secs_f64(),
        took,
        over.bytes as f64,
        f64::from(over.parts),
        f64::from(u8::from(over.complete)),
    ]
}

/// An application, with its random stream and its timer.
pub struct Hosted {
    app: Box<dyn App>,
    transactions: Transactions,
    stream: Stream,
    row: Vec<f64>,
    /// Time at which the application starts; `Time::MAX` afterwards and at a destination.
    start: Time,
    /// Time at which its timer expires; `Time::MAX` for never.
    timer: Time,
}

impl Hosted {
    /// Hosts an application, which starts at the time given by its site.
    pub fn new(site: &Site, app: Box<dyn App>, stream: Stream) -> Hosted {
        let start = if site.end == End::Source { site.start } else { Time::MAX };
        Hosted {
            app,
            transactions: Transactions::default(),
            stream,
            row: Vec::new(),
            start,
            timer: Time::MAX,
        }
    }

    /// Returns the time of the next call of [`Hosted::due`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.start.min(self.timer)
    }

    /// Returns the next event that is due by `now`, the start before the timer.
    pub fn due(&mut self, now: Time) -> Option<Event> {
        if self.start <= now {
            self.start = Time::MAX;
            Some(Event::Start)
        } else if self.timer <= now {
            self.timer = Time::MAX;
            Some(Event::Timer)
        } else {
            None
        }
    }

    /// Delivers an event on a connection to the application and returns its actions; the timer is
    /// already set.
    #[inline]
    pub fn on(&mut self, now: Time, connection: u16, event: Event) -> Actions {
        let mut actions = Actions::default();
        self.ask(now, connection, event, &mut actions);
        actions
    }

    /// Like [`Hosted::on`], but adds to the caller's actions.
    #[inline]
    pub fn ask(&mut self, now: Time, connection: u16, event: Event, actions: &mut Actions) {
        self.app.on(now, connection, event, &mut self.stream, actions);
        self.follow(now, actions);
    }

    /// Passes a datagram to the application and returns its actions; the timer is already set.
    pub fn arrived(&mut self, now: Time, arrival: &Arrival<'_>) -> Actions {
        let mut actions = Actions::default();
        self.row.clear();
        self.app.arrived(now, 0, arrival, &mut self.row, &mut self.stream, &mut actions);
        self.follow(now, &actions);
        actions
    }

    /// Returns true if the application ignores arriving data of a stream.
    pub fn ignores_received(&self) -> bool {
        self.app.ignores_received()
    }

    /// Returns the bytes that the application writes into the datagram that it has just sent.
    #[inline]
    pub fn writes(&mut self) -> Written {
        self.app.writes()
    }

    /// Returns the number of bytes that the application at the other end wrote into a datagram.
    pub fn written(&self, datagram: &[u8]) -> usize {
        self.app.written(datagram).min(datagram.len())
    }

    /// Returns the row that the application wrote about the last datagram for its trace; empty if
    /// it wrote none.
    pub fn row(&self) -> &[f64] {
        &self.row
    }

    #[inline]
    fn follow(&mut self, now: Time, actions: &Actions) {
        if let Some(timer) = actions.timer {
            self.timer = timer.max(now);
        }
        if let Some(over) = &actions.over {
            self.transactions.add(now, over);
        }
    }

    /// Writes the row of the transactions of its flow, if any were requested, and the application's
    /// report.
    pub fn report(&self, now: Time, site: &Site, report: &mut Report) {
        let flow = &site.name;
        let lasted = if site.start < now { now.since(site.start) } else { Span::ZERO };
        self.app.report(flow, lasted, report);
        self.app.report_incoming(&site.incoming(), lasted, report);
        let Transactions { took, broken_off, bytes, rates } = &self.transactions;
        let pending = self.app.pending();
        let requested = took.count() + broken_off + pending;
        if requested == 0 {
            return;
        }
        let values = [
            requested as f64,
            took.count() as f64,
            *broken_off as f64,
            pending as f64,
            *bytes as f64,
            took.mean(),
            took.min(),
            took.percentile(50.0),
            took.percentile(95.0),
            took.max(),
            rates / took.count() as f64,
        ];
        report.row(&TRANSACTIONS, flow, &values);
    }
}
