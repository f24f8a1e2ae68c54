//! Packets of real hosts at a proxy that handles packets: the proxy's model sees them as segments.
//!
//! A TCP segment of a real host becomes a packet with the fields of the segment and the bytes of
//! the frame. Its flow and connection are those of the scenario, found by the hosts and ports. When
//! the model sends the packet or a copy of it, the bytes leave as a frame again. If the model has
//! changed the acknowledgment number, the frame has the new number and a valid checksum.
//!
//! Damaged frames, fragments and other protocols pass unchanged. The window is that of the header,
//! without scaling. Copies of a frame have equal IP identifications and options.

use super::AT;
use crate::node::service::ServedFlow;
use bentpipe_core::address::port_at;
use bentpipe_core::{FlowId, NodeId, Report, Time};
use bentpipe_stage::packet::segment::{SackBlocks, Segment, SegmentFlags, SegmentOptions};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Content, Damage, Held, Outbox, Packet, Payload, Port, Stage};
use bentpipe_wire::{set_acknowledgment, tcp, TcpSegment};
use std::collections::BTreeMap;

/// A segment in a frame of a real host.
#[derive(Clone, Debug)]
struct FramedSegment {
    segment: Segment,
    frame: Box<[u8]>,
    /// Values of the packet that the model's view replaces.
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
                let segment = Segment { acknowledgment, ..framed.segment.clone() };
                copy.body = Body::layer(FramedSegment { segment, ..framed.clone() });
            }
        }
    }
    copy
}

/// A connection of real hosts: the flow, and the ports at the flow's source and destination.
type Connection = (FlowId, [u16; 2]);

/// A model of a proxy, which sees frames of real hosts as segments. Ports are those of the model.
pub struct Frames {
    model: Box<dyn Stage>,
    flows: Vec<ServedFlow>,
    connections: BTreeMap<Connection, u16>,
}

/// Returns true for a row of a flow with this name, as in [`at`](super::at).
fn is_of(entity: &str, flow: &str) -> bool {
    entity.strip_prefix(flow).is_some_and(|rest| rest.starts_with(AT))
}

impl Frames {
    /// Creates the stage for the model of a proxy that serves `flows`.
    pub fn new(model: Box<dyn Stage>, flows: Vec<ServedFlow>) -> Frames {
        Frames { model, flows, connections: BTreeMap::new() }
    }

    /// Returns the flow of a segment: the one with these hosts and this port of its destination, or
    /// one between the same hosts, whose program chooses its own ports.
    fn flow(&self, from: NodeId, to: NodeId, ports: (u16, u16)) -> Option<&ServedFlow> {
        let between = |flow: &&ServedFlow| flow.ends == [from, to] || flow.ends == [to, from];
        let exact = |flow: &&ServedFlow| {
            let [source, destination] = flow.ends;
            let at_destination = if flow.ends == [from, to] { ports.1 } else { ports.0 };
            between(flow) && at_destination == port_at(flow.flow, destination, source)
        };
        self.flows.iter().find(exact).or_else(|| self.flows.iter().find(between))
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
    let (flow, number, mut frame) = (framed.flow, framed.segment.acknowledgment, framed.frame.clone());
    if tcp(&frame).is_some_and(|read| read.acknowledgment != number) {
        set_acknowledgment(&mut frame, number);
    }
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
        let seen = |flow: &&ServedFlow| self.connections.keys().any(|(seen, _)| *seen == flow.flow);
        let unseen: Vec<&ServedFlow> = self.flows.iter().filter(|flow| !seen(flow)).collect();
        let mut all = Report::default();
        self.model.report(now, &mut all);
        for (table, entity, values) in all.rows() {
            if !unseen.iter().any(|flow| is_of(entity, &flow.name)) {
                report.row(table, entity, values);
            }
        }
    }
}
