//! One end of a TFRC flow as a stage: an application over a [`Sender`] (at the source) or a
//! [`Receiver`] (at the destination). Input port 0, output port 0.

use super::receiver::Receiver;
use super::sender::Sender;
use super::Config;
use crate::app::{Actions, App, Arrival, End, Event};
use crate::datagrams::Probes;
use crate::flow::{DestinationCounters, SourceCounters};
use crate::hosting::{Hosted, Site};
use crate::names;
use crate::tfrc::header::{Tfrc, TfrcFeedback};
use crate::udp;
use bentpipe_core::{Column, Report, Span, Stream, Table, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::packet::quick_start::QuickStart;
use bentpipe_stage::{Body, DropReason, Outbox, Packet, Port, Stage};
use std::collections::VecDeque;

/// Drop reason: a packet that does not belong to TFRC arrived at a TFRC endpoint.
pub const NOT_TFRC: DropReason = DropReason::new("not a datagram of TFRC");

/// Size of a data packet's header in bytes: sequence number, timestamp, round-trip time.
pub(super) const DATA_HEADER: u32 = 12;
/// Size of a report in bytes: timestamp and delay, receive rate, loss event rate.
pub(super) const REPORT_HEADER: u32 = 16;
/// Size of the Quick-Start option (RFC 4782, section 3.1).
const QUICK_START: u32 = 8;
/// Size of the headers by RFC 4828, and the minimum time between two packets.
const SMALL_HEADERS: f64 = 40.0;
const SMALL_INTERVAL: Span = Span::from_millis(10);

/// Trace of a sender, one row per report.
pub static TRACE: Table = Table {
    name: "tfrc",
    entity: "flow",
    about: "after each report of the receiver, and when there has been none for too long",
    columns: &[
        Column::real("allowed", "bit/s", "rate at which the sender may send its payload (X)"),
        Column::real("received", "bit/s", "rate that the receiver reports (X_recv); null without a report"),
        Column::real("loss_event_rate", "1", "loss event rate that the receiver reports (p)"),
        Column::real("rtt", "s", "smoothed round-trip time (R)"),
        Column::whole("waiting", "packets", "datagrams waiting to be sent; 0 for an endless source"),
    ],
};

/// The state of both ends at the end of a run.
pub static REPORT: Table = Table {
    name: "tfrc",
    entity: "flow end",
    about: "at the end of the run, by each end of a TFRC flow (NAME.source, NAME.destination)",
    columns: &[
        Column::whole(
            "reports",
            "packets",
            "reports that the source has received, or that the destination has sent",
        ),
        Column::whole("silences", "1", "number of times that the source received no report for too long"),
        Column::real(
            "granted",
            "bit/s",
            "rate granted by the path (Quick-Start); null if none was requested",
        ),
        Column::whole("loss_events", "1", "loss events detected by the destination"),
        Column::whole("lost", "packets", "packets that the destination counted as lost"),
    ],
};

/// One end of a TFRC flow, as a stage.
pub struct Endpoint {
    site: Site,
    config: Config,
    hosted: Hosted,
    probes: Probes,
    sender: Sender,
    receiver: Receiver,
    /// Times and sizes of data that was handed over and not yet sent.
    waiting: VecDeque<(Time, u32)>,
    endless: bool,
    closing: bool,
    /// Time at which the next packet may leave.
    next: Time,
    number: u32,
    open: bool,
    reports: u64,
    /// The granted rate in bit/s, if any.
    granted: Option<u64>,
    source: SourceCounters,
    destination: DestinationCounters,
    corrupted: Received,
}

impl Endpoint {
    /// Creates one end of a flow; `stream` belongs to this end alone.
    pub fn new(site: Site, config: &Config, app: Box<dyn App>, stream: Stream, probes: Probes) -> Endpoint {
        let hosted = Hosted::new(&site, app, stream);
        let size = config.segment_size.value();
        Endpoint {
            destination: DestinationCounters::new(site.details),
            site,
            config: config.clone(),
            hosted,
            probes,
            sender: Sender::new(size, config.damped),
            receiver: Receiver::new(size, config.small_packets),
            waiting: VecDeque::new(),
            endless: false,
            closing: false,
            next: Time::ZERO,
            number: 0,
            open: false,
            reports: 0,
            granted: None,
            source: SourceCounters::default(),
            corrupted: Received::default(),
        }
    }

    /// Returns the sending half of the endpoint.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Returns the receiving half of the endpoint.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
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
        if actions.send == u64::MAX {
            self.endless = true;
        } else if actions.send > 0 {
            let size = self.config.segment_size.value();
            let mut left = actions.send;
            while left > 0 {
                let bytes = left.min(size);
                self.waiting.push_back((now, bytes as u32));
                left -= bytes;
            }
        }
        if actions.stop {
            self.endless = false;
            self.waiting.clear();
        }
        self.closing |= actions.close || actions.stop;
        if actions.connect && !self.open {
            self.open = true;
            self.source.start = Some(now);
            return Some(Event::Connected);
        }
        None
    }

    /// Sends the packets that may be sent now.
    fn send(&mut self, now: Time, out: &mut Outbox) {
        while self.next <= now && (self.endless || !self.waiting.is_empty()) {
            let (birth, payload) =
                self.waiting.pop_front().unwrap_or((now, self.config.segment_size.value() as u32));
            let ask = self.config.quick_start.filter(|_| self.number == 0);
            let quick_start = ask.map(|rate| QuickStart::asking(rate.bits_per_second() as f64));
            let option = if quick_start.is_some() { QUICK_START } else { 0 };
            let header = Tfrc { sent: now, rtt: self.sender.rtt(), feedback: None, quick_start };
            let size = payload + udp::HEADER + DATA_HEADER + option;
            self.site.send(now, (birth, self.number, size), Body::layer(header), out);
            self.number = self.number.wrapping_add(1);
            self.source.sent_bytes += u64::from(payload);
            self.source.sent_packets += 1;
            let more = self.endless || !self.waiting.is_empty();
            self.sender.sent(now, more);
            let interval = self.sender.interval(self.nominal(payload));
            let interval = if self.config.small_packets { interval.max(SMALL_INTERVAL) } else { interval };
            // No credit for time without data to send.
            self.next = now + interval;
        }
        if self.closing && !self.endless && self.waiting.is_empty() && self.open {
            self.source.completed.get_or_insert(now);
        }
    }

    /// Returns the number of bytes that a payload counts in rates.
    fn nominal(&self, payload: u32) -> f64 {
        let headers = if self.config.small_packets { SMALL_HEADERS } else { 0.0 };
        f64::from(payload) + headers
    }

    fn report(&mut self, now: Time, feedback: TfrcFeedback, out: &mut Outbox) {
        self.reports += 1;
        let number = self.number;
        self.number = self.number.wrapping_add(1);
        let feedback = TfrcFeedback { granted: self.granted.take(), ..feedback };
        let header = Tfrc { sent: now, rtt: Span::ZERO, feedback: Some(feedback), quick_start: None };
        self.site.send(now, (now, number, udp::HEADER + REPORT_HEADER), Body::layer(header), out);
    }

    fn take_report(&mut self, now: Time, feedback: &TfrcFeedback, out: &mut Outbox) {
        self.reports += 1;
        self.source.rtt.add(now.since(feedback.echo).saturating_sub(feedback.delay));
        self.sender.feedback(now, feedback);
        if let Some(bits) = feedback.granted {
            self.granted = Some(bits);
            if bits > 0 {
                self.sender.grant(now, bits as f64 / 8.0);
            }
        }
        // A packet scheduled at a lower rate may now leave earlier.
        let size = self.config.segment_size.value() as u32;
        self.next = self.next.min(now + self.sender.interval(self.nominal(size)));
        self.trace(now, feedback.receive_rate * 8.0, out);
    }

    fn trace(&self, now: Time, received: f64, out: &mut Outbox) {
        let Some(probe) = self.probes.sender else { return };
        let row = [
            self.sender.allowed() * 8.0,
            received,
            self.sender.loss_event_rate(),
            self.sender.rtt().as_secs_f64(),
            self.waiting.len() as f64,
        ];
        out.record(probe, now, &row);
    }

    /// Takes a packet with its header; `intact` if its payload is unchanged.
    fn take(&mut self, now: Time, packet: Packet, (header, intact): (Tfrc, bool), out: &mut Outbox) {
        let packet = self.site.take(now, packet, out);
        if let Some(feedback) = &header.feedback {
            self.take_report(now, feedback, out);
            self.send(now, out);
            return;
        }
        if let Some(request) = header.quick_start {
            self.granted = Some(if request.missed { 0 } else { request.bits_per_second() });
        }
        let option = if header.quick_start.is_some() { QUICK_START } else { 0 };
        let payload = packet.size.saturating_sub(udp::HEADER + DATA_HEADER + option);
        let delay = packet.age(now);
        self.destination.delivered_bytes += u64::from(payload);
        self.destination.delivered_packets += 1;
        self.destination.last_delivery = Some(now);
        self.destination.arrive(now, &packet);
        let received = self.destination.delivered_bytes as f64;
        let row = [f64::from(packet.number), delay.as_secs_f64(), f64::from(payload), received];
        self.probes.record_arrival(now, row, out);
        let times = (header.sent, header.rtt);
        let due = self.receiver.arrive(now, packet.number.into(), times, self.nominal(payload));
        if let Some(feedback) = due {
            self.report(now, feedback, out);
        }
        let actions = self.hosted.arrived(now, &Arrival::of(&packet, payload.into(), intact));
        self.probes.record_measures(now, &self.hosted, out);
        if let Some(event) = self.act(now, &actions, out) {
            self.tell(now, event, out);
        }
    }
}

