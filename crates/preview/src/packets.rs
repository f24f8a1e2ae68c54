//! The packets that pass the captured nodes, as rows of a trace. A page matches the rows of a
//! packet by flow, connection, leg and number, and draws the packet's way from node to node.

use crate::traces::Traces;
use bentpipe_core::{Column, FlowId, Table, Time};
use bentpipe_stage::packet::segment::SegmentFlags;
use bentpipe_stage::{Body, Capture, Packet};

/// The trace of captured packets.
pub static PACKETS: Table = Table {
    name: "packet",
    entity: "node",
    about:
        "per captured node, when a packet of a flow arrives at the node or leaves an end of its flow there",
    columns: &[
        Column::whole("flow", "1", "index of the flow in the scenario, from 0"),
        Column::whole("connection", "1", "number of the connection within the flow, from 0"),
        Column::whole("back", "1", "1 on the way from the flow's destination to its source"),
        Column::whole("proxy", "1", "number of the proxy that sent the packet; 0 for an end of the flow"),
        Column::whole("number", "1", "number of the packet at its sender, per flow and direction, from 0"),
        Column::whole("size", "bytes", "size at the network layer"),
        Column::whole("data", "1", "1 if the packet carries data of the application"),
        Column::whole("sequence", "1", "TCP: sequence number of the first byte; null for other packets"),
        Column::whole("payload", "bytes", "TCP: length of the payload; null for other packets"),
        Column::whole("acknowledgment", "1", "TCP: next expected byte; null without the flag ACK"),
        Column::whole("flags", "1", "TCP: control flags as in the header; null for other packets"),
        Column::whole("marked", "1", "1 if a queue has marked the packet (congestion experienced)"),
    ],
};

/// Writes the packets of flows to the traces of a run.
pub struct Packets(Traces);

impl Packets {
    /// Creates a writer of [`PACKETS`] for the captured nodes, in the order of their interfaces.
    pub fn new(traces: &Traces, nodes: &[String]) -> Packets {
        traces.open_with(&PACKETS, nodes);
        Packets(traces.clone())
    }
}

impl Capture for Packets {
    fn packet(&mut self, interface: u32, now: Time, packet: &Packet) {
        if packet.flow.0 >= FlowId::UNKNOWN {
            return;
        }
        let mut tcp = [f64::NAN; 4];
        if let Body::Segment(segment) = &packet.body {
            let has_acknowledgment = segment.flags.contains(SegmentFlags::ACK);
            tcp = [
                segment.sequence.into(),
                segment.payload.into(),
                if has_acknowledgment { segment.acknowledgment.into() } else { f64::NAN },
                segment.flags.0.into(),
            ];
        }
        let [sequence, payload, acknowledgment, flags] = tcp;
        let values = [
            packet.flow.0.into(),
            packet.connection.into(),
            packet.leg.is_back().into(),
            packet.leg.proxy().into(),
            packet.number.into(),
            packet.size.into(),
            (packet.body.has_payload() == Some(true)).into(),
            sequence,
            payload,
            acknowledgment,
            flags,
            (packet.ecn == bentpipe_stage::Ecn::Ce).into(),
        ];
        self.0.keep(&PACKETS, interface, now, &values);
    }
}
