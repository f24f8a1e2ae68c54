//! The forward link (DVB-S): one transmitter at the gateway that all terminals hear.
//!
//! Data pass one queue and are delivered to the terminal that they are for. Signalling does not queue behind
//! them: a plan is sent at once, as in real systems, which give it reserved capacity. It takes its
//! transmission time from the data all the same: packets that arrive later go out by that much later. (The
//! deviation: packets that wait at that moment are not delayed, and the packet in transmission is not waited
//! for; both are below a millisecond at usual rates.) A plan reaches those terminals that it gives slots, so
//! that the others sleep on.
//!
//! Ports: in port i data for terminal i, with the number of terminals as i the signalling; out port i to
//! terminal i.

use super::message::{self, LogonResponse, Tbtp};
use crate::channel::{Process, SPOILED};
use crate::link::REPORT;
use crate::queue::{Admission, Backlog, Verdict};
use bentpipe_core::{
    Body, Held, NodeId, Outbox, Packet, Port, Probe, Rate, Report, Span, Stage, Stream, Time,
};
use std::collections::VecDeque;

/// What a forward link is made of.
pub struct Parts {
    /// Name in results.
    pub name: String,
    /// Rate.
    pub rate: Rate,
    /// The queue's discipline.
    pub queue: Box<dyn Admission>,
    /// The terminals: address, propagation delay, errors.
    pub terminals: Vec<Listener>,
    /// Its random stream.
    pub stream: Stream,
    /// Probe on [`crate::link::TRACE`].
    pub probe: Option<Probe>,
}

/// A terminal as the forward link sees it.
pub struct Listener {
    /// Its address.
    pub address: NodeId,
    /// Propagation delay.
    pub delay: Span,
    /// Errors on its way.
    pub errors: Option<Box<dyn Process>>,
}

/// A packet between transmitter and terminal.
struct Flight {
    arrival: Time,
    terminal: u16,
    packet: Packet,
}

/// The stage.
pub struct Forward {
    parts: Parts,
    /// When the transmitter has sent everything that was admitted.
    free_at: Time,
    /// Start of transmission and size of what waits.
    waiting: VecDeque<(Time, u32)>,
    backlog: Backlog,
    /// By arrival.
    flying: VecDeque<Flight>,
    held_bytes: u64,
    packets: u64,
    bytes: u64,
    busy: Span,
    queue_drops: u64,
    error_drops: u64,
    queue_max: u64,
    wait: Span,
}

impl Forward {
    /// An idle link.
    pub fn new(parts: Parts) -> Forward {
        Forward {
            parts,
            free_at: Time::ZERO,
            waiting: VecDeque::new(),
            backlog: Backlog::default(),
            flying: VecDeque::new(),
            held_bytes: 0,
            packets: 0,
            bytes: 0,
            busy: Span::ZERO,
            queue_drops: 0,
            error_drops: 0,
            queue_max: 0,
            wait: Span::ZERO,
        }
    }

    fn forget_started(&mut self, now: Time) {
        while let Some(&(start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(size);
        }
    }

    fn count(&mut self, size: u32) -> Span {
        let sending = self.parts.rate.span_of(u64::from(size));
        self.busy += sending;
        self.packets += 1;
        self.bytes += u64::from(size);
        sending
    }

    /// Lets a packet fly to a terminal. Delays differ little, so its place is near the end.
    fn fly(&mut self, sent: Time, terminal: u16, packet: Packet) {
        let arrival = sent + self.parts.terminals[usize::from(terminal)].delay;
        self.held_bytes += u64::from(packet.size);
        let mut at = self.flying.len();
        while at > 0 && self.flying[at - 1].arrival > arrival {
            at -= 1;
        }
        self.flying.insert(at, Flight { arrival, terminal, packet });
    }

    fn send_data(&mut self, now: Time, terminal: u16, mut packet: Packet, out: &mut Outbox) {
        self.forget_started(now);
        match self.parts.queue.admit(now, &mut packet, self.backlog, &mut self.parts.stream) {
            Verdict::Drop(reason) => {
                self.queue_drops += 1;
                out.drop(packet, reason);
            }
            Verdict::Admit => {
                let start = now.max(self.free_at);
                if start > now {
                    self.waiting.push_back((start, packet.size));
                    self.backlog.packets += 1;
                    self.backlog.bytes += u64::from(packet.size);
                    self.queue_max = self.queue_max.max(self.backlog.packets);
                    self.wait += start.since(now);
                }
                self.free_at = start + self.count(packet.size);
                self.fly(self.free_at, terminal, packet);
            }
        }
        if let Some(probe) = self.parts.probe {
            let Backlog { packets, bytes } = self.backlog;
            out.record(probe, now, &[packets as f64, bytes as f64, self.queue_drops as f64]);
        }
    }

    fn send_signalling(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        let sending = self.count(packet.size);
        self.free_at = now.max(self.free_at) + sending;
        let sent = now + sending;
        if let Some(response) = message::message::<LogonResponse>(&packet) {
            self.fly(sent, response.terminal, packet);
        } else {
            // Each terminal hears a copy of its own, so that packets stay countable.
            let plan = out.consume(packet);
            let entries = message::message::<Tbtp>(&plan).map_or(&[][..], |plan| &plan.entries);
            for &(terminal, _) in entries {
                let destination = self.parts.terminals[usize::from(terminal)].address;
                let copy = Packet { destination, ..plan.clone() };
                out.create_held(&copy);
                self.fly(sent, terminal, copy);
            }
        }
    }
}

impl Stage for Forward {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        if usize::from(port.0) < self.parts.terminals.len() {
            self.send_data(now, port.0, packet, out);
        } else {
            self.send_signalling(now, packet, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while self.flying.front().is_some_and(|flight| flight.arrival <= now) {
            let Flight { arrival, terminal, packet } = self.flying.pop_front().expect("there is a front");
            self.held_bytes -= u64::from(packet.size);
            let Parts { terminals, stream, .. } = &mut self.parts;
            let errors = &mut terminals[usize::from(terminal)].errors;
            if errors.as_mut().is_some_and(|errors| errors.spoils(arrival, packet.size, stream)) {
                self.error_drops += 1;
                out.drop(packet, SPOILED);
            } else {
                out.send(Port(terminal), packet);
            }
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.flying.front().map(|flight| flight.arrival)
    }

    fn held(&self) -> Held {
        Held { packets: self.flying.len() as u64, bytes: self.held_bytes }
    }

    fn report(&self, now: Time, report: &mut Report) {
        // What was admitted but is not yet transmitted counts neither as transmitted nor as transmission time.
        let busy = self.busy.saturating_sub(self.free_at.since(now));
        let mut pending = Held::default();
        for Flight { arrival, terminal, packet } in &self.flying {
            let delay = self.parts.terminals[usize::from(*terminal)].delay;
            // A plan was counted once, however many terminals hear it.
            if *arrival > now + delay && !matches!(packet.body, Body::Control(_)) {
                pending.add(packet);
            }
        }
        let values = [
            (self.packets - pending.packets) as f64,
            (self.bytes - pending.bytes) as f64,
            busy.as_secs_f64() / now.as_secs_f64(),
            self.queue_drops as f64,
            self.error_drops as f64,
            self.queue_max as f64,
            if self.packets == 0 { f64::NAN } else { self.wait.as_secs_f64() / self.packets as f64 },
        ];
        report.row(&REPORT, &self.parts.name, &values);
    }
}
