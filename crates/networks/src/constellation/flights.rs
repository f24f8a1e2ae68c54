//! The packets on the links of a constellation. Each stays in its place from link to link: a hop
//! changes what stands about it here, and moves nothing.

use bentpipe_core::{Time, Whole};
use bentpipe_stage::{Held, Packet};

/// The number of a packet's place.
pub type Slot = u32;

/// The number of a link in one direction.
pub type CarrierId = u32;

/// The end of the list of unused places, and the link of a packet that is on none.
const NONE: u32 = u32::MAX;

/// The part of a packet that a hop needs: half a cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub struct Flight {
    /// Time of arrival at the end of the packet's present link.
    pub arrival: Time,
    /// Time at which the last bit leaves.
    pub sent: Time,
    /// Size of the packet.
    pub size: u32,
    /// Number of the tree of its destination, or the next unused place.
    pub tree: u32,
    /// The link on which it is; [`NONE`] if it is on none.
    carrier: CarrierId,
    /// Number of the hop, counted over all packets from 0 and, after the greatest number, from 0
    /// again.
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
    /// Gives a packet a place.
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

    /// Takes a packet from its place, which becomes free.
    #[inline]
    pub fn take(&mut self, slot: Slot) -> Whole<Packet> {
        let flight = &mut self.flights[slot as usize];
        (flight.carrier, flight.tree) = (NONE, std::mem::replace(&mut self.unused, slot));
        std::mem::replace(&mut self.packets[slot as usize], Whole::new(Packet::default()))
    }

    /// Puts a packet on a link, on which it is the last to arrive.
    #[inline]
    pub fn put(&mut self, slot: Slot, carrier: CarrierId, sent: Time, arrival: Time) {
        let flight = &mut self.flights[slot as usize];
        (flight.arrival, flight.sent, flight.carrier, flight.hop) = (arrival, sent, carrier, self.hops);
        self.hops = self.hops.wrapping_add(1);
    }

    /// The packet at a place.
    #[inline]
    pub fn packet(&mut self, slot: Slot) -> &mut Packet {
        self.packets[slot as usize].get_mut()
    }

    /// The part of the packet that a hop needs.
    #[inline]
    pub fn flight(&self, slot: Slot) -> &Flight {
        &self.flights[slot as usize]
    }

    /// Returns true if this place holds a packet on this link with this time of arrival.
    #[inline]
    pub fn is_at(&self, slot: Slot, carrier: CarrierId, arrival: Time) -> bool {
        let flight = self.flight(slot);
        flight.carrier == carrier && flight.arrival == arrival
    }

    /// The places of the packets on a link, in the order of their arrival. All packets are looked
    /// at.
    pub fn on(&self, carrier: CarrierId) -> Vec<Slot> {
        let on = |slot: &Slot| self.flight(*slot).carrier == carrier;
        let mut slots: Vec<Slot> = (0..self.flights.len() as Slot).filter(on).collect();
        // Of two that arrive at the same time, the one is first that was put on the link longer
        // ago.
        slots.sort_unstable_by_key(|slot| {
            let flight = self.flight(*slot);
            (flight.arrival, flight.hop.wrapping_sub(self.hops))
        });
        slots
    }

    /// All packets with their links.
    pub fn all(&self) -> impl Iterator<Item = (CarrierId, &Flight)> {
        self.flights.iter().map(|flight| (flight.carrier, flight)).filter(|(carrier, _)| *carrier != NONE)
    }

    /// Number and bytes of all packets.
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
                // Every other one goes from link to link.
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
