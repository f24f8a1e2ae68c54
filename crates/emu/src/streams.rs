//! RTP streams of any program among the packets that leave the network for a host.

use bentpipe_core::Time;
use bentpipe_voice::recognised::{may_be, Recogniser};
use bentpipe_wire::UDP;
use std::net::SocketAddr;

/// Bytes of the headers of IPv4 without options, and of UDP.
const IPV4: usize = 20;
const UDP_HEADER: usize = 8;

/// Checks whether a packet that left the network at `now` and entered it at `birth` belongs to a
/// stream.
#[inline]
pub fn look(streams: &mut Recogniser, now: Time, birth: Time, packet: &[u8]) {
    // A few bytes show that most packets are no RTP.
    let other = match packet.first() {
        Some(0x45) => packet.get(9) != Some(&UDP) || !packet.get(IPV4 + UDP_HEADER..).is_some_and(may_be),
        _ => false,
    };
    if !other {
        examine(streams, now, birth, packet);
    }
}

fn examine(streams: &mut Recogniser, now: Time, birth: Time, packet: &[u8]) -> Option<()> {
    let headers = bentpipe_wire::read(packet).filter(|headers| headers.protocol == UDP)?;
    let (source, destination) = headers.ports?;
    let datagram = packet.get(headers.begin + UDP_HEADER..headers.end)?;
    let source = SocketAddr::new(headers.source, source);
    let destination = SocketAddr::new(headers.destination, destination);
    streams.pass(now, birth, source, destination, datagram);
    Some(())
}
