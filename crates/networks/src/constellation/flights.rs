//! The packets on the links of a constellation. Each packet keeps its slot from link to link: a hop
//! updates the slot and does not move the packet.

use bentpipe_core::{Time, Whole};
use bentpipe_stage::{Held, Packet};

/// The number of a packet's slot.
pub type Slot = u32;

/// The number of a link in one direction.
pub type CarrierId = u32;

/// The end of the list of unused slots, and the link of a packet that is on no link.
const NONE: u32 = u32::MAX;

/// The part of a packet that a hop needs, half a cache line in size.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub struct Flight {
    /// Time of arrival at the end of the packet's present link.
    pub arrival: Time,
    /// Time at which the last bit is sent.
    pub sent: Time,
    /// Size of the packet.
    pub size: u32,
    /// Number of the tree of the packet's destination, or the next unused slot.
    pub tree: u32,
    /// The link that carries the packet; [`NONE`] if no link does.
    carrier: CarrierId,
    /// Number of the hop, counted over all packets. It wraps around to 0 after the maximum.
    hop: u32,
}

/// All packets that are on links.
pub struct Flights {
    packets: Vec<Whole<Packet>>,
    flights: Vec<Flight>,
    unused: Slot,
    /// Number of hops so far.
    hops: u32,
}

impl Default for Flights {
    fn default() -> Flights {
        Flights { packets: Vec::new(), flights: Vec::new(), unused: NONE, hops: 0 }
    }
}

impl Flights {
    /// Adds a packet and returns its slot.
    pub fn add(&mut self, packet: Packet, tree: u32) -> Slot {
        let (size, at) = (packet.size, self.unused);
        let flight = Flight { arrival: Time::ZERO, sent: Time::ZERO, size, tree, carrier: NONE, hop: 0 };
        if at == NONE {
            self.packets.push(Whole::new(packet));
            self.flights.push(flight);
            return self.packets.len() as Slot - 1;
        }
        self.unused = std::mem::replace(&mut self.flights[at as usize], flight).tree;
        self.packets[at as usize] = Whole::new(packet);
        at
    }

    /// Removes a packet and frees its slot.
    #[inline]
    pub fn take(&mut self, slot: Slot) -> Whole<Packet> {
        let flight = &mut self.flights[slot as usize];
        (flight.carrier, flight.tree) = (NONE, std::mem::replace(&mut self.unused, slot));
        std::mem::replace(&mut self.packets[slot as usize], Whole::new(Packet::default()))
    }

    /// Puts a packet on a link, as the last one to arrive there.
    #[inline]
    pub fn put(&mut self, slot: Slot, carrier: CarrierId, sent: Time, arrival: Time) {
        let flight = &mut self.flights[slot as usize];
        (flight.arrival, flight.sent, flight.carrier, flight.hop) = (arrival, sent, carrier, self.hops);
        self.hops = self.hops.wrapping_add(1);
    }

    /// Returns the packet in a slot.
    #[inline]
    pub fn packet(&mut self, slot: Slot) -> &mut Packet {
        self.packets[slot as usize].get_mut()
    }

    /// Returns the part of a packet that a hop needs.
    #[inline]
    pub fn flight(&self, slot: Slot) -> &Flight {
        &self.flights[slot as usize]
    }

    /// Returns true if this slot holds a packet on this link with this time of arrival.
    #[inline]
    pub fn is_at(&self, slot: Slot, carrier: CarrierId, arrival: Time) -> bool {
        let flight = self.flight(slot);
        flight.carrier == carrier && flight.arrival == arrival
    }

    /// Returns the slots of the packets on a link, in order of arrival. All packets are examined.
    pub fn on(&self, carrier: CarrierId) -> Vec<Slot> {
        let on = |slot: &Slot| self.flight(*slot).carrier == carrier;
        let mut slots: Vec<Slot> = (0..self.flights.len() as Slot).filter(on).collect();
        // Packets that arrive at the same time are in the order in which they were put on the link.
        slots.sort_unstable_by_key(|slot| {
            let flight = self.flight(*slot);
            (flight.arrival, flight.hop.wrapping_sub(self.hops))
        });
        slots
    }

    /// Returns all packets, each with its link.
    pub fn all(&self) -> impl Iterator<Item = (CarrierId, &Flight)> {
        self.flights.iter().map(|flight| (flight.carrier, flight)).filter(|(carrier, _)| *carrier != NONE)
    }

    /// Returns the number and the bytes of all packets.
    pub fn held(&self) -> Held {
        self.all().fold(Held::default(), |held, (_, flight)| Held {
            packets: held.packets + 1,
            bytes: held.bytes + u64::from(flight.size),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_on_a_link_stay_in_order_and_slots_are_reused() {
        let mut flights = Flights { hops: u32::MAX - 500, ..Flights::default() };
        let mut expected = [std::collections::VecDeque::new(), std::collections::VecDeque::new()];
        for number in 0..1000u32 {
            let (at, time) = ((number / 3) as usize % 2, Time::from_nanos(u64::from(number / 5)));
            let slot = flights.add(Packet { size: number + 1, number, ..Packet::default() }, number);
            flights.put(slot, at as u32, time, time);
            expected[at].push_back(number);
            if number % 7 > 2 {
                let (at, other) = (number as usize % 2, (number + 1) as usize % 2);
                let first = flights.on(at as u32).first().copied();
                let popped = expected[at].pop_front();
                assert_eq!(first.map(|slot| flights.flight(slot).tree), popped);
                // Every second packet is moved from link to link.
                match first {
                    Some(slot) if number % 4 == 0 => {
                        flights.put(slot, other as u32, time, time);
                        assert!(
                            flights.is_at(slot, other as u32, time) && !flights.is_at(slot, at as u32, time)
                        );
                        expected[other].extend(popped);
                    }
                    Some(slot) => assert_eq!(Some(flights.take(slot).into_inner().number), popped),
                    None => {}
                }
            }
            for (carrier, expected) in (0..).zip(&expected) {
                let trees = flights.on(carrier).into_iter().map(|slot| flights.flight(slot).tree);
                assert!(trees.eq(expected.iter().copied()));
            }
            let held = expected.iter().flatten();
            let bytes = held.clone().map(|number| u64::from(number + 1)).sum();
            assert_eq!(flights.held(), Held { packets: held.count() as u64, bytes });
        }
        assert!(flights.packets.len() < 1000 - 300);
    }
}
