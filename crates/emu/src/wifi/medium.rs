//! The medium between the kernel's radios. It receives the frames that the radios send. bentpipe's
//! [`Cell`] decides when each frame is on the air, which frames collide, and which frames the
//! channel corrupts. The medium then reports to the kernel which frames arrived and which were
//! acknowledged.
//!
//! mac80211 passes each frame with up to four rates and a number of tries at each. The cell acts as
//! a card does: back-off, retransmissions, acknowledgments. It returns the number of tries at each
//! rate, from which the kernel's rate control learns.

use super::frame::{parse, Aggregate, Counts, Sent};
use super::genetlink::{Received, Socket};
use super::radio::{address, hwsim};
use crate::clock::wait::Wait;
use crate::clock::{Clock, Timing};
use crate::host::netlink::Attributes;
use bentpipe_core::{Probe, Report, Span, Stream, Streams, Time};
use bentpipe_link::channel::{Errors, Frame};
use bentpipe_networks::wifi::access_network::station;
use bentpipe_networks::wifi::adaptation::{Choice, Outcome};
use bentpipe_networks::wifi::cell::{Attempt, Cell, Link, Settled, UpperLayer};
use bentpipe_networks::wifi::config::Config;
use bentpipe_networks::wifi::counters::{REPORT, TRACE};
use bentpipe_networks::wifi::phy::Phy;
use bentpipe_stage::Outbox;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Bytes of the frame check sequence, which the driver's frames lack.
const CHECK_SEQUENCE: u32 = 4;
/// Received power in dBm that is reported to the kernel.
const SIGNAL: i32 = -50;
/// Number of the event of the driver's socket.
const DRIVER: u64 = 1;

/// The layer above the cell: the errors between stations, and the reports to the kernel.
struct Above {
    driver: Socket,
    family: u16,
    stations: usize,
    low: bool,
    errors: BTreeMap<(usize, usize), (Option<Errors>, Stream)>,
    control_errors: bool,
    /// Unsettled frames by number.
    sent: BTreeMap<u64, Sent>,
    /// Unsettled frames that were passed to their receivers.
    handed: BTreeSet<u64>,
    /// Settled frames that wait at their receivers for an earlier frame.
    arrived: BTreeMap<u64, Sent>,
    /// Number of the next frame.
    next: u64,
    /// Numbers of frames by sender, category and order in the cell.
    numbers: BTreeMap<(usize, usize, u64), u64>,
    /// Number of the frame that each sender transmits, or of the first frame of its aggregate.
    current: Vec<u64>,
    /// Result of each sender's transmission that the statuses of its frames must still report.
    aggregates: Vec<Option<Aggregate>>,
    /// Tries of each sender's aggregate without an acknowledgment: the number of its first frame,
    /// and the counts at each rate.
    tried: Vec<Option<(u64, Counts)>>,
    /// Rates in bit/s by their index.
    rates: Vec<f64>,
    trace: Vec<Row>,
    /// Stations that have received a beacon since the last check.
    beaconed: Vec<usize>,
    failed: Option<io::Error>,
}

/// A transmission of data, for the trace `wifi`.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Time at which the transmission ended.
    at: Time,
    /// The station that sent the data.
    from: usize,
    /// The values of the trace's columns.
    values: [f64; 6],
}

/// The results of a medium at the end of a run.
pub struct Ended {
    names: Vec<String>,
    cell: Cell<u64>,
    /// Duration of the whole run.
    whole: Span,
    /// Its transmissions of data, in order.
    trace: Vec<Row>,
    /// Error that ended it early, if any.
    pub failed: Option<io::Error>,
}

impl Ended {
    /// Writes the trace of the network's stations.
    pub fn record(&self, out: &mut Outbox) {
        let names = self.names.iter();
        let probes: Vec<Probe> = names.map(|name| out.recorder().open(&TRACE, name)).collect();
        for row in &self.trace {
            out.record(probes[row.from], row.at, &row.values);
        }
    }

    /// Adds the rows of the network's stations, given the number of packets that the queues of each
    /// station have dropped.
    pub fn report(&self, queue_drops: &[u64], report: &mut Report) {
        for ((name, counters), queue_drops) in self.names.iter().zip(&self.cell.counters).zip(queue_drops) {
            // The waiting time of a packet in the kernel is unknown.
            let row = counters.row(self.whole, *queue_drops, f64::NAN);
            report.row(&REPORT, name, &row);
        }
    }
}

fn cell(name: &str, config: &Config, streams: Streams) -> Cell<u64> {
    Cell::new(config.members().len(), config.rules(), config.heard_by(), streams.stream(name))
}

