//! A link in one direction: queue, transmission at a rate, errors and propagation in one stage.
//!
//! The departure of a packet is computed at its arrival, because the queue is first in, first out
//! and the discipline decides at arrival. A hop therefore costs one wake, at the delivery, where
//! the textbook has three events (enqueued, transmitted, propagated). Packets in flight wait in one
//! ring in order of delivery.
//!
//! **Changes during a run.** Let the rate change from r to r', or the delay from d to d', at a time
//! t:
//!
//! - The packet in transmission keeps the bits already sent. If it would have been sent at e, (e -
//!   t) r bits remain, and it is sent at t + (e - t) r / r'. Each packet after it starts when the
//!   previous one has been sent, and takes its bits divided by r'. Packets that wait at a change
//!   therefore take as long as on a link that always had r'.
//! - A packet whose last bit has been sent is in flight and not affected. The others arrive at
//!   max(arrival of the previous packet, sent + d'): with a shorter delay, packets do not overtake.
//! - New error settings apply to packets that arrive from t on, new queue limits to packets that
//!   enter the queue from t on: a change drops no waiting packet. The discipline and the error
//!   process restart when their own keys change.
//!
//! With ACM a packet takes its bits divided by the rate of the MODCOD that the signal allows at the
//! start of its transmission (`adaptive`).
//!
//! Transmission times are rounded down to the nanosecond.

pub mod acm;
mod adaptive;
pub mod arq;
pub mod channel;
mod config;
pub mod contacts;
mod facts;
pub mod framing;
pub mod jitter;
pub mod pace;
pub mod queue;
pub mod series;
pub mod slots;
#[cfg(test)]
mod tests;
pub mod transmitter;

pub use config::check_symbol_rate;
pub use config::{Config, Ends};

use self::adaptive::{Adaptive, Started};
use self::contacts::{ContactState, Openings, StateChange, CUT_OFF};
use self::framing::{Added, Unit, Verdicts, TOO_LONG};
use self::series::{Playback, Sample};
use self::transmitter::Transmitter;
use crate::channel::{Errors, Fate, CORRUPTED};
use bentpipe_core::{Column, Probe, Rate, Report, Span, Stream, Table, Tables, Time, Whole};
use bentpipe_stage::{Change, DropReason, Held, Outbox, Packet, Port, Stage};
use std::collections::VecDeque;

/// Drop reason: the link contains its maximum number of packets.
pub const HOLDS_TOO_MANY: DropReason = DropReason::new("link holds as many packets as it can");

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&TRACE, &acm::TRACE];
    const REPORTS: &'static [&'static Table] =
        &[&REPORT, &acm::REPORT, &arq::REPORT, &channel::effect::REPORT];
}

/// Trace of a link: the state of its queue at each arrival.
pub static TRACE: Table = Table {
    name: "link",
    entity: "link",
    about: "when a packet arrives at the link's queue",
    columns: &[
        Column::whole("queue_packets", "packets", "waiting packets, this arrival included"),
        Column::whole("queue_bytes", "bytes", "waiting bytes, this arrival included"),
        Column::whole("dropped", "packets", "packets that the queue has dropped so far"),
    ],
};

/// Counters of a link over a run.
pub static REPORT: Table = Table {
    name: "link",
    entity: "link",
    about: "at the end of the run",
    columns: &[
        Column::whole("packets", "packets", "packets that were transmitted"),
        Column::whole("bytes", "bytes", "bytes that were transmitted"),
        Column::real("utilisation", "1", "fraction of the run in which the link was transmitting"),
        Column::whole("queue_drops", "packets", "packets dropped by the queue"),
        Column::whole(
            "error_drops",
            "packets",
            "packets corrupted by the channel, whether lost or delivered",
        ),
        Column::whole("queue_max", "packets", "maximum number of packets that waited at once"),
        Column::real("wait_mean", "s", "mean time that packets waited in the queue"),
    ],
};

/// A packet in flight. The packet is the first field, so that it has the same layout as a packet
/// alone and moves in the same pieces.
#[repr(C)]
struct InFlight {
    packet: Whole<Packet>,
    delivery: Time,
}

fn held<'a>(flying: impl Iterator<Item = &'a InFlight>) -> Held {
    let mut held = Held::default();
    flying.for_each(|one| one.packet.read(|packet| held.add(packet)));
    held
}

/// The part that changes the link's rate, delay and errors during the run.
enum Driver {
    Series(Playback),
    Slots(slots::Process),
}

