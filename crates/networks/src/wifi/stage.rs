//! A Wi-Fi network as a stage. It has one input port for each directed pair of stations that
//! exchange frames, and one output port for each station.
//!
//! If the queue discipline decides at arrival, admitted packets wait in the cell. If it decides at
//! departure, packets wait in the discipline, which chooses a packet when its first transmission
//! begins. The first frame that does not fit into an aggregate is also chosen then.

use super::adaptation::{Adapter, Choice, Outcome, Speed};
use super::cell::{Attempt, Cell, Link, NextFrame, UpperLayer};
use super::config::{category, speeds, Config};
use super::counters::REPORT;
use bentpipe_core::{NodeId, Probe, Report, Span, Stream, Time};
use bentpipe_link::channel::{Errors, Frame};
use bentpipe_link::queue::buffer::{Buffer, Effects};
use bentpipe_link::queue::{Admission, Backlog, Queue, Verdict};
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage};
use std::collections::BTreeMap;

/// Drop reason: the sender gave up the packet after its last retransmission.
pub const GIVEN_UP: DropReason = DropReason::new("retry limit");

/// A pair of stations in one direction.
struct Pair {
    link: Link,
    errors: Option<Errors>,
    stream: Stream,
    adapter: Box<dyn Adapter>,
    draws: Stream,
}

/// Queue of an access category of a station.
enum CategoryQueue {
    /// The discipline decides at arrival. Admitted packets wait in the cell.
    Arrival { admission: Box<dyn Admission>, backlog: Backlog },
    /// The discipline decides at departure and has the waiting packets.
    Departure(Box<dyn Buffer>),
}

/// State of a station above the MAC layer.
struct Station {
    name: String,
    probe: Option<Probe>,
    sends_naks: bool,
    queue_drops: u64,
    /// Number of packets that other stations have received from this station.
    received: u64,
    /// Sum of the times from the arrival of these packets until they were received.
    time: Span,
}

/// The layer above the cell: queues, rate adaptation and error processes.
struct UpperMac {
    pairs: Vec<Pair>,
    /// Index in `pairs`, by sender and receiver.
    numbers: Vec<u16>,
    stations: Vec<Station>,
    waiting: Vec<CategoryQueue>,
    /// The receiver of packets for each destination, by sender, if packets wait in a discipline.
    exits: BTreeMap<(usize, NodeId), usize>,
    /// Time at which a waiting packet becomes ready in a discipline that had none ready.
    ready_at: Option<Time>,
    /// Bytes that the MAC adds to each packet.
    overhead: u32,
    categories: usize,
    /// The rates, by position.
    speeds: Vec<Speed>,
    /// Position of each rate, by its index in the physical layer.
    positions: Vec<usize>,
    stream: Stream,
    /// The packets that the cell has.
    held: Held,
    /// True if errors also affect control frames.
    control_errors: bool,
}

/// The shared medium of a network.
pub struct Medium {
    cell: Cell<(Time, Packet)>,
    upper_mac: UpperMac,
}

/// The upper layer during a call of the cell, with the outbox.
struct CellCallbacks<'a> {
    upper_mac: &'a mut UpperMac,
    out: &'a mut Outbox,
}

/// The parts from which a medium is built.
pub struct Parts<'a> {
    /// The configuration of the network.
    pub config: &'a Config,
    /// Names of the stations in results.
    pub names: Vec<String>,
    /// The pairs that exchange frames, in the order of the input ports. Each has a random stream
    /// for its errors and a random stream for its adapter.
    pub pairs: Vec<(Link, Stream, Stream)>,
    /// For each station, the stations that hear it, including itself; `None` if every station hears
    /// every other one.
    pub heard_by: Option<Vec<Vec<u16>>>,
    /// The probes of the stations, in the order of the stations.
    pub probes: Vec<Option<Probe>>,
    /// Random streams of the back-off and of the queues, in this order.
    pub streams: [Stream; 2],
}

const NONE: u16 = u16::MAX;