/// The medium of one network.
pub struct Medium {
    cell: Cell<u64>,
    above: Above,
    phy: Phy,
    names: Vec<String>,
    clock: Clock,
    wait: Wait,
    /// Parameters from which the cell is built: once before the run, and once when the run begins.
    name: String,
    config: Config,
    streams: Streams,
    /// True if the run has begun.
    begun: bool,
    /// True if the stations take turns in sending beacons, as in an ad hoc network.
    take_turns: bool,
    /// Beacons in their random delay, with the time at which the delay ends.
    beacons: Vec<(Time, usize, Sent)>,
    /// Random streams for the delays of each station's beacons.
    delays: Vec<Stream>,
}

impl Medium {
    /// Registers this medium for the radios that `driver`'s namespace has created.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, or already has a medium.
    pub fn new(
        mut driver: Socket,
        name: &str,
        config: &Config,
        streams: Streams,
        timing: Timing,
    ) -> io::Result<Medium> {
        let family = driver.family(hwsim::FAMILY)?;
        driver.request(family, hwsim::REGISTER, &Attributes::new())?;
        let members = config.members();
        let stations = members.len();
        let phy = config.phy();
        let above = Above {
            family,
            stations,
            low: config.is_low_band(),
            errors: BTreeMap::new(),
            control_errors: config.control_errors,
            sent: BTreeMap::new(),
            handed: BTreeSet::new(),
            arrived: BTreeMap::new(),
            next: 0,
            numbers: BTreeMap::new(),
            current: vec![0; stations],
            aggregates: vec![None; stations],
            tried: vec![None; stations],
            rates: (0..phy.rates()).map(|rate| phy.mode(rate).rate().bits_per_second() as f64).collect(),
            trace: Vec::new(),
            beaconed: Vec::new(),
            failed: None,
            driver,
        };
        let names = members.iter().map(|member| station(name, member)).collect();
        let wait = Wait::new(timing)?;
        wait.watch(above.driver.as_fd(), DRIVER)?;
        let mut medium = Medium {
            cell: cell(name, config, streams),
            above,
            phy,
            names,
            clock: Clock::start().at_once(timing),
            wait,
            name: name.to_owned(),
            config: config.clone(),
            streams,
            begun: false,
            take_turns: config.access_point.is_none(),
            beacons: Vec::new(),
            delays: Vec::new(),
        };
        medium.renew();
        Ok(medium)
    }

    /// Restarts with an idle medium, no frames and new random streams, so that earlier events do
    /// not affect the run.
    fn renew(&mut self) {
        let Medium { name, config, streams, .. } = self;
        let members = config.members();
        let errors = config.links().into_iter().map(|link| {
            let [from, to] = [&members[link.from], &members[link.to]];
            let stream = streams.stream(&format!("{name}.{}.{}.error", from.name(), to.name()));
            ((link.from, link.to), (config.error_between(from, to).errors(), stream))
        });
        self.above.errors = errors.collect();
        self.cell = cell(name, config, *streams);
        let delays =
            members.iter().map(|member| streams.stream(&format!("{name}.{}.beacons", member.name())));
        self.delays = delays.collect();
        self.above.sent.clear();
        self.above.handed.clear();
        self.above.arrived.clear();
        self.above.numbers.clear();
        self.above.aggregates.fill(None);
        self.above.tried.fill(None);
        self.above.trace.clear();
        self.above.beaconed.clear();
        self.beacons.clear();
    }

    /// Begins the run if it is due; `zero` is the start of the run in nanoseconds of
    /// CLOCK_MONOTONIC.
    fn begin(&mut self, zero: u64) {
        if !self.begun && self.clock.monotonic_at(self.clock.now()) >= zero {
            self.begun = true;
            self.clock = self.clock.from(zero);
            self.renew();
        }
    }

    /// Serves the radios until `stop` is true; `zero` is the start of the run in nanoseconds of
    /// CLOCK_MONOTONIC.
    pub fn run(mut self, stop: &Arc<AtomicBool>, zero: &Arc<AtomicU64>) -> Ended {
        while !stop.load(Ordering::Relaxed) && self.above.failed.is_none() {
            if let Err(error) = self.turn(zero) {
                self.above.failed = Some(error);
            }
        }
        let now = self.clock.now();
        Ended {
            names: self.names,
            cell: self.cell,
            whole: now.since(Time::ZERO),
            trace: self.above.trace,
            failed: self.above.failed,
        }
    }

    fn turn(&mut self, zero: &AtomicU64) -> io::Result<()> {
        let zero = zero.load(Ordering::Relaxed);
        self.begin(zero);
        let now = self.clock.now();
        self.pass(now);
        let beacon = self.beacons.iter().map(|(due, ..)| *due).min();
        let begins = (!self.begun && zero < u64::MAX).then(|| self.clock.at(zero));
        let next = self.cell.next_wake().into_iter().chain(beacon).chain(begins).min();
        let ready = self.wait.wait(&self.clock, now, next)?;
        if (0..ready.count).any(|index| self.wait.ready(index) == Some(DRIVER)) {
            self.begin(zero);
            self.take()?;
        }
        Ok(())
    }

