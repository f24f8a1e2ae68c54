//! The stage of a constellation. Input port i and output port i belong to site i, in the order of
//! the configuration.

mod changes;
mod multicast;
mod path_trace;
mod prefetch;

use super::balance::Balance;
use super::carrier::{Carrier, CarrierConfig};
use super::config::Config;
use super::flights::{CarrierId, Flights, Slot};
use super::lane::Lane;
use super::path::{FlowPath, PathTrace};
use super::routes::{Cost, Exit, Hop, Routes, NO_PATH};
use super::serving::SiteStatistics;
use super::topology::{Ends, Ground, Topology};
use crate::fate::Fate;
use crate::multicast::Copying;
use bentpipe_core::{Calendar, Due, NodeId, Probe, Report, Span, Streams, Time, Wakes, Whole};
use bentpipe_link::channel::{self, CORRUPTED};
use bentpipe_link::pace::Pace;
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage};
use std::collections::BTreeMap;

/// No satellite serves the site.
pub const NO_SATELLITE: DropReason = DropReason::new("no satellite in view");
/// The inter-satellite link went down while the packet was on it.
pub const ISL_DOWN: DropReason = DropReason::new("inter-satellite link went down");
/// The packet was in flight over the satellite that served the site before.
pub const HANDED_OVER: DropReason = DropReason::new("handover");

/// The parts of the stage in addition to its configuration.
pub struct Parts {
    /// Name of the network.
    pub name: String,
    /// The exits of each destination at a site or beyond it.
    pub destinations: BTreeMap<NodeId, Vec<Exit>>,
    /// Random streams of the stage's error processes and policies.
    pub streams: Streams,
    /// Probes on [`HANDOVER`] by site.
    pub handovers: Vec<Option<Probe>>,
    /// Two paths per flow: from its source, and back to it.
    pub flows: Vec<[FlowPath; 2]>,
}

/// The receiver at the far end of a carrier.
#[derive(Clone, Copy)]
enum Receiver {
    Site(u32),
    Satellite(u32),
}

/// A hop over one carrier.
#[derive(Clone, Copy)]
struct Leg {
    carrier: CarrierId,
    ends: Ends,
}

/// A packet that was on a link when the link went down.
struct Orphan {
    packet: Whole<Packet>,
    carrier: CarrierId,
    receiver: Receiver,
}

/// A constellation of satellites as one stage.
pub struct Constellation {
    name: String,
    topology: Topology,
    routes: Routes,
    handover: super::config::Handover,
    vanished: Fate,
    balance: Option<Balance>,
    /// Number of the tree of each node; `None` for nodes that are not reached through the
    /// constellation.
    destinations: Vec<Option<u32>>,
    copying: Copying,
    /// Maximum number of antennas of any site.
    antennas: u32,
    /// Number of carriers from the ground up; the number of carriers down is the same.
    ground_carriers: u32,
    /// The carriers: first all carriers up, then all carriers down (each ordered by site and
    /// antenna), then both directions of each inter-satellite link.
    carriers: Vec<Option<Box<Carrier>>>,
    /// The lane of each carrier. An open lane belongs to a link that is up.
    lanes: Vec<Lane>,
    /// Transmission times of the last packet on a downlink and of the last packet on an
    /// inter-satellite link.
    paces: [Pace; 2],
    /// The satellite at the far end of each direction of each inter-satellite link.
    ends: Vec<u32>,
    isl: Option<CarrierConfig>,
    /// True if any carrier has errors.
    errors: bool,
    streams: Streams,
    /// The packets on all carriers.
    flights: Flights,
    /// Packets in flight: time of arrival, carrier and slot.
    arrivals: Calendar,
    /// Number of arrivals that will not take place because their carrier was cut. The next arrival
    /// is never one of them.
    cancelled: usize,
    /// Time at which each carrier's next packet leaves its buffer.
    departures: Wakes,
    orphans: BTreeMap<(Time, u64), Orphan>,
    orphan_count: u64,
    /// Earliest time of the next change of the topology.
    change: Option<Time>,
    handovers: Vec<Option<Probe>>,
    flows: Vec<[PathTrace; 2]>,
    statistics: Vec<SiteStatistics>,
    site_names: Vec<String>,
}

