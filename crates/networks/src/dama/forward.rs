//! The forward link (DVB-S): one transmitter at the gateway that all terminals hear.
//!
//! Data pass through one queue and are delivered to the terminal to which they are addressed.
//! Signalling does not wait in this queue: a plan is sent at once, because real systems reserve
//! capacity for it. Its transmission time is still taken from the data: packets that arrive later
//! are sent later by that time. Two effects are neglected, both below a millisecond at usual rates:
//! packets already in the queue are not delayed by the plan, and the plan does not wait for the
//! packet in transmission. A plan reaches only the terminals to which it assigns slots, so that the
//! others can sleep.
//!
//! With a framing, plans are framed like data. If two packets share a unit, errors are drawn for
//! each packet separately, because the packets may be for different terminals.
//!
//! **ACM.** A packet waits until its transmission starts, and is then sent with the MODCOD that the
//! control loop of its terminal ([`acm`]) has chosen. All terminals share one queue, and a packet
//! for a terminal in the rain takes longer. The queue discipline is informed of the rate of each
//! packet. Packets for a terminal in an outage are dropped when they reach the head of the queue
//! ([`acm::OUTAGE`]). A packet is lost ([`acm::FADED`]) if the terminal's signal on arrival is
//! below the threshold of the packet's MODCOD. Signalling is sent with the most robust MODCOD, and
//! lost below the threshold of that MODCOD.
//!
//! With ACM and GSE, packets of all terminals with one MODCOD share baseband frames
//! ([`acm::frames`]). Without a framing, a packet takes only its own bits, as in frames that are
//! always full. With any other framing, each packet takes whole units.
//!
//! **Moving satellites.** A packet has the delay of the control centre's superframe in which it is
//! sent ([`super::timing`]). While no satellite serves, data wait in the queue, and signalling is
//! lost ([`NO_SATELLITE`]).
//!
//! **Multicast.** A packet of a multicast group passes the queue and the transmitter once, and then
//! reaches all terminals that lead to receivers of the group: each gets a copy, with its own delay
//! and its own errors ([`crate::multicast`]). With ACM the packet is sent with the most robust
//! MODCOD of these terminals. A terminal in an outage does not count, unless all are.
//!
//! Ports: input port i takes data for terminal i, and input port n takes signalling, where n is the
//! number of terminals. Output port i leads to terminal i. Output port n + i bypasses terminal i
//! and leads to its node; it takes data on which the terminal does not act.

use super::board::SharedBoard;
use super::config::Config;
use super::frame::Frame;
use super::message::{LogonResponse, Tbtp};
use super::timing::Timeline;
use crate::constellation::NO_SATELLITE;
use crate::multicast::Copying;
use crate::propagation::orbit::Handovers;
use bentpipe_core::{Fraction, NodeId, Probe, Rate, Report, Span, Stream, Time};
use bentpipe_link::acm::frames::{Ending, Frames, Sent};
use bentpipe_link::acm::{self, Adaptation, Modcod};
use bentpipe_link::channel::{Errors, Fate, CORRUPTED};
use bentpipe_link::framing::{Added, Unit, Verdicts, TOO_LONG};
use bentpipe_link::transmitter::Transmitter;
use bentpipe_stage::{Change, Held, Outbox, Packet, Port, Stage};
use std::collections::{BTreeMap, VecDeque};

/// The parts of a forward link.
pub struct Parts {
    /// Name of the link, in results.
    pub name: String,
    /// Configuration of the link.
    pub config: super::config::Forward,
    /// Fraction of the rate that may be granted to Quick-Start requests.
    pub grants: Option<Fraction>,
    /// The terminals, with their addresses, propagation delays and errors.
    pub terminals: Vec<ForwardTerminal>,
    /// Time structure of the return link.
    pub frame: Frame,
    /// Maximum delay from the start of a superframe at the control centre to its start at a
    /// terminal.
    pub last: Span,
    /// Reports the handovers of moving satellites.
    pub handovers: Option<Handovers>,
    /// Board on which terminals find their slots.
    pub(super) board: SharedBoard,
    /// The link's random stream.
    pub stream: Stream,
    /// Probe of the trace [`bentpipe_link::TRACE`], if it is recorded.
    pub probe: Option<Probe>,
}