    /// Performs all work that is due until `now`.
    fn pass(&mut self, now: Time) {
        loop {
            let beacon = self.beacons.iter().map(|(due, ..)| *due).min().filter(|due| *due <= now);
            let cell = self.cell.next_wake().filter(|due| *due <= now);
            match (beacon, cell) {
                (Some(beacon), cell) if cell.is_none_or(|cell| beacon < cell) => {
                    let place = self.beacons.iter().position(|(due, ..)| *due == beacon).expect("it is due");
                    let (_, from, sent) = self.beacons.remove(place);
                    self.enqueue(beacon, from, None, sent);
                }
                (_, Some(cell)) => {
                    self.cell.wake(cell, &mut self.above);
                    self.above.aggregates.fill(None);
                    self.cancel_beacons();
                }
                (_, None) => return,
            }
        }
    }

    /// Cancels the delayed beacons of stations that have received a beacon in the meantime (IEEE
    /// 802.11-2016, 11.1.3.5).
    fn cancel_beacons(&mut self) {
        for to in std::mem::take(&mut self.above.beaconed) {
            while let Some(place) = self.beacons.iter().position(|(_, from, _)| *from == to) {
                let (_, from, sent) = self.beacons.remove(place);
                self.above.answer(from, &sent, 1, true);
            }
        }
    }

    /// Puts a frame into the queue of its sender; `to` is `None` for all stations.
    fn enqueue(&mut self, now: Time, from: usize, to: Option<usize>, sent: Sent) {
        let bytes = sent.bytes.len() as u32 + CHECK_SEQUENCE;
        let limit = sent.tries.iter().map(|one| u32::from(one.count)).sum();
        let to = to.filter(|to| *to < self.above.stations).unwrap_or(self.above.stations);
        let number = self.above.next;
        self.above.next += 1;
        let category = if self.cell.rules().access.len() > 1 { sent.category() } else { 0 };
        let order = self.cell.enqueue_limited(now, Link { from, to }, category, bytes, Some(limit), number);
        self.above.numbers.insert((from, category, order), number);
        self.above.sent.insert(number, sent);
    }

    /// Reads the frames that wait at the driver's socket.
    fn take(&mut self) -> io::Result<()> {
        loop {
            let now = self.clock.now();
            // Events that were due before the frame's arrival come first.
            self.pass(now);
            let mut frames = Vec::new();
            let (family, low, phy) = (self.above.family, self.above.low, &self.phy);
            let read = self.above.driver.read(|received| {
                if let Received::Message(message) = received {
                    if message.family == family && message.command == hwsim::FRAME {
                        frames.extend(parse(&message, low, phy));
                    }
                }
            })?;
            for (from, to, sent) in frames {
                if sent.is_beacon() && self.take_turns {
                    let slots = 2 * self.cell.rules().access[0].cw_min + 1;
                    let slot = (self.delays[from].uniform() * f64::from(slots)) as u64;
                    self.beacons.push((now + self.phy.slot * slot, from, sent));
                } else {
                    self.enqueue(now, from, to, sent);
                }
            }
            if !read {
                return Ok(());
            }
        }
    }
}

impl Above {
    /// Passes a frame to the radio of a station.
    fn hand(&mut self, to: usize, number: u64) {
        let Some(sent) = self.sent.get(&number).or_else(|| self.arrived.get(&number)) else { return };
        if sent.is_beacon() {
            self.beaconed.push(to);
        }
        let mut attributes = Attributes::new()
            .bytes(hwsim::ADDR_RECEIVER, &address(to))
            .bytes(hwsim::ATTR_FRAME, &sent.bytes)
            .u32(hwsim::RX_RATE, sent.shown_rate())
            .u32(hwsim::SIGNAL, SIGNAL as u32);
        if let Some(frequency) = sent.frequency {
            attributes = attributes.u32(hwsim::FREQ, frequency);
        }
        self.say(hwsim::FRAME, &attributes);
    }

    fn say(&mut self, command: u8, attributes: &Attributes) {
        if let Err(error) = self.driver.tell(self.family, command, attributes) {
            self.failed.get_or_insert(error);
        }
    }
}

impl UpperLayer for Above {
    type Payload = u64;

    fn choose(&mut self, _now: Time, link: Link, attempt: u32, payload: Option<&u64>) -> Choice {
        // A frame that has arrived, but whose acknowledgment has not, has no payload.
        if let Some(number) = payload {
            self.current[link.from] = *number;
        }
        let one = self.sent.get(&self.current[link.from]).map(|sent| sent.tries[sent.place(attempt)]);
        one.map_or(Choice { rate: 0, rts: false }, |one| Choice { rate: one.rate, rts: one.rts })
    }

