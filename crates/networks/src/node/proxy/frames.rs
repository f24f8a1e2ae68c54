//! Packets of real hosts at a proxy that handles packets: the proxy's model sees them as segments.
//!
//! A TCP segment of a real host becomes a packet with the fields of the segment and the bytes of
//! the frame. Its flow and connection are those of the scenario, found by the hosts and ports. When
//! the model sends the packet or a copy of it, the bytes leave as a frame again. If the model has
//! changed the acknowledgment number, the frame has the new number and a valid checksum.
//!
//! Damaged frames, fragments and other protocols pass unchanged. The window is that of the header,
//! without scaling. Copies of a frame have equal IP identifications and options.

use super::at;
use crate::node::service::{pair, ServedFlow};
use bentpipe_core::address::port_at;
use bentpipe_core::{FlowId, NodeId, Report, Time};
use bentpipe_stage::packet::segment::{SackBlocks, Segment, SegmentFlags, SegmentOptions};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Content, Damage, Held, Outbox, Packet, Payload, Port, Stage};
use bentpipe_wire::{set_acknowledgment, tcp, TcpSegment};
use std::collections::{BTreeMap, BTreeSet};

/// A segment in a frame of a real host.
#[derive(Clone, Debug)]
struct FramedSegment {
    segment: Segment,
    frame: Box<[u8]>,
    /// The flow of the packet, which the model's view replaces.
    flow: FlowId,
}

impl Payload for FramedSegment {
    fn content(&self) -> Content {
        // Losses of real hosts are not counted by flow.
        Content::Signalling
    }

    fn damage(&self, _packet: &Packet, _valid: bool, _byte: &mut dyn FnMut() -> u32) -> Damage {
        Damage::Lost
    }
}

/// Returns the segment in a packet, of a model or of a real host.
#[inline]
pub fn segment(packet: &Packet) -> Option<&Segment> {
    match &packet.body {
        Body::Segment(segment) => Some(segment),
        body => body.of::<FramedSegment>().map(|framed| &framed.segment),
    }
}

/// Returns a copy of a packet whose segment has another acknowledgment number.
pub fn with_acknowledgment(packet: &Packet, acknowledgment: u32) -> Packet {
    let mut copy = packet.clone();
    match &mut copy.body {
        Body::Segment(segment) => segment.acknowledgment = acknowledgment,
        body => {
            if let Some(framed) = body.of::<FramedSegment>() {
                let mut framed = framed.clone();
                framed.segment.acknowledgment = acknowledgment;
                set_acknowledgment(&mut framed.frame, acknowledgment);
                copy.body = Body::layer(framed);
            }
        }
    }
    copy
}

/// A connection of real hosts: the flow, and the ports at the flow's source and destination.
type Connection = (FlowId, [u16; 2]);

/// A model of a proxy, which sees frames of real hosts as segments. Ports are those of the model.
pub struct Frames {
    /// Name of the proxy, a part of the entity of each reported row.
    name: String,
    model: Box<dyn Stage>,
    /// Flows of real hosts, by [`pair`].
    flows: BTreeMap<[NodeId; 2], Vec<ServedFlow>>,
    connections: BTreeMap<Connection, u16>,
}

impl Frames {
    /// Creates the stage for the model of the proxy `name`, which serves `flows` of real hosts.
    pub fn new(name: &str, model: Box<dyn Stage>, flows: Vec<ServedFlow>) -> Frames {
        let mut by_pair: BTreeMap<_, Vec<ServedFlow>> = BTreeMap::new();
        for flow in flows {
            by_pair.entry(pair(flow.ends)).or_default().push(flow);
        }
        Frames { name: name.to_owned(), model, flows: by_pair, connections: BTreeMap::new() }
    }

    /// Returns the flow of a segment: the one with these hosts and this port of its destination, or
    /// one between the same hosts, whose program chooses its own ports.
    fn flow(&self, from: NodeId, to: NodeId, ports: (u16, u16)) -> Option<&ServedFlow> {
        let between = self.flows.get(&pair([from, to]))?;
        let exact = |flow: &&ServedFlow| {
            let [source, destination] = flow.ends;
            let at_destination = if source == from { ports.1 } else { ports.0 };
            at_destination == port_at(flow.flow, destination, source)
        };
        between.iter().find(exact).or_else(|| between.first())
    }