impl Constellation {
    /// Creates the stage at the start of the run.
    ///
    /// # Panics
    /// If the configuration has not passed [`Config::check`].
    pub fn new(config: &Config, parts: Parts) -> Constellation {
        let antennas = config.sites.values().map(|site| config.antennas(site)).max().unwrap_or(1);
        let mut topology = config.topology();
        let last = parts.destinations.keys().next_back().map_or(0, |node| node.0 as usize + 1);
        let mut destinations = vec![None; last];
        let mut exits = Vec::new();
        for (node, of_node) in parts.destinations {
            destinations[node.0 as usize] = Some(exits.len() as u32);
            exits.push(of_node);
        }
        let mut carriers = Vec::new();
        for (word, rate) in [("up", config.gsl.up), ("down", config.gsl.down)] {
            for (site, at) in &config.sites {
                let own = config.antennas(at);
                for antenna in 0..own {
                    let number = if own > 1 { format!("{}", antenna + 1) } else { String::new() };
                    let name = format!("{}.{site}.{word}{number}", parts.name);
                    let stream = parts.streams.stream(&name);
                    carriers.push(Some(Box::new(Carrier::new(name, &config.ground_link(rate), stream))));
                }
                // Numbers are assigned for the maximum number of antennas.
                carriers.resize_with(carriers.len() + antennas - own, || None);
            }
        }
        carriers.resize_with(carriers.len() + 2 * topology.isls.len(), || None);
        let in_outage = |site: &Ground| site.serving.iter().all(Option::is_none);
        let statistics = |site| SiteStatistics::new(in_outage(site));
        let routes = config.routes(&topology, exits);
        let isl = config.isl.link();
        let kinds = [config.ground_link(config.gsl.up), config.ground_link(config.gsl.down)];
        let errors = kinds.iter().chain(&isl).any(|kind| kind.error.errors().is_some());
        Constellation {
            name: parts.name,
            routes,
            handover: config.handover.clone(),
            vanished: config.routing.vanished,
            balance: config.routing.balance.clone().map(|balance| Balance::new(balance, config.gsl.up)),
            destinations,
            copying: Copying::default(),
            antennas: antennas as u32,
            ground_carriers: (config.sites.len() * antennas) as u32,
            flights: Flights::default(),
            arrivals: Calendar::default(),
            cancelled: 0,
            departures: Wakes::new(carriers.len()),
            lanes: carriers.iter().map(|_| Lane::default()).collect(),
            paces: [Some(config.gsl.down), isl.as_ref().map(|kind| kind.rate)]
                .map(|rate| Pace::new(rate.unwrap_or(config.gsl.down))),
            carriers,
            ends: topology.isls.iter().flat_map(|isl| [isl.ends.1, isl.ends.0]).collect(),
            isl,
            errors,
            streams: parts.streams,
            orphans: BTreeMap::new(),
            orphan_count: 0,
            change: topology.next(Time::ZERO),
            handovers: parts.handovers,
            flows: parts.flows.into_iter().map(|both| both.map(PathTrace::new)).collect(),
            statistics: topology.sites.iter().map(statistics).collect(),
            site_names: config.sites.keys().cloned().collect(),
            topology,
        }
    }

    fn up_carrier(&self, site: u32, antenna: u32) -> CarrierId {
        site * self.antennas + antenna
    }

    fn down_carrier(&self, site: u32, antenna: u32) -> CarrierId {
        self.ground_carriers + site * self.antennas + antenna
    }

    /// Returns the carrier of an inter-satellite link and direction, as in [`Hop::Isl`].
    #[inline]
    fn isl_carrier(&self, arc: u32) -> CarrierId {
        2 * self.ground_carriers + arc
    }

    /// Returns the hop from a site up to a satellite.
    fn uplink_leg(&self, site: u32, antenna: u32, satellite: u32) -> Leg {
        Leg { carrier: self.up_carrier(site, antenna), ends: Ends::Ground { site, satellite } }
    }