impl Stage for Endpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if let Some(header) = packet.body.of::<Tfrc>().cloned() {
            self.take(now, packet, (header, true), out);
        } else if let Some(packet) = self.corrupted.open(packet, NOT_TFRC, out) {
            match packet.body.of::<Tfrc>().cloned() {
                Some(header) => self.take(now, packet, (header, false), out),
                None => out.drop(packet, NOT_TFRC),
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while let Some(event) = self.hosted.due(now) {
            self.tell(now, event, out);
        }
        if let Some(feedback) = self.receiver.due(now) {
            self.report(now, feedback, out);
        }
        if self.sender.nofeedback() <= now {
            self.sender.expire(now);
            self.trace(now, f64::NAN, out);
        }
        self.send(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let send = if self.endless || !self.waiting.is_empty() { self.next } else { Time::MAX };
        // A sender without further data waits for no reports.
        let silence = if self.source.completed.is_some() { Time::MAX } else { self.sender.nofeedback() };
        let wake = self.hosted.next_wake().min(self.receiver.timer()).min(silence).min(send);
        (wake != Time::MAX).then_some(wake)
    }

    fn report(&self, now: Time, report: &mut Report) {
        self.site.report(&self.source, &self.destination, report);
        self.hosted.report(now, &self.site, report);
        self.corrupted.report(&self.site.incoming(), report);
        let (events, lost) = self.receiver.losses().counts();
        let granted = match self.site.end {
            End::Source => self.granted.map_or(f64::NAN, |bits| bits as f64),
            End::Destination => f64::NAN,
        };
        let values =
            [self.reports as f64, self.sender.timer_expiries() as f64, granted, events as f64, lost as f64];
        report.row(&REPORT, &names::end(&self.site.name, self.site.end), &values);
    }
}