impl Medium {
    /// Creates an idle medium.
    ///
    /// # Panics
    /// If the configuration has not passed its check.
    pub fn new(parts: Parts<'_>) -> Medium {
        let Parts { config, names, pairs, heard_by, probes, streams: [back_off, stream] } = parts;
        let (members, rules) = (config.members(), config.rules());
        let count = members.len();
        let speeds = speeds(&rules.phy);
        let mut positions = vec![0; speeds.len()];
        speeds.iter().enumerate().for_each(|(position, speed)| positions[speed.index] = position);
        let mut numbers = vec![NONE; count * count];
        let pairs = pairs.into_iter().enumerate().map(|(number, (link, stream, draws))| {
            let [from, to] = [&members[link.from], &members[link.to]];
            numbers[link.from * count + link.to] = number as u16;
            let adapter = from.adaptation.build(&speeds);
            Pair { link, errors: config.error_between(from, to).errors(), stream, adapter, draws }
        });
        let pairs = pairs.collect();
        let categories = rules.access.len();
        let rate = speeds.last().expect("a physical layer has rates").rate;
        let waiting = (0..count * categories).map(|_| match config.queue.build(rate) {
            Queue::Arrival(admission) => CategoryQueue::Arrival { admission, backlog: Backlog::default() },
            Queue::Departure(buffer) => CategoryQueue::Departure(buffer),
        });
        let waiting = waiting.collect();
        let stations = names.into_iter().zip(probes).zip(&members).map(|((name, probe), member)| Station {
            name,
            probe,
            sends_naks: member.adaptation.nak(),
            queue_drops: 0,
            received: 0,
            time: Span::ZERO,
        });
        let stations = stations.collect();
        let upper_mac = UpperMac {
            pairs,
            numbers,
            stations,
            waiting,
            exits: BTreeMap::new(),
            ready_at: None,
            overhead: config.overhead(),
            categories,
            speeds,
            positions,
            stream,
            held: Held::default(),
            control_errors: config.control_errors,
        };
        Medium { cell: Cell::new(count, rules, heard_by, back_off), upper_mac }
    }
}

impl UpperMac {
    fn pair(&mut self, link: Link) -> &mut Pair {
        let number = self.numbers[link.from * self.stations.len() + link.to];
        &mut self.pairs[usize::from(number)]
    }

    /// Updates the queue that a packet has left.
    fn left(&mut self, now: Time, link: Link, packet: &Packet) {
        self.held.packets -= 1;
        self.held.bytes -= u64::from(packet.size);
        let index = link.from * self.categories + self.category(packet);
        if let CategoryQueue::Arrival { backlog, .. } = &mut self.waiting[index] {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(packet.size);
            backlog.empty_since = now;
        }
    }

    fn category(&self, packet: &Packet) -> usize {
        if self.categories > 1 {
            category(packet.dscp)
        } else {
            0
        }
    }

    /// Returns the packets of the network, including those that wait in disciplines.
    fn all_held(&self) -> Held {
        let in_queues = self.waiting.iter().filter_map(|queue| match queue {
            CategoryQueue::Arrival { .. } => None,
            CategoryQueue::Departure(buffer) => Some(buffer.held()),
        });
        in_queues.chain([self.held]).sum()
    }

    /// Returns true if the discipline has a packet ready. Otherwise records when it will have one.
    fn is_ready(&mut self, now: Time, index: usize) -> bool {
        let CategoryQueue::Departure(buffer) = &self.waiting[index] else { return false };
        let Some(head) = buffer.head(now) else { return false };
        if head.at > now {
            self.ready_at = Some(self.ready_at.map_or(head.at, |at| at.min(head.at)));
        }
        head.at <= now
    }
}

impl Medium {
    /// Starts the contention of a category if its discipline has a packet ready.
    fn contend(&mut self, now: Time, index: usize) {
        if self.upper_mac.is_ready(now, index) {
            self.cell.contend(now, index / self.upper_mac.categories, index % self.upper_mac.categories);
        }
    }
}