impl Driver {
    fn new(config: &Config, stream: &mut Stream) -> Option<Box<Driver>> {
        let series =
            config.trace.as_ref().map(|trace| Driver::Series(trace.build(*config.rate, config.delay)));
        let slots = config.slots.as_ref();
        let slots = slots.map(|slots| Driver::Slots(slots.build(*config.rate, config.delay, stream.fork())));
        series.or(slots).map(Box::new)
    }

    /// Returns the time of the next change.
    #[inline]
    fn next(&self) -> Option<Time> {
        match self {
            Driver::Series(playback) => playback.next(),
            Driver::Slots(process) => Some(process.next()),
        }
    }

    /// Sets the rate and the delay of the link's own keys, and returns those that apply now.
    fn set(&mut self, rate: Rate, delay: Span) -> (Rate, Span) {
        match self {
            Driver::Series(playback) => playback.set(rate, delay),
            Driver::Slots(process) => (process.set(rate, delay), delay),
        }
    }

    /// Returns the values from `now` on, if a change is due.
    fn take(&mut self, now: Time) -> Option<Sample> {
        match self {
            Driver::Series(playback) => playback.take(now),
            Driver::Slots(process) => process.take(now),
        }
    }
}

/// A link in one direction. Input port 0, output port 0.
pub struct Link {
    name: String,
    delay: Span,
    /// The part of the delay that passes on the real path, and the time from which this applies: no
    /// packet is released before.
    elsewhere: (Span, Time),
    /// The earliest time of arrival: the last arrival of the packets in flight when the delay was
    /// last reduced.
    not_before: Time,
    transmitter: Transmitter,
    errors: Option<Errors>,
    verdicts: Verdicts,
    /// Size in bytes of the longest packet that the framing can carry.
    longest: u32,
    /// The stage's output port for delivered packets.
    exit: Port,
    driver: Option<Box<Driver>>,
    /// State of the contacts, if the link is not always open.
    contacts: Option<Box<ContactState>>,
    /// Maximum number of packets in the link.
    holds: usize,
    /// The framing's result for each admitted packet, if there is a framing.
    frames: VecDeque<Added>,
    /// Admitted packets in order of delivery.
    flying: VecDeque<InFlight>,
    error_drops: u64,
    /// Packets that wait for the end of their extra delay, if there is jitter.
    jitter: Option<Box<jitter::Line>>,
    /// The adaptive part, with ACM.
    adaptive: Option<Box<Adaptive>>,
}

impl Link {
    /// Creates a link under the name that results use, with its own random stream. A link with ACM
    /// also needs [`adapting`](Self::adapting), which sets the ends.
    pub fn new(name: &str, config: &Config, mut stream: Stream, probe: Option<Probe>) -> Link {
        let driver = Driver::new(config, &mut stream);
        let framer = config.framing.build(None);
        let mut transmitter =
            Transmitter::new(*config.rate, config.queue.build(*config.rate), framer, stream, probe);
        transmitter.grant(config.quick_start);
        Link {
            name: name.to_owned(),
            delay: config.delay,
            elsewhere: (Span::ZERO, Time::ZERO),
            not_before: Time::ZERO,
            transmitter,
            errors: config.error.errors(),
            verdicts: Verdicts::default(),
            longest: config.framing.longest(),
            exit: Port(0),
            driver,
            contacts: None,
            holds: config.holds.map_or(usize::MAX, |max| max.value() as usize),
            frames: VecDeque::new(),
            flying: VecDeque::new(),
            error_drops: 0,
            jitter: jitter::Line::new(&config.jitter, config.reorder),
            adaptive: None,
        }
    }

    /// Restricts the link to these intervals.
    pub fn open_in(mut self, openings: Openings) -> Link {
        let standing = ContactState::new(openings);
        self.transmitter.close(Time::ZERO, &[], standing.opens());
        self.contacts = Some(Box::new(standing));
        self
    }

    /// Makes the link adapt to the signal between its ends, if its configuration has ACM. The probe
    /// is one on [`acm::TRACE`].
    pub fn adapting(mut self, config: &Config, ends: Ends<'_>, probe: Option<Probe>) -> Link {
        self.adaptive = Adaptive::new(config, ends, probe);
        if self.adaptive.is_some() {
            self.transmitter.hold();
        }
        self
    }

    /// Makes the link a part of another stage, which delivers by output port `exit`.
    pub fn leaving_by(mut self, exit: Port) -> Link {
        self.exit = exit;
        self
    }

    /// Returns the time at which a packet with this delivery time in the model is released. All
    /// packets are shifted by the same amount, so their order is kept.
    #[inline]
    fn leaves(&self, delivery: Time) -> Time {
        let (by, since) = self.elsewhere;
        let early = by.as_nanos().min(self.delay.as_nanos());
        Time::from_nanos(delivery.as_nanos().saturating_sub(early)).max(since)
    }