    /// Returns the hop from a satellite, or `None` without a path.
    #[inline]
    fn leg(&self, satellite: u32, hop: Hop) -> Option<Leg> {
        match hop {
            Hop::None => None,
            Hop::Down { site, antenna } => Some(Leg {
                carrier: self.down_carrier(site, antenna),
                ends: Ends::Ground { site, satellite },
            }),
            Hop::Isl { arc, .. } => Some(Leg { carrier: self.isl_carrier(arc), ends: Ends::Isl(arc / 2) }),
        }
    }

    /// Returns the present hop over a carrier.
    fn leg_of(&self, carrier: CarrierId) -> Leg {
        let ground_carriers = self.ground_carriers;
        if carrier < 2 * ground_carriers {
            let (site, antenna) = (carrier % ground_carriers / self.antennas, carrier % self.antennas);
            let serving = self.topology.sites[site as usize].serving[antenna as usize];
            let satellite = serving.expect("a carrier is cut when no satellite serves");
            Leg { carrier, ends: Ends::Ground { site, satellite } }
        } else {
            Leg { carrier, ends: Ends::Isl((carrier - 2 * ground_carriers) / 2) }
        }
    }

    /// Returns the present receiver at the far end of a carrier.
    #[inline]
    fn receiver(&self, carrier: CarrierId) -> Receiver {
        if let Some(arc) = carrier.checked_sub(self.isl_carrier(0)) {
            return Receiver::Satellite(self.ends[arc as usize]);
        }
        let Ends::Ground { site, satellite } = self.leg_of(carrier).ends else {
            unreachable!("all other carriers are links to the ground")
        };
        match self.is_downlink(carrier) {
            true => Receiver::Site(site),
            false => Receiver::Satellite(satellite),
        }
    }

    /// Returns the number of the tree of a packet's destination.
    fn tree_of(&self, packet: &Packet) -> Option<u32> {
        self.destinations.get(packet.destination.0 as usize).copied().flatten()
    }

    /// Forwards a packet that has arrived at a satellite.
    fn forward(&mut self, now: Time, satellite: u32, packet: Packet, out: &mut Outbox) {
        if packet.destination.is_group() {
            return self.forward_copies(now, satellite, packet, out);
        }
        let leg = self.tree_of(&packet).and_then(|tree| {
            let hop = self.hop(now, tree, satellite, &packet);
            self.leg(satellite, hop)
        });
        match leg {
            None => out.drop(packet, NO_PATH),
            Some(leg) => self.offer(now, leg, packet, out),
        }
    }

    /// Forwards a packet that has arrived at a satellite over another link. The packet keeps its
    /// slot if possible.
    #[inline]
    fn relay(&mut self, now: Time, satellite: u32, slot: Slot, out: &mut Outbox) {
        let flight = *self.flights.flight(slot);
        if self.balance.is_some() || flight.tree == multicast::SEVERAL {
            let packet = self.flights.take(slot).into_inner();
            return self.forward(now, satellite, packet, out);
        }
        let hop = self.routes.hop(flight.tree as usize, satellite, now, &self.topology);
        let Some(leg) = self.leg(satellite, hop) else {
            return out.drop(self.flights.take(slot).into_inner(), NO_PATH);
        };
        let sending = self.paces[usize::from(matches!(leg.ends, Ends::Isl(_)))].span_of(flight.size);
        let lane = &mut self.lanes[leg.carrier as usize];
        let sent = lane.send(now, flight.size, sending).or_else(|| self.offer_size(now, leg, flight.size));
        match sent {
            Some(sent) => self.launch(leg, slot, sent),
            None => {
                let packet = self.flights.take(slot).into_inner();
                self.offer(now, leg, packet, out);
            }
        }
    }

    /// Puts a packet on the link of a hop. Its last bit is sent at `sent`.
    #[inline]
    fn launch(&mut self, leg: Leg, slot: Slot, sent: Time) {
        let Leg { carrier, ends } = leg;
        let metres = |t| self.topology.length(ends, t);
        let at = self.lanes[carrier as usize].launch(sent, ends.number(), metres);
        self.flights.put(slot, carrier, sent, at);
        self.arrivals.add(Due { at, number: carrier, item: slot });
    }

