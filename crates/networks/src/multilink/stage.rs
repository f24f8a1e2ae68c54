//! A stage with all links of a multilink. Input port 0 receives packets from the links' `from`, and
//! input port 1 packets from their `to`. Output port 0 leads to `to`, and output port 1 to `from`.

use super::policy::{Decision, Policy, View};
use super::{Config, Fate, Handover};
use bentpipe_core::{Column, Probe, Rate, Report, Stream, Table, Time, Whole};
use bentpipe_link::{self as link, Link};
use bentpipe_stage::{Change, DropReason, Held, Outbox, Packet, Port, Stage};
use std::collections::VecDeque;

/// Drop reason: the packet arrived while no link was available.
pub const NO_LINK: DropReason = DropReason::new("no link during a handover");
/// Drop reason: the packet's link was cut in a handover.
pub const HANDED_OVER: DropReason = DropReason::new("link cut in a handover");

/// Trace of the handovers of a multilink.
pub static SELECTION: Table = Table {
    name: "selection",
    entity: "multilink",
    about: "when a handover starts, for each direction that it affects",
    columns: &[
        Column::whole("direction", "1", "direction: 0 from the links' `from` to their `to`, 1 back"),
        Column::whole("from", "1", "index of the old link in `links`, from 0"),
        Column::whole("to", "1", "index of the new link in `links`, from 0"),
        Column::whole(
            "waiting",
            "packets",
            "packets that waited in the old link, the one in transmission included",
        ),
    ],
};

/// Configurations of the links of a multilink. Each link has one configuration from `from` to `to`
/// and one for the opposite direction.
pub type Links = Vec<[link::Config; 2]>;

/// The parts from which a multilink is built.
pub struct Parts {
    /// The links in their order, each from `from` to `to` and in the opposite direction. They
    /// deliver packets to output ports 0 and 1, respectively.
    pub links: Vec<[Link; 2]>,
    /// Rate of each link, from `from` to `to` and in the opposite direction.
    pub rates: Vec<[Rate; 2]>,
    /// The handovers of the scenario's `[[handover]]` entries, in order of time.
    pub schedule: Vec<(Time, Decision)>,
    /// The random stream of the policy.
    pub stream: Stream,
    /// Probe of the trace [`SELECTION`], if it is recorded.
    pub probe: Option<Probe>,
}

/// A multilink: several links between two nodes. At any time, one of them serves each direction.
pub struct Multilink {
    links: Vec<[Link; 2]>,
    rates: Vec<[Rate; 2]>,
    policy: Box<dyn Policy>,
    sides: [Side; 2],
    /// Number of offered bytes, by side.
    offered: [u64; 2],
    probe: Option<Probe>,
}

/// One direction of a multilink.
struct Side {
    number: usize,
    /// Index of the serving link; during an interruption, the index of the link that will serve
    /// from `opens_at` on.
    serving: usize,
    opens_at: Time,
    /// Fate of packets that arrive before `opens_at`.
    interruption_fate: Fate,
    /// Packets that wait for `opens_at`.
    waiting: VecDeque<Whole<Packet>>,
    /// Old links that continue to send until the end of their overlap.
    closing: Vec<ClosingLink>,
}

struct ClosingLink {
    at: Time,
    link: usize,
    packets: Fate,
}

impl Multilink {
    /// Creates the stage at the start of a run.
    pub fn new(config: &Config, parts: Parts) -> Multilink {
        let Parts { links, rates, schedule, stream, probe } = parts;
        let policy = config.policy.build(&config.links, config.handover, schedule, stream);
        let position = |name: &String| config.links.iter().position(|link| link == name);
        let back = config
            .back
            .as_ref()
            .map_or(0, |name| position(name).expect("the check requires known names of links"));
        let sides = [(0, 0), (1, back)].map(|(number, serving)| Side {
            number,
            serving,
            opens_at: Time::ZERO,
            interruption_fate: Fate::Forward,
            waiting: VecDeque::new(),
            closing: Vec::new(),
        });
        Multilink { links, rates, policy, sides, offered: [0; 2], probe }
    }

    fn hand_over(&mut self, now: Time, decision: Decision, out: &mut Outbox) {
        for side in self.sides.iter_mut().filter(|side| decision.direction.includes(side.number)) {
            if let Some(probe) = self.probe {
                let waiting = self.links[side.serving][side.number].unsent(now) + side.waiting.len();
                let row = [side.number, side.serving, decision.to, waiting].map(|value| value as f64);
                out.record(probe, now, &row);
            }
            side.hand_over(now, decision.to, decision.handover, &mut self.links, out);
        }
    }
}