    #[inline]
    fn arrival(&self, sent: Time) -> Time {
        self.not_before.max(sent + self.delay)
    }

    /// Applies the values of the driver at `now`.
    fn play(&mut self, now: Time) {
        let Some(driver) = &mut self.driver else { return };
        let Some(sample) = driver.take(now) else { return };
        if let Some(error) = sample.error {
            self.errors = error.errors();
        }
        self.retime(now, sample.rate, sample.delay);
    }

    /// Opens or closes the link if a change is due.
    fn turn(&mut self, now: Time, out: &mut Outbox) {
        while let Some(turn) = self.contacts.as_mut().and_then(|contacts| contacts.turn(now)) {
            match turn {
                StateChange::Opens(opening) => {
                    let (rate, delay) = (
                        opening.rate.unwrap_or(self.transmitter.rate()),
                        opening.delay.unwrap_or(self.delay),
                    );
                    if (rate, delay) != (self.transmitter.rate(), self.delay) {
                        self.retime(now, rate, delay);
                    }
                }
                StateChange::Closes => self.close(now, out),
            }
        }
    }

    /// Drops the packet in transmission and keeps the others for the next contact.
    fn close(&mut self, now: Time, out: &mut Outbox) {
        let Some(opens) = self.contacts.as_ref().map(|contacts| contacts.opens()) else { return };
        let in_transmission = self.transmitter.is_sending(now);
        let sent = self.flying.len() - self.transmitter.unsent(now);
        let unsent: Vec<Packet> =
            self.flying.drain(sent..).map(|flying| flying.packet.into_inner()).collect();
        self.frames.truncate(sent);
        self.transmitter.close(now, &unsent, opens);
        let mut unsent = unsent.into_iter();
        if in_transmission {
            unsent.by_ref().take(1).for_each(|packet| out.drop(packet, CUT_OFF));
        }
        for mut packet in unsent {
            // The packet was admitted on arrival.
            let (sent, added) = self.transmitter.offer_again(now, &mut packet);
            self.frames.extend(added);
            let (packet, delivery) = (Whole::new(packet), self.arrival(sent));
            self.flying.push_back(InFlight { packet, delivery });
        }
    }

    /// Applies a new rate and delay to all bits that have not been sent yet.
    fn retime(&mut self, now: Time, rate: Rate, delay: Span) {
        if let Some(adaptive) = &mut self.adaptive {
            // A frame in transmission is completed at its old rate.
            (adaptive.symbols, self.delay) = (rate, delay);
            self.elsewhere.1 = self.elsewhere.1.max(now);
            self.not_before = self.flying.back().map_or(self.not_before, |last| last.delivery);
            return;
        }
        let ends = self.transmitter.set_rate(now, rate);
        let sent = self.flying.len() - ends.len();
        self.delay = delay;
        // A larger part of the delay of packets in flight may now pass on the real path.
        self.elsewhere.1 = self.elsewhere.1.max(now);
        self.not_before = sent.checked_sub(1).map_or(self.not_before, |last| self.flying[last].delivery);
        for (index, end) in (sent..).zip(ends) {
            self.flying[index].delivery = self.arrival(end);
        }
    }
}

impl Link {
    /// Stops sending and returns the waiting packets, with the packet in transmission. Packets
    /// already sent arrive.
    pub fn cut(&mut self, now: Time) -> Vec<Packet> {
        let unsent = self.in_transmission(now);
        let sent = self.flying.len() - unsent;
        let mut waiting: Vec<Packet> =
            self.flying.drain(sent..).map(|flying| flying.packet.into_inner()).collect();
        self.frames.truncate(sent);
        self.transmitter.withdraw(now, &waiting, now);
        waiting.extend(self.adaptive.as_mut().map_or(Vec::new(), |adaptive| adaptive.cut(unsent)));
        waiting.extend(self.transmitter.drain());
        waiting
    }

    /// Removes the packets that have been sent and have not arrived.
    pub fn lose(&mut self, now: Time) -> Vec<Packet> {
        let sent = self.flying.len() - self.in_transmission(now);
        self.adaptive.iter_mut().for_each(|adaptive| adaptive.lose(sent));
        self.frames.drain(..sent.min(self.frames.len()));
        self.not_before = now;
        let late = self.jitter.as_mut().map_or(Vec::new(), |line| line.drain());
        late.into_iter().chain(self.flying.drain(..sent).map(|flying| flying.packet.into_inner())).collect()
    }

