//! The paths of traced flows: rows of the trace of paths, and counts of packets by the site at
//! which they enter.

use super::{Constellation, Hop};
use crate::constellation::path::{Path, PathTrace};
use crate::constellation::routes::light_time;
use crate::constellation::topology::{seconds, Ends};
use bentpipe_core::Time;
use bentpipe_stage::{Outbox, Packet};

impl Constellation {
    /// Records the path of a packet, if its flow is traced.
    #[inline]
    pub(super) fn trace_path(
        &mut self,
        now: Time,
        site: u32,
        satellite: u32,
        tree: u32,
        packet: &Packet,
        out: &mut Outbox,
    ) {
        let flow = packet.flow.0 as usize;
        let traced = |one: &PathTrace| one.path.destination == packet.destination && one.is_traced();
        let Some(index) = self.flows.get(flow).and_then(|both| both.iter().position(traced)) else {
            return;
        };
        let stamp = self.routes.tree(tree as usize, now, &self.topology).stamp;
        let state = Some((stamp, self.topology.sites[site as usize].version));
        if self.flows[flow][index].state != state {
            let path = self.path(now, site, satellite, tree, packet);
            let one = &mut self.flows[flow][index];
            (one.state, one.now) = (state, path);
            if let Some(probe) = one.path.probe {
                let values = match path {
                    Some(path) => [f64::from(path.hops), path.delay.as_secs_f64()],
                    None => [f64::NAN; 2],
                };
                out.record(probe, now, &values);
            }
        }
        self.flows[flow][index].count(site);
    }

    /// Returns the path from a site over a satellite.
    fn path(
        &mut self,
        now: Time,
        site: u32,
        mut satellite: u32,
        destination: u32,
        packet: &Packet,
    ) -> Option<Path> {
        let t = seconds(now);
        self.routes.tree(destination as usize, now, &self.topology);
        let (balance, routes) = (&self.balance, &self.routes);
        let next = |satellite: u32| {
            let own = balance.as_ref().and_then(|balance| balance.hop(packet, destination, satellite));
            own.unwrap_or_else(|| routes.hop_in(destination as usize, satellite))
        };
        let topology = &self.topology;
        let range =
            |site: u32, satellite: u32| light_time(topology.length(Ends::Ground { site, satellite }, t));
        let mut delay = range(site, satellite);
        let mut hops = 1;
        loop {
            hops += 1;
            match next(satellite) {
                Hop::None => return None,
                Hop::Down { site, .. } => {
                    return Some(Path { hops, delay: delay + range(site, satellite), exit: site });
                }
                Hop::Isl { arc, to } => {
                    delay += light_time(topology.length(Ends::Isl(arc / 2), t));
                    satellite = to;
                }
            }
        }
    }
}
