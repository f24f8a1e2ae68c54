//! The packets on the links of a constellation. Each stays in its place from link to link: a hop changes what
//! stands about it here, and moves nothing.

use crate::{Held, Packet};
use bentpipe_core::{Time, Whole};

/// The number of a packet's place.
pub type Slot = u32;

/// The end of a list.
const NONE: Slot = Slot::MAX;

/// The receiver at the far end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taker {
    /// The site of this number.
    Site(u32),
    /// The satellite of this number.
    Satellite(u32),
}

/// What a hop has to know of a packet.
#[derive(Clone, Copy)]
pub struct Flight {
    /// When it arrives at the end of its present link.
    pub arrival: Time,
    /// When its last bit leaves.
    pub sent: Time,
    /// Size of the packet.
    pub size: u32,
    /// Number of the tree of its destination.
    pub tree: u32,
    /// The receiver at the end of its link.
    pub to: Taker,
    /// The next packet on the same link, or the next unused place.
    next: Slot,
}

/// All packets that are on links.
pub struct Flights {
    packets: Vec<Whole<Packet>>,
    flights: Vec<Flight>,
    unused: Slot,
}

/// The packets on one link, in the order of their arrival.
#[derive(Clone, Copy)]
pub struct Line {
    first: Slot,
    last: Slot,
}

impl Default for Flights {
    fn default() -> Flights {
        Flights { packets: Vec::new(), flights: Vec::new(), unused: NONE }
    }
}

impl Flights {
    /// Gives a packet a place.
    pub fn add(&mut self, packet: Packet, tree: u32) -> Slot {
        let (size, at) = (packet.size, self.unused);
        let (sent, arrival, to) = (Time::ZERO, Time::ZERO, Taker::Site(0));
        let flight = Flight { arrival, sent, size, tree, to, next: NONE };
        if at == NONE {
            self.packets.push(Whole::new(packet));
            self.flights.push(flight);
            return self.packets.len() as Slot - 1;
        }
        self.unused = std::mem::replace(&mut self.flights[at as usize], flight).next;
        self.packets[at as usize] = Whole::new(packet);
        at
    }

    /// Takes a packet from its place, which becomes free.
    #[inline]
    pub fn take(&mut self, slot: Slot) -> Whole<Packet> {
        self.flights[slot as usize].next = std::mem::replace(&mut self.unused, slot);
        std::mem::replace(&mut self.packets[slot as usize], Whole::new(Packet::default()))
    }

    /// The packet at a place.
    #[inline]
    pub fn packet(&mut self, slot: Slot) -> &mut Packet {
        self.packets[slot as usize].get_mut()
    }

    /// What a hop has to know of it.
    #[inline]
    pub fn flight(&mut self, slot: Slot) -> &mut Flight {
        &mut self.flights[slot as usize]
    }
}

impl Default for Line {
    fn default() -> Line {
        Line { first: NONE, last: NONE }
    }
}

impl Line {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// The packet that arrives first.
    #[inline]
    pub fn first<'a>(&self, flights: &'a Flights) -> Option<&'a Flight> {
        flights.flights.get(self.first as usize)
    }

    /// The packet that arrives last.
    #[inline]
    pub fn last<'a>(&self, flights: &'a Flights) -> Option<&'a Flight> {
        flights.flights.get(self.last as usize)
    }

    /// All packets.
    pub fn all<'a>(&self, flights: &'a Flights) -> impl Iterator<Item = &'a Flight> {
        std::iter::successors(self.first(flights), |flight| flights.flights.get(flight.next as usize))
    }

    /// Number and bytes of the packets of which `which` is true.
    pub fn held(&self, flights: &Flights, which: impl Fn(&Flight) -> bool) -> Held {
        self.all(flights).filter(|flight| which(flight)).fold(Held::default(), |held, flight| Held {
            packets: held.packets + 1,
            bytes: held.bytes + u64::from(flight.size),
        })
    }

    /// Adds a packet, which arrives last.
    #[inline]
    pub fn push(&mut self, flights: &mut Flights, slot: Slot) {
        flights.flights[slot as usize].next = NONE;
        match flights.flights.get_mut(self.last as usize) {
            Some(before) => before.next = slot,
            None => self.first = slot,
        }
        self.last = slot;
    }

    /// Removes the packet that arrives first. It keeps its place.
    #[inline]
    pub fn pop(&mut self, flights: &Flights) -> Option<Slot> {
        let slot = self.first;
        self.first = flights.flights.get(slot as usize)?.next;
        if self.first == NONE {
            self.last = NONE;
        }
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_order_and_places_are_used_again() {
        let (mut flights, mut lines) = (Flights::default(), [Line::default(), Line::default()]);
        let mut expected = [std::collections::VecDeque::new(), std::collections::VecDeque::new()];
        for number in 0..1000u32 {
            let at = (number / 3) as usize % 2;
            let slot = flights.add(Packet { size: number + 1, number, ..Packet::default() }, number);
            lines[at].push(&mut flights, slot);
            expected[at].push_back(number);
            if number % 7 > 2 {
                let (at, other) = (number as usize % 2, (number + 1) as usize % 2);
                let popped = lines[at].pop(&flights);
                let first = expected[at].pop_front();
                assert_eq!(popped.map(|slot| flights.flight(slot).tree), first);
                // Every other one goes from line to line.
                match popped {
                    Some(slot) if number % 4 == 0 => {
                        lines[other].push(&mut flights, slot);
                        expected[other].extend(first);
                    }
                    Some(slot) => assert_eq!(Some(flights.take(slot).into_inner().number), first),
                    None => {}
                }
            }
            for (line, expected) in lines.iter().zip(&expected) {
                assert!(line.all(&flights).map(|flight| &flight.tree).eq(expected));
                let held = line.held(&flights, |_| true);
                let bytes = expected.iter().map(|number| u64::from(number + 1)).sum();
                assert_eq!(held, Held { packets: expected.len() as u64, bytes });
            }
        }
        assert!(flights.packets.len() < 1000 - 300);
    }
}
