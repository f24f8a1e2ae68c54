//! One end of a QUIC flow as a stage: an application over a [`Connection`]. Input port 0, output
//! port 0. Each connection that the application opens is a stream.

use super::connection::Connection;
use super::frames::{Datagram, Message, LOWER};
use super::log::{self, Happening};
use super::Config;
use crate::app::{Actions, App, Arrival, Event, Stamp, STAMP_BYTES};
use crate::datagrams;
use crate::flow::DestinationCounters;
use crate::hosting::{self, Hosted, Site};
use crate::names;
use crate::sending::in_flight;
use crate::sending::saved_path::SavedPath;
use crate::tcp::endpoint::{MakeCongestion, Probes};
use crate::Transport;
use bentpipe_congestion::interface::INFINITE_SSTHRESH;
use bentpipe_core::{Column, Probe, Report, Stream, Table, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::{
    Body, Content, DropReason, Ecn, Outbox, Packet, Payload, Port, Stage, LARGEST_DATAGRAM,
};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// Drop reason: a packet that does not belong to QUIC arrived at a QUIC endpoint.
pub const NOT_QUIC: DropReason = DropReason::new("not a packet of QUIC");

/// Trace of a sender, one row per acknowledgment.
pub static TRACE: Table = Table {
    name: "quic",
    entity: "flow",
    about: "after each packet that arrives while data is unacknowledged, and after each probe time-out, once the \
            sender has answered it",
    columns: &[
        Column::whole("cwnd", "segments", "congestion window of the sender, in packets"),
        Column::real("ssthresh", "segments", "slow-start threshold; null while infinite"),
        Column::real("rtt", "s", "last round-trip time sample; null before the first"),
        Column::real("srtt", "s", "smoothed round-trip time"),
        Column::real("rttvar", "s", "mean deviation of the round-trip time"),
        Column::real("pto", "s", "probe time-out, back-off included"),
        Column::whole("inflight", "segments", "packets in flight"),
        Column::whole("acknowledged", "bytes", "payload acknowledged so far, without gaps, of all streams"),
        Column::whole("sent", "bytes", "payload sent so far, each byte once"),
        Column::whole("retransmissions", "packets", "packets sent so far with data that had been sent before"),
        Column::whole("timeouts", "1", "number of probe time-outs so far"),
        Column::whole("ca_state", "1", "0 no recovery period, 3 recovery period, 4 persistent congestion"),
    ],
};

/// The state of both ends at the end of a run.
pub static REPORT: Table = Table {
    name: "quic_connection",
    entity: "flow end",
    about: "at the end of the run, by each end of a QUIC flow (NAME.source, NAME.destination)",
    columns: &[
        Column::real(
            "handshake",
            "s",
            "time from the first packet to the end of the handshake at this end; null if it has not ended",
        ),
        Column::whole("failed", "1", "1 if the connection ended for lack of packets (idle time-out), else 0"),
        Column::whole("streams", "1", "number of streams"),
        Column::whole("mtu", "bytes", "UDP payload of a full packet at the end of the run"),
        Column::whole("cwnd", "packets", "congestion window at the end of the run"),
        Column::real("pto", "s", "probe time-out at the end of the run"),
    ],
};

/// The traces to write about an end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Probes of [`TRACE`], and of the trace of deliveries, if they are recorded.
    pub connection: Probes,
    /// Probe of the trace [`hosting::TRACE`], if it is recorded.
    pub transactions: Option<Probe>,
    /// Probe of the trace [`log::TRACE`], if it is recorded.
    pub frames: Option<Probe>,
    /// Probes of arriving datagrams.
    pub datagrams: datagrams::Probes,
}

/// One end of a QUIC flow, as a stage.
pub struct Endpoint {
    site: Site,
    hosted: Hosted,
    connection: Connection,
    traces: Traces,
    number: u32,
    /// Times at which the source migrates, in order.
    migrations: VecDeque<Time>,
    /// True if the application sends datagrams.
    sends_datagrams: bool,
    /// Number of the next datagram of the application.
    next_datagram: u32,
    destination: DestinationCounters,
    corrupted: Received,
}

