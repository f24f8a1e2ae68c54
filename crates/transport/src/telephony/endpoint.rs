//! One end of a flow of calls as a stage: an exchange with its telephones. Input port 0, output
//! port 0.
//!
//! The source places calls, the destination answers them; both talk and listen. Both ends derive
//! the conversation of a call from its number, which the signalling carries, so they agree on the
//! talk spurts.

use super::agenda::{Agenda, Due};
use super::results::{Counts, Outcome, Record, CALL, HEARD, TRAFFIC};
use super::{Line, Outgoing, Signal, Signals};
use crate::app::{calls, End};
use crate::flow::{DestinationCounters, SourceCounters};
use crate::hosting::Site;
use crate::statistics::SpanStatistics;
use crate::tcp::Supply;
use crate::{names, udp, EndpointParts, Transport};
use bentpipe_core::address::ipv4;
use bentpipe_core::{Probe, Report, Span, Stream, Streams, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::{Body, DropReason, Outbox, Packet, Port, Stage};
use bentpipe_voice::codec::Codec;
use bentpipe_voice::rtp::{unwrapped_sequence, Rtp};
use bentpipe_voice::stream::{
    Clocks, Numbers, Origin, PacketFate, Packetizer, Receiver, Sender, SenderSettings,
};
use bentpipe_voice::talker::Side;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;

/// Drop reason: a packet that is neither signalling nor speech arrived at an exchange.
pub const NOT_A_CALL: DropReason = DropReason::new("neither signalling nor speech");

/// The addresses of both exchanges, and the role of this one.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The address of this exchange.
    pub own: Ipv4Addr,
    /// Address of the other exchange.
    pub other: Ipv4Addr,
    /// The end of this exchange: the source of the flow places the calls.
    pub end: End,
}

/// A call that occupies a line.
struct Call {
    record: Record,
    /// Holding time from the answer; `None` if the call lasts until the run ends.
    holding: Option<Span>,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    /// The numbering of the packets that a conference bridge sends to this party.
    mixed: Option<Packetizer>,
    /// Sequence number of the last packet that arrived, unwrapped.
    sequence: i64,
    /// The packets of a conference party with speech that waits for the mix.
    played: VecDeque<Played>,
}

/// A packet of a conference party that waits for the mix.
struct Played {
    /// Playout time of the first speech that has not been mixed.
    at: Time,
    /// Speech that has not been mixed.
    rest: Span,
    /// Time of arrival; `None` after the packet's first speech has been mixed.
    came: Option<Time>,
}

impl Call {
    fn new(record: Record, holding: Option<Span>) -> Call {
        Call {
            record,
            holding,
            sender: None,
            receiver: None,
            mixed: None,
            sequence: 0,
            played: VecDeque::new(),
        }
    }
}

/// The exchange at one end of a flow of calls.
pub struct Endpoint {
    site: Site,
    config: calls::Config,
    sending: SenderSettings,
    line: Box<dyn Line>,
    stream: Stream,
    common: u64,
    /// The calls by their identity. They are boxed, so that a search touches little memory.
    calls: BTreeMap<u32, Box<Call>>,
    agenda: Agenda,
    /// End times and numbers of the local calls.
    local: BTreeSet<(Time, u32)>,
    /// Time of the next call (source only).
    arrival: Time,
    /// True if the calls that last for the whole run have been placed.
    begun: bool,
    calls_placed: u32,
    signals: Signals,
    /// Number of the next packet.
    number: u32,
    counts: Counts,
    source: SourceCounters,
    destination: DestinationCounters,
    corrupted: Received,
    call_rows: Option<Probe>,
    heard: Option<Probe>,
    traffic: Option<Traffic>,
    /// True if the calls are parties of a conference, to which a bridge sends the mix.
    mixing: bool,
}

/// Bytes sent since the last row of [`TRAFFIC`].
struct Traffic {
    probe: Probe,
    next: Time,
    bytes: u64,
    speech: u64,
}

const SECOND: Span = Span::from_secs(1);

impl Endpoint {
    /// Creates the exchange at one end of a flow over `transport`.
    ///
    /// # Panics
    /// Panics if the flow's application places no calls.
    pub fn of(transport: &dyn Transport, parts: EndpointParts, supply: &mut dyn Supply) -> Endpoint {
        let EndpointParts { site, calls, stream, common, .. } = parts;
        let calls = calls.expect("the scenario has been checked");
        Endpoint::new(transport, site, calls, (stream, common), supply)
    }

