//! A proxy that splits TCP connections (RFC 3135, section 2.4): the source's connection ends at the
//! proxy, and a second connection leads to the destination. Each connection has its own congestion
//! control, retransmissions and window. Both ends see each other's addresses.
//!
//! - The SYN of a source opens the connection to the destination. With `accept = "late"`, the proxy
//!   completes the handshake with the source after the destination has accepted, so the source sees
//!   a refusal or a missing answer of the destination. With `accept = "early"`, the proxy completes
//!   the handshake at once, which saves a round trip.
//! - Data that arrives in order on one side is sent on the other side. A byte stays in the proxy
//!   until the other side has acknowledged it. The receive window limits the data in the proxy to
//!   `buffer` bytes for each direction, including segments after a hole. A slow side therefore
//!   slows the other side down, and no data is dropped because of a full buffer.
//! - A FIN on one side closes the other side when all data has been sent (half-close). A reset or a
//!   time-out on one side resets the other side.
//! - Segments of a connection that has ended are answered as in RFC 9293, section 3.10.7.1.
//!   Segments of a connection whose handshake did not pass the proxy are forwarded unchanged.
//! - Packets that the proxy sends in a direction have the DSCP of the latest packet of this
//!   direction.
//!
//! A leg can also be bundles instead of a TCP connection ([`super::dtn`]).
//!
//! A split connection weakens the end-to-end guarantee of TCP: an acknowledgment to the source does
//! not mean that the destination has received the data (RFC 3135, section 4.1).
//!
//! Deviations from `bentpipe machine pep`, the real proxy: each direction has one buffer of a fixed
//! size, whereas the two sockets of a kernel have two buffers that grow. Passing data from one side
//! to the other takes no time. The number of connections is unlimited, and there is no idle
//! time-out.

mod config;
mod leg;
mod pair;

pub use config::{Accept, Config};
pub use leg::bundles::{Block, Rules, HEADER};

use super::{at, directions_at};
use crate::node::service::{ServedFlow, Supply};
use bentpipe_core::{Column, FlowId, Report, Streams, Table, Tables, Time};
use bentpipe_link::channel::effect::Received;
use bentpipe_stage::packet;
use bentpipe_stage::packet::segment::Segment;
use bentpipe_stage::{Body, Outbox, Packet, Port, Stage};
use bentpipe_transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_transport::tcp;
use bentpipe_transport::tcp::connection::{is_syn, Connection, TIME_WAIT};
use bentpipe_transport::tcp::endpoint::{self, MakeCongestion, Probes, NOT_TCP};
use bentpipe_transport::tcp::header;
use bentpipe_transport::tcp::reset::Reset;
use leg::{bundles, tcp as over_tcp, Leg};
use pair::{Pair, DESTINATION, SOURCE};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

/// Counters of a splitting proxy.
pub static REPORT: Table = Table {
    name: "split",
    entity: "proxy",
    about: "at the end of the run, by each proxy that splits connections",
    columns: &[
        Column::whole("connections", "1", "number of split connections"),
        Column::whole("open", "1", "split connections that are still open"),
        Column::whole(
            "broken",
            "1",
            "split connections that ended with a reset or because an end did not answer",
        ),
        Column::whole(
            "passed_by",
            "packets",
            "packets of connections whose handshake did not pass the proxy",
        ),
        Column::whole(
            "most_buffered",
            "bytes",
            "maximum number of bytes in the proxy for one direction of a connection",
        ),
        Column::whole(
            "most_held",
            "bytes",
            "maximum number of bytes in the proxy for all connections together",
        ),
    ],
};

/// The settings of one side of a flow at a proxy.
pub enum SideConfig {
    /// The proxy ends TCP connections on this side.
    Tcp(Box<tcp::Config>),
    /// The proxy exchanges the data with another proxy over a network of bundle agents.
    Bundles(Rules),
}

/// One side of a flow's connections.
enum Side {
    Tcp { config: Box<tcp::Config>, congestion: MakeCongestion, random: u64 },
    Bundles(Rules),
}

