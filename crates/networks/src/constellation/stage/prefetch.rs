//! Prefetching of the data of the next arrivals. With thousands of packets and links, these data
//! are in no near cache. If they were read at each arrival, the reads would wait for memory one
//! after another; reads for several arrivals at once overlap. The values read here are ignored, so
//! no result depends on them.

use super::{Constellation, Due, Hop, Receiver};
use std::hint::black_box;

/// Minimum number of arrivals for prefetching. The data of fewer arrivals are in near caches.
const MIN_ARRIVALS: usize = 4;

impl Constellation {
    /// Reads the packet, its next hop and the link of this hop for each arrival, once arrivals are
    /// in order.
    #[inline]
    pub(super) fn prefetch_arrivals(&self) {
        if self.arrivals.has_turned() {
            let coming = self.arrivals.coming();
            if coming.len() >= MIN_ARRIVALS {
                coming.rev().for_each(|due| self.prefetch(due));
            }
        }
    }

    #[inline]
    fn prefetch(&self, due: Due) {
        // Skip cancelled arrivals: their carrier may have no receiver, and their slot may be
        // unused.
        if !self.flights.is_at(due.item, due.number, due.at) {
            return;
        }
        let Receiver::Satellite(satellite) = self.receiver(due.number) else { return };
        let tree = self.flights.flight(due.item).tree;
        if tree == super::multicast::SEVERAL {
            return;
        }
        if let Hop::Isl { arc, .. } = self.routes.hop_in(tree as usize, satellite) {
            black_box(self.lanes[self.isl_carrier(arc) as usize].last());
        }
    }
}
