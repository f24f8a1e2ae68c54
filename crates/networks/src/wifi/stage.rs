//! A Wi-Fi network as a stage. It has one input port for each directed pair of stations that
//! exchange frames, and one output port for each station.

use super::adaptation::{Adapter, Choice, Outcome, Speed};
use super::cell::{Attempt, Cell, Link, UpperLayer};
use super::config::{category, speeds, Config};
use super::counters::REPORT;
use bentpipe_core::{Probe, Report, Span, Stream, Time};
use bentpipe_link::channel::{Errors, Frame};
use bentpipe_link::queue::{Admission, Backlog, Verdict};
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage};

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
struct CategoryQueue {
    admission: Box<dyn Admission>,
    backlog: Backlog,
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
    categories: usize,
    /// The rates, by position.
    speeds: Vec<Speed>,
    /// Position of each rate, by its index in the physical layer.
    positions: Vec<usize>,
    stream: Stream,
    held: Held,
    /// True if errors also affect control frames.
    control_errors: bool,
}

/// The shared medium of a network.
pub struct Medium {
    cell: Cell<(Time, Packet)>,
    upper_mac: UpperMac,
    overhead: u32,
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
        let waiting = (0..count * categories).map(|_| CategoryQueue {
            admission: config.queue.build(rate).admission(),
            backlog: Backlog::default(),
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
            categories,
            speeds,
            positions,
            stream,
            held: Held::default(),
            control_errors: config.control_errors,
        };
        Medium { cell: Cell::new(count, rules, heard_by, back_off), upper_mac, overhead: config.overhead() }
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
        let category = if self.categories > 1 { category(packet.dscp) } else { 0 };
        let backlog = &mut self.waiting[link.from * self.categories + category].backlog;
        backlog.packets -= 1;
        backlog.bytes -= u64::from(packet.size);
        backlog.empty_since = now;
    }
}

impl UpperLayer for CellCallbacks<'_> {
    type Payload = (Time, Packet);

    fn choose(&mut self, now: Time, link: Link, attempt: u32, _load: Option<&(Time, Packet)>) -> Choice {
        let Pair { adapter, draws, .. } = self.upper_mac.pair(link);
        let choice = adapter.choose(now, attempt, draws);
        Choice { rate: self.upper_mac.speeds[choice.rate].index, ..choice }
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
        let category = if upper_mac.categories > 1 { category(packet.dscp) } else { 0 };
        let waiting = &mut upper_mac.waiting[link.from * upper_mac.categories + category];
        match waiting.admission.admit(now, &mut packet, waiting.backlog, &mut upper_mac.stream) {
            Verdict::Drop(reason) => {
                upper_mac.stations[link.from].queue_drops += 1;
                out.drop(packet, reason);
            }
            Verdict::Admit => {
                waiting.backlog.packets += 1;
                waiting.backlog.bytes += u64::from(packet.size);
                upper_mac.held.add(&packet);
                let bytes = packet.size + self.overhead;
                self.cell.enqueue(now, link, category, bytes, (now, packet));
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.cell.wake(now, &mut CellCallbacks { upper_mac: &mut self.upper_mac, out });
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.cell.next_wake()
    }

    fn held(&self) -> Held {
        self.upper_mac.held
    }

    fn report(&self, now: Time, report: &mut Report) {
        for (station, counters) in self.upper_mac.stations.iter().zip(&self.cell.counters) {
            let access_mean = station.time.as_secs_f64() / station.received as f64;
            let row = counters.row(now.since(Time::ZERO), station.queue_drops, access_mean);
            report.row(&REPORT, &station.name, &row);
        }
    }
}