impl Endpoint {
    /// Creates one end of a flow. `stream` belongs to this end alone.
    pub fn new(
        site: Site,
        config: &Config,
        app: Box<dyn App>,
        congestion: MakeCongestion,
        mut stream: Stream,
        traces: Traces,
    ) -> Endpoint {
        let random = config.draw(&mut stream);
        let mut connection = Connection::new(config, site.end, congestion, random);
        connection.keeps_losses = traces.frames.is_some();
        Endpoint {
            destination: DestinationCounters::new(site.details),
            hosted: Hosted::new(&site, app, stream),
            site,
            connection,
            traces,
            number: 0,
            migrations: VecDeque::new(),
            sends_datagrams: config.max_datagram_frame_size.is_some(),
            next_datagram: 0,
            corrupted: Received::default(),
        }
    }

    /// Resumes from the observations of earlier connections over this path, if configured.
    pub fn resume_from(&mut self, path: SavedPath) {
        self.connection.controller.resume_from(path);
    }

    /// Lets the source migrate at these times, which are in order.
    pub fn migrate_at(&mut self, times: Vec<Time>) {
        self.migrations = times.into();
    }

    /// Returns the connection of this end.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Informs the application of all events, and sends what may be sent.
    fn proceed(&mut self, now: Time, arrived: Option<Time>, out: &mut Outbox) {
        if let Some(probe) = self.traces.frames {
            for (datagram, place) in self.connection.take_losses() {
                log::write(probe, now, Happening::Lost, datagram.packet(place), out);
            }
        }
        loop {
            while let Some(message) = self.connection.next_arrived() {
                self.take_datagram(now, &message, out);
            }
            while let Some((id, event)) = self.connection.next_event() {
                if let Event::Received { bytes } = event {
                    self.destination.delivered_bytes += bytes;
                    self.destination.last_delivery = Some(now);
                    if let Some(probe) = self.traces.connection.delivery {
                        let delay = arrived.map_or(f64::NAN, |birth| now.since(birth).as_secs_f64());
                        out.record(probe, now, &[self.destination.delivered_bytes as f64, delay]);
                    }
                    if self.hosted.ignores_received() {
                        continue;
                    }
                }
                self.call(now, id, event, out);
            }
            let Some(outgoing) = self.connection.next_datagram(now) else { break };
            let ecn = match (self.connection.uses_ecn, self.connection.controller.is_scalable()) {
                (false, _) => Ecn::NotEct,
                (true, false) => Ecn::Ect0,
                (true, true) => Ecn::Ect1,
            };
            self.log(now, Happening::Sent, &outgoing.datagram, out);
            let body = Body::Layer(outgoing.datagram);
            self.site.send_marked(now, (now, self.number, outgoing.size + LOWER), ecn, body, out);
            self.number = self.number.wrapping_add(1);
        }
    }

    /// Delivers an event to the application, and performs its actions.
    fn call(&mut self, now: Time, id: u16, event: Event, out: &mut Outbox) {
        let actions = self.hosted.on(now, id, event);
        self.act(now, id, actions, out);
    }

    /// Passes a datagram to the application, and performs its actions.
    fn take_datagram(&mut self, now: Time, message: &Message, out: &mut Outbox) {
        let bytes = u64::from(message.length);
        self.destination.delivered_bytes += bytes;
        self.destination.last_delivery = Some(now);
        let delay = now.since(message.stamp.sent).as_secs_f64();
        let received = self.destination.delivered_bytes as f64;
        let row = [f64::from(message.stamp.number), delay, bytes as f64, received];
        self.traces.datagrams.record_arrival(now, row, out);
        let content = message.written.bytes();
        let stamp = (bytes >= STAMP_BYTES + content.len() as u64).then_some(message.stamp);
        let actions = self.hosted.arrived(now, &Arrival { bytes, stamp, intact: true, content });
        self.traces.datagrams.record_measures(now, &self.hosted, out);
        self.act(now, 0, actions, out);
    }

