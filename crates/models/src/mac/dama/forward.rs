//! The forward link (DVB-S): one transmitter at the gateway that all terminals hear.
//!
//! Data pass through one queue and are delivered to the terminal for which they are destined. Signalling does
//! not queue behind them: a plan is sent at once, as in real systems, which reserve capacity for it. Its
//! transmission time is still taken from the data: packets that arrive later leave later by that time. (The
//! deviation: packets that wait at that moment are not delayed, and the packet in transmission is not waited
//! for; both effects are below a millisecond at usual rates.) A plan reaches only the terminals to which it
//! assigns slots, so that the others can sleep.
//!
//! With a framing, plans are framed like data. For a unit that two packets share, errors are drawn for each
//! of them separately, as they may be for different terminals.
//!
//! Ports: input port i takes data for terminal i, input port n signalling, where n is the number of
//! terminals; output port i leads to terminal i.

use super::board::Shared;
use super::config::Config;
use super::frame::Frame;
use super::message::{LogonResponse, Tbtp};
use super::timing::Timing;
use crate::channel::{Errors, Fate, SPOILED};
use crate::link::framing::{self, Added, Unit, Verdicts, TOO_LONG};
use crate::link::transmitter::Transmitter;
use crate::queue::Queue;
use crate::{Change, Held, Outbox, Packet, Port, Stage};
use bentpipe_core::{Fraction, NodeId, Probe, Rate, Report, Span, Stream, Time};
use std::collections::{BTreeMap, VecDeque};

/// The parts of a forward link.
pub struct Parts {
    /// Name of the link, in results.
    pub name: String,
    /// Rate of the link.
    pub rate: Rate,
    /// The queue's discipline.
    pub queue: Queue,
    /// Fraction of the rate that may be granted to Quick-Start requests.
    pub grants: Option<Fraction>,
    /// How packets are placed into transmission units.
    pub framing: framing::Config,
    /// The terminals: address, propagation delay, errors.
    pub terminals: Vec<Listener>,
    /// Time structure of the return link.
    pub frame: Frame,
    /// Where terminals may find their slots.
    pub(super) board: Shared,
    /// The link's random stream.
    pub stream: Stream,
    /// Probe on [`crate::link::TRACE`].
    pub probe: Option<Probe>,
}

/// A terminal as seen by the forward link.
pub struct Listener {
    /// Address of the terminal.
    pub address: NodeId,
    /// The terminal's delays.
    pub timing: Timing,
    /// Whether it finds its slots on the board when it is awake.
    pub reads: bool,
    /// Errors on the path to the terminal.
    pub errors: Option<Errors>,
    /// Additional errors of the burst time plans for the terminal.
    pub plan_errors: Option<Errors>,
}

/// A packet between transmitter and terminal.
struct Flight {
    arrival: Time,
    terminal: u16,
    added: Added,
    packet: Packet,
}

/// The forward link of a star network.
pub struct Forward {
    name: String,
    transmitter: Transmitter,
    /// Size in bytes of the longest packet that the framing can carry.
    longest: u32,
    terminals: Vec<Listener>,
    frame: Frame,
    board: Shared,
    /// Offset of the terminal that starts its superframes last.
    last: Span,
    /// Packets in order of arrival.
    flying: VecDeque<Flight>,
    held_bytes: u64,
    error_drops: u64,
    /// The terminals behind which destinations lie, if packets wait in a buffer.
    exits: BTreeMap<NodeId, u16>,
}

impl Forward {
    /// Creates an idle link.
    pub fn new(parts: Parts) -> Forward {
        let Parts { name, rate, queue, grants, framing, terminals, frame, board, stream, probe } = parts;
        let longest = framing.longest();
        let mut transmitter = Transmitter::new(rate, queue, framing.build(None), stream, probe);
        transmitter.grant(grants);
        Forward {
            name,
            transmitter,
            longest,
            last: terminals.iter().map(|one| one.timing.offset).max().unwrap_or(Span::ZERO),
            terminals,
            frame,
            board,
            flying: VecDeque::new(),
            held_bytes: 0,
            error_drops: 0,
            exits: BTreeMap::new(),
        }
    }

    /// Adds a packet to those in flight to a terminal. Delays differ little, so its place is near the end.
    fn fly(&mut self, sent: Time, terminal: u16, packet: Packet) {
        let arrival = sent + self.terminals[usize::from(terminal)].timing.one_way;
        self.held_bytes += u64::from(packet.size);
        let mut at = self.flying.len();
        while at > 0 && self.flying[at - 1].arrival > arrival {
            at -= 1;
        }
        // A unit that a packet shares with the previous one, which may be for another terminal, counts for
        // both.
        let added = self.transmitter.framed().map_or(Added::default(), |(_, added)| Added {
            units: added.units + u32::from(added.shares),
            shares: false,
        });
        self.flying.insert(at, Flight { arrival, terminal, added, packet });
    }

    /// Whether a packet is data and not yet sent. (A plan is counted once, however many terminals hear it.)
    fn waits(&self, flight: &Flight, now: Time) -> bool {
        let delay = self.terminals[usize::from(flight.terminal)].timing.one_way;
        flight.arrival > now + delay && !flight.packet.body.is_signalling()
    }