/// A flow whose connections the proxy splits.
struct Flow {
    served: ServedFlow,
    sides: [Side; 2],
    /// Probes of the legs on each side, by connection.
    probes: Vec<[Probes; 2]>,
    /// Totals of data sent to each side by connections that have ended.
    sent: [SourceCounters; 2],
    /// Totals of data received from each side.
    received: [DestinationCounters; 2],
    /// Number of the next packet to each side.
    numbers: [u32; 2],
    corrupted: Received,
}

/// The proxy as a stage, with input port 0 and output port 0.
pub struct Split {
    name: String,
    accept: Accept,
    buffer: u64,
    flows: Vec<Flow>,
    index: BTreeMap<FlowId, u32>,
    pairs: Vec<Option<Box<Pair>>>,
    free_places: Vec<u32>,
    /// Index in `pairs` of every connection so far; `None` for connections that have ended.
    known: BTreeMap<(u32, u16), Option<u32>>,
    /// Wake times of pairs. The entry of a pair may be earlier than its next timer, but never
    /// later.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// Time of the valid entry of each pair in `due`, by index of the pair.
    armed: Vec<Time>,
    /// Connections that have ended but may still have to answer late segments, with the time of
    /// their end.
    waiting: VecDeque<(Time, u32)>,
    broken: u64,
    bypassed: u64,
    max_buffered: u64,
    buffered_bytes: u64,
    max_held: u64,
}

