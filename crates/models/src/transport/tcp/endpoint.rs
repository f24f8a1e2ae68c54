//! One end of a TCP flow as a stage: an application over a connection. In port 0, out port 0.
//!
//! Segments for the connection come in and are consumed; what the connection sends is created here. Only what
//! is not a TCP segment is dropped.

use super::congestion::{Congestion, INFINITE_SSTHRESH};
use super::connection::{Connection, Event, Failure, Phase};
use super::{header, Config};
use crate::app::{self, Actions, App, End};
use crate::channel::effect::Received;
use crate::transport::flow::DestinationCounters;
use crate::transport::hosting::{Hosted, Site};
use bentpipe_core::{
    Body, Column, DropReason, Ecn, Outbox, Packet, Port, Probe, Report, Segment, Stage, Stream, Table, Time,
};

/// Trace of a sender.
pub static TRACE: Table = Table {
    name: "tcp",
    entity: "flow",
    about:
        "after each acknowledgment that finds something unacknowledged, and after each time-out, once the \
            sender has answered it",
    columns: &[
        Column::whole("cwnd", "segments", "congestion window"),
        Column::real("ssthresh", "segments", "slow-start threshold; null while infinite"),
        Column::real("rtt", "s", "round-trip time sample of this acknowledgment; null without one"),
        Column::real("srtt", "s", "smoothed round-trip time"),
        Column::real("rttvar", "s", "mean deviation of the round-trip time"),
        Column::real("rto", "s", "retransmission time-out, back-off included"),
        Column::whole("inflight", "segments", "segments taken to be in the network"),
        Column::whole("acknowledged", "bytes", "payload acknowledged so far"),
        Column::whole("sent", "bytes", "payload sent so far, each byte once"),
        Column::whole("retransmissions", "packets", "data packets sent again so far"),
        Column::whole("timeouts", "1", "retransmission time-outs so far"),
        Column::whole("ca_state", "1", "Linux' state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss"),
    ],
};

/// Trace of a receiver.
pub static DELIVERY: Table = Table {
    name: "delivery",
    entity: "flow",
    about: "when payload is delivered in order to the application",
    columns: &[
        Column::whole("delivered", "bytes", "payload delivered so far"),
        Column::real("delay", "s", "one-way delay of the packet that completed it"),
    ],
};

/// What each end knows of its connection at the end of a run.
pub static CONNECTION: Table = Table {
    name: "tcp_connection",
    entity: "flow end",
    about: "at the end of the run, by each end of a TCP flow (NAME.source, NAME.destination)",
    columns: &[
        Column::whole(
            "state",
            "1",
            "0 CLOSED, 1 LISTEN, 2 SYN-SENT, 3 SYN-RECEIVED, 4 ESTABLISHED, 5 FIN-WAIT-1, 6 FIN-WAIT-2, 7 CLOSING, \
             8 TIME-WAIT, 9 CLOSE-WAIT, 10 LAST-ACK",
        ),
        Column::whole(
            "failure",
            "1",
            "0 none, 1 reset by the other end, 2 no answer to the handshake, 3 too many retries",
        ),
        Column::whole("cwnd", "segments", "congestion window"),
        Column::real("rto", "s", "retransmission time-out"),
    ],
};

/// A packet that is not a TCP segment came to a TCP endpoint.
pub const NOT_TCP: DropReason = DropReason::new("not a TCP segment");

/// Traces to write.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probes {
    /// Rows of [`TRACE`].
    pub sender: Option<Probe>,
    /// Rows of [`DELIVERY`].
    pub delivery: Option<Probe>,
}

/// The stage.
pub struct Endpoint {
    site: Site,
    hosted: Hosted,
    connection: Connection,
    failure: Option<Failure>,
    probes: Probes,
    number: u32,
    destination: DestinationCounters,
    spoiled: Received,
    /// The sender has something to trace.
    traced: bool,
    wake: Time,
}

impl Endpoint {
    /// One end of a flow. `stream` belongs to this end alone; it gives the initial sequence number when
    /// `config` does not.
    pub fn new(
        site: Site,
        config: &Config,
        app: Box<dyn App>,
        congestion: Box<dyn Congestion>,
        mut stream: Stream,
        probes: Probes,
    ) -> Endpoint {
        let random = stream.bits();
        let initial = config.initial_sequence.map_or((random >> 32) as u32, |number| number.value() as u32);
        let mut connection = Connection::new(config, congestion, initial, random);
        if site.end == End::Destination {
            connection.listen();
        }
        let hosted = Hosted::new(&site, app, stream);
        let wake = hosted.next_wake();
        Endpoint {
            site,
            hosted,
            connection,
            failure: None,
            probes,
            number: 0,
            destination: DestinationCounters::default(),
            spoiled: Received::default(),
            traced: false,
            wake,
        }
    }

    /// The connection, to look at.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What the receiving half counted.
    pub fn delivered(&self) -> &DestinationCounters {
        &self.destination
    }

    /// Why the connection failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// After anything has happened: tells the application, sends what may be sent, writes the trace.
    #[inline]
    fn settle(&mut self, now: Time, arrived: Option<Time>, out: &mut Outbox) {
        while let Some(event) = self.connection.next_event() {
            self.tell(now, event, arrived, out);
        }
        while let Some(segment) = self.connection.next_segment(now) {
            self.emit(now, segment, out);
        }
        if std::mem::take(&mut self.traced) {
            if let Some(probe) = self.probes.sender {
                self.trace(probe, now, out);
            }
        }
        self.wake = self.connection.next_wake().min(self.hosted.next_wake());
    }

