//! Changes of the topology and their effect on packets: handovers at sites, and inter-satellite
//! links that go down.

use super::{Constellation, Orphan, Receiver, HANDED_OVER, ISL_DOWN, NO_SATELLITE};
use crate::constellation::carrier::Cut;
use crate::constellation::flights::CarrierId;
use crate::constellation::serving::Handover;
use crate::constellation::topology::Change;
use crate::fate::Fate;
use bentpipe_core::{Span, Time, Whole};
use bentpipe_stage::{DropReason, Outbox, Packet};

impl Constellation {
    /// Applies all changes of the topology up to `now`, and their effect on packets.
    pub(super) fn apply_changes(&mut self, now: Time, out: &mut Outbox) {
        if self.change.is_none_or(|at| at > now) {
            return;
        }
        while let Some((at, changes)) = self.topology.advance(now) {
            for change in changes {
                match change {
                    Change::Handover { site, antenna, from, to } => {
                        self.apply_handover(at, site as u32, antenna as u32, (from, to), out);
                    }
                    Change::Isl { index, up: false } => self.drop_isl(at, index as u32, out),
                    Change::Isl { .. } => {}
                }
            }
        }
        self.change = self.topology.next(now);
    }

    fn apply_handover(
        &mut self,
        now: Time,
        site: u32,
        antenna: u32,
        (from, to): (Option<u32>, Option<u32>),
        out: &mut Outbox,
    ) {
        let free = now + self.handover.interruption;
        let (up, down) = (self.up_carrier(site, antenna), self.down_carrier(site, antenna));
        let rising = self.cut(up, now, now, free);
        let falling = self.cut(down, now, now + self.handover.overlap, free);
        self.record_handover(now, site, antenna, (from, to), falling.waiting.len(), out);
        if let Some(from) = from {
            self.keep_orphans(
                rising.sent,
                up,
                Receiver::Satellite(from),
                self.handover.packets,
                HANDED_OVER,
                out,
            );
            // Packets that the old satellite still sends during the overlap are received.
            let heard =
                if self.handover.overlap > Span::ZERO { Fate::Forward } else { self.handover.packets };
            self.keep_orphans(falling.sent, down, Receiver::Site(site), heard, HANDED_OVER, out);
            for packet in falling.waiting {
                match self.handover.packets {
                    Fate::Forward => self.forward(now, from, packet, out),
                    Fate::Lose => out.drop(packet, HANDED_OVER),
                }
            }
        }
        for packet in rising.waiting {
            match to {
                Some(to) => self.offer(now, self.uplink_leg(site, antenna, to), packet, out),
                None => out.drop(packet, NO_SATELLITE),
            }
        }
    }

    fn record_handover(
        &mut self,
        now: Time,
        site: u32,
        antenna: u32,
        (from, to): (Option<u32>, Option<u32>),
        waiting: usize,
        out: &mut Outbox,
    ) {
        let ground = &self.topology.sites[site as usize];
        let in_outage = ground.serving.iter().all(Option::is_none);
        self.statistics[site as usize].count_handover(now, (from, to), in_outage);
        if let Some(probe) = self.handovers[site as usize] {
            Handover { site, antenna, from, to, waiting }.record(now, &self.topology, probe, out);
        }
    }

    fn drop_isl(&mut self, now: Time, isl: u32, out: &mut Outbox) {
        let (a, b) = self.topology.isls[isl as usize].ends;
        for (from, to, arc) in [(a, b, 2 * isl), (b, a, 2 * isl + 1)] {
            let carrier = self.isl_carrier(arc);
            let cut = self.cut(carrier, now, now, now);
            self.keep_orphans(cut.sent, carrier, Receiver::Satellite(to), self.vanished, ISL_DOWN, out);
            for packet in cut.waiting {
                match self.vanished {
                    Fate::Forward => self.forward(now, from, packet, out),
                    Fate::Lose => out.drop(packet, ISL_DOWN),
                }
            }
        }
    }

    fn cut(&mut self, carrier: CarrierId, now: Time, end: Time, free: Time) -> Cut {
        let first = self.arrivals.first().map_or(Time::MAX, |due| due.at);
        let lane = &mut self.lanes[carrier as usize];
        match &mut self.carriers[carrier as usize] {
            Some(link) => {
                let in_flight = if lane.last() < first { Vec::new() } else { self.flights.on(carrier) };
                let cut = link.cut(lane, now, (end, free), &mut self.flights, &in_flight);
                self.departures.set(carrier, link.next_departure());
                self.cancelled += cut.in_flight;
                self.skip_cancelled();
                cut
            }
            None => Cut { sent: Vec::new(), waiting: Vec::new(), in_flight: 0 },
        }
    }

    /// Processes a packet that was in flight on a carrier that was cut: it still arrives, or it is
    /// lost.
    fn keep_orphans(
        &mut self,
        sent: Vec<(Time, Packet)>,
        carrier: CarrierId,
        receiver: Receiver,
        fate: Fate,
        reason: DropReason,
        out: &mut Outbox,
    ) {
        for (arrival, packet) in sent {
            match fate {
                Fate::Lose => out.drop(packet, reason),
                Fate::Forward => {
                    let orphan = Orphan { packet: Whole::new(packet), carrier, receiver };
                    self.orphans.insert((arrival, self.orphan_count), orphan);
                    self.orphan_count += 1;
                }
            }
        }
    }
}
