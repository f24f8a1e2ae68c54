//! Datagrams, the bodies of most packets that are not TCP: without contents, or with first bytes
//! that an application wrote.

use super::{Content, Damage, Packet, Payload, IPV4_HEADER, UDP_HEADER};

/// The body of a datagram of which only the payload size matters.
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

/// Number of written bytes that need no allocation: an RTP header and more.
const SHORT: usize = 23;

/// The body of a datagram whose application wrote its first bytes, such as the header of RTP. The
/// rest of the payload is zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// Bytes stored in place, and their number.
    Short([u8; SHORT], u8),
    /// Bytes that do not fit into the short form, on the heap.
    Long(Box<[u8]>),
}

impl Default for Written {
    fn default() -> Written {
        Written::Short([0; SHORT], 0)
    }
}

impl Written {
    /// Creates the body of a datagram that begins with these bytes.
    pub fn new(bytes: &[u8]) -> Written {
        if bytes.len() > SHORT {
            return Written::Long(bytes.into());
        }
        let mut short = [0; SHORT];
        short[..bytes.len()].copy_from_slice(bytes);
        Written::Short(short, bytes.len() as u8)
    }

    /// Returns the bytes that the application wrote.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Written::Short(bytes, length) => &bytes[..usize::from(*length)],
            Written::Long(bytes) => bytes,
        }
    }
}

impl Payload for Written {
    fn content(&self) -> Content {
        Content::Data
    }

    fn header(&self, packet: &Packet, _notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        let payload = packet.size.saturating_sub(IPV4_HEADER + UDP_HEADER);
        let bytes = self.bytes();
        let written = bytes.len().min(payload as usize);
        out.extend_from_slice(&bytes[..written]);
        payload - written as u32
    }

    fn damage(&self, packet: &Packet, valid: bool, byte: &mut dyn FnMut() -> u32) -> Damage {
        Datagram.damage(packet, valid, byte)
    }
}