impl Side {
    fn hand_over(
        &mut self,
        now: Time,
        to: usize,
        handover: Handover,
        links: &mut [[Link; 2]],
        out: &mut Outbox,
    ) {
        let Handover { interruption, overlap, packets } = handover;
        let old = std::mem::replace(&mut self.serving, to);
        self.closing.retain(|closing| closing.link != to);
        self.opens_at = now + interruption;
        self.interruption_fate = packets;
        if old != to || overlap.as_nanos() == 0 {
            self.closing.push(ClosingLink { at: now + overlap, link: old, packets });
        }
        self.advance(now, links, out);
    }

    /// Cuts the links whose overlap has ended, and sends the waiting packets once the serving link
    /// is available.
    fn advance(&mut self, now: Time, links: &mut [[Link; 2]], out: &mut Outbox) {
        let number = self.number;
        while let Some(index) = self.closing.iter().position(|closing| closing.at <= now) {
            let ClosingLink { link, packets, .. } = self.closing.remove(index);
            let waiting = links[link][number].cut(now);
            match packets {
                Fate::Lose => {
                    let in_flight = links[link][number].lose(now);
                    in_flight.into_iter().chain(waiting).for_each(|packet| out.drop(packet, HANDED_OVER));
                }
                Fate::Forward if self.opens_at > now => {
                    waiting.into_iter().rev().for_each(|packet| self.waiting.push_front(Whole::new(packet)));
                }
                Fate::Forward => {
                    let link = &mut links[self.serving][number];
                    waiting.into_iter().for_each(|packet| link.receive(now, Port(0), packet, out));
                }
            }
        }
        if self.opens_at <= now {
            for packet in self.waiting.drain(..) {
                links[self.serving][number].receive(now, Port(0), packet.into_inner(), out);
            }
        }
    }

    fn next(&self) -> Option<Time> {
        let opens = (!self.waiting.is_empty()).then_some(self.opens_at);
        self.closing.iter().map(|closing| closing.at).chain(opens).min()
    }
}

impl Stage for Multilink {
    #[inline]
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        let number = port.0 as usize;
        let side = &mut self.sides[number];
        self.offered[number] += u64::from(packet.size);
        if side.opens_at <= now && side.waiting.is_empty() {
            self.links[side.serving][number].receive(now, Port(0), packet, out);
        } else if side.opens_at <= now || side.interruption_fate == Fate::Forward {
            // The packet follows the packets that already wait.
            side.waiting.push_back(Whole::new(packet));
        } else {
            out.drop(packet, NO_LINK);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        // Packets whose arrival coincides with a cut are delivered, so the links are processed
        // first.
        for link in self.links.iter_mut().flatten() {
            if link.next_wake().is_some_and(|at| at <= now) {
                link.wake(now, out);
            }
        }
        for side in &mut self.sides {
            if side.next().is_some_and(|at| at <= now) {
                side.advance(now, &mut self.links, out);
            }
        }
        while self.policy.next().is_some_and(|at| at <= now) {
            let view = View {
                serving: [0, 1].map(|side: usize| self.sides[side].serving),
                offered: self.offered,
                rates: &self.rates,
            };
            if let Some(decision) = self.policy.decide(now, &view) {
                self.hand_over(now, decision, out);
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let links = self.links.iter().flatten().filter_map(Stage::next_wake);
        links.chain(self.sides.iter().filter_map(Side::next)).chain(self.policy.next()).min()
    }

    fn change(&mut self, now: Time, change: Change<'_>, out: &mut Outbox) {
        let (before, after) = change.of::<Links>();
        for (link, (before, after)) in before.iter().zip(after).enumerate() {
            for (side, (before, after)) in before.iter().zip(after).enumerate() {
                if before != after {
                    self.links[link][side].change(now, Change::new(before, after), out);
                    self.rates[link][side] = *after.rate;
                }
            }
        }
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        for one in self.links.iter().flatten().map(Stage::held) {
            held.packets += one.packets;
            held.bytes += one.bytes;
        }
        let waiting = self.sides.iter().flat_map(|side| &side.waiting);
        waiting.for_each(|packet| packet.read(|packet| held.add(packet)));
        held
    }

    fn finish(&mut self, now: Time, out: &mut Outbox) {
        self.links.iter_mut().flatten().for_each(|link| link.finish(now, out));
    }

    fn report(&self, now: Time, report: &mut Report) {
        self.links.iter().flatten().for_each(|link| link.report(now, report));
    }
}
