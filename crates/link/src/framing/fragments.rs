//! Fragmentation over carriers of one size, as in GSE and RLE. A packet that fits is sent whole.
//! Any other packet fills the rest of the carrier with a first fragment and continues in the next
//! carriers. A carrier may hold several packets.

use super::{Added, Framer};

/// Header sizes and limits of a fragmenting framing, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Header of a whole packet.
    pub whole: u32,
    /// Header of the first fragment.
    pub first: u32,
    /// Header of the following fragments.
    pub next: u32,
    /// Trailer after the last fragment, in the same carrier as the fragment's last bytes.
    pub trailer: u32,
    /// Maximum size of a packet or fragment after its header.
    pub max: u32,
}

impl Shape {
    /// Returns the smallest usable carrier: it must have room for at least one byte of each kind of
    /// fragment.
    pub fn min_carrier(&self) -> u32 {
        (self.first + 1).max(self.next + 1 + self.trailer)
    }
}

/// Places the packets of one stream into carriers.
pub struct Fragments {
    shape: Shape,
    carrier: u32,
    room: u32,
}

impl Fragments {
    /// Creates an empty stream over carriers of this many bytes.
    pub fn new(shape: Shape, carrier: u32) -> Fragments {
        assert!(carrier >= shape.min_carrier(), "check has passed");
        Fragments { shape, carrier, room: 0 }
    }
}

impl Framer for Fragments {
    fn unit(&self) -> u32 {
        self.carrier
    }

    fn add(&mut self, size: u32, open: bool) -> Added {
        let Shape { whole, first, next, trailer, max } = self.shape;
        if !open {
            self.room = 0;
        }
        let (mut left, mut begun, mut added) = (size, false, Added::default());
        loop {
            let (header, end) = if begun { (next, trailer) } else { (first, u32::MAX) };
            let last = match begun {
                true => left <= max && next + left + end <= self.room,
                false => left <= max && whole + left <= self.room,
            };
            let fragment = if last {
                left
            } else {
                // The last fragment contains at least one byte.
                self.room.saturating_sub(header).min(max).min(left - 1)
            };
            if fragment == 0 {
                self.room = self.carrier;
                added.units += 1;
                continue;
            }
            added.shares |= added.units == 0;
            self.room -= fragment
                + match (begun, last) {
                    (false, true) => whole,
                    (false, false) => first,
                    (true, true) => next + trailer,
                    (true, false) => next,
                };
            left -= fragment;
            begun = true;
            if last {
                return added;
            }
        }
    }

    fn has_room(&self) -> bool {
        self.room > self.shape.first
    }
}
