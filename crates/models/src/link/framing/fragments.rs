//! Fragmentation over carriers of one size, as GSE and RLE do it: a packet that fits is sent whole; another one fills what is
//! left of the carrier with a first fragment, and goes on in the next ones. Several packets lie in one carrier.

use super::{Added, Framer};

/// Header bytes and limits.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Around a whole packet.
    pub whole: u32,
    /// Before the first fragment.
    pub first: u32,
    /// Before the others.
    pub next: u32,
    /// After the last one, in the same carrier as its last bytes.
    pub trailer: u32,
    /// Most bytes of a packet or fragment behind its header.
    pub most: u32,
}

impl Shape {
    /// The smallest carrier: one byte of each fragment has to go somewhere.
    pub fn least_carrier(&self) -> u32 {
        (self.first + 1).max(self.next + 1 + self.trailer)
    }
}

/// Puts packets into carriers.
pub struct Fragments {
    shape: Shape,
    carrier: u32,
    room: u32,
}

impl Fragments {
    /// Carriers of so many bytes.
    pub fn new(shape: Shape, carrier: u32) -> Fragments {
        assert!(carrier >= shape.least_carrier(), "check has passed");
        Fragments { shape, carrier, room: 0 }
    }
}

impl Framer for Fragments {
    fn unit(&self) -> u32 {
        self.carrier
    }

    fn add(&mut self, size: u32, open: bool) -> Added {
        let Shape { whole, first, next, trailer, most } = self.shape;
        if !open {
            self.room = 0;
        }
        let (mut left, mut begun, mut added) = (size, false, Added::default());
        loop {
            let (header, end) = if begun { (next, trailer) } else { (first, u32::MAX) };
            let last = match begun {
                true => left <= most && next + left + end <= self.room,
                false => left <= most && whole + left <= self.room,
            };
            let fragment = if last {
                left
            } else {
                // The last fragment has at least one byte.
                self.room.saturating_sub(header).min(most).min(left - 1)
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
}