    /// Returns the model's view of a packet.
    fn view(&mut self, packet: Packet) -> Packet {
        let Body::Frame(frame) = &packet.body else { return packet };
        let Some(read) = tcp(&frame[..packet.size as usize]) else { return packet };
        let Some(flow) = self.flow(packet.source, packet.destination, read.ports) else { return packet };
        let (from, to) = read.ports;
        let (id, ports) = (flow.flow, if flow.ends[0] == packet.source { [from, to] } else { [to, from] });
        let next = self.connections.len() as u16;
        let connection = *self.connections.entry((id, ports)).or_insert(next);
        let Packet { flow, size, body, .. } = packet;
        let Body::Frame(frame) = body else { unreachable!("the body is a frame") };
        let frame = frame[..size as usize].into();
        let body = Body::layer(FramedSegment { segment: model(&read), frame, flow });
        Packet { flow: id, connection, body, ..packet }
    }
}

/// Returns a segment with the fields that models read.
fn model(read: &TcpSegment) -> Segment {
    let mut sack = SackBlocks::default();
    read.sack.iter().for_each(|(left, right)| sack.push(*left, *right));
    let options = SegmentOptions { sack, ..SegmentOptions::default() };
    Segment {
        sequence: read.sequence,
        acknowledgment: read.acknowledgment,
        window: read.window.into(),
        payload: read.payload,
        flags: SegmentFlags::of_header_byte(read.flags),
        timestamps: None,
        options: (!read.sack.is_empty()).then(|| Box::new(options)),
    }
}

/// Turns the view of a frame into the frame.
fn restore(packet: &mut Packet) {
    let Some(framed) = packet.body.of::<FramedSegment>() else { return };
    let (flow, frame) = (framed.flow, framed.frame.clone());
    (packet.flow, packet.connection, packet.leg) = (flow, 0, Leg::THERE);
    packet.body = Body::Frame(frame);
}

