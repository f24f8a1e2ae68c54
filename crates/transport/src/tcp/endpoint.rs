//! One end of a TCP flow as a stage: an application over one or more connections. Input port 0,
//! output port 0.
//!
//! Arriving segments for the connections are consumed; the connections' segments are created here.
//! Packets are dropped only if they are not TCP segments, or belong to an unknown connection.
//!
//! In the profiles of Linux, an application runs after all packets that arrive at one instant, as a
//! process runs after the network's work. Only then is it informed of data, and only then are the
//! acknowledgments that wait for it sent ([`super::receiver`]).
//!
//! The source's application opens connections by number; at the destination a SYN with a new number
//! creates one. Connections that have ended are removed, after TIME-WAIT if they are in that state,
//! except the last one.

use super::connection::{is_syn, Connection, Event, Failure, Phase, TIME_WAIT};
use super::handover::{self, Signal};
use super::{header, Config};
use crate::app::{self, Actions, App, End};
use crate::flow::{DestinationCounters, SourceCounters};
use crate::hosting::{self, Hosted, Site};
use crate::names;
use crate::sending::saved_path::SavedPath;
use crate::Transport;
use bentpipe_congestion::interface::{Congestion, INFINITE_SSTHRESH};
use bentpipe_core::{Column, Probe, Report, Stream, Streams, Table, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::packet::segment::Segment;
use bentpipe_stage::{Body, DropReason, Outbox, Packet, Port, Stage};
use std::collections::VecDeque;

/// Trace of a sender, one row per event.
pub static TRACE: Table = Table {
    name: "tcp",
    entity: "flow",
    about:
        "after each acknowledgment that finds something unacknowledged, and after each time-out, once the \
            sender has answered it",
    columns: &[
        Column::whole("cwnd", "segments", "congestion window of the sender"),
        Column::real("ssthresh", "segments", "slow-start threshold; null while infinite"),
        Column::real("rtt", "s", "round-trip time sample of this acknowledgment; null without one"),
        Column::real("srtt", "s", "smoothed round-trip time"),
        Column::real("rttvar", "s", "mean deviation of the round-trip time"),
        Column::real("rto", "s", "retransmission time-out, back-off included"),
        Column::whole("inflight", "segments", "segments that the sender estimates to be in the network"),
        Column::whole("acknowledged", "bytes", "payload acknowledged so far"),
        Column::whole("sent", "bytes", "payload sent so far, each byte once"),
        Column::whole("retransmissions", "packets", "data packets retransmitted so far"),
        Column::whole("timeouts", "1", "number of retransmission time-outs so far"),
        Column::whole("ca_state", "1", "Linux's state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss"),
    ],
};

/// Trace of a receiver, one row per delivery.
pub static DELIVERY: Table = Table {
    name: "delivery",
    entity: "flow",
    about: "when payload is delivered in order to the application",
    columns: &[
        Column::whole("delivered", "bytes", "payload delivered so far"),
        Column::real("delay", "s", "one-way delay of the packet that completed the delivery"),
    ],
};

/// The state of each end's newest connection at the end of a run.
pub static CONNECTION: Table = Table {
    name: "tcp_connection",
    entity: "flow end",
    about: "at the end of the run, by each end of a TCP flow (NAME.source, NAME.destination), of its newest connection",
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
            "the first connection's that failed: 0 none, 1 reset by the other end, 2 no answer to the handshake, \
             3 too many retries",
        ),
        Column::whole("cwnd", "segments", "congestion window at the end of the run"),
        Column::real("rto", "s", "retransmission time-out at the end of the run"),
        Column::whole("of_flow", "1", "place of the flow in the scenario, from 0"),
        Column::whole("end", "1", "0 for the source of the flow, 1 for its destination"),
    ],
};

/// Drop reason: a packet that is not a TCP segment arrived at a TCP endpoint.
pub const NOT_TCP: DropReason = DropReason::new("not a TCP segment");
/// Drop reason: a segment arrived that belongs to no connection and opens none.
pub const NO_CONNECTION: DropReason = DropReason::new("no connection");

/// The traces to write about one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probes {
    /// Probe of the trace [`TRACE`], if it is recorded.
    pub sender: Option<Probe>,
    /// Probe of the trace [`DELIVERY`], if it is recorded.
    pub delivery: Option<Probe>,
}

/// The traces to write about an end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Traces by connection; further connections are not traced.
    pub connections: Vec<Probes>,
    /// Probe of the trace [`hosting::TRACE`], if it is recorded.
    pub transactions: Option<Probe>,
}