impl Split {
    /// Creates a proxy that splits the connections of `flows`.
    pub fn new(name: &str, config: &Config, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Split {
        let side = |served: &ServedFlow, side: usize| {
            SideConfig::Tcp(Box::new(config.side(&served.links[side], served.transport.tcp())))
        };
        Split::between(name, (config.accept, config.buffer.bytes()), flows, side, supply)
    }

    /// Creates a proxy with legs of any kind. `side` returns the settings of the side of a flow
    /// with this index.
    pub fn between(
        name: &str,
        (accept, buffer): (Accept, u64),
        flows: Vec<ServedFlow>,
        side: impl Fn(&ServedFlow, usize) -> SideConfig,
        supply: &mut dyn Supply,
    ) -> Split {
        let index = flows.iter().zip(0..).map(|(served, index)| (served.flow, index)).collect();
        let flow = |served: ServedFlow| {
            let sides = [SOURCE, DESTINATION].map(|index| side(&served, index));
            Flow::new(name, served, sides, supply)
        };
        let flows = flows.into_iter().map(flow).collect();
        Split {
            name: name.to_owned(),
            accept,
            buffer,
            flows,
            index,
            pairs: Vec::new(),
            free_places: Vec::new(),
            known: BTreeMap::new(),
            due: BinaryHeap::new(),
            armed: Vec::new(),
            waiting: VecDeque::new(),
            broken: 0,
            bypassed: 0,
            max_buffered: 0,
            buffered_bytes: 0,
            max_held: 0,
        }
    }

    /// Returns the current number of bytes in the proxy.
    pub fn buffered(&self) -> u64 {
        self.buffered_bytes
    }

    /// Creates the pair of a new connection. `syn` is the source's SYN, if the source's side is a
    /// TCP connection.
    fn open(&mut self, now: Time, flow: u32, packet: &Packet, syn: Option<&Segment>) -> u32 {
        let number = packet.connection;
        let own = &self.flows[flow as usize];
        let probes = own.probes.get(usize::from(number)).copied().unwrap_or_default();
        let legs = [SOURCE, DESTINATION].map(|side| own.sides[side].leg(number, probes[side], packet.dscp));
        let pair = match syn {
            Some(syn) => Pair::new((flow, number), legs, self.accept, self.buffer, now, syn),
            None => Pair::awaiting_data((flow, number), legs, self.buffer),
        };
        let place = self.free_places.pop().unwrap_or(self.pairs.len() as u32);
        if place as usize == self.pairs.len() {
            self.pairs.push(None);
            self.armed.push(Time::MAX);
        }
        self.pairs[place as usize] = Some(Box::new(pair));
        self.known.insert((flow, number), Some(place));
        place
    }

    /// Passes an arrived packet to its pair.
    fn arrive(&mut self, now: Time, place: u32, side: usize, packet: &Packet) {
        if let Some(pair) = &mut self.pairs[place as usize] {
            let received = &mut self.flows[pair.flow as usize].received;
            pair.receive(now, side, packet, &mut received[side]);
        }
    }

    /// Updates a pair after any event: relays its events, sends all segments that may be sent, and
    /// sets its timer.
    fn update(&mut self, now: Time, place: u32, arrived: Option<Time>, out: &mut Outbox) {
        let Some(pair) = &mut self.pairs[place as usize] else { return };
        let flow = &mut self.flows[pair.flow as usize];
        pair.relay(now, arrived, &mut flow.received, out);
        for side in [SOURCE, DESTINATION] {
            let [to, from] = [flow.served.ends[side], flow.served.ends[1 - side]];
            let direction = if side == SOURCE { packet::Leg::BACK } else { packet::Leg::THERE };
            let envelope = Packet {
                flow: flow.served.flow,
                source: from,
                destination: to,
                connection: pair.number,
                leg: direction.beyond(flow.served.number),
                ..Packet::default()
            };
            pair.legs[side].flush(now, &envelope, &mut flow.numbers[side], out);
        }
        let buffered = [SOURCE, DESTINATION].map(|side| pair.buffered(side));
        self.max_buffered = self.max_buffered.max(buffered[0]).max(buffered[1]);
        let holds = buffered[0] + buffered[1];
        self.buffered_bytes = self.buffered_bytes + holds - std::mem::replace(&mut pair.held_bytes, holds);
        self.max_held = self.max_held.max(self.buffered_bytes);
        let wake = pair.next_wake();
        let armed = &mut self.armed[place as usize];
        if wake < *armed {
            *armed = wake;
            self.due.push(Reverse((wake, place)));
        }
        if !pair.ended && pair.has_ended() {
            self.end(now, place);
        }
    }

    /// Handles the end of both connections of a pair.
    #[cold]
    fn end(&mut self, now: Time, place: u32) {
        let Some(pair) = &mut self.pairs[place as usize] else { return };
        pair.ended = true;
        self.broken += u64::from(pair.failure().is_some());
        // The buffered data of the pair will not be sent.
        self.buffered_bytes -= std::mem::take(&mut pair.held_bytes);
        let flow = &mut self.flows[pair.flow as usize];
        for (leg, sent) in pair.legs.iter_mut().zip(&mut flow.sent) {
            sent.merge(&leg.take_counters());
        }
        if pair.legs.iter().any(Leg::answers_late_segments) {
            self.waiting.push_back((now, place));
        } else {
            self.remove(place);
        }
    }

    fn remove(&mut self, place: u32) {
        if let Some(pair) = self.pairs[place as usize].take() {
            self.known.insert((pair.flow, pair.number), None);
            self.free_places.push(place);
        }
    }

    fn remove_ended(&mut self, now: Time) {
        while let Some(&(_, place)) = self.waiting.front().filter(|(since, _)| *since + TIME_WAIT <= now) {
            self.waiting.pop_front();
            self.remove(place);
        }
    }

    /// Answers a segment of a connection that has ended.
    fn refuse(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        let packet = out.consume(packet);
        let Body::Segment(segment) = &packet.body else { return };
        if let Some(reset) = Reset::answering(segment) {
            let segment = reset.segment();
            let size = header::size(&segment, u32::MAX);
            let (source, destination) = (packet.destination, packet.source);
            out.create(
                Port(0),
                Packet { birth: now, size, source, destination, body: Body::Segment(segment), ..packet },
            );
        }
    }
}

impl Stage for Split {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        self.remove_ended(now);
        let Some(&index) = self.index.get(&packet.flow) else {
            out.send(Port(0), packet);
            return;
        };
        let flow = &mut self.flows[index as usize];
        let side = flow.served.side(packet.source);
        let segment = match (&packet.body, &flow.sides[side]) {
            (Body::Segment(segment), Side::Tcp { .. }) => Some(segment),
            (body, Side::Bundles(_)) if body.of::<Block>().is_some() => None,
            _ => {
                if let Some(packet) = flow.corrupted.open(packet, NOT_TCP, out) {
                    self.receive(now, Port(0), packet, out);
                }
                return;
            }
        };
        let place = match self.known.get(&(index, packet.connection)) {
            Some(&Some(place)) => {
                self.arrive(now, place, side, &packet);
                place
            }
            Some(None) => return self.refuse(now, packet, out),
            None if side == SOURCE && segment.is_none_or(is_syn) => {
                let place = self.open(now, index, &packet, segment);
                if segment.is_none() {
                    self.arrive(now, place, side, &packet);
                }
                place
            }
            None => {
                self.bypassed += 1;
                return out.send(Port(0), packet);
            }
        };
        let birth = packet.birth;
        out.consume(packet);
        self.update(now, place, Some(birth), out);
        if self.next_wake().is_some_and(|wake| wake <= now) {
            // On a real clock, a wake that was due before this packet may be late.
            self.wake(now, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while let Some(&Reverse((time, place))) = self.due.peek().filter(|Reverse((time, _))| *time <= now) {
            self.due.pop();
            if self.armed[place as usize] == time {
                self.armed[place as usize] = Time::MAX;
            }
            if let Some(pair) = &mut self.pairs[place as usize] {
                pair.wake(now);
                self.update(now, place, None, out);
            }
        }
        self.remove_ended(now);
    }

    fn next_wake(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((time, _))| *time)
    }

