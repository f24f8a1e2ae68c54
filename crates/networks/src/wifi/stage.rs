//! A Wi-Fi network as a stage: one input port for each pair of stations that exchange frames, one
//! output port for each station.

use super::adaptation::{Adapter, Choice, Outcome, Speed};
use super::cell::{Attempt, Cell, Link, UpperLayer};
use super::config::{category, speeds, Config};
use super::counters::REPORT;
use bentpipe_core::{Probe, Report, Span, Stream, Time};
use bentpipe_link::channel::{Errors, Frame};
use bentpipe_link::queue::{Admission, Backlog, Verdict};
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage};

/// The sender has given up the packet after its last retransmission.
pub const GIVEN_UP: DropReason = DropReason::new("retry limit");

/// A pair of stations in one direction.
struct Pair {
    link: Link,
    errors: Option<Errors>,
    stream: Stream,
    adapter: Box<dyn Adapter>,
    draws: Stream,
}

/// Queue of a category of a station.
struct CategoryQueue {
    admission: Box<dyn Admission>,
    backlog: Backlog,
}

/// A station in the view of the upper layers.
struct Station {
    name: String,
    probe: Option<Probe>,
    sends_naks: bool,
    queue_drops: u64,
    /// Number of packets that others received from it, and the sum of their times.
    received: u64,
    time: Span,
}

/// The layer above the cell: queues, rate adaptation and error processes.
struct UpperMac {
    pairs: Vec<Pair>,
    /// Index of a pair by sender and receiver.
    numbers: Vec<u16>,
    stations: Vec<Station>,
    waiting: Vec<CategoryQueue>,
    categories: usize,
    /// Rates by position.
    speeds: Vec<Speed>,
    positions: Vec<usize>,
    stream: Stream,
    held: Held,
    /// True if errors hit control frames, too.
    control_errors: bool,
}

/// The shared medium of a network.
pub struct Medium {
    cell: Cell<(Time, Packet)>,
    upper_mac: UpperMac,
    overhead: u32,
}

/// A call from the cell, with the outbox.
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
    /// The pairs that exchange frames, in the order of the input ports, each with the streams of
    /// its errors and of its adapter.
    pub pairs: Vec<(Link, Stream, Stream)>,
    /// Stations that hear each station, itself included; `None` if all hear all.
    pub heard_by: Option<Vec<Vec<u16>>>,
    /// The probes of the stations, in the order of the stations.
    pub probes: Vec<Option<Probe>>,
    /// Streams of the back-off and of the queues.
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

    /// Called when a packet has left a queue.
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