/// A function that creates the congestion control of a connection.
pub type MakeCongestion = Box<dyn Fn() -> Box<dyn Congestion> + Send>;

/// One of the flow's connections.
struct Slot {
    /// Number of the connection, stored in four bytes: a two-byte field would share a word with
    /// flags that were just written, which would stall the load.
    number: u32,
    connection: Connection,
    probes: Probes,
    /// Number of bytes that the receiver has delivered.
    delivered: u64,
    /// True if the connection has been opened, or listens.
    opened: bool,
    /// True if the sender has something to trace.
    traced: bool,
    /// True if the application has requested an action on the connection since it was last
    /// processed.
    has_actions: bool,
    /// Birth of the last packet that arrived before the application runs.
    birth: Option<Time>,
}

/// One end of a TCP flow, as a stage.
pub struct Endpoint {
    site: Site,
    hosted: Hosted,
    /// True if the application ignores arriving data, so that it is not called for it.
    ignores_received: bool,
    config: Config,
    congestion: MakeCongestion,
    /// The path from whose observations the connections resume, if configured.
    path: Option<SavedPath>,
    random: u64,
    /// The connections, in order of creation; never empty.
    slots: Vec<Slot>,
    /// Connections in TIME-WAIT, removed from `slots`, with the time of removal.
    waiting: VecDeque<(Time, Slot)>,
    failure: Option<Failure>,
    traces: Traces,
    number: u32,
    /// Counters of removed connections.
    source: SourceCounters,
    destination: DestinationCounters,
    corrupted: Received,
    /// Signals that this end will receive, the next one last.
    signals: Vec<(Time, Signal)>,
    /// True in the profiles of Linux: applications run after all packets that arrive at one
    /// instant.
    reads_last: bool,
    /// True while an application has yet to run for the packets of this instant.
    reads: bool,
    wake: Time,
}

impl Endpoint {
    /// Creates one end of a flow. `stream` belongs to this end alone; it gives the initial sequence
    /// number if `config` does not.
    pub fn new(
        site: Site,
        config: &Config,
        app: Box<dyn App>,
        congestion: MakeCongestion,
        mut stream: Stream,
        traces: Traces,
    ) -> Endpoint {
        let random = config.draw(&mut stream);
        let hosted = Hosted::new(&site, app, stream);
        let wake = hosted.next_wake();
        let mut endpoint = Endpoint {
            destination: DestinationCounters::new(site.details),
            site,
            ignores_received: hosted.ignores_received(),
            hosted,
            config: config.clone(),
            congestion,
            path: None,
            random,
            slots: Vec::with_capacity(1),
            waiting: VecDeque::new(),
            failure: None,
            traces,
            number: 0,
            source: SourceCounters::default(),
            corrupted: Received::default(),
            signals: handover::schedule(&config.freeze, &config.adapt).into_iter().rev().collect(),
            reads_last: config.profile.is_linux(),
            reads: false,
            wake,
        };
        endpoint.wake = endpoint.wake.min(endpoint.next_signal());
        endpoint.add_slot(0);
        endpoint
    }

    /// Resumes from the observations of earlier connections over this path, if configured.
    pub fn resume_from(&mut self, path: SavedPath) {
        for slot in &mut self.slots {
            slot.connection.resume_from(&path);
        }
        self.path = Some(path);
    }

    /// Returns the last opened connection.
    pub fn connection(&self) -> &Connection {
        &self.slots[self.slots.len() - 1].connection
    }

    /// Returns the counters of the receiving half.
    pub fn delivered(&self) -> &DestinationCounters {
        &self.destination
    }

    /// Returns the reason for the first failure of a connection, if any.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Creates connection `number`, which listens at the destination, and returns its index.
    fn add_slot(&mut self, number: u16) -> usize {
        let random = match number {
            0 => self.random,
            _ => Streams::new(self.random, number.into()).stream("connection").bits(),
        };
        let initial =
            self.config.initial_sequence.map_or((random >> 32) as u32, |number| number.value() as u32);
        let mut connection = Connection::new(&self.config, (self.congestion)(), initial, random);
        if let Some(path) = &self.path {
            connection.resume_from(path);
        }
        if self.site.end == End::Destination {
            connection.listen();
        }
        let probes = self.traces.connections.get(usize::from(number)).copied().unwrap_or_default();
        let opened = self.site.end == End::Destination;
        let slot = Slot {
            number: number.into(),
            connection,
            probes,
            delivered: 0,
            opened,
            traced: false,
            has_actions: false,
            birth: None,
        };
        self.slots.push(slot);
        self.slots.len() - 1
    }