    /// Creates one end of the calls of a flow over `transport`, from its own random stream and the
    /// random bits common to both ends.
    ///
    /// # Panics
    /// Panics if the transport carries no calls.
    pub fn new(
        transport: &dyn Transport,
        site: Site,
        config: calls::Config,
        (stream, common): (Stream, u64),
        supply: &mut dyn Supply,
    ) -> Endpoint {
        let entity = names::end(&site.name, site.end);
        let random = supply.stream(&format!("{entity}.signalling"));
        let ends = Ends { own: ipv4(site.node), other: ipv4(site.peer), end: site.end };
        let line = transport.line(ends, &config, random, supply).expect("the scenario has been checked");
        let call_rows = supply.probe(&CALL, &entity);
        let heard = supply.probe(&HEARD, &entity);
        let traffic = supply.probe(&TRAFFIC, &entity);
        let traffic = traffic.map(|probe| Traffic { probe, next: Time::ZERO + SECOND, bytes: 0, speech: 0 });
        Endpoint {
            agenda: Agenda::new(config.sending().packet()),
            sending: config.sending(),
            arrival: if site.end == End::Source { site.start } else { Time::MAX },
            destination: DestinationCounters::new(site.details),
            site,
            config,
            line,
            stream,
            common,
            calls: BTreeMap::new(),
            local: BTreeSet::new(),
            begun: false,
            calls_placed: 0,
            signals: Signals::default(),
            number: 0,
            counts: Counts::default(),
            source: SourceCounters::default(),
            corrupted: Received::default(),
            call_rows,
            heard,
            traffic,
            mixing: false,
        }
    }