/// A terminal as seen by the forward link.
pub struct ForwardTerminal {
    /// Address of the terminal.
    pub address: NodeId,
    /// The terminal's superframes, and its delays in each.
    pub timeline: Timeline,
    /// True if the terminal finds its slots on the board when it is awake.
    pub reads_board: bool,
    /// True if arriving data do not change the terminal's state; they then bypass its stage.
    pub bypass: bool,
    /// Errors on the path to the terminal.
    pub errors: Option<Errors>,
    /// Additional errors of the burst time plans for the terminal.
    pub plan_errors: Option<Errors>,
    /// With ACM: the terminal's name in results, and its control loop.
    pub acm: Option<(String, Adaptation)>,
    /// The terminal's own Es/N0 in clear sky.
    pub esn0_db: Option<acm::Decibel>,
}

/// The place of a terminal in a flight to all terminals of a multicast group. Such a flight ends
/// with the transmission, and a flight to each terminal follows.
const GROUP: u16 = u16::MAX;

/// A packet between transmitter and terminal.
struct Flight {
    arrival: Time,
    /// Time at which the last bit leaves the gateway.
    sent: Time,
    terminal: u16,
    added: Added,
    /// The MODCOD of data, with ACM.
    modcod: Option<&'static Modcod>,
    packet: Packet,
}

/// The forward link of a star network.
pub struct Forward {
    name: String,
    transmitter: Transmitter,
    /// Size in bytes of the longest packet that the framing can carry.
    longest: u32,
    terminals: Vec<ForwardTerminal>,
    frame: Frame,
    board: SharedBoard,
    /// Offset of the superframes of the terminal that starts them last.
    last: Span,
    handovers: Option<Handovers>,
    /// End of the present superframe, if satellites move. The delays are constant within a
    /// superframe.
    until: Time,
    /// True if no satellite serves in the present superframe.
    in_outage: bool,
    /// Packets in order of arrival.
    in_flight: VecDeque<Flight>,
    held_bytes: u64,
    error_drops: u64,
    /// The terminal that leads to each destination, if packets wait in a buffer.
    exits: BTreeMap<NodeId, u16>,
    copying: Copying,
    /// The terminal at each node.
    places: BTreeMap<NodeId, u16>,
    /// The symbol rate and the signalling rate, with ACM.
    rates: Option<Rates>,
    /// Baseband frames that packets share, with ACM and GSE.
    frames: Option<Frames>,
}

/// The rates of a link with ACM.
struct Rates {
    /// Symbol rate, that is the rate at one bit per symbol.
    symbols: Rate,
    signalling: Rate,
}

impl Rates {
    fn of(config: &super::config::Forward) -> Option<Rates> {
        config.acm.as_ref().map(|_| Rates { symbols: *config.rate, signalling: config.signalling_rate() })
    }
}

impl Forward {
    /// Creates an idle link.
    pub fn new(parts: Parts) -> Forward {
        let Parts { name, config, grants, mut terminals, frame, last, handovers, board, stream, probe } =
            parts;
        if 2 * terminals.len() > usize::from(u16::MAX) {
            // The link has no output port that bypasses each terminal.
            terminals.iter_mut().for_each(|terminal| terminal.bypass = false);
        }
        let (longest, queue) = (config.framing.longest(), config.queue.build(*config.rate));
        let mut transmitter =
            Transmitter::new(*config.rate, queue, config.signalling_framer(), stream, probe);
        transmitter.grant(grants);
        if config.acm.is_some() || handovers.is_some() {
            // The MODCOD of a packet is chosen when its transmission starts.
            transmitter.hold();
        }
        Forward {
            rates: Rates::of(&config),
            frames: config.acm.as_ref().and_then(|_| Frames::new(&config.framing)),
            copying: Copying::default(),
            places: terminals.iter().zip(0..).map(|(terminal, place)| (terminal.address, place)).collect(),
            name,
            transmitter,
            longest,
            last,
            handovers,
            until: Time::ZERO,
            in_outage: false,
            terminals,
            frame,
            board,
            in_flight: VecDeque::new(),
            held_bytes: 0,
            error_drops: 0,
            exits: BTreeMap::new(),
        }
    }