impl UpperLayer for CellCallbacks<'_> {
    type Payload = (Time, Packet);

    fn choose(&mut self, now: Time, link: Link, attempt: u32, _load: Option<&(Time, Packet)>) -> Choice {
        let Pair { adapter, draws, .. } = self.upper_mac.pair(link);
        let choice = adapter.choose(now, attempt, draws);
        Choice { rate: self.upper_mac.speeds[choice.rate].index, ..choice }
    }

    fn has_frame(&mut self, now: Time, from: usize, category: usize) -> bool {
        self.upper_mac.is_ready(now, from * self.upper_mac.categories + category)
    }

    fn take_frame(&mut self, now: Time, from: usize, category: usize) -> Option<NextFrame<(Time, Packet)>> {
        let UpperMac { waiting, categories, stations, stream, exits, overhead, held, .. } = self.upper_mac;
        let index = from * *categories + category;
        let CategoryQueue::Departure(buffer) = &mut waiting[index] else { return None };
        let mut effects = Effects::new(stream, self.out);
        let next = buffer.dequeue(now, &mut effects);
        stations[from].queue_drops += effects.drops;
        let Some((packet, arrived)) = next else {
            self.upper_mac.is_ready(now, index);
            return None;
        };
        held.add(&packet);
        let to = exits[&(from, packet.destination)];
        Some(NextFrame { to, bytes: packet.size + *overhead, payload: (arrived, packet) })
    }

    fn record_outcome(&mut self, now: Time, link: Link, sent: &Attempt, outcome: Outcome) {
        let position = self.upper_mac.positions[sent.rate];
        self.upper_mac.pair(link).adapter.record_outcome(now, position, sent.attempt, outcome);
        if let Some(probe) = self.upper_mac.stations[link.from].probe {
            let rate = self.upper_mac.speeds[position].rate.bits_per_second() as f64;
            let (frames, acknowledged) = outcome.frames();
            if frames > 0 {
                let [attempt, frames, acknowledged] = [sent.attempt, frames, acknowledged].map(f64::from);
                let collided = f64::from(u8::from(sent.collided));
                self.out.record(probe, now, &[link.to as f64, rate, attempt, frames, acknowledged, collided]);
            }
        }
    }

    fn corrupts(&mut self, at: Time, link: Link, frame: Frame, control: bool) -> bool {
        if control && !self.upper_mac.control_errors {
            return false;
        }
        let Pair { errors, stream, .. } = self.upper_mac.pair(link);
        errors.as_mut().is_some_and(|errors| errors.loses_frame(at, frame, stream))
    }

    fn sends_naks(&self, from: usize) -> bool {
        self.upper_mac.stations[from].sends_naks
    }

    fn deliver(&mut self, now: Time, link: Link, (came, packet): (Time, Packet)) {
        self.upper_mac.left(now, link, &packet);
        let station = &mut self.upper_mac.stations[link.from];
        station.received += 1;
        station.time += now.since(came);
        self.out.send(Port(link.to as u16), packet);
    }

    fn deliver_copy(&mut self, _now: Time, _link: Link, _load: &(Time, Packet)) {
        unreachable!("packets have one receiver");
    }

    fn give_up(&mut self, now: Time, link: Link, (_, packet): (Time, Packet)) {
        self.upper_mac.left(now, link, &packet);
        self.out.drop(packet, GIVEN_UP);
    }
}

impl Stage for Medium {
    fn receive(&mut self, now: Time, port: Port, mut packet: Packet, out: &mut Outbox) {
        let upper_mac = &mut self.upper_mac;
        let link = upper_mac.pairs[usize::from(port.0)].link;
        let category = upper_mac.category(&packet);
        let index = link.from * upper_mac.categories + category;
        let (admission, backlog) = match &mut upper_mac.waiting[index] {
            CategoryQueue::Arrival { admission, backlog } => (admission, backlog),
            CategoryQueue::Departure(buffer) => {
                upper_mac.exits.insert((link.from, packet.destination), link.to);
                let mut effects = Effects::new(&mut upper_mac.stream, out);
                buffer.enqueue(now, packet, &mut effects);
                upper_mac.stations[link.from].queue_drops += effects.drops;
                return self.contend(now, index);
            }
        };
        match admission.admit(now, &mut packet, *backlog, &mut upper_mac.stream) {
            Verdict::Drop(reason) => {
                upper_mac.stations[link.from].queue_drops += 1;
                out.drop(packet, reason);
            }
            Verdict::Admit => {
                backlog.packets += 1;
                backlog.bytes += u64::from(packet.size);
                upper_mac.held.add(&packet);
                let bytes = packet.size + upper_mac.overhead;
                self.cell.enqueue(now, link, category, bytes, (now, packet));
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        if self.cell.next_wake().is_some_and(|at| at <= now) {
            self.cell.wake(now, &mut CellCallbacks { upper_mac: &mut self.upper_mac, out });
        }
        if self.upper_mac.ready_at.is_some_and(|at| at <= now) {
            self.upper_mac.ready_at = None;
            (0..self.upper_mac.waiting.len()).for_each(|index| self.contend(now, index));
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        let cell = self.cell.next_wake();
        match self.upper_mac.ready_at {
            None => cell,
            Some(ready) => Some(cell.map_or(ready, |at| at.min(ready))),
        }
    }

    fn held(&self) -> Held {
        self.upper_mac.all_held()
    }

    fn report(&self, now: Time, report: &mut Report) {
        for (station, counters) in self.upper_mac.stations.iter().zip(&self.cell.counters) {
            let access_mean = station.time.as_secs_f64() / station.received as f64;
            let row = counters.row(now.since(Time::ZERO), station.queue_drops, access_mean);
            report.row(&REPORT, &station.name, &row);
        }
    }
}