    fn codec(&self) -> &'static Codec {
        self.sending.codec
    }

    /// Returns the number of lines in use.
    fn lines_in_use(&self) -> u64 {
        (self.calls.len() + self.local.len()) as u64
    }

    /// Places the calls that last for the whole run, or the next call of the Poisson process.
    fn arrive(&mut self, now: Time, out: &mut Outbox) {
        if !std::mem::replace(&mut self.begun, true) {
            self.source.start = Some(now);
            for _ in 0..self.config.calls.value() {
                self.place(now, None, out);
            }
        } else {
            let holding = Span::from_secs_f64(self.stream.exponential(self.config.holding.as_secs_f64()));
            self.place(now, Some(holding), out);
        }
        let load = self.config.load.value();
        let gap = self.config.holding.as_secs_f64() / load;
        self.arrival = match load > 0.0 {
            true => now + Span::from_secs_f64(self.stream.exponential(gap)),
            false => Time::MAX,
        };
    }

    /// Places a call if a line is free.
    fn place(&mut self, now: Time, holding: Option<Span>, out: &mut Outbox) {
        self.calls_placed += 1;
        self.counts.attempts += 1;
        let number = self.calls_placed;
        let record = Record { number, started: now, ringing: None, answered: None, sent: 0 };
        // Drawn for every call, so that the outcome of one call does not change the draws of later
        // ones.
        let local = holding.is_some() && self.stream.chance(self.config.local.value());
        if self.lines_in_use() >= self.config.lines.value() {
            self.counts.blocked += 1;
            return self.write(now, &record, Outcome::Blocked, None, out);
        }
        if let (true, Some(holding)) = (local, holding) {
            self.counts.local += 1;
            self.local.insert((now + holding, number));
            return self.write(now, &record, Outcome::Local, None, out);
        }
        let Some(call) = self.line.call(now, number, &mut self.signals) else {
            self.counts.blocked += 1;
            return self.write(now, &record, Outcome::Blocked, None, out);
        };
        self.calls.insert(call, Box::new(Call::new(record, holding)));
        self.agenda.add(now, (now + self.config.patience, call, Due::GiveUp));
        self.pass(now, None, out);
    }

    /// Sends the packets of the line and handles its events. `packet` is the packet that caused
    /// them, if any.
    fn pass(&mut self, now: Time, packet: Option<&Packet>, out: &mut Outbox) {
        while !(self.signals.send.is_empty() && self.signals.events.is_empty()) {
            // The vectors are reused, because this is done for every packet of speech.
            let mut send = std::mem::take(&mut self.signals.send);
            send.drain(..).for_each(|outgoing| self.send(now, outgoing, out));
            self.signals.send = send;
            let mut events = std::mem::take(&mut self.signals.events);
            events.drain(..).for_each(|signal| self.signal(now, signal, packet, out));
            if self.signals.events.is_empty() {
                self.signals.events = events;
            }
        }
        self.counts.retransmissions += std::mem::take(&mut self.signals.retransmissions);
    }

    /// Handles an event of the line.
    fn signal(&mut self, now: Time, signal: Signal, packet: Option<&Packet>, out: &mut Outbox) {
        match signal {
            Signal::Incoming { call, number } => {
                self.counts.attempts += 1;
                let record = Record { number, started: now, ringing: None, answered: None, sent: 0 };
                if self.lines_in_use() >= self.config.lines.value() {
                    self.counts.blocked += 1;
                    self.line.refuse(now, call, &mut self.signals);
                    return self.write(now, &record, Outcome::Blocked, None, out);
                }
                self.calls.insert(call, Box::new(Call::new(record, None)));
                self.line.ring(now, call, &mut self.signals);
                self.agenda.add(now, (now + self.config.answer, call, Due::Answer));
            }
            Signal::Ringing { call } => {
                if let Some(call) = self.calls.get_mut(&call) {
                    call.record.ringing.get_or_insert(now);
                }
            }
            Signal::Answered { call } => {
                if let Some(one) = self.calls.get(&call) {
                    let started = one.record.started;
                    let holding = one.holding;
                    self.agenda.remove(&(started + self.config.patience, call, Due::GiveUp));
                    if let Some(holding) = holding {
                        self.agenda.add(now, (now + holding, call, Due::HangUp));
                    }
                    self.start_talking(now, call);
                }
            }
            Signal::Failed { call, reason } => self.end(now, call, Outcome::Failed(reason), out),
            Signal::Ended { call } => self.end(now, call, Outcome::Over, out),
            Signal::Speech { call, rtp, payload } => {
                self.receive_speech(now, call, (&rtp, payload), packet, out)
            }
        }
    }

    /// Starts the talk spurts of an answered call.
    fn start_talking(&mut self, now: Time, number: u32) {
        let side = if self.site.end == End::Source { Side::Caller } else { Side::Callee };
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.record.answered = Some(now);
        let conversation = Streams::new(self.common, u64::from(call.record.number)).stream("conversation");
        let spurts = self.config.talker.spurts(side, conversation);
        let numbers = Numbers { ssrc: number, ..Numbers::draw(&mut self.stream) };
        if self.mixing {
            let SenderSettings { codec, frames, suppression, .. } = self.sending;
            call.mixed = Some(Packetizer::new(codec, frames, suppression, numbers));
            return;
        }
        let sender = Sender::new(self.sending, numbers, spurts, now);
        if let Some(due) = sender.due() {
            self.agenda.add(now, (due, number, Due::Speech));
        }
        call.sender = Some(sender);
    }

    /// Passes a packet of speech to the receiver of its call.
    fn receive_speech(
        &mut self,
        now: Time,
        call: u32,
        (rtp, payload): (&Rtp, u32),
        packet: Option<&Packet>,
        out: &mut Outbox,
    ) {
        let (codec, sending) = (self.codec(), self.sending);
        let Some(call) = self.calls.get_mut(&call) else { return };
        let receiver = call.receiver.get_or_insert_with(|| {
            // The packet was sent after its last sample and the codec's look-ahead.
            let spoken = sending.packet() + Span::from_secs_f64(codec.rtp.lookahead_ms / 1e3);
            let born = packet.map_or(now, |packet| packet.birth);
            let at = Time::from_nanos(born.as_nanos().saturating_sub(spoken.as_nanos()));
            let origin = Origin { timestamp: rtp.timestamp, at };
            Receiver::new(codec, sending.frames, &self.config.playout, Clocks::default(), Some(origin))
        });
        let heard = receiver.receive(now, rtp);
        let noise = sending.is_noise(rtp.payload_type, payload);
        if let (true, PacketFate::Played { at }) = (self.mixing && !noise, heard) {
            call.played.push_back(Played { at, rest: sending.packet(), came: Some(now) });
        }
        if let (Some(probe), true) = (self.heard, heard != PacketFate::Foreign) {
            call.sequence = unwrapped_sequence(call.sequence, rtp.sequence);
            let at = if let PacketFate::Played { at } = heard { at.as_secs_f64() } else { f64::NAN };
            let (number, sequence) = (f64::from(call.record.number), call.sequence as f64);
            let spoken = receiver.spoken(rtp).unwrap_or(f64::NAN);
            out.record(probe, now, &[number, sequence, spoken, at, f64::from(u8::from(noise))]);
        }
    }

    /// Makes the calls parties of a conference.
    pub fn mixing(self) -> Endpoint {
        Endpoint { mixing: true, ..self }
    }

    /// Returns the parties of the conference, each with true if it has spoken into the mix that
    /// ends at `now`. A mix takes `frame` of the speech of a packet, which is the duration of a
    /// packet or a part of it. `sent` is the time at which the last party gets this mix. Adds the
    /// time from the arrival of each packet until `sent`, for the packet's first frame, to `wait`.
    pub fn parties(
        &mut self,
        now: Time,
        frame: Span,
        sent: Time,
        wait: &mut SpanStatistics,
    ) -> Vec<(u32, bool)> {
        let mut parties = Vec::new();
        for (number, call) in self.calls.iter_mut().filter(|(_, call)| call.mixed.is_some()) {
            let mut spoke = false;
            for packet in call.played.iter_mut().take_while(|packet| packet.at <= now) {
                if let Some(came) = packet.came.take() {
                    wait.add(sent.since(came));
                }
                packet.at += frame;
                packet.rest = packet.rest.saturating_sub(frame);
                spoke = true;
            }
            call.played.retain(|packet| packet.rest > Span::ZERO);
            parties.push((*number, spoke));
        }
        parties
    }

    /// Sends the mix of a period to a party: speech, comfort noise, or nothing during suppressed
    /// silence.
    pub fn say(&mut self, now: Time, number: u32, period: u64, speech: bool, out: &mut Outbox) {
        let SenderSettings { suppression, comfort_noise, .. } = self.sending;
        let Some(call) = self.calls.get_mut(&number) else { return };
        let Some(mixed) = &mut call.mixed else { return };
        let media = match speech || !suppression {
            true => mixed.speech(period),
            false if comfort_noise && mixed.is_speaking() => mixed.noise(period),
            false => return mixed.silence(),
        };
        call.record.sent += 1;
        self.line.speak(now, number, &media, &mut self.signals);
        self.pass(now, None, out);
    }

    /// Releases the line of a call and writes its row.
    fn end(&mut self, now: Time, number: u32, outcome: Outcome, out: &mut Outbox) {
        let Some(call) = self.calls.remove(&number) else { return };
        self.agenda.remove_call(number);
        let outcome = match (outcome, call.record.answered) {
            // The call was answered here before the other exchange disappeared.
            (Outcome::Failed(_), Some(_)) => Outcome::Over,
            (outcome, _) => outcome,
        };
        self.write(now, &call.record, outcome, call.receiver.as_ref(), out);
    }

    /// Counts a call and writes its row of [`CALL`].
    fn write(
        &mut self,
        now: Time,
        record: &Record,
        outcome: Outcome,
        heard: Option<&Receiver>,
        out: &mut Outbox,
    ) {
        let totals = heard.map(Receiver::totals);
        let heard = totals.as_ref().map(|totals| (totals, self.sending.codec, self.config.advantage.value()));
        let row = self.counts.end(now, record, outcome, heard);
        if let Some(probe) = self.call_rows {
            out.record(probe, now, &row);
        }
    }

    /// Counts a call that has not ended at the end of the run, and returns its row.
    fn unfinished(&self, now: Time, call: &Call, counts: &mut Counts) -> [f64; 16] {
        let outcome = if call.record.answered.is_some() { Outcome::Talking } else { Outcome::Open };
        let totals = call.receiver.as_ref().map(Receiver::totals);
        let heard = totals.as_ref().map(|totals| (totals, self.sending.codec, self.config.advantage.value()));
        counts.end(now, &call.record, outcome, heard)
    }

    /// Sends a packet of the line.
    fn send(&mut self, now: Time, outgoing: Outgoing, out: &mut Outbox) {
        let Outgoing { size, speech, body } = outgoing;
        self.site.send(now, (now, self.number, size), body, out);
        self.number = self.number.wrapping_add(1);
        if speech > 0 {
            self.source.sent_bytes += u64::from(size.saturating_sub(udp::HEADER));
            self.source.sent_packets += 1;
            self.source.start.get_or_insert(now);
        } else {
            self.counts.signalling += u64::from(size);
        }
        if let Some(traffic) = &mut self.traffic {
            traffic.bytes += u64::from(size);
            traffic.speech += u64::from(speech);
        }
    }

    /// Performs the action of a call that is due now.
    fn due(&mut self, now: Time, call: u32, due: Due) {
        match due {
            Due::Answer => {
                self.line.answer(now, call, &mut self.signals);
                self.start_talking(now, call);
            }
            Due::GiveUp => self.line.hang_up(now, call, &mut self.signals),
            Due::HangUp => self.line.hang_up(now, call, &mut self.signals),
            Due::Speech => {
                let Some(one) = self.calls.get_mut(&call) else { return };
                let Some(sender) = &mut one.sender else { return };
                let media = sender.send();
                one.record.sent += 1;
                if let Some(due) = sender.due() {
                    self.agenda.add(now, (due, call, Due::Speech));
                }
                self.line.speak(now, call, &media, &mut self.signals);
            }
        }
    }

    /// Handles a packet that the channel has not corrupted.
    fn take(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        if !self.line.receive(now, &packet.body, &mut self.signals) {
            return out.drop(packet, NOT_A_CALL);
        }
        let packet = self.site.take(now, packet, out);
        if packet.body.has_payload() == Some(true) {
            self.destination.delivered_bytes += u64::from(packet.size.saturating_sub(udp::HEADER));
            self.destination.delivered_packets += 1;
            self.destination.last_delivery = Some(now);
            self.destination.arrive(now, &packet);
        }
        self.pass(now, Some(&packet), out);
    }
}