    /// Applies another rate to the data that have not been sent. Signalling in transmission keeps its time.
    fn retime(&mut self, now: Time, rate: Rate) {
        let ends = self.transmitter.set_rate(now, rate);
        let waits = |index: &usize| self.waits(&self.flying[*index], now);
        let mut waiting: Vec<usize> = (0..self.flying.len()).filter(waits).collect();
        let delay = |flight: &Flight| self.terminals[usize::from(flight.terminal)].timing.one_way;
        waiting.sort_by_key(|index| self.flying[*index].arrival - delay(&self.flying[*index]));
        // From the last: the transmitter may be busy with signalling.
        for (index, end) in waiting.into_iter().rev().zip(ends.into_iter().rev()) {
            let flight = &mut self.flying[index];
            flight.arrival = end + self.terminals[usize::from(flight.terminal)].timing.one_way;
        }
        self.flying.make_contiguous().sort_by_key(|flight| flight.arrival);
    }

    fn send_data(&mut self, now: Time, terminal: u16, mut packet: Packet, out: &mut Outbox) {
        if packet.size > self.longest {
            return out.drop(packet, TOO_LONG);
        }
        if self.transmitter.is_buffered() {
            self.exits.insert(packet.destination, terminal);
            let begun = self.transmitter.accept(now, packet, out);
            return self.fly_on(begun);
        }
        match self.transmitter.offer(now, &mut packet, out) {
            Err(reason) => out.drop(packet, reason),
            Ok(sent) => self.fly(sent, terminal, packet),
        }
    }

    /// Sends a packet that has waited in a buffer to its terminal.
    fn fly_on(&mut self, begun: Option<(Packet, Time)>) {
        if let Some((packet, sent)) = begun {
            self.fly(sent, self.exits[&packet.destination], packet);
        }
    }

    fn send_signalling(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        let sent = self.transmitter.send_at_once(now, &packet);
        if let Some(response) = packet.body.of::<LogonResponse>() {
            self.fly(sent, response.terminal, packet);
        } else {
            // Each terminal hears a copy of its own, so that packets stay countable.
            let plan = out.consume(packet);
            let Some(Tbtp { superframe, entries }) = plan.body.of() else { return };
            let shared = self.board.clone();
            let mut board = shared.open();
            let start = Time::ZERO + self.last + self.frame.superframe() * *superframe;
            board.begin_plan(now, *superframe, start);
            for (index, &(terminal, run)) in entries.iter().enumerate() {
                let again = index > 0 && entries[index - 1].0 == terminal;
                if self.finds(sent, *superframe, terminal) && board.is_awake(terminal) {
                    board.assign(terminal, run);
                    if !again {
                        out.pass(plan.size);
                    }
                } else if !again {
                    let destination = self.terminals[usize::from(terminal)].address;
                    let copy = Packet { destination, ..plan.clone() };
                    out.create_held(&copy);
                    self.fly(sent, terminal, copy);
                }
            }
        }
    }

    /// Whether a terminal has the plan of a superframe when that starts, whatever happens. An arrival at that moment is late.
    #[inline]
    fn finds(&self, sent: Time, superframe: u64, terminal: u16) -> bool {
        let Listener { timing, reads, errors, plan_errors, .. } = &self.terminals[usize::from(terminal)];
        let in_time = sent + timing.one_way < timing.start(&self.frame, superframe);
        *reads && in_time && errors.is_none() && plan_errors.is_none()
    }
}

impl Stage for Forward {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        if usize::from(port.0) < self.terminals.len() {
            self.send_data(now, port.0, packet, out);
        } else {
            self.send_signalling(now, packet, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        let begun = self.transmitter.begin(now, out);
        self.fly_on(begun);
        while self.flying.front().is_some_and(|flight| flight.arrival <= now) {
            let Flight { arrival, terminal, added, mut packet } =
                self.flying.pop_front().expect("there is a front");
            self.held_bytes -= u64::from(packet.size);
            let is_plan = packet.body.of::<Tbtp>().is_some();
            let unit = self.transmitter.unit();
            let stream = &mut self.transmitter.stream;
            let Listener { errors, plan_errors, .. } = &mut self.terminals[usize::from(terminal)];
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
                out.drop(packet, SPOILED);
            } else {
                out.send(Port(terminal), packet);
            }
        }
    }

    fn change(&mut self, now: Time, change: Change<'_>, out: &mut Outbox) {
        let (before, after) = change.of::<Config>();
        let (before, after) = (&before.forward, &after.forward);
        if before.rate != after.rate {
            self.retime(now, after.rate);
        }
        if before.queue != after.queue {
            for packet in self.transmitter.set_queue(after.queue.build(after.rate)) {
                self.send_data(now, self.exits[&packet.destination], packet, out);
            }
        }
        if before.error != after.error {
            self.terminals.iter_mut().for_each(|terminal| terminal.errors = after.error.errors());
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        let arrival = self.flying.front().map(|flight| flight.arrival);
        arrival.into_iter().chain(self.transmitter.next_begin()).min()
    }

    fn held(&self) -> Held {
        let waiting = self.transmitter.buffered();
        Held { packets: self.flying.len() as u64 + waiting.packets, bytes: self.held_bytes + waiting.bytes }
    }

    fn report(&self, now: Time, report: &mut Report) {
        let mut pending = Held::default();
        self.flying
            .iter()
            .filter(|flight| self.waits(flight, now))
            .for_each(|flight| pending.add(&flight.packet));
        self.transmitter.report(&self.name, now, pending, self.error_drops, report);
    }
}
