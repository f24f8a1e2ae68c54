//! MPEG-2 transport stream packets (ISO/IEC 13818-1): 188 bytes, 4 of them header. A packet in
//! which a section or SNDU starts has a pointer field of one byte with the position of the first
//! one.

use super::{check_divides, Added, Framer, Framing};
use bentpipe_core::Problems;

/// Size of a transport stream packet in bytes, and of its payload.
pub const PACKET: u32 = 188;
const PAYLOAD: u32 = 184;
const POINTER: u32 = 1;

/// A framing that places packets into sections or SNDUs, and these into transport stream packets.
pub trait Encapsulation {
    /// Number of bytes of a section that must fit into the transport stream packet in which the
    /// section starts.
    const TOGETHER: u32;

    /// Returns true if a section may start in the transport stream packet in which the previous one
    /// ends.
    fn packing(&self) -> bool;

    /// Returns the number of bytes that the framing adds to each network-layer packet.
    fn overhead(&self) -> u32;

    /// Returns the size in bytes of the longest packet that a section can carry.
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

/// Places sections or SNDUs into transport stream packets.
pub struct TransportStream {
    /// Number of bytes added to each packet.
    pub overhead: u32,
    /// True if a section may start in the packet in which the previous one ends.
    pub packing: bool,
    /// Number of bytes of a section that must fit into the packet in which the section starts.
    pub min_room: u32,
    /// Used payload bytes of the last packet, and true if one of them is a pointer field.
    used: u32,
    pointed: bool,
}

impl TransportStream {
    /// Creates an empty stream of units.
    pub fn new(overhead: u32, packing: bool, min_room: u32) -> TransportStream {
        TransportStream { overhead, packing, min_room, used: PAYLOAD, pointed: false }
    }
}

impl TransportStream {
    /// Returns the length of the pointer field that another packet needs in the last unit, and the
    /// room for the packet.
    fn room(&self) -> (u32, u32) {
        let pointer = if self.pointed { 0 } else { POINTER };
        (pointer, (PAYLOAD - self.used).saturating_sub(pointer))
    }
}

impl Framer for TransportStream {
    fn unit(&self) -> u32 {
        PACKET
    }

    fn add(&mut self, size: u32, open: bool) -> Added {
        let mut left = size + self.overhead;
        let (pointer, room) = self.room();
        let shares = open && self.has_room();
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

    fn has_room(&self) -> bool {
        self.packing && self.room().1 >= self.min_room
    }
}