impl Stage for Endpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        match packet.body {
            Body::Layer(_) => self.take(now, packet, out),
            _ => {
                if let Some(packet) = self.corrupted.open(packet, NOT_A_CALL, out) {
                    self.take(now, packet, out);
                }
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        let calls = self.lines_in_use();
        if let Some(traffic) = self.traffic.as_mut().filter(|traffic| traffic.next <= now) {
            let rate = |bytes: u64| bytes as f64 * 8.0;
            out.record(traffic.probe, now, &[calls as f64, rate(traffic.bytes), rate(traffic.speech)]);
            (traffic.bytes, traffic.speech) = (0, 0);
            traffic.next += SECOND;
        }
        while let Some(&(end, number)) = self.local.first().filter(|(end, _)| *end <= now) {
            self.local.remove(&(end, number));
        }
        if self.line.next_wake() <= now {
            self.line.wake(now, &mut self.signals);
            self.pass(now, None, out);
        }
        while let Some((_, call, due)) = self.agenda.take(now) {
            self.due(now, call, due);
            if due == Due::HangUp {
                self.end(now, call, Outcome::Over, out);
            }
            self.pass(now, None, out);
        }
        if self.arrival <= now {
            self.arrive(now, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let local = self.local.first().map_or(Time::MAX, |(time, _)| *time);
        let traffic = self.traffic.as_ref().map_or(Time::MAX, |traffic| traffic.next);
        let wake = self.agenda.next().min(local).min(traffic).min(self.arrival).min(self.line.next_wake());
        (wake != Time::MAX).then_some(wake)
    }

    fn finish(&mut self, now: Time, out: &mut Outbox) {
        let Some(probe) = self.call_rows else { return };
        // These calls are counted in the report.
        let mut counts = self.counts.clone();
        for call in self.calls.values() {
            out.record(probe, now, &self.unfinished(now, call, &mut counts));
        }
    }

    fn report(&self, now: Time, report: &mut Report) {
        self.site.report(&self.source, &self.destination, report);
        self.corrupted.report(&self.site.incoming(), report);
        let mut counts = self.counts.clone();
        for call in self.calls.values() {
            self.unfinished(now, call, &mut counts);
        }
        counts.report(&names::end(&self.site.name, self.site.end), &self.site.incoming(), report);
    }
}