    /// Checks that the link of a hop is up.
    fn check_up(&self, leg: Leg) {
        if let Ends::Isl(isl) = leg.ends {
            assert!(self.topology.isls[isl as usize].up, "no packet takes a link that is down");
        }
    }

    /// Offers a packet that keeps its slot to the queue of a carrier.
    fn offer_size(&mut self, now: Time, leg: Leg, size: u32) -> Option<Time> {
        self.check_up(leg);
        let lane = &mut self.lanes[leg.carrier as usize];
        self.carriers[leg.carrier as usize].as_mut()?.offer_size(lane, now, size)
    }

    /// Offers a packet to the queue of a carrier.
    fn offer(&mut self, now: Time, leg: Leg, packet: Packet, out: &mut Outbox) {
        self.check_up(leg);
        let link = self.carriers[leg.carrier as usize].get_or_insert_with(|| {
            let Ends::Isl(isl) = leg.ends else { unreachable!("links to the ground exist from the start") };
            let Topology { isls, satellites, .. } = &self.topology;
            let (a, b) = isls[isl as usize].ends;
            let (from, to) = if leg.carrier & 1 == 0 { (a, b) } else { (b, a) };
            let name =
                format!("{}.{}-{}", self.name, satellites[from as usize].name, satellites[to as usize].name);
            let kind = self.isl.as_ref().expect("there are links between satellites");
            let stream = self.streams.stream(&name);
            Box::new(Carrier::new(name, kind, stream))
        });
        match link.offer(&mut self.lanes[leg.carrier as usize], now, packet, out) {
            Err((packet, reason)) => out.drop(packet, reason),
            Ok(sent) => {
                self.departures.set(leg.carrier, link.next_departure());
                self.launch_sent(leg, sent);
            }
        }
    }

    /// Puts a packet that has left a queue on the link of a hop.
    fn launch_sent(&mut self, leg: Leg, sent: Option<(Packet, Time)>) {
        let Some((packet, sent)) = sent else { return };
        let tree = match packet.destination.is_group() {
            true => multicast::SEVERAL,
            false => self.tree_of(&packet).expect("a packet that was forwarded has a tree"),
        };
        let slot = self.flights.add(packet, tree);
        self.launch(leg, slot, sent);
    }

    /// Returns the next hop of a packet at a satellite, on the path of its connection or in the
    /// tree.
    fn hop(&mut self, now: Time, tree: u32, satellite: u32, packet: &Packet) -> Hop {
        if let Some(site) = self.balance.as_ref().and_then(|balance| balance.origin(packet, tree)) {
            self.update_paths(now, site, tree);
            let balance = self.balance.as_ref().expect("the connection has an origin");
            if let Some(hop) = balance.hop(packet, tree, satellite) {
                return hop;
            }
        }
        self.routes.hop(tree as usize, satellite, now, &self.topology)
    }

    /// Updates the paths from a site to a destination to the present state.
    fn update_paths(&mut self, now: Time, site: u32, tree: u32) {
        let Some(balance) = &mut self.balance else { return };
        let stamp = self.routes.tree(tree as usize, now, &self.topology).stamp;
        let state = (stamp, self.topology.sites[site as usize].version);
        if balance.is_outdated((site, tree), state) {
            let paths =
                self.routes.disjoint_paths(tree as usize, site, balance.max_paths(), now, &self.topology);
            balance.set((site, tree), state, paths);
        }
    }

    /// Returns the antenna and the satellite on which a packet's connection leaves a site, or the
    /// reason why the connection is not admitted.
    fn admit(&mut self, now: Time, site: u32, tree: u32, packet: &Packet) -> Result<(u32, u32), DropReason> {
        self.update_paths(now, site, tree);
        let (carriers, lanes, antennas) = (&self.carriers, &self.lanes, self.antennas);
        let wait = |antenna: u32| {
            let carrier = (site * antennas + antenna) as usize;
            carriers[carrier].as_ref().map_or(Span::ZERO, |link| link.wait(&lanes[carrier], now))
        };
        let balance = self.balance.as_mut().expect("called with paths to balance");
        balance.choose(now, (site, tree), packet, wait).map(|path| path.first)
    }

