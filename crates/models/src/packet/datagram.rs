//! A datagram without contents of its own, the body of most packets but TCP's.

use super::{Content, Damage, Packet, Payload, IPV4_HEADER, UDP_HEADER};

/// The body of a datagram whose payload matters only by its size.
#[derive(Clone, Copy, Debug)]
pub struct Datagram;

impl Payload for Datagram {
    fn content(&self) -> Content {
        Content::Data
    }

    fn damage(&self, packet: &Packet, valid: bool, _byte: &mut dyn FnMut() -> u32) -> Damage {
        match valid {
            true if packet.size <= IPV4_HEADER + UDP_HEADER => Damage::Lost,
            true => Damage::Unnoticed,
            false => Damage::Noticed,
        }
    }
}