impl Stage for Frames {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        let packet = self.view(packet);
        let before = out.sent_count();
        self.model.receive(now, port, packet, out);
        out.sent_since(before).for_each(restore);
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        let before = out.sent_count();
        self.model.wake(now, out);
        out.sent_since(before).for_each(restore);
    }

    fn next_wake(&self) -> Option<Time> {
        self.model.next_wake()
    }

    fn held(&self) -> Held {
        self.model.held()
    }

    fn report(&self, now: Time, report: &mut Report) {
        // Hosts without connections have no rows.
        let seen: BTreeSet<FlowId> = self.connections.keys().map(|(flow, _)| *flow).collect();
        let unseen = self.flows.values().flatten().filter(|flow| !seen.contains(&flow.flow));
        let unseen: BTreeSet<String> = unseen.map(|flow| at(&flow.name, &self.name)).collect();
        let mut all = Report::default();
        self.model.report(now, &mut all);
        for (table, entity, values) in all.rows().iter().filter(|(_, entity, _)| !unseen.contains(entity)) {
            report.row(table, entity, values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::proxy::{ack_filter, ack_reconstruction, Enhancement};
    use crate::node::service::Supply;
    use bentpipe_core::{Probe, Rate, Size, Span, Stream, Table};
    use bentpipe_testing::bench::{self, Bench};
    use bentpipe_transport::tcp;
    use bentpipe_transport::tcp::endpoint::MakeCongestion;
    use bentpipe_transport::Control;
    use bentpipe_wire::{write, TCP};
    use std::net::Ipv4Addr;

    const SERVER: NodeId = NodeId(0);
    const USER: NodeId = NodeId(1);
    /// The flow of a packet of real hosts.
    const HASHED: FlowId = FlowId(FlowId::UNKNOWN + 7);

    /// Services for models that draw and record nothing.
    struct Nothing;

    impl bentpipe_stage::Supply for Nothing {
        fn stream(&mut self, name: &str) -> Stream {
            bench::stream(name)
        }
        fn probe(&mut self, _: &'static Table, _: &str) -> Option<Probe> {
            None
        }
    }

    impl Supply for Nothing {
        fn congestion(&mut self, _: Control<'_>) -> MakeCongestion {
            unreachable!("no connection ends here")
        }
    }

    /// Returns a frame from the user to the server with this acknowledgment number and flags.
    fn frame(acknowledgment: u32, flags: u8) -> Packet {
        let ends = (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 18, 0, 1));
        let mut segment = [0; 20];
        segment[8..12].copy_from_slice(&acknowledgment.to_be_bytes());
        (segment[12], segment[13]) = (5 << 4, flags);
        write::transport(ends, TCP, (5000, 6000), 20, &mut segment);
        let bytes = [&write::ipv4(ends, 0, 0, TCP, 40)[..], &segment].concat();
        let (source, destination) = (USER, SERVER);
        let body = Body::Frame(bytes.into());
        Packet { size: 40, flow: HASHED, source, destination, body, ..Packet::default() }
    }

    fn bytes(packet: &Packet) -> &[u8] {
        let Body::Frame(bytes) = &packet.body else { panic!("{packet:?} is no frame") };
        &bytes[..packet.size as usize]
    }

    fn acknowledgment(packet: &Packet) -> u32 {
        tcp(bytes(packet)).expect("the frame is a valid segment").acknowledgment
    }

    /// Returns a bench with a proxy between the server and the user, who is beyond the link "slow".
    fn proxy(config: &dyn Enhancement, link_of_user: &str) -> Bench<Frames> {
        let served = ServedFlow {
            number: 1,
            flow: FlowId(0),
            name: "download".to_owned(),
            ends: [SERVER, USER],
            links: ["fast".to_owned(), link_of_user.to_owned()],
            traced: Vec::new(),
            dscp: 0,
            transport: bentpipe_transport::Config::Tcp(tcp::Config::default()),
            calls: None,
        };
        let model = config.build("pep", vec![served.clone()], &mut Nothing);
        Bench::new(Frames::new("pep", model, vec![served]))
    }

    fn reconstruction() -> Bench<Frames> {
        let every = Size::from_bytes(1000);
        let config =
            ack_reconstruction::Config { over: "slow".to_owned(), every, longest: Span::from_millis(200) };
        proxy(&config, "slow")
    }

    /// RFC 3449, section 5.3.1: an acknowledgment of 4000 bytes is preceded by three of 1000 each.
    #[test]
    fn created_acknowledgments_are_valid_frames() {
        let mut bench = reconstruction();
        for (at, number) in [(0, 1000), (100, 5000)] {
            bench.offer(Time::ZERO + Span::from_millis(at), 0, Port(0), frame(number, 0x10));
        }
        bench.run(Time::ZERO + Span::from_secs(1));
        let numbers: Vec<u32> = bench.left.iter().map(|left| acknowledgment(&left.packet)).collect();
        assert_eq!(numbers, [1000, 2000, 3000, 4000, 5000]);
        assert!(bench.left.iter().all(|left| left.packet.flow == HASHED));
        assert_eq!(bench.left.last().map(|left| bytes(&left.packet)), Some(bytes(&frame(5000, 0x10))));
        bench.assert_conserved();
    }

    #[test]
    fn damaged_and_foreign_frames_pass_unchanged() {
        let mut bench = reconstruction();
        let mut damaged = frame(9000, 0x10);
        if let Body::Frame(bytes) = &mut damaged.body {
            bytes[35] ^= 1;
        }
        let foreign = Packet { source: NodeId(5), ..frame(9000, 0x10) };
        for packet in [&frame(1000, 0x10), &damaged, &foreign] {
            bench.offer(Time::ZERO, 0, Port(0), packet.clone());
        }
        bench.run(Time::ZERO + Span::from_secs(1));
        let left: Vec<&[u8]> = bench.left.iter().map(|left| bytes(&left.packet)).collect();
        assert_eq!(left, [bytes(&frame(1000, 0x10)), bytes(&damaged), bytes(&foreign)]);
    }

    /// RFC 3449, section 5.2.1: of waiting acknowledgments, the newest remains. A flow that has
    /// sent nothing has no row.
    #[test]
    fn superseded_frames_are_dropped_and_counted() {
        let config = ack_filter::Config {
            over: "fast".to_owned(),
            rate: Rate::from_bits_per_second(320),
            queue: ack_filter::default_queue(),
        };
        let mut bench = proxy(&config, "slow");
        assert_eq!(bench.report().rows().len(), 0);
        for number in 1..=4 {
            bench.offer(Time::ZERO, 0, Port(0), frame(1000 * number, 0x10));
        }
        bench.run(Time::ZERO + Span::from_secs(10));
        let numbers: Vec<u32> = bench.left.iter().map(|left| acknowledgment(&left.packet)).collect();
        assert_eq!((numbers, bench.dropped.len()), (vec![1000, 4000], 2));
        let report = bench.report();
        let count = |column| report.value("acknowledgments", "download@pep", column);
        assert_eq!(["arrived", "removed", "made"].map(count), [Some(4.0), Some(2.0), Some(0.0)]);
        bench.assert_conserved();
    }
}