    /// Sets the copying of multicast packets in this network.
    pub fn copy_by(&mut self, copying: Copying) {
        self.copying = copying;
    }

    /// Starts the flights of a multicast packet, whose transmission has ended, to the terminals of
    /// its group.
    fn copy(&mut self, flight: Flight, out: &mut Outbox) {
        let Flight { sent, added, modcod, packet, .. } = flight;
        let places = &self.places;
        let copies = self.copying.divide(packet.destination, packet.leg, |exit| places[&exit]);
        for (index, (terminal, leg)) in copies.into_iter().enumerate() {
            let copy = Packet { leg, ..packet.clone() };
            if index > 0 {
                out.create_held(&copy);
            }
            self.launch_framed(sent, terminal, modcod, added, copy);
        }
    }

    /// Adds a packet to those in flight to a terminal, in order of arrival. Delays differ little,
    /// so it is inserted near the end.
    fn launch(&mut self, sent: Time, terminal: u16, modcod: Option<&'static Modcod>, packet: Packet) {
        // A unit that a packet shares with the previous packet counts for both, since the packets
        // may be for different terminals.
        let added = self.transmitter.framed().map_or(Added::default(), |(_, added)| Added {
            units: added.units + u32::from(added.shares),
            shares: false,
        });
        self.launch_framed(sent, terminal, modcod, added, packet);
    }

    fn launch_framed(
        &mut self,
        sent: Time,
        terminal: u16,
        modcod: Option<&'static Modcod>,
        added: Added,
        packet: Packet,
    ) {
        let delay = match terminal {
            GROUP => Span::ZERO,
            terminal => self.terminals[usize::from(terminal)].timeline.timing().one_way,
        };
        let arrival = sent + delay;
        self.held_bytes += u64::from(packet.size);
        let mut at = self.in_flight.len();
        while at > 0 && self.in_flight[at - 1].arrival > arrival {
            at -= 1;
        }
        self.in_flight.insert(at, Flight { arrival, sent, terminal, added, modcod, packet });
    }

    /// Returns true for data whose transmission has not ended. (A plan is counted once, however
    /// many terminals receive it.)
    fn is_unsent(&self, flight: &Flight, now: Time) -> bool {
        flight.sent > now && !flight.packet.body.is_signalling()
    }

    /// Applies the delays of the superframe that has started, and holds data back while no
    /// satellite serves.
    fn enter_superframe(&mut self, now: Time) {
        let superframe = now.since(Time::ZERO) / self.frame.superframe();
        self.until = Time::ZERO + self.frame.superframe() * (superframe + 1);
        let first = &self.terminals[0].timeline;
        self.in_outage = !first.is_served(&self.frame, superframe);
        if self.in_outage {
            self.transmitter.pause(self.until);
        }
        for terminal in &mut self.terminals {
            terminal.timeline.enter(&self.frame, superframe);
        }
    }

    /// Updates delays and handovers to `now`.
    #[inline]
    fn advance(&mut self, now: Time, out: &mut Outbox) {
        if self.handovers.is_some() {
            self.advance_orbit(now, out);
        }
    }

    #[cold]
    fn advance_orbit(&mut self, now: Time, out: &mut Outbox) {
        if now >= self.until {
            self.enter_superframe(now);
        }
        if let Some(handovers) = &mut self.handovers {
            handovers.catch_up(now, self.transmitter.buffered().packets, out);
        }
    }