    /// Returns true if packets leave the stage at the end of this carrier.
    #[inline]
    fn is_downlink(&self, carrier: CarrierId) -> bool {
        carrier >= self.ground_carriers && carrier < 2 * self.ground_carriers
    }

    /// Returns the time before which only arrivals and departures from buffers are due.
    fn next_own_event(&self) -> Time {
        let orphan = self.orphans.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
        self.change.unwrap_or(Time::MAX).min(orphan)
    }

    /// Starts transmitting the next buffered packet on `carrier`, which is ready.
    fn start_transmission(&mut self, now: Time, carrier: CarrierId, out: &mut Outbox) {
        let leg = self.leg_of(carrier);
        let link = self.carriers[carrier as usize].as_mut().expect("a carrier with a waiting packet exists");
        let begun = link.start_transmission(now, out);
        self.departures.set(carrier, link.next_departure());
        self.launch_sent(leg, begun);
    }

    /// Processes the first arrival.
    #[inline]
    fn arrive(&mut self, now: Time, out: &mut Outbox) {
        let Some(Due { number: carrier, item: slot, .. }) = self.arrivals.pop() else { return };
        self.prefetch_arrivals();
        let mut fate = channel::Fate::Intact;
        if self.errors {
            let link =
                self.carriers[carrier as usize].as_mut().expect("a carrier with a packet in flight exists");
            fate = link.apply_errors(now, self.flights.packet(slot));
        }
        if fate == channel::Fate::Lost {
            out.drop(self.flights.take(slot).into_inner(), CORRUPTED);
        } else {
            match self.receiver(carrier) {
                Receiver::Site(site) => out.send_with(Port(site as u16), || self.flights.take(slot)),
                Receiver::Satellite(satellite) => self.relay(now, satellite, slot, out),
            }
        }
        self.skip_cancelled();
    }

    /// Removes cancelled arrivals up to the next valid arrival.
    #[inline]
    fn skip_cancelled(&mut self) {
        while self.cancelled > 0 {
            let Some(Due { at, number, item }) = self.arrivals.first() else { return };
            if self.flights.is_at(item, number, at) {
                return;
            }
            self.arrivals.pop();
            self.cancelled -= 1;
        }
    }

    /// Returns the time of the next arrival, and its carrier.
    #[inline]
    fn next_arrival(&self) -> Option<(Time, CarrierId)> {
        self.arrivals.first().map(|due| (due.at, due.number))
    }

    /// Returns the time and the carrier of the next arrival or departure from a buffer.
    #[inline]
    fn due(&self) -> Option<(Time, CarrierId)> {
        match (self.next_arrival(), self.departures.first()) {
            (Some(arrival), Some(departure)) => Some(arrival.min(departure)),
            (arrival, departure) => arrival.or(departure),
        }
    }

    /// Sends a packet of a site up over the antenna from which its path is shortest.
    fn send_up(&mut self, now: Time, site: u32, packet: Packet, out: &mut Outbox) {
        if packet.destination.is_group() {
            return self.send_copies_up(now, site, packet, out);
        }
        let Some(tree) = self.tree_of(&packet) else { return out.drop(packet, NO_PATH) };
        if self.balance.is_some() && self.topology.sites[site as usize].serving.iter().any(Option::is_some) {
            let (antenna, satellite) = match self.admit(now, site, tree, &packet) {
                Ok(first) => first,
                Err(reason) => return out.drop(packet, reason),
            };
            self.trace_path(now, site, satellite, tree, &packet, out);
            return self.offer(now, self.uplink_leg(site, antenna, satellite), packet, out);
        }
        let Some((antenna, satellite)) = self.nearest_antenna(now, site, tree) else {
            return out.drop(packet, NO_SATELLITE);
        };
        self.trace_path(now, site, satellite, tree, &packet, out);
        self.offer(now, self.uplink_leg(site, antenna, satellite), packet, out);
    }