    /// Removes connections that have ended, and puts those in TIME-WAIT aside.
    #[cold]
    fn remove_ended(&mut self, now: Time) {
        for at in (0..self.slots.len()).rev() {
            let slot = &self.slots[at];
            if self.slots.len() == 1 {
                break;
            }
            match slot.connection.phase() {
                Phase::TimeWait => {
                    let slot = self.slots.remove(at);
                    self.waiting.push_back((now, slot));
                }
                Phase::Closed if slot.opened => {
                    let slot = self.slots.remove(at);
                    self.source.merge(&slot.connection.sender().counters);
                }
                _ => {}
            }
        }
        while self.waiting.front().is_some_and(|(since, _)| *since + TIME_WAIT <= now) {
            if let Some((_, slot)) = self.waiting.pop_front() {
                self.source.merge(&slot.connection.sender().counters);
            }
        }
    }

    /// Returns the index of connection `number`.
    #[inline(always)]
    fn find(&mut self, number: u16) -> Option<usize> {
        match self.slots.last() {
            Some(slot) if slot.number == u32::from(number) => Some(self.slots.len() - 1),
            _ => self.find_other(number),
        }
    }

    /// Returns the index of a connection other than the newest. A connection in TIME-WAIT is moved
    /// back.
    fn find_other(&mut self, number: u16) -> Option<usize> {
        if let Some(at) = self.slots.iter().rposition(|slot| slot.number == u32::from(number)) {
            return Some(at);
        }
        let at = self.waiting.iter().position(|(_, slot)| slot.number == u32::from(number))?;
        let (_, slot) = self.waiting.remove(at)?;
        self.slots.push(slot);
        Some(self.slots.len() - 1)
    }

    /// Completes the handling of an event of a connection: informs the application, sends the
    /// permitted segments and writes the trace. An acknowledgment that does not wait for the
    /// application's answer is sent first. The application is informed only after the last packet
    /// of this instant has arrived.
    #[inline]
    fn complete_event(&mut self, now: Time, at: usize, arrived: Option<Time>, out: &mut Outbox) {
        // The application may have changed the list, so the connection is looked up again only
        // after informing it.
        let mut slot = &mut self.slots[at];
        let mut before = slot.connection.receiver().must_acknowledge_first();
        // A loop instead of two calls: the sending code is long and compiled inline.
        loop {
            if !before {
                let reads = !self.reads || !slot.connection.receiver().holds_reading();
                if reads && slot.connection.has_events() {
                    self.inform(now, at, arrived, out);
                    slot = &mut self.slots[at];
                }
                slot.has_actions = false;
                if slot.connection.is_silent() {
                    break;
                }
            }
            while let Some(segment) = slot.connection.next_segment(now) {
                emit(now, slot, (&self.site, &mut self.number), segment, out);
                if before {
                    break;
                }
            }
            if !std::mem::take(&mut before) {
                break;
            }
        }
        if std::mem::take(&mut slot.traced) {
            if let Some(probe) = slot.probes.sender {
                trace(&slot.connection, probe, now, out);
            }
        }
    }

    /// Processes the connections on which the application requested actions, and updates the time
    /// of the next wake.
    #[inline]
    fn finish(&mut self, now: Time, out: &mut Outbox) {
        self.wake = match &self.slots[..] {
            [slot] if !slot.has_actions => slot.connection.next_wake().min(self.hosted.next_wake()),
            _ => self.finish_many(now, out),
        };
        if !self.signals.is_empty() {
            self.wake = self.wake.min(self.next_signal());
        }
        if self.reads {
            self.wake = now;
        }
    }

    /// Handles everything that is due.
    fn expire(&mut self, now: Time, out: &mut Outbox) {
        while let Some((_, signal)) = self.signals.pop_if(|(at, _)| *at <= now) {
            self.signal(now, &signal, out);
        }
        if let Some(event) = self.hosted.due(now) {
            self.call(now, 0, event, out);
        }
        for slot in &mut self.slots {
            if slot.connection.next_wake() <= now {
                slot.traced = slot.connection.wake(now);
                slot.has_actions = true;
            }
        }
        if let [Slot { has_actions: true, .. }] = &self.slots[..] {
            self.complete_event(now, 0, None, out);
        }
        self.finish(now, out);
    }