    fn may_aggregate(&self, link: Link, category: usize, first: u64, other: u64) -> bool {
        let sent = |order| self.sent.get(self.numbers.get(&(link.from, category, order))?);
        sent(first).zip(sent(other)).is_some_and(|(first, other)| first.may_aggregate(other))
    }

    fn record_outcome(&mut self, now: Time, link: Link, sent: &Attempt, outcome: Outcome) {
        let (frames, acknowledged) = outcome.frames();
        let number = self.current[link.from];
        self.aggregates[link.from] = None;
        if let Some(first) = self.sent.get(&number).filter(|first| first.is_marked()) {
            self.aggregates[link.from] = Some(Aggregate { frames: sent.count, acknowledged });
            let before = self.tried[link.from].take().filter(|(of, _)| *of == number);
            let (_, mut counts) = before.unwrap_or_default();
            counts[first.place(sent.attempt)] += 1;
            self.tried[link.from] = Some((number, counts));
        }
        if frames > 0 && link.to < self.stations {
            let collided = f64::from(u8::from(sent.collided));
            let [attempt, frames, acknowledged] = [sent.attempt, frames, acknowledged].map(f64::from);
            let values = [link.to as f64, self.rates[sent.rate], attempt, frames, acknowledged, collided];
            self.trace.push(Row { at: now, from: link.from, values });
        }
    }

    fn corrupts(&mut self, at: Time, link: Link, frame: Frame, control: bool) -> bool {
        if control && !self.control_errors {
            return false;
        }
        let Some((errors, stream)) = self.errors.get_mut(&(link.from, link.to)) else { return false };
        errors.as_mut().is_some_and(|errors| errors.loses_frame(at, frame, stream))
    }

    fn sends_naks(&self, _from: usize) -> bool {
        false
    }

    fn deliver(&mut self, _now: Time, link: Link, number: u64) {
        self.hand(link.to, number);
        if self.arrived.remove(&number).is_none() {
            self.handed.insert(number);
        }
    }

    fn deliver_copy(&mut self, _now: Time, link: Link, number: &u64) {
        self.hand(link.to, *number);
    }

    fn give_up(&mut self, _now: Time, _link: Link, number: u64) {
        self.arrived.remove(&number);
    }

    fn settle(&mut self, _now: Time, link: Link, category: usize, order: u64, end: Settled) {
        let Some(number) = self.numbers.remove(&(link.from, category, order)) else { return };
        let Some(sent) = self.sent.remove(&number) else { return };
        let heard = end.acknowledged && (sent.flags & hwsim::NO_ACK == 0 || link.to == self.stations);
        if sent.is_marked() {
            self.answer_marked(link.from, &sent, heard);
        } else {
            self.answer(link.from, &sent, end.failures + u32::from(end.acknowledged), heard);
        }
        // A receiver holds back frames that arrive before an earlier frame.
        if !self.handed.remove(&number) && link.to < self.stations {
            self.arrived.insert(number, sent);
        }
    }
}

impl Above {
    /// Reports the number of tries of a frame, and true if it was acknowledged, to the sender's
    /// radio.
    fn answer(&mut self, from: usize, sent: &Sent, transmissions: u32, acknowledged: bool) {
        self.report(from, sent, &sent.counts(transmissions), acknowledged, 0);
    }

    /// Reports a frame of a block acknowledgment session. The first settled frame of an aggregate
    /// reports the whole aggregate to rate control.
    fn answer_marked(&mut self, from: usize, sent: &Sent, acknowledged: bool) {
        match self.aggregates[from].take() {
            Some(aggregate) => {
                let counts = self.tried[from].take().map_or_else(|| sent.counts(1), |(_, counts)| counts);
                self.report(from, sent, &counts, acknowledged, aggregate.bits());
            }
            None => self.report(from, sent, &sent.counts(1), acknowledged, 0),
        }
    }

    fn report(&mut self, from: usize, sent: &Sent, counts: &Counts, acknowledged: bool, more: u32) {
        let flags = sent.flags | more | if acknowledged { hwsim::ACKNOWLEDGED } else { 0 };
        let attributes = Attributes::new()
            .bytes(hwsim::ADDR_TRANSMITTER, &address(from))
            .u32(hwsim::FLAGS, flags)
            .u32(hwsim::SIGNAL, SIGNAL as u32)
            .bytes(hwsim::TX_INFO, &sent.info(counts))
            .u64(hwsim::COOKIE, sent.cookie);
        self.say(hwsim::TX_INFO_FRAME, &attributes);
    }
}