    /// Applies a new rate to the data that have not been sent. The end of a transmission of
    /// signalling does not change.
    fn change_rate(&mut self, now: Time, rate: Rate) {
        let ends = self.transmitter.set_rate(now, rate);
        let is_unsent = |index: &usize| self.is_unsent(&self.in_flight[*index], now);
        let mut waiting: Vec<usize> = (0..self.in_flight.len()).filter(is_unsent).collect();
        waiting.sort_by_key(|index| self.in_flight[*index].sent);
        // In reverse, because the transmitter may also be busy with signalling.
        for (index, end) in waiting.into_iter().rev().zip(ends.into_iter().rev()) {
            let flight = &mut self.in_flight[index];
            flight.arrival = end + flight.arrival.since(flight.sent);
            flight.sent = end;
        }
        self.in_flight.make_contiguous().sort_by_key(|flight| flight.arrival);
    }

    fn send_data(&mut self, now: Time, terminal: u16, mut packet: Packet, out: &mut Outbox) {
        let terminal = if packet.destination.is_group() { GROUP } else { terminal };
        if packet.size > self.longest {
            return out.drop(packet, TOO_LONG);
        }
        if self.transmitter.is_buffered() {
            self.exits.insert(packet.destination, terminal);
            if self.rates.is_some() {
                self.transmitter.keep(now, packet, out);
                self.start_adapted(now, out);
                return self.transmitter.observe(now, out);
            }
            let begun = self.transmitter.accept(now, packet, out);
            return self.launch_begun(begun);
        }
        match self.transmitter.offer(now, &mut packet, out) {
            Err(reason) => out.drop(packet, reason),
            Ok(sent) => self.launch(sent, terminal, None, packet),
        }
    }

    /// If the transmitter is free, starts transmitting the next packet or frame with the MODCOD of
    /// its terminal.
    fn start_adapted(&mut self, now: Time, out: &mut Outbox) {
        let (Some(rates), exits, terminals) = (&self.rates, &self.exits, &mut self.terminals) else { return };
        let (copying, places) = (&self.copying, &self.places);
        let mut choose = |packet: &Packet, out: &mut Outbox| {
            let terminal = exits[&packet.destination];
            if terminal == GROUP {
                let copies = copying.divide(packet.destination, packet.leg, |exit| places[&exit]);
                let modcods = copies.into_iter().filter_map(|(terminal, _)| {
                    let (_, adaptation) = terminals[usize::from(terminal)].acm.as_mut()?;
                    let modcod = adaptation.at(now);
                    adaptation.record(now, out);
                    modcod
                });
                let robust = modcods.min_by(|one, other| one.threshold_db.total_cmp(&other.threshold_db));
                return (GROUP, robust);
            }
            let (_, adaptation) = terminals[usize::from(terminal)]
                .acm
                .as_mut()
                .expect("with ACM each terminal has a control loop");
            let modcod = adaptation.at(now);
            adaptation.record(now, out);
            (terminal, modcod)
        };
        if let Some(frames) = &mut self.frames {
            let sent = frames.send(now, &mut self.transmitter, rates.symbols, &mut choose, out);
            let Some(Sent { at, modcod, packets }) = sent else { return };
            for Ending { receiver, added, packet } in packets {
                self.launch_framed(at, receiver, Some(modcod), added, packet);
            }
            return;
        }
        let mut chosen = (0, None);
        let mut rate = |packet: &Packet, out: &mut Outbox| {
            chosen = choose(packet, out);
            chosen.1.map(|modcod| modcod.rate(rates.symbols))
        };
        let Some((packet, sent)) = self.transmitter.begin_at(now, out, acm::OUTAGE, &mut rate) else {
            return;
        };
        self.launch(sent, chosen.0, chosen.1, packet);
    }

