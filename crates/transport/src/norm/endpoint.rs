//! One end of a NORM flow as a stage: an application over a [`Sender`] (at the source) or a
//! [`Receiver`] (at the destination). Input port 0, output port 0.

use super::header::{Announced, Message, Norm};
use super::receiver::Receiver;
use super::sender::{Segment, Sender};
use super::Config;
use crate::app::{Actions, App, Arrival, End, Event, Stamp};
use crate::datagrams::Probes;
use crate::flow::{DestinationCounters, SourceCounters};
use crate::hosting::{Hosted, Site};
use crate::{names, udp};
use bentpipe_core::{Column, Report, Stream, Table, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::{Body, DropReason, Outbox, Packet, Port, Stage};
use std::sync::Arc;

/// Drop reason: a packet that does not belong to NORM arrived at a NORM endpoint.
pub const NOT_NORM: DropReason = DropReason::new("not a message of NORM");

/// Trace of a source, one row per NACK.
pub static TRACE: Table = Table {
    name: "nack",
    entity: "flow",
    about: "when the source of a NORM flow receives a NACK",
    columns: &[
        Column::whole("receiver", "1", "number of the receiver's node"),
        Column::whole("segments", "1", "number of segments that the NACK requests"),
        Column::whole("first", "1", "number of the first of these segments, from 0"),
    ],
};

/// The state of both ends at the end of a run.
pub static REPORT: Table = Table {
    name: "norm",
    entity: "flow end",
    about: "at the end of the run, by each end of a NORM flow (NAME.source, NAME.destination); a source of a multicast \
            flow has the name of the first flow of its group",
    columns: &[
        Column::whole("segments", "1", "segments sent for the first time, or delivered in order"),
        Column::whole("nacks", "packets", "NACKs that the source has received, or that the destination has sent"),
        Column::whole("suppressed", "1", "NACKs that the destination did not send, because the source had advertised their requests"),
        Column::whole("advertisements", "packets", "advertisements of requests, NORM_CMD(REPAIR_ADV), sent or received"),
        Column::whole("flushes", "packets", "NORM_CMD(FLUSH) sent or received"),
        Column::whole("duplicates", "packets", "segments that the destination already had"),
        Column::real("completed", "s", "when the destination had received everything; null for a source"),
    ],
};

/// Numbers of messages at one end.
#[derive(Default)]
struct Counts {
    nacks: u64,
    advertisements: u64,
    flushes: u64,
    duplicates: u64,
}

/// One end of a NORM flow, as a stage.
pub struct Endpoint {
    site: Site,
    config: Config,
    hosted: Hosted,
    probes: Probes,
    sender: Sender,
    receiver: Receiver,
    /// The random stream of the backoff.
    stream: Stream,
    /// Time at which the next segment may leave.
    next: Time,
    /// Number of messages so far.
    number: u32,
    open: bool,
    counts: Counts,
    source: SourceCounters,
    destination: DestinationCounters,
    corrupted: Received,
}

impl Endpoint {
    /// Creates one end of a flow. The application draws from the first of the `streams`, and the
    /// backoff from the second; both belong to this end alone.
    pub fn new(
        site: Site,
        config: &Config,
        app: Box<dyn App>,
        streams: [Stream; 2],
        probes: Probes,
    ) -> Endpoint {
        let [stream, backoff] = streams;
        let hosted = Hosted::new(&site, app, stream);
        Endpoint {
            destination: DestinationCounters::new(site.details),
            site,
            config: config.clone(),
            hosted,
            probes,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            stream: backoff,
            next: Time::ZERO,
            number: 0,
            open: false,
            counts: Counts::default(),
            source: SourceCounters::default(),
            corrupted: Received::default(),
        }
    }

    fn tell(&mut self, now: Time, event: Event, out: &mut Outbox) {
        let mut event = Some(event);
        while let Some(current) = event.take() {
            let actions = self.hosted.on(now, 0, current);
            event = self.act(now, &actions, out);
        }
    }

    /// Performs the application's actions, and returns the event that follows from them, if any.
    fn act(&mut self, now: Time, actions: &Actions, out: &mut Outbox) -> Option<Event> {
        self.probes.record_transaction(now, actions, out);
        if actions.send > 0 {
            self.sender.write(now, actions.send);
        }
        if actions.close || actions.stop {
            self.sender.close(actions.stop);
        }
        if actions.connect && !self.open {
            self.open = true;
            self.source.start = Some(now);
            return Some(Event::Connected);
        }
        None
    }

    /// Sends the messages that are due.
    fn send(&mut self, now: Time, out: &mut Outbox) {
        self.sender.aggregate(now);
        if let Some(requests) = self.sender.advertisement(now) {
            self.counts.advertisements += 1;
            self.emit(now, Message::RepairAdv(Arc::new(requests)), 0, out);
        }
        while self.next <= now {
            let Some(Segment { number, bytes, written, repair }) = self.sender.next_segment(now) else {
                break;
            };
            let message = Message::Data { segment: number, written, total: self.sender.total(), repair };
            let size = self.emit(now, message, bytes, out);
            self.next = now + self.config.rate.span_of(size.into());
            self.source.sent_packets += 1;
            match repair {
                true => self.source.retransmissions += 1,
                false => self.source.sent_bytes += u64::from(bytes),
            }
        }
        if self.next <= now && self.sender.flush(now) {
            self.counts.flushes += 1;
            let message = Message::Flush { sent: self.sender.sent(), total: self.sender.total() };
            self.emit(now, message, 0, out);
        }
        if self.open && self.sender.is_over() {
            self.source.completed.get_or_insert(now);
        }
    }

    /// Sends a message with this payload, and returns the size of its packet.
    fn emit(&mut self, now: Time, message: Message, payload: u32, out: &mut Outbox) -> u32 {
        let Config { grtt, backoff, group_size, block, .. } = &self.config;
        let announced = Announced {
            grtt: *grtt,
            backoff: backoff.value() as u8,
            group_size: group_size.value(),
            block: block.value() as u32,
        };
        let size = payload + udp::HEADER + message.bytes();
        self.site.send(now, (now, self.number, size), Body::layer(Norm { announced, message }), out);
        self.number = self.number.wrapping_add(1);
        size
    }

    /// Takes a message; `intact` if its payload is unchanged.
    fn take(&mut self, now: Time, packet: Packet, (message, intact): (Message, bool), out: &mut Outbox) {
        let packet = self.site.take(now, packet, out);
        match message {
            Message::Data { segment, written, total, .. } => {
                let data = (packet.size.saturating_sub(udp::HEADER + message.bytes()), written);
                self.take_segment(now, (segment, data, total), (&packet, intact), out);
            }
            Message::Flush { sent, total } => {
                self.counts.flushes += 1;
                self.receiver.flush(now, sent, total);
            }
            Message::RepairAdv(requests) => {
                self.counts.advertisements += 1;
                self.receiver.advertise(now, requests);
            }
            Message::Nack(requests) => {
                self.counts.nacks += 1;
                self.sender.nack(now, &requests);
                if let (Some(probe), Some((first, _))) = (self.probes.sender, requests.list().first()) {
                    let count = requests.segments().count();
                    out.record(probe, now, &[f64::from(packet.source.0), count as f64, f64::from(*first)]);
                }
                return self.send(now, out);
            }
        }
        self.receiver.detect(now, &mut self.stream);
    }

    fn take_segment(
        &mut self,
        now: Time,
        (segment, data, total): (u32, (u32, Time), Option<u32>),
        (packet, intact): (&Packet, bool),
        out: &mut Outbox,
    ) {
        self.destination.delivered_packets += 1;
        self.destination.arrive(now, packet);
        let (delivered, is_known) = self.receiver.arrive(now, segment, data, total);
        self.counts.duplicates += u64::from(is_known);
        for (number, (bytes, sent)) in delivered {
            self.destination.delivered_bytes += u64::from(bytes);
            self.destination.last_delivery = Some(now);
            let arrival =
                Arrival { bytes: bytes.into(), stamp: Some(Stamp { number, sent }), intact, content: &[] };
            let actions = self.hosted.arrived(now, &arrival);
            self.probes.record_measures(now, &self.hosted, out);
            if let Some(event) = self.act(now, &actions, out) {
                self.tell(now, event, out);
            }
        }
        let received = self.destination.delivered_bytes as f64;
        let row = [f64::from(segment), packet.age(now).as_secs_f64(), f64::from(data.0), received];
        self.probes.record_arrival(now, row, out);
    }
}

impl Stage for Endpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if let Some(norm) = packet.body.of::<Norm>() {
            let message = norm.message.clone();
            self.take(now, packet, (message, true), out);
        } else if let Some(packet) = self.corrupted.open(packet, NOT_NORM, out) {
            match packet.body.of::<Norm>().map(|norm| norm.message.clone()) {
                Some(message) => self.take(now, packet, (message, false), out),
                None => out.drop(packet, NOT_NORM),
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while let Some(event) = self.hosted.due(now) {
            self.tell(now, event, out);
        }
        match self.site.end {
            End::Source => self.send(now, out),
            End::Destination => {
                if let Some(requests) = self.receiver.nack(now) {
                    self.counts.nacks += 1;
                    self.emit(now, Message::Nack(Arc::new(requests)), 0, out);
                }
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let own = match self.site.end {
            End::Source => {
                let waits = self.sender.has_segment() || self.sender.waits_to_flush();
                let segment = if waits { self.next } else { Time::MAX };
                segment.min(self.sender.next_wake())
            }
            End::Destination => self.receiver.next_wake(),
        };
        let wake = self.hosted.next_wake().min(own);
        (wake != Time::MAX).then_some(wake)
    }

    fn report(&self, now: Time, report: &mut Report) {
        self.site.report(&self.source, &self.destination, report);
        self.hosted.report(now, &self.site, report);
        self.corrupted.report(&self.site.incoming(), report);
        let Counts { nacks, advertisements, flushes, duplicates } = self.counts;
        let (segments, suppressed, completed) = match self.site.end {
            End::Source => (self.sender.sent(), 0, None),
            End::Destination => {
                (self.receiver.delivered(), self.receiver.suppressed(), self.receiver.completed())
            }
        };
        let values = [
            f64::from(segments),
            nacks as f64,
            suppressed as f64,
            advertisements as f64,
            flushes as f64,
            duplicates as f64,
            completed.map_or(f64::NAN, Time::as_secs_f64),
        ];
        report.row(&REPORT, &names::end(&self.site.name, self.site.end), &values);
    }
}