    #[inline]
    fn tell(&mut self, now: Time, event: Event, arrived: Option<Time>, out: &mut Outbox) {
        let event = match event {
            Event::Connected => app::Event::Connected,
            Event::Received(bytes) => {
                self.destination.delivered_bytes += bytes;
                self.destination.last_delivery = Some(now);
                if let Some(probe) = self.probes.delivery {
                    let delay = arrived.map_or(f64::NAN, |birth| now.since(birth).as_secs_f64());
                    out.record(probe, now, &[self.destination.delivered_bytes as f64, delay]);
                }
                app::Event::Received { bytes }
            }
            Event::AllAcknowledged => app::Event::MaySend,
            Event::PeerClosed => app::Event::PeerClosed,
            Event::Closed => {
                self.connection.counters_mut().completed = Some(now);
                return;
            }
            Event::Failed(failure) => {
                self.failure = Some(failure);
                app::Event::Failed
            }
        };
        let actions = self.hosted.on(now, event);
        self.act(now, actions);
    }

    fn act(&mut self, now: Time, actions: Actions) {
        if actions.connect {
            self.connection.counters_mut().start = Some(now);
            self.connection.open();
        }
        if actions.send > 0 {
            self.connection.counters_mut().start.get_or_insert(now);
            self.connection.send(actions.send);
        }
        if actions.close {
            self.connection.close();
        }
    }

    #[inline]
    fn emit(&mut self, now: Time, segment: Segment, out: &mut Outbox) {
        let packet = Packet {
            birth: now,
            number: self.number,
            size: header::size(&segment),
            flow: self.site.flow,
            source: self.site.node,
            destination: self.site.peer,
            dscp: self.site.dscp,
            ecn: Ecn::NotEct,
            body: Body::Segment(segment),
        };
        self.number = self.number.wrapping_add(1);
        if let Some(interface) = self.site.capture {
            out.capture(interface, now, &packet);
        }
        out.create(Port(0), packet);
    }

    fn trace(&self, probe: Probe, now: Time, out: &mut Outbox) {
        let sender = self.connection.sender();
        let (state, estimator, counters) = (&sender.state, sender.estimator(), &sender.counters);
        let row = [
            f64::from(state.snd_cwnd),
            if state.snd_ssthresh >= INFINITE_SSTHRESH { f64::NAN } else { f64::from(state.snd_ssthresh) },
            sender.last_rtt().map_or(f64::NAN, |rtt| rtt.as_secs_f64()),
            estimator.srtt_seconds(),
            estimator.rttvar_seconds(),
            estimator.rto().as_secs_f64(),
            f64::from(sender.in_flight()),
            sender.acknowledged_bytes() as f64,
            counters.sent_bytes as f64,
            counters.retransmissions as f64,
            counters.timeouts as f64,
            f64::from(state.ca_state),
        ];
        out.record(probe, now, &row);
    }
}

impl Stage for Endpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        let Body::Segment(segment) = &packet.body else {
            if let Some(packet) = self.spoiled.open(packet, NOT_TCP, out) {
                self.receive(now, Port(0), packet, out);
            }
            return;
        };
        if let Some(interface) = self.site.capture {
            out.capture(interface, now, &packet);
        }
        if segment.payload > 0 {
            self.destination.delivered_packets += 1;
            self.destination.delay.add(packet.age(now));
        }
        self.traced = self.connection.sender().is_waiting();
        self.connection.receive(now, segment);
        let birth = packet.birth;
        out.consume(packet);
        self.settle(now, Some(birth), out);
        if self.wake <= now {
            // A driver on a real clock may be late with a wake that was due before this packet.
            self.wake(now, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        if let Some(event) = self.hosted.due(now) {
            let actions = self.hosted.on(now, event);
            self.act(now, actions);
        }
        if self.connection.next_wake() <= now {
            self.traced = self.connection.wake(now);
        }
        self.settle(now, None, out);
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        (self.wake != Time::MAX).then_some(self.wake)
    }

    fn report(&self, _now: Time, report: &mut Report) {
        let sender = self.connection.sender();
        self.site.report(&sender.counters, &self.destination, report);
        self.spoiled.report(&self.site.incoming(), report);
        let phase = match self.connection.phase() {
            Phase::Closed => 0,
            Phase::Listen => 1,
            Phase::SynSent => 2,
            Phase::SynReceived => 3,
            Phase::Established => 4,
            Phase::FinWait1 => 5,
            Phase::FinWait2 => 6,
            Phase::Closing => 7,
            Phase::TimeWait => 8,
            Phase::CloseWait => 9,
            Phase::LastAck => 10,
        };
        let failure = match self.failure {
            None => 0,
            Some(Failure::Reset) => 1,
            Some(Failure::Handshake) => 2,
            Some(Failure::TooManyRetries) => 3,
        };
        let end = match self.site.end {
            End::Source => "source",
            End::Destination => "destination",
        };
        let values = [
            f64::from(phase),
            f64::from(failure),
            f64::from(sender.state.snd_cwnd),
            sender.estimator().rto().as_secs_f64(),
        ];
        report.row(&CONNECTION, &format!("{}.{end}", self.site.name), &values);
    }
}
