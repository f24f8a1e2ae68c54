//! Messages of a network's own protocol, which are sent as packets.

use bentpipe_core::{FlowId, NodeId, Time};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Ecn, Packet, Payload};
use std::sync::Arc;

/// The flow number of messages that belong to no flow.
pub const NO_FLOW: FlowId = FlowId(u32::MAX);

/// Wraps message `number` of a sender, of `size` bytes, in a packet that is sent at `now`.
pub fn packet(
    now: Time,
    (source, destination): (NodeId, NodeId),
    number: u32,
    size: u32,
    body: Arc<dyn Payload>,
) -> Packet {
    Packet {
        birth: now,
        number,
        size,
        flow: NO_FLOW,
        source,
        destination,
        connection: 0,
        leg: Leg::THERE,
        // Network control (RFC 4594, section 3.2).
        dscp: 48,
        ecn: Ecn::NotEct,
        body: Body::Layer(body),
    }
}
