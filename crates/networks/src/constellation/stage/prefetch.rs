//! Reading ahead of what the next arrivals will need. With thousands of packets and links this is
//! in no near cache. Read one by one when it is needed, each would be waited for; a processor
//! fetches those of several arrivals at once. What is read here is ignored, so that no result
//! depends on it.

use super::{Constellation, Due, Hop, Taker};
use std::hint::black_box;

/// Number of arrivals below which they need little that is not in near caches.
const FEW: usize = 4;

impl Constellation {
    /// Reads the packet, its next hop and the link of this hop for each arrival, once arrivals are
    /// in order.
    #[inline]
    pub(super) fn look_ahead(&self) {
        if self.arrivals.has_turned() {
            let coming = self.arrivals.coming();
            if coming.len() >= FEW {
                coming.rev().for_each(|due| self.glance(due));
            }
        }
    }

    #[inline]
    fn glance(&self, due: Due) {
        // Not what was cancelled: its carrier may lead nowhere now, and its place may be unused.
        if !self.flights.is_at(due.item, due.number, due.at) {
            return;
        }
        let Taker::Satellite(satellite) = self.taker(due.number) else { return };
        let tree = self.flights.flight(due.item).tree;
        if let Hop::Isl { way, .. } = self.routes.hop_in(tree as usize, satellite) {
            black_box(self.lanes[self.across(way) as usize].last());
        }
    }
}