    /// Returns true if the terminal's signal is strong enough to receive a packet now.
    fn is_received(
        &mut self,
        now: Time,
        terminal: u16,
        modcod: Option<&'static Modcod>,
        signalling: bool,
    ) -> bool {
        let Some((_, adaptation)) = &mut self.terminals[usize::from(terminal)].acm else { return true };
        let heard = match modcod {
            Some(modcod) => adaptation.signal(now) >= modcod.threshold_db,
            None => !signalling || adaptation.receives_signalling(now),
        };
        if !heard {
            adaptation.lose();
        }
        heard
    }

    /// Sends a packet that has waited in a buffer to its terminal.
    fn launch_begun(&mut self, begun: Option<(Packet, Time)>) {
        if let Some((packet, sent)) = begun {
            self.launch(sent, self.exits[&packet.destination], None, packet);
        }
    }

    fn send_signalling(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        if self.in_outage {
            return out.drop(packet, NO_SATELLITE);
        }
        if let Some(rates) = &self.rates {
            self.transmitter.pace_signalling(rates.signalling);
        }
        let sent = self.transmitter.send_at_once(now, &packet);
        if let Some(response) = packet.body.of::<LogonResponse>() {
            self.launch(sent, response.terminal, None, packet);
        } else {
            // Each terminal receives its own copy, so that packet counts remain consistent.
            let plan = out.consume(packet);
            let Some(Tbtp { superframe, entries }) = plan.body.of() else { return };
            let shared = self.board.clone();
            let mut board = shared.open();
            let start = Time::ZERO + self.last + self.frame.superframe() * *superframe;
            board.begin_plan(now, *superframe, start);
            for (index, &(terminal, run)) in entries.iter().enumerate() {
                let again = index > 0 && entries[index - 1].0 == terminal;
                if self.receives_plan(sent, *superframe, terminal) && board.is_awake(terminal) {
                    board.assign(terminal, run);
                    if !again {
                        out.pass(plan.size);
                    }
                } else if !again {
                    let destination = self.terminals[usize::from(terminal)].address;
                    let copy = Packet { destination, ..plan.clone() };
                    out.create_held(&copy);
                    self.launch(sent, terminal, None, copy);
                }
            }
        }
    }

    /// Returns true if a terminal certainly has the plan of a superframe before the superframe
    /// starts. An arrival at the start is late.
    #[inline]
    fn receives_plan(&mut self, sent: Time, superframe: u64, terminal: u16) -> bool {
        let ForwardTerminal { timeline, reads_board, errors, plan_errors, acm, .. } =
            &mut self.terminals[usize::from(terminal)];
        let arrival = sent + timeline.timing().one_way;
        let in_time = arrival < timeline.start(&self.frame, superframe);
        let heard = acm.as_mut().is_none_or(|(_, adaptation)| adaptation.receives_signalling(arrival));
        *reads_board && in_time && heard && errors.is_none() && plan_errors.is_none()
    }
}

