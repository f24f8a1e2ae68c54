//! MPEG-2 transport stream packets (ISO/IEC 13818-1): 188 bytes, of which 4 are header. A packet in which a section or SNDU begins
//! has a pointer field of one byte that says where the first one does.

use super::{check_divides, Added, Framer, Framing};
use bentpipe_core::Problems;

/// Bytes of a transport stream packet, and of its payload.
pub const PACKET: u32 = 188;
const PAYLOAD: u32 = 184;
const POINTER: u32 = 1;

/// A framing that puts packets into sections or SNDUs, and these into transport stream packets.
pub trait Encapsulation {
    /// Bytes that a section needs in the packet in which it begins.
    const TOGETHER: u32;

    /// Whether sections follow each other within a transport stream packet.
    fn packing(&self) -> bool;

    /// Bytes around each packet of the network layer.
    fn overhead(&self) -> u32;

    /// Bytes of the longest packet that a section can carry.
    fn longest(&self) -> u32;
}

impl<E: Encapsulation> Framing for E {
    fn build(&self, _carrier: Option<u32>) -> Option<Box<dyn Framer>> {
        Some(Box::new(TransportStream::new(self.overhead(), self.packing(), E::TOGETHER)))
    }

    fn longest(&self) -> u32 {
        Encapsulation::longest(self)
    }

    fn check(&self, carrier: Option<u32>, problems: &mut Problems) {
        check_divides(PACKET, "MPEG packets", carrier, problems);
    }
}

/// Puts sections or SNDUs into transport stream packets.
pub struct TransportStream {
    /// Bytes around each packet.
    pub overhead: u32,
    /// Whether a section may begin in the packet in which the one before ends.
    pub packing: bool,
    /// Bytes that a section needs in the packet in which it begins.
    pub least: u32,
    /// Payload bytes of the last packet that are used, and whether one of them is a pointer field.
    used: u32,
    pointed: bool,
}

impl TransportStream {
    /// An empty stream.
    pub fn new(overhead: u32, packing: bool, least: u32) -> TransportStream {
        TransportStream { overhead, packing, least, used: PAYLOAD, pointed: false }
    }
}

impl Framer for TransportStream {
    fn unit(&self) -> u32 {
        PACKET
    }

    fn add(&mut self, size: u32, open: bool) -> Added {
        let mut left = size + self.overhead;
        let pointer = if self.pointed { 0 } else { POINTER };
        let room = (PAYLOAD - self.used).saturating_sub(pointer);
        let shares = open && self.packing && room >= self.least;
        let mut units = 0;
        if shares {
            let bytes = left.min(room);
            self.used += pointer + bytes;
            self.pointed = true;
            left -= bytes;
        } else {
            let bytes = left.min(PAYLOAD - POINTER);
            self.used = POINTER + bytes;
            self.pointed = true;
            left -= bytes;
            units += 1;
        }
        if left > 0 {
            units += left.div_ceil(PAYLOAD);
            self.used = (left - 1) % PAYLOAD + 1;
            self.pointed = false;
        }
        Added { units, shares }
    }
}