    /// Releases a packet that has crossed the link, after its extra delay if there is jitter.
    fn hand_on(&mut self, delivery: Time, packet: Packet, out: &mut Outbox) {
        let leaves = self.leaves(delivery);
        match &mut self.jitter {
            Some(line) => line.push(leaves, packet, &mut self.transmitter.stream),
            None => out.send(self.exit, packet),
        }
    }

    /// Returns the time at which all admitted packets will have been sent; for a closed link, the
    /// time at which it opens.
    pub fn free_at(&self) -> Time {
        self.transmitter.free_at()
    }

    /// Returns the present rate.
    pub fn rate(&self) -> Rate {
        self.transmitter.rate()
    }

    /// Returns the present propagation delay.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Returns the number of packets in flight that have not been sent completely.
    fn in_transmission(&self, now: Time) -> usize {
        match &self.adaptive {
            Some(adaptive) => adaptive.unsent(now, &self.transmitter),
            None => self.transmitter.unsent(now),
        }
    }

    /// Returns the number of waiting packets, with the one in transmission.
    pub fn unsent(&self, now: Time) -> usize {
        let framed = self.adaptive.as_ref().map_or(0, |adaptive| adaptive.held().packets as usize);
        self.in_transmission(now) + framed + self.transmitter.buffered().packets as usize
    }

    /// Starts the next transmission of a link that adapts to the signal.
    fn begin_adapted(&mut self, now: Time, out: &mut Outbox) {
        let Some(adaptive) = &mut self.adaptive else { return };
        for Started { packet, sent, added } in adaptive.begin(now, &mut self.transmitter, out) {
            self.frames.extend(added);
            let (packet, delivery) = (Whole::new(packet), self.not_before.max(sent + self.delay));
            self.flying.push_back(InFlight { packet, delivery });
        }
    }

    /// Puts a packet into the queue.
    #[inline(always)]
    fn take(&mut self, now: Time, mut packet: Packet, out: &mut Outbox) {
        if self.adaptive.is_some() {
            self.transmitter.keep(now, packet, out);
            self.begin_adapted(now, out);
            return self.transmitter.observe(now, out);
        }
        if self.transmitter.is_buffered() {
            if let Some((packet, sent)) = self.transmitter.accept(now, packet, out) {
                self.fly(packet, sent);
            }
            return;
        }
        match self.transmitter.offer(now, &mut packet, out) {
            Err(reason) => out.drop(packet, reason),
            Ok(sent) => self.fly(packet, sent),
        }
    }

    /// Adds a packet to those in flight whose last bit is sent at `sent`.
    #[inline(always)]
    fn fly(&mut self, packet: Packet, sent: Time) {
        if let Some((_, added)) = self.transmitter.framed() {
            self.frames.push_back(added);
        }
        let (packet, delivery) = (Whole::new(packet), self.arrival(sent));
        self.flying.push_back(InFlight { packet, delivery });
    }

    /// Delivers the first packet in flight, unless the channel has corrupted it.
    fn deliver_first(&mut self, out: &mut Outbox) {
        let Some(InFlight { packet, delivery }) = self.flying.pop_front() else { return };
        let mut packet = packet.into_inner();
        let (mut unit, mut heard) = (None, true);
        if let Some(adaptive) = &mut self.adaptive {
            let (modcod, decoded) = adaptive.arrives(delivery);
            (unit, heard) = (modcod.and_then(|modcod| adaptive.unit(modcod)), decoded);
        }
        let added = self.frames.pop_front();
        if !heard {
            return out.drop(packet, acm::FADED);
        }
        if let Some(added) = added {
            return self.deliver_framed(delivery, unit, added, packet, out);
        }
        let fate = match &mut self.errors {
            Some(errors) => errors.meet(delivery, &mut packet, &mut self.transmitter.stream),
            None => Fate::Intact,
        };
        self.error_drops += u64::from(fate != Fate::Intact);
        if fate == Fate::Lost {
            out.drop(packet, CORRUPTED);
        } else {
            self.hand_on(delivery, packet, out);
        }
    }

    /// Delivers a packet unless a unit of its frame is corrupted.
    fn deliver_framed(
        &mut self,
        delivery: Time,
        unit: Option<Unit>,
        added: Added,
        mut packet: Packet,
        out: &mut Outbox,
    ) {
        let fate = match &mut self.errors {
            None => Fate::Intact,
            Some(errors) => {
                let unit = unit.unwrap_or_else(|| self.transmitter.unit());
                let stream = &mut self.transmitter.stream;
                self.verdicts.meet(unit, added, errors, delivery, &mut packet, stream)
            }
        };
        self.error_drops += u64::from(fate != Fate::Intact);
        match fate {
            Fate::Lost => out.drop(packet, CORRUPTED),
            _ => self.hand_on(delivery, packet, out),
        }
    }
}

