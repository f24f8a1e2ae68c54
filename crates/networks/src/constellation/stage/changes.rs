//! Changes of the topology and their effect on packets: handovers at sites, and inter-satellite
//! links that go down.

use super::{Constellation, Stray, Taker, HANDED_OVER, NO_SATELLITE, VANISHED};
use crate::constellation::carrier::Cut;
use crate::constellation::flights::CarrierId;
use crate::constellation::serving::Handover;
use crate::constellation::topology::Change;
use crate::fate::Fate;
use bentpipe_core::{Span, Time, Whole};
use bentpipe_stage::{DropReason, Outbox, Packet};

impl Constellation {
    /// Applies all changes of the topology up to `now`, and their effect on packets.
    pub(super) fn catch_up(&mut self, now: Time, out: &mut Outbox) {
        if self.change.is_none_or(|at| at > now) {
            return;
        }
        while let Some((at, changes)) = self.topology.advance(now) {
            for change in changes {
                match change {
                    Change::Handover { site, antenna, from, to } => {
                        self.hand_over(at, site as u32, antenna as u32, (from, to), out);
                    }
                    Change::Isl { index, up: false } => self.vanish(at, index as u32, out),
                    Change::Isl { .. } => {}
                }
            }
        }
        self.change = self.topology.next(now);
    }

    fn hand_over(
        &mut self,
        now: Time,
        site: u32,
        antenna: u32,
        (from, to): (Option<u32>, Option<u32>),
        out: &mut Outbox,
    ) {
        let free = now + self.handover.interruption;
        let (up, down) = (self.up(site, antenna), self.down(site, antenna));
        let rising = self.cut(up, now, now, free);
        let falling = self.cut(down, now, now + self.handover.overlap, free);
        self.note_handover(now, site, antenna, (from, to), falling.waiting.len(), out);
        if let Some(from) = from {
            self.stray(rising.sent, up, Taker::Satellite(from), self.handover.packets, HANDED_OVER, out);
            // What the old satellite still sends is received: that is the purpose of the overlap.
            let heard =
                if self.handover.overlap > Span::ZERO { Fate::Forward } else { self.handover.packets };
            self.stray(falling.sent, down, Taker::Site(site), heard, HANDED_OVER, out);
            for packet in falling.waiting {
                match self.handover.packets {
                    Fate::Forward => self.forward(now, from, packet, out),
                    Fate::Lose => out.drop(packet, HANDED_OVER),
                }
            }
        }
        for packet in rising.waiting {
            match to {
                Some(to) => self.offer(now, self.rise(site, antenna, to), packet, out),
                None => out.drop(packet, NO_SATELLITE),
            }
        }
    }

    fn note_handover(
        &mut self,
        now: Time,
        site: u32,
        antenna: u32,
        (from, to): (Option<u32>, Option<u32>),
        waiting: usize,
        out: &mut Outbox,
    ) {
        let ground = &self.topology.sites[site as usize];
        let dark = ground.serving.iter().all(Option::is_none);
        self.tallies[site as usize].note(now, (from, to), dark);
        if let Some(probe) = self.handovers[site as usize] {
            Handover { site, antenna, from, to, waiting }.record(now, &self.topology, probe, out);
        }
    }

    fn vanish(&mut self, now: Time, isl: u32, out: &mut Outbox) {
        let (a, b) = self.topology.isls[isl as usize].ends;
        for (from, to, way) in [(a, b, 2 * isl), (b, a, 2 * isl + 1)] {
            let carrier = self.across(way);
            let cut = self.cut(carrier, now, now, now);
            self.stray(cut.sent, carrier, Taker::Satellite(to), self.vanished, VANISHED, out);
            for packet in cut.waiting {
                match self.vanished {
                    Fate::Forward => self.forward(now, from, packet, out),
                    Fate::Lose => out.drop(packet, VANISHED),
                }
            }
        }
    }

    fn cut(&mut self, carrier: CarrierId, now: Time, end: Time, free: Time) -> Cut {
        let first = self.arrivals.first().map_or(Time::MAX, |due| due.at);
        let lane = &mut self.lanes[carrier as usize];
        match &mut self.carriers[carrier as usize] {
            Some(link) => {
                let flying = if lane.last() < first { Vec::new() } else { self.flights.on(carrier) };
                let cut = link.cut(lane, now, (end, free), &mut self.flights, &flying);
                self.begins.set(carrier, link.next_begin());
                self.cancelled += cut.flying;
                self.forget_cancelled();
                cut
            }
            None => Cut { sent: Vec::new(), waiting: Vec::new(), flying: 0 },
        }
    }

    /// Handles a packet in flight on a carrier that was cut: it arrives nevertheless, or is lost.
    fn stray(
        &mut self,
        sent: Vec<(Time, Packet)>,
        carrier: CarrierId,
        taker: Taker,
        fate: Fate,
        reason: DropReason,
        out: &mut Outbox,
    ) {
        for (arrival, packet) in sent {
            match fate {
                Fate::Lose => out.drop(packet, reason),
                Fate::Forward => {
                    let stray = Stray { packet: Whole::new(packet), carrier, taker };
                    self.strays.insert((arrival, self.stray_count), stray);
                    self.stray_count += 1;
                }
            }
        }
    }
}
