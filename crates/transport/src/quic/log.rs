//! The trace of packets and their frames, from which `bentpipe export` writes qlog
//! (draft-ietf-quic-qlog-quic-events).

use super::frames::{Frame, Kind, Packet};
use super::wire;
use bentpipe_core::{Column, Probe, Table, Time};
use bentpipe_stage::Outbox;

/// Trace of the frames of packets.
pub static TRACE: Table = Table {
    name: "quic_frame",
    entity: "flow end",
    about: "with `record.details`, for each frame of a packet that an end of a QUIC flow (NAME.source, \
            NAME.destination) sends, receives or considers lost, and for each range of an acknowledgment",
    columns: &[
        Column::whole("event", "1", "0 sent, 1 received, 2 lost"),
        Column::whole("packet_type", "1", "0 Initial, 1 0-RTT, 2 Handshake, 3 1-RTT"),
        Column::whole("packet_number", "1", "packet number in its packet number space"),
        Column::whole("packet_size", "bytes", "size of the packet without padding"),
        Column::whole("frame_type", "1", "type of the frame on the wire (RFC 9000, section 19)"),
        Column::real("stream", "1", "number of the stream; null for a frame without"),
        Column::real(
            "first",
            "1",
            "first byte of data, or first packet number of a range; null for other frames",
        ),
        Column::real(
            "last",
            "1",
            "byte after the last one of data, last packet number of a range, limit of data, or threshold of \
             a request for acknowledgments; null for other frames",
        ),
        Column::real(
            "ack_delay",
            "s",
            "delay of an acknowledgment, or the requested one; null for other frames",
        ),
    ],
};

/// An event in the life of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// This end has sent the packet.
    Sent,
    /// The packet arrived at the end.
    Received,
    /// The end considers the packet lost.
    Lost,
}

/// Writes the rows of a packet.
pub fn write(probe: Probe, now: Time, happening: Happening, packet: &Packet, out: &mut Outbox) {
    let kind = match packet.kind {
        Kind::Initial => 0.0,
        Kind::ZeroRtt => 1.0,
        Kind::Handshake => 2.0,
        Kind::OneRtt => 3.0,
    };
    let start = [f64::from(happening as u8), kind, packet.number as f64, f64::from(packet.size)];
    let none = f64::NAN;
    for frame in &packet.frames {
        let frame_type = wire::frame_type(frame) as f64;
        let mut row = |rest: [f64; 4]| {
            let [event, kind, number, size] = start;
            let [stream, first, last, delay] = rest;
            out.record(probe, now, &[event, kind, number, size, frame_type, stream, first, last, delay]);
        };
        match frame {
            Frame::Ping
            | Frame::HandshakeDone
            | Frame::ImmediateAck
            | Frame::PathChallenge(_)
            | Frame::PathResponse(_) => row([none; 4]),
            Frame::Ack(ack) => {
                let delay = ack.delay.as_secs_f64();
                ack.ranges.iter().for_each(|(first, last)| row([none, *first as f64, *last as f64, delay]));
            }
            Frame::Crypto(data) | Frame::Stream(data) => {
                let stream = if matches!(frame, Frame::Stream(_)) { f64::from(data.id) } else { none };
                row([stream, data.offset as f64, (data.offset + u64::from(data.length)) as f64, none]);
            }
            Frame::Datagram(message) => row([none, 0.0, f64::from(message.length), none]),
            Frame::MaxData(limit) => row([none, none, *limit as f64, none]),
            Frame::MaxStreamData(id, limit) => row([f64::from(*id), none, *limit as f64, none]),
            Frame::AckFrequency(request) => {
                row([none, none, request.threshold as f64, request.max_ack_delay.as_secs_f64()]);
            }
        }
    }
}