impl Stage for Forward {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        self.advance(now, out);
        if usize::from(port.0) < self.terminals.len() {
            self.send_data(now, port.0, packet, out);
        } else {
            self.send_signalling(now, packet, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.advance(now, out);
        if self.rates.is_some() {
            self.start_adapted(now, out);
        } else {
            let begun = self.transmitter.begin(now, out);
            self.launch_begun(begun);
        }
        while self.in_flight.front().is_some_and(|flight| flight.arrival <= now) {
            let flight = self.in_flight.pop_front().expect("a wake at an arrival follows a flight");
            self.held_bytes -= u64::from(flight.packet.size);
            if flight.terminal == GROUP {
                self.copy(flight, out);
                continue;
            }
            let Flight { arrival, terminal, added, modcod, mut packet, .. } = flight;
            let is_plan = packet.body.of::<Tbtp>().is_some();
            if !self.is_received(arrival, terminal, modcod, packet.body.is_signalling()) {
                out.drop(packet, acm::FADED);
                continue;
            }
            let framed = modcod.filter(|_| self.frames.is_some());
            let unit = framed.map_or(self.transmitter.unit(), |modcod| Unit {
                bytes: modcod.frame_bytes(),
                merges: false,
            });
            let stream = &mut self.transmitter.stream;
            let ForwardTerminal { errors, plan_errors, .. } = &mut self.terminals[usize::from(terminal)];
            let mut fate = match errors {
                None => Fate::Intact,
                Some(errors) if unit != Unit::default() => {
                    Verdicts::default().meet(unit, added, errors, arrival, &mut packet, stream)
                }
                Some(errors) => errors.meet(arrival, &mut packet, stream),
            };
            if let (Some(errors), Fate::Intact, true) = (plan_errors, fate, is_plan) {
                fate = errors.meet(arrival, &mut packet, stream);
            }
            self.error_drops += u64::from(fate != Fate::Intact);
            if fate == Fate::Lost {
                out.drop(packet, CORRUPTED);
            } else {
                let passes = self.terminals[usize::from(terminal)].bypass && !packet.body.is_signalling();
                let past = if passes { self.terminals.len() as u16 } else { 0 };
                out.send(Port(past + terminal), packet);
            }
        }
    }

    fn change(&mut self, now: Time, change: Change<'_>, out: &mut Outbox) {
        let (before, after) = change.of::<Config>();
        let (before, after) = (&before.forward, &after.forward);
        if let (Some(rates), Some(acm)) = (&mut self.rates, &after.acm) {
            // Transmissions in progress end as they were started.
            if let Some(changed) = Rates::of(after) {
                *rates = changed;
            }
            if before.acm != after.acm {
                for terminal in &mut self.terminals {
                    let clear = acm.clear(terminal.esn0_db);
                    if let Some((_, adaptation)) = &mut terminal.acm {
                        adaptation.change(now, acm.rule(), clear);
                    }
                }
            }
        } else if before.rate != after.rate {
            self.change_rate(now, *after.rate);
        }
        if before.queue != after.queue {
            let waiting = self.transmitter.set_queue(after.queue.build(*after.rate));
            if self.rates.is_some() || self.handovers.is_some() {
                self.transmitter.hold();
            }
            for packet in waiting {
                self.send_data(now, self.exits[&packet.destination], packet, out);
            }
        }
        if before.error != after.error {
            self.terminals.iter_mut().for_each(|terminal| terminal.errors = after.error.errors());
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        let mut next = self.in_flight.front().map_or(Time::MAX, |flight| flight.arrival);
        if let Some(begin) = self.transmitter.next_begin() {
            next = next.min(begin);
        }
        if self.frames.as_ref().is_some_and(|frames| frames.held().packets > 0) {
            next = next.min(self.transmitter.free_at());
        }
        if let Some(due) = self.handovers.as_ref().and_then(Handovers::due) {
            next = next.min(due);
        }
        (next != Time::MAX).then_some(next)
    }

    fn finish(&mut self, now: Time, out: &mut Outbox) {
        let loops = self.terminals.iter_mut().filter_map(|terminal| terminal.acm.as_mut());
        loops.for_each(|(_, adaptation)| adaptation.finish(now, out));
    }

    fn held(&self) -> Held {
        let waiting = self.transmitter.buffered();
        let framed = self.frames.as_ref().map_or(Held::default(), Frames::held);
        Held {
            packets: self.in_flight.len() as u64 + waiting.packets + framed.packets,
            bytes: self.held_bytes + waiting.bytes + framed.bytes,
        }
    }

    fn report(&self, now: Time, report: &mut Report) {
        let mut pending = Held::default();
        self.in_flight
            .iter()
            .filter(|flight| self.is_unsent(flight, now))
            .for_each(|flight| pending.add(&flight.packet));
        self.transmitter.report(&self.name, now, pending, self.error_drops, report);
        self.handovers.iter().for_each(|handovers| handovers.report(now, report));
        for (name, adaptation) in self.terminals.iter().filter_map(|terminal| terminal.acm.as_ref()) {
            report.row(&acm::REPORT, name, &adaptation.report());
        }
    }
}
