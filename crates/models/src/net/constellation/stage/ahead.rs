//! Reading ahead of what the next arrivals will need. With thousands of packets and links this is in no near cache. Read one by
//! one when it is needed, each would be waited for; a processor fetches those of several arrivals at once. What is read here is
//! ignored, so that no result depends on it.

use super::{Constellation, Hop, Taker};
use std::hint::black_box;

impl Constellation {
    /// Reads of a coming arrival its link, of the one before it the packet, of the one before that the next hop, and of the very next
    /// one the link of that hop.
    #[inline]
    pub(super) fn look_ahead(&self) {
        let link = |ahead| {
            let carrier = self.arrivals.coming(ahead)?;
            self.carriers[carrier as usize].as_ref()
        };
        let packet = |ahead| link(ahead)?.first(&self.flights);
        let next = |ahead| {
            let flight = packet(ahead)?;
            let Taker::Satellite(satellite) = flight.to else { return None };
            match self.routes.former_hop(flight.tree as usize, satellite) {
                Hop::Isl { way, .. } => Some(self.across(way)),
                _ => None,
            }
        };
        black_box(link(4).map(|link| link.is_idle()));
        black_box(packet(3).map(|flight| flight.tree));
        black_box(next(2));
        let beyond = next(1).and_then(|carrier| self.carriers[carrier as usize].as_ref());
        black_box(beyond.map(|link| link.glance()));
    }
}