    /// Performs actions of the application.
    fn act(&mut self, now: Time, mut id: u16, mut actions: Actions, out: &mut Outbox) {
        loop {
            if let (Some(over), Some(probe)) = (&actions.over, self.traces.transactions) {
                out.record(probe, now, &hosting::row(now, over));
            }
            if actions.connect {
                self.connection.open(now, id);
            }
            if actions.send > 0 && self.sends_datagrams {
                let stamp = Stamp { number: self.next_datagram, sent: now };
                let written = self.hosted.writes();
                let message = Message { length: actions.send.min(LARGEST_DATAGRAM) as u32, stamp, written };
                self.connection.send_datagram(now, message);
                self.next_datagram = self.next_datagram.wrapping_add(1);
            } else if actions.send > 0 {
                self.connection.send(now, id, actions.send);
            }
            if actions.stop {
                self.connection.stop(id);
            } else if actions.close {
                self.connection.close(id);
            }
            let Some(other) = actions.turn else { return };
            id = other;
            actions = self.hosted.on(now, id, Event::Turn);
        }
    }

    /// Handles everything that is due on the connection.
    fn expire(&mut self, now: Time, out: &mut Outbox) {
        while self.connection.next_wake() <= now {
            let timed_out = self.connection.wake(now);
            self.proceed(now, None, out);
            if timed_out {
                self.trace(now, out);
            }
        }
    }

    /// Records the packets of a datagram.
    fn log(&self, now: Time, happening: Happening, datagram: &Datagram, out: &mut Outbox) {
        if let Some(probe) = self.traces.frames {
            datagram.packets().for_each(|packet| log::write(probe, now, happening, packet, out));
        }
    }

    fn trace(&self, now: Time, out: &mut Outbox) {
        let Some(probe) = self.traces.connection.sender else { return };
        let (controller, counters) = (&self.connection.controller, &self.connection.counters);
        let (state, estimator) = (&controller.state, controller.estimator());
        let row = [
            f64::from(state.snd_cwnd),
            if state.snd_ssthresh >= INFINITE_SSTHRESH { f64::NAN } else { f64::from(state.snd_ssthresh) },
            controller.latest_rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64()),
            estimator.srtt_seconds(),
            estimator.rttvar_seconds(),
            self.connection.probe_timeout().as_secs_f64(),
            f64::from(in_flight(state)),
            self.connection.acknowledged_bytes() as f64,
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
        let datagram = match &packet.body {
            Body::Layer(payload) => {
                (payload.clone() as Arc<dyn Any + Send + Sync>).downcast::<Datagram>().ok()
            }
            _ => None,
        };
        let Some(datagram) = datagram else {
            if let Some(packet) = self.corrupted.open(packet, NOT_QUIC, out) {
                out.drop(packet, NOT_QUIC);
            }
            return;
        };
        let packet = self.site.take(now, packet, out);
        if datagram.content() == Content::Data {
            self.destination.delivered_packets += 1;
            self.destination.arrive(now, &packet);
        }
        let waits = self.connection.controller.state.packets_out > 0;
        let size = packet.size - LOWER;
        self.log(now, Happening::Received, &datagram, out);
        self.connection.receive(now, &datagram, size, packet.ecn);
        self.proceed(now, Some(packet.birth), out);
        if waits {
            self.trace(now, out);
        }
        // The packet may permit what was due before, as at a server that was not allowed to send.
        self.expire(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while let Some(event) = self.hosted.due(now) {
            self.call(now, 0, event, out);
        }
        while self.migrations.pop_front_if(|at| *at <= now).is_some() {
            self.connection.migrate();
        }
        self.proceed(now, None, out);
        self.expire(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let migration = self.migrations.front().copied().unwrap_or(Time::MAX);
        let wake = self.hosted.next_wake().min(self.connection.next_wake()).min(migration);
        (wake != Time::MAX).then_some(wake)
    }

    fn report(&self, now: Time, report: &mut Report) {
        let mut source = self.connection.counters.clone();
        if self.hosted.next_wake() != Time::MAX {
            // More data will follow.
            source.completed = None;
        }
        self.site.report(&source, &self.destination, report);
        self.corrupted.report(&self.site.incoming(), report);
        self.hosted.report(now, &self.site, report);
        let connection = &self.connection;
        let values = [
            connection.handshake().map_or(f64::NAN, |handshake| handshake.as_secs_f64()),
            f64::from(u8::from(connection.has_failed())),
            connection.streams() as f64,
            f64::from(connection.mtu()),
            f64::from(connection.controller.state.snd_cwnd),
            connection.probe_timeout().as_secs_f64(),
        ];
        report.row(&REPORT, &names::end(&self.site.name, self.site.end), &values);
    }
}