    /// Returns the antenna of a site from which the path in a tree is shortest, and the satellite
    /// that serves it.
    #[inline]
    fn nearest_antenna(&mut self, now: Time, site: u32, tree: u32) -> Option<(u32, u32)> {
        let ground = &self.topology.sites[site as usize];
        let mut best: Option<(Cost, u32, u32)> = None;
        match &ground.serving[..] {
            [only] => best = only.map(|satellite| (0, 0, satellite)),
            several => {
                let costs = &self.routes.tree(tree as usize, now, &self.topology).paths.costs;
                for (antenna, satellite) in several.iter().enumerate() {
                    let Some(satellite) = *satellite else { continue };
                    let cost = costs[satellite as usize];
                    if best.is_none_or(|(known, _, _)| cost < known) {
                        best = Some((cost, antenna as u32, satellite));
                    }
                }
            }
        }
        best.map(|(_, antenna, satellite)| (antenna, satellite))
    }

    #[inline]
    fn deliver(&mut self, now: Time, receiver: Receiver, packet: Packet, out: &mut Outbox) {
        match receiver {
            Receiver::Site(site) => out.send(Port(site as u16), packet),
            Receiver::Satellite(satellite) => self.forward(now, satellite, packet, out),
        }
    }
}

impl Stage for Constellation {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        self.apply_changes(now, out);
        self.send_up(now, u32::from(port.0), packet, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.apply_changes(now, out);
        while let Some(entry) = self.orphans.first_entry().filter(|entry| entry.key().0 <= now) {
            let Orphan { packet, carrier, receiver } = entry.remove();
            let mut packet = packet.into_inner();
            let link = self.carriers[carrier as usize].as_mut().expect("the packet was on it");
            if link.apply_errors(now, &mut packet) == channel::Fate::Lost {
                out.drop(packet, CORRUPTED);
            } else {
                self.deliver(now, receiver, packet, out);
            }
        }
        while let Some((at, carrier)) = self.due().filter(|(at, _)| *at <= now) {
            if self.departures.first() == Some((at, carrier)) {
                self.start_transmission(now, carrier, out);
            }
            if self.next_arrival() == Some((at, carrier)) {
                self.arrive(now, out);
            }
        }
    }

    fn wake_until(&mut self, now: Time, until: &dyn Fn() -> Time, max: u64, out: &mut Outbox) -> u64 {
        self.wake(now, out);
        let (mut wakes, mut end) = (1, None);
        while let (Some((at, carrier)), false) = (self.next_arrival(), out.has_sent()) {
            let end = *end.get_or_insert_with(|| self.next_own_event().min(until()));
            let departs = self.departures.first().is_some_and(|(departure, _)| departure <= at);
            if wakes >= max || at >= end || departs || self.is_downlink(carrier) {
                break;
            }
            self.arrive(at, out);
            wakes += u64::from(self.arrivals.first().is_none_or(|next| next.at > at));
        }
        wakes
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        let due = self.due().map(|(at, _)| at);
        let orphan = self.orphans.first_key_value().map(|((at, _), _)| *at);
        [due, orphan, self.change].into_iter().flatten().min()
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        self.orphans.values().for_each(|orphan| orphan.packet.read(|packet| held.add(packet)));
        let buffered = self.carriers.iter().flatten().map(|carrier| carrier.buffered());
        for more in buffered.chain([self.flights.held()]) {
            held.packets += more.packets;
            held.bytes += more.bytes;
        }
        held
    }

    fn report(&self, now: Time, report: &mut Report) {
        for (name, statistics) in self.site_names.iter().zip(&self.statistics) {
            statistics.report(now, name, report);
        }
        let handovers = |site: u32| self.statistics[site as usize].handovers();
        self.flows.iter().flatten().for_each(|path| path.report(handovers, report));
        let mut pending = vec![Held::default(); self.carriers.len()];
        for (carrier, flight) in self.flights.all().filter(|(_, flight)| flight.sent > now) {
            let of_carrier = &mut pending[carrier as usize];
            of_carrier.packets += 1;
            of_carrier.bytes += u64::from(flight.size);
        }
        for ((carrier, lane), pending) in self.carriers.iter().zip(&self.lanes).zip(pending) {
            carrier.iter().for_each(|carrier| carrier.report(lane, now, pending, report));
        }
    }
}