    fn report(&self, _now: Time, report: &mut Report) {
        let live = || self.pairs.iter().flatten();
        for (index, flow) in self.flows.iter().enumerate() {
            flow.report(&self.name, live().filter(|pair| pair.flow as usize == index), report);
        }
        let values = [
            self.known.len() as f64,
            live().filter(|pair| !pair.ended).count() as f64,
            self.broken as f64,
            self.bypassed as f64,
            self.max_buffered as f64,
            self.max_held as f64,
        ];
        report.row(&REPORT, &self.name, &values);
    }
}

impl Flow {
    fn new(proxy: &str, served: ServedFlow, sides: [SideConfig; 2], supply: &mut dyn Supply) -> Flow {
        let mut stream = supply.stream(&at(&served.name, proxy));
        let sides = sides.map(|side| match side {
            SideConfig::Tcp(config) => {
                Side::Tcp { congestion: supply.congestion(config.control()), config, random: stream.bits() }
            }
            SideConfig::Bundles(rules) => Side::Bundles(rules),
        });
        // Data towards the destination is received by the source's leg and sent by the
        // destination's leg.
        let probes = served.traced.iter().map(|names| {
            let [there, back] = names.each_ref().map(|name| at(name, proxy));
            [(SOURCE, &back, &there), (DESTINATION, &there, &back)].map(|(side, sends, receives)| Probes {
                sender: match sides[side] {
                    Side::Tcp { .. } => supply.probe(&endpoint::TRACE, sends),
                    Side::Bundles(_) => None,
                },
                delivery: supply.probe(&endpoint::DELIVERY, receives),
            })
        });
        Flow {
            probes: probes.collect(),
            served,
            sides,
            sent: Default::default(),
            received: Default::default(),
            numbers: [0; 2],
            corrupted: Received::default(),
        }
    }

    /// Writes two rows for each direction: one about received data, and one about sent data.
    fn report<'a>(&self, proxy: &str, live: impl Iterator<Item = &'a Box<Pair>>, report: &mut Report) {
        let mut sent = self.sent.clone();
        for pair in live.filter(|pair| !pair.ended) {
            for (leg, sent) in pair.legs.iter().zip(&mut sent) {
                sent.merge(leg.counters());
            }
        }
        for (from, entity) in directions_at(&self.served.name, proxy).iter().enumerate() {
            let (received, sent) = (&self.received[from], &sent[1 - from]);
            if sent.sent_packets > 0 || received.delivered_packets > 0 {
                sent.report(entity, report);
                received.report(entity, report);
            }
        }
        self.corrupted.report(&at(&self.served.name, proxy), report);
    }
}

impl Side {
    fn leg(&self, number: u16, probes: Probes, dscp: u8) -> Leg {
        match self {
            Side::Bundles(rules) => Leg::Bundles(Box::new(bundles::Leg::new(*rules, probes.delivery, dscp))),
            Side::Tcp { config, congestion, random } => {
                let random = Streams::new(*random, number.into()).stream("connection").bits();
                let initial =
                    config.initial_sequence.map_or((random >> 32) as u32, |number| number.value() as u32);
                let connection = Connection::new(config, congestion(), initial, random);
                Leg::Tcp(over_tcp::Leg::new(connection, probes, dscp))
            }
        }
    }
}