impl Stage for Link {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if packet.size > self.longest {
            return out.drop(packet, TOO_LONG);
        }
        if self.flying.len() >= self.holds {
            return out.drop(packet, HOLDS_TOO_MANY);
        }
        self.take(now, packet, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.play(now);
        if self.contacts.is_some() {
            self.turn(now, out);
        }
        if self.adaptive.is_some() {
            self.begin_adapted(now, out);
        } else if let Some((packet, sent)) = self.transmitter.begin(now, out) {
            self.fly(packet, sent);
        }
        while self.flying.front().is_some_and(|first| self.leaves(first.delivery) <= now) {
            let plain = self.errors.is_none() && self.frames.is_empty();
            if plain && self.jitter.is_none() && self.adaptive.is_none() {
                let flying = &mut self.flying;
                out.send_with(self.exit, || flying.pop_front().expect("it was looked at").packet);
            } else {
                self.deliver_first(out);
            }
        }
        if let Some(line) = &mut self.jitter {
            line.release(now, self.exit, out);
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        let first = self.flying.front().map(|first| self.leaves(first.delivery));
        if self.driver.is_none()
            && self.contacts.is_none()
            && !self.transmitter.is_buffered()
            && self.jitter.is_none()
        {
            return first;
        }
        let driver = self.driver.as_ref().and_then(|driver| driver.next());
        let contacts = self.contacts.as_ref().and_then(|contacts| contacts.next());
        let jitter = self.jitter.as_ref().and_then(|line| line.next());
        let begin = match &self.adaptive {
            Some(adaptive) => adaptive.next_begin(&self.transmitter),
            None => self.transmitter.next_begin(),
        };
        [first, driver, contacts, begin, jitter].into_iter().flatten().min()
    }

    fn hasten(&mut self, now: Time, by: Span) -> Span {
        self.elsewhere = (by, now);
        by.min(self.delay)
    }

    /// Returns the delay without the transmission time of packets. It changes only at wakes and
    /// with the configuration.
    fn least_delay(&self) -> Span {
        self.delay.saturating_sub(self.elsewhere.0)
    }

    fn change(&mut self, now: Time, change: Change<'_>, out: &mut Outbox) {
        let (before, after) = change.of::<Config>();
        if (before.rate, before.delay) != (after.rate, after.delay) {
            let own = (*after.rate, after.delay);
            let (rate, delay) = self.driver.as_mut().map_or(own, |driver| driver.set(own.0, own.1));
            self.retime(now, rate, delay);
        }
        if before.queue != after.queue {
            let waiting = self.transmitter.set_queue(after.queue.build(*after.rate));
            if self.adaptive.is_some() {
                self.transmitter.hold();
            }
            for packet in waiting {
                self.take(now, packet, out);
            }
        }
        if let (Some(adaptive), Some(acm), true) = (&mut self.adaptive, &after.acm, before.acm != after.acm) {
            adaptive.adaptation.change(now, acm.rule(), acm.clear(None));
        }
        if before.error != after.error {
            self.errors = after.error.errors();
        }
        if before.jitter != after.jitter {
            match &mut self.jitter {
                Some(line) => line.set(&after.jitter, after.reorder),
                none => *none = jitter::Line::new(&after.jitter, after.reorder),
            }
        }
    }

    fn held(&self) -> Held {
        let (flying, waiting) = (held(self.flying.iter()), self.transmitter.buffered());
        let late = self.jitter.as_ref().map_or(Held::default(), |line| line.held());
        let framed = self.adaptive.as_ref().map_or(Held::default(), |adaptive| adaptive.held());
        Held {
            packets: flying.packets + waiting.packets + late.packets + framed.packets,
            bytes: flying.bytes + waiting.bytes + late.bytes + framed.bytes,
        }
    }

    fn finish(&mut self, now: Time, out: &mut Outbox) {
        self.adaptive.iter_mut().for_each(|adaptive| adaptive.adaptation.finish(now, out));
    }

    fn report(&self, now: Time, report: &mut Report) {
        let pending = held(self.flying.iter().rev().take(self.in_transmission(now)));
        self.transmitter.report(&self.name, now, pending, self.error_drops, report);
        if let Some(adaptive) = &self.adaptive {
            report.row(&acm::REPORT, &self.name, &adaptive.adaptation.report());
        }
    }
}
