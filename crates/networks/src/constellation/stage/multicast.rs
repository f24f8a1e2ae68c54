//! Copies of multicast packets. A site sends a packet up once for each antenna, and a satellite
//! sends it once over each link on the paths to the receivers. Packets of multicast groups take the
//! shortest paths, also with `balance`.

use super::{Constellation, Leg, NO_PATH, NO_SATELLITE};
use crate::constellation::flights::CarrierId;
use crate::multicast::Copying;
use bentpipe_core::{NodeId, Time};
use bentpipe_stage::packet;
use bentpipe_stage::{DropReason, Outbox, Packet};
use std::collections::BTreeMap;

/// The number of the tree of a packet with several destinations.
pub(super) const SEVERAL: u32 = u32::MAX;

/// Copies of a packet: the link of each copy, if any, and the leg of its flow.
type Copies = Vec<(Option<CarrierId>, packet::Leg)>;

impl Constellation {
    /// Sets the copying of multicast packets in this network.
    pub fn copy_by(&mut self, copying: Copying) {
        self.copying = copying;
    }

    /// Sends the copies of a packet from a satellite.
    pub(super) fn forward_copies(&mut self, now: Time, satellite: u32, packet: Packet, out: &mut Outbox) {
        let next = |stage: &mut Constellation, tree: u32| {
            let hop = stage.routes.hop(tree as usize, satellite, now, &stage.topology);
            stage.leg(satellite, hop)
        };
        self.send_copies(now, packet, NO_PATH, next, out);
    }

    /// Sends the copies of a packet from a site up.
    pub(super) fn send_copies_up(&mut self, now: Time, site: u32, packet: Packet, out: &mut Outbox) {
        let next = |stage: &mut Constellation, tree: u32| {
            let (antenna, satellite) = stage.nearest_antenna(now, site, tree)?;
            Some(stage.uplink_leg(site, antenna, satellite))
        };
        self.send_copies(now, packet, NO_SATELLITE, next, out);
    }

    /// Sends a copy over each link to which `next` leads the trees of the receivers. Copies without
    /// a link are dropped.
    fn send_copies(
        &mut self,
        now: Time,
        packet: Packet,
        reason: DropReason,
        mut next: impl FnMut(&mut Constellation, u32) -> Option<Leg>,
        out: &mut Outbox,
    ) {
        let mut legs: BTreeMap<CarrierId, Leg> = BTreeMap::new();
        let copying = self.copying.clone();
        let copies: Copies = copying.divide(packet.destination, packet.leg, |exit: NodeId| {
            let tree = self.destinations.get(exit.0 as usize).copied().flatten()?;
            let leg = next(self, tree)?;
            legs.insert(leg.carrier, leg);
            Some(leg.carrier)
        });
        for (index, (carrier, leg)) in copies.into_iter().enumerate() {
            let copy = Packet { leg, ..packet.clone() };
            if index > 0 {
                out.create_held(&copy);
            }
            match carrier {
                None => out.drop(copy, reason),
                Some(carrier) => self.offer(now, legs[&carrier], copy, out),
            }
        }
    }
}