    /// Lets the applications read the data that has arrived at this instant.
    #[cold]
    fn read(&mut self) {
        self.reads = false;
        for slot in &mut self.slots {
            if slot.connection.receiver().holds_reading() {
                slot.connection.read();
                slot.has_actions = true;
            }
        }
    }

    fn next_signal(&self) -> Time {
        self.signals.last().map_or(Time::MAX, |(at, _)| *at)
    }

    /// Informs all connections of a change of the path below them.
    pub fn signal(&mut self, now: Time, signal: &Signal, out: &mut Outbox) {
        for slot in &mut self.slots {
            slot.connection.signal(now, signal);
            slot.has_actions = true;
        }
        self.finish(now, out);
    }

    /// Performs [`finish`](Self::finish) in the general case: with requests of the application, or
    /// with several connections. Removes ended connections. Returns the time of the next wake.
    fn finish_many(&mut self, now: Time, out: &mut Outbox) -> Time {
        while let Some(at) = self.slots.iter().position(|slot| slot.has_actions) {
            self.complete_event(now, at, None, out);
        }
        if self.slots.len() > 1 {
            self.remove_ended(now);
        }
        let wakes = self.slots.iter().map(|slot| slot.connection.next_wake());
        wakes.fold(self.hosted.next_wake(), Time::min)
    }

    /// Informs the application of all events of a connection.
    #[inline]
    fn inform(&mut self, now: Time, at: usize, arrived: Option<Time>, out: &mut Outbox) {
        while let Some(event) = self.slots[at].connection.next_event() {
            self.report_event(now, at, event, arrived, out);
        }
    }

    #[inline]
    fn report_event(&mut self, now: Time, at: usize, event: Event, arrived: Option<Time>, out: &mut Outbox) {
        let slot = &mut self.slots[at];
        let event = match event {
            Event::Connected => app::Event::Connected,
            Event::Received(bytes) => {
                slot.delivered += bytes;
                self.destination.delivered_bytes += bytes;
                self.destination.last_delivery = Some(now);
                if let Some(probe) = slot.probes.delivery {
                    record_delivery(now, slot, probe, arrived, out);
                }
                if self.ignores_received {
                    return;
                }
                app::Event::Received { bytes }
            }
            Event::AllAcknowledged => app::Event::MaySend,
            Event::PeerClosed => app::Event::PeerClosed,
            Event::Closed => {
                slot.connection.counters_mut().completed = Some(now);
                return;
            }
            Event::Failed(failure) => {
                self.failure.get_or_insert(failure);
                app::Event::Failed
            }
        };
        let number = slot.number as u16;
        self.call(now, number, event, out);
    }

    /// Delivers an event to the application, and performs its actions.
    #[inline]
    fn call(&mut self, now: Time, mut number: u16, mut event: app::Event, out: &mut Outbox) {
        loop {
            let mut actions = Actions::default();
            self.hosted.ask(now, number, event, &mut actions);
            if actions.is_something() {
                self.act(now, number, &actions, out);
            }
            match actions.turn {
                Some(other) => (number, event) = (other, app::Event::Turn),
                None => return,
            }
        }
    }

    fn act(&mut self, now: Time, number: u16, actions: &Actions, out: &mut Outbox) {
        if let (Some(over), Some(probe)) = (&actions.over, self.traces.transactions) {
            out.record(probe, now, &hosting::row(now, over));
        }
        if !actions.concern_connection() {
            return;
        }
        let at = match self.find(number) {
            Some(at) => at,
            // Actions on a connection that has been removed have no effect.
            None if !actions.connect => return,
            None => self.add_slot(number),
        };
        let slot = &mut self.slots[at];
        slot.has_actions = true;
        if actions.connect {
            slot.opened = true;
            slot.connection.counters_mut().start = Some(now);
            slot.connection.open();
        }
        if actions.send > 0 {
            slot.connection.counters_mut().start.get_or_insert(now);
            slot.connection.send(actions.send);
        }
        if actions.stop {
            slot.connection.stop();
        }
        if actions.close {
            slot.connection.close();
        }
    }
}

impl Slot {
    /// Delays the application until all packets of this instant have arrived. `birth` is that of
    /// the present packet.
    #[cold]
    fn hold_reading(&mut self, birth: Time) {
        self.connection.hold_reading();
        self.birth = Some(birth);
    }
}

/// Sends a segment of a connection.
#[inline(always)]
fn emit(now: Time, slot: &Slot, (site, number): (&Site, &mut u32), segment: Segment, out: &mut Outbox) {
    let ecn = slot.connection.ecn_field();
    let size = header::size(&segment, slot.connection.sender().segment_size());
    let (flow, source, destination, dscp, leg) = (site.flow, site.node, site.peer, site.dscp, site.leg());
    let (connection, this) = (slot.number as u16, *number);
    *number = this.wrapping_add(1);
    // A separate block, so that copied values stay in registers until the packet is complete.
    let Segment { sequence, acknowledgment, window, payload, flags, timestamps, options } = segment;
    out.create_with(Port(0), size, move || Packet {
        birth: now,
        number: this,
        size,
        flow,
        source,
        destination,
        connection,
        leg,
        dscp,
        ecn,
        body: Body::Segment(Segment {
            sequence,
            acknowledgment,
            window,
            payload,
            flags,
            timestamps,
            options,
        }),
    });
    if let Some(interface) = site.capture {
        out.capture_sent(interface, now);
    }
}

/// Writes the row of [`DELIVERY`].
#[cold]
fn record_delivery(now: Time, slot: &mut Slot, probe: Probe, arrived: Option<Time>, out: &mut Outbox) {
    let birth = slot.birth.take();
    let delay = arrived.or(birth).map_or(f64::NAN, |birth| now.since(birth).as_secs_f64());
    out.record(probe, now, &[slot.delivered as f64, delay]);
}

/// Writes the row of [`TRACE`].
pub fn trace(connection: &Connection, probe: Probe, now: Time, out: &mut Outbox) {
    let sender = connection.sender();
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

impl Stage for Endpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        let Body::Segment(segment) = &packet.body else {
            if let Some(packet) = self.corrupted.open(packet, NOT_TCP, out) {
                self.receive(now, Port(0), packet, out);
            }
            return;
        };
        if self.wake <= now && self.slots.iter().any(|slot| slot.connection.sender().is_pacing_due(now)) {
            // Segments due at this time leave before the acknowledgment is processed, as in Linux.
            self.expire(now, out);
        }
        if let Some(interface) = self.site.capture {
            out.capture(interface, now, &packet);
        }
        let opens = self.site.end == End::Destination && is_syn(segment);
        let at = match self.find(packet.connection) {
            Some(at) => at,
            None if opens => self.add_slot(packet.connection),
            None => {
                out.drop(packet, NO_CONNECTION);
                return;
            }
        };
        let slot = &mut self.slots[at];
        slot.traced = slot.connection.sender().is_waiting();
        if segment.payload > 0 && out.has_sent() && self.reads_last {
            slot.hold_reading(packet.birth);
            self.reads = true;
        }
        slot.connection.receive_marked(now, segment, packet.ecn);
        let (payload, size) = (u32::from(segment.payload), slot.connection.sender().segment_size());
        if self.reads && !out.has_sent() {
            self.read();
        }
        self.complete_event(now, at, Some(packet.birth), out);
        self.finish(now, out);
        // Placed after the writes of the answer, because reading the answer waits for these writes.
        out.consumed(&packet);
        if payload > 0 {
            self.destination.delivered_packets +=
                u64::from(if payload <= size { 1 } else { payload.div_ceil(size) });
            self.destination.arrive(now, &packet);
        }
        if self.wake <= now && !self.reads {
            // A driver on a real clock may be late with a wake that was due before this packet.
            self.expire(now, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        if self.reads {
            self.read();
        }
        self.expire(now, out);
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        (self.wake != Time::MAX).then_some(self.wake)
    }

    fn report(&self, now: Time, report: &mut Report) {
        let mut source = self.source.clone();
        for slot in self.waiting.iter().map(|(_, slot)| slot).chain(&self.slots) {
            source.merge(&slot.connection.sender().counters);
        }
        if self.hosted.next_wake() != Time::MAX {
            // More data will follow.
            source.completed = None;
        }
        self.site.report(&source, &self.destination, report);
        self.corrupted.report(&self.site.incoming(), report);
        self.hosted.report(now, &self.site, report);
        let sender = self.connection().sender();
        let phase = match self.connection().phase() {
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
        let values = [
            f64::from(phase),
            f64::from(failure),
            f64::from(sender.state.snd_cwnd),
            sender.estimator().rto().as_secs_f64(),
            f64::from(self.site.flow.0),
            names::end_number(self.site.end),
        ];
        report.row(&CONNECTION, &names::end(&self.site.name, self.site.end), &values);
    }
}
