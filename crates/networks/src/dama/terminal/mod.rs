//! A satellite terminal's return-link MAC (RCST, EN 301 790): its queue, its slots and its
//! requests.
//!
//! A packet is framed ([`bentpipe_link::framing`]) and fragmented over the terminal's slots in
//! order. A burst carries the data that were queued when its slot started; the rest of the slot
//! stays empty. A packet is complete when the slot with its last byte ends, and reaches the gateway
//! one propagation delay later. The stage emits it only then, so that a packet needs one wake. The
//! slots of a packet in the present superframe are computed at once. Data that do not fit wait for
//! the next superframe's assignment.
//!
//! A packet may use the slots that start after its arrival or, with `access = "superframe"`
//! ([`Access`]), the slots of superframes that start after its arrival. This applies to constant
//! and to requested slots. (Study, section 4.1: "access to the MAC queue is performed on a
//! superframe basis".)
//!
//! **Queues.** If the queue discipline decides at arrival, an admitted packet is placed into slots
//! at once. With several classes, or if a discipline decides at departure ([`Buffered`]), slots are
//! filled one by one when they start. A discipline that decides at departure chooses, drops or
//! marks packets at the start of the slot with their first byte. It learns the granted rate: the
//! capacity of the terminal's slots per superframe, which its classes share.
//!
//! At the start of a superframe the terminal first makes its request from its present queue, and
//! then sends. An idle terminal sleeps. It wakes at the end of a superframe in which data waited or
//! were sent, or in which slots were requested or assigned.
//!
//! **ACM.** At the start of a superframe the terminal applies the waveform that its control loop
//! ([`acm`]) has chosen, which sets the capacity of its slots. If the size of bursts changes,
//! waiting packets are framed again; of a packet that has been sent in part, only the unsent part
//! is. Requests in flight keep their number of slots. In an outage the terminal neither sends nor
//! requests, and packets wait in its queue; it stays logged on. A packet is lost ([`acm::FADED`])
//! if the signal on arrival is below the threshold of its waveform. A message is lost if the signal
//! is below the threshold of the most robust waveform.
//!
//! **Moving satellites.** In a superframe in which no satellite serves ([`super::timing`]) the
//! terminal neither sends nor requests, and packets wait in its queue. It stays logged on. Messages
//! about logon and logoff are lost ([`NO_SATELLITE`]). The capacity in results includes constant
//! slots of such superframes if the terminal was idle in them.
//!
//! Ports: input 0 from the host's side, input 1 from the satellite; output 0 to the host's side,
//! output 1 to the network control centre, output 2 to the gateway. Packets from the satellite that
//! are not MAC messages are forwarded at once.

mod buffering;
mod requesting;
mod results;
mod sending;
mod session;
mod waveform;

pub use results::{REPORT, TRACE};
pub use session::{Logon, LOGGED_OFF};

use self::results::Counters;
use super::board::{PostedRequest, SharedBoard};
use super::buffered::Buffered;
use super::config::{Access, Config};
use super::estimator::Load;
use super::frame::{Frame, Run};
use super::message::{self, DataBurst, LogonRequest, LogonResponse, Request, Tbtp};
use super::requests::contention::Contention;
use super::requests::{RequestChannel, RequestOpportunities};
use super::scheme::{CapacityRequest, OfferedLoad, Requester};
use super::slots::{Placement, Slots};
use super::timing::Timeline;
use super::traffic::{Asks, QueuedPacket, Traffic};
use super::waits::{self, Controller, Requests};
use crate::constellation::NO_SATELLITE;
use bentpipe_core::{NodeId, Probe, Rate, Report, Span, Stream, Time, Whole};
use bentpipe_link::acm::{self, Adaptation, Modcod};
use bentpipe_link::channel::{Errors, Fate, CORRUPTED};
use bentpipe_link::framing::{self, Added, Unit, TOO_LONG};
use bentpipe_link::queue::buffer::Effects;
use bentpipe_link::queue::{Queue, Verdict};
use bentpipe_stage::packet::quick_start::{self, Grants};
use bentpipe_stage::{Change, Held, Outbox, Packet, Payload, Port, Stage};
use std::collections::VecDeque;
use std::sync::Arc;

/// The parts of a terminal. The fields used in each superframe come first and share cache lines.
#[repr(C)]
pub struct Parts {
    /// The terminal's traffic classes in order of priority, at least one.
    pub(super) traffic: Vec<Traffic>,
    /// The scheme's part at the terminal.
    pub requester: Box<dyn Requester>,
    /// True if the scheme is the terminal's own, which the network's changes do not affect.
    pub has_own_scheme: bool,
    /// Opportunities of the terminal to send requests.
    pub opportunities: Box<dyn RequestOpportunities>,
    /// Board on which the terminal reads plans and posts requests, if it is logged on for the whole
    /// run and has its own request slots.
    pub(super) board: Option<SharedBoard>,
    /// Time structure of the return link.
    pub frame: Frame,
    /// Time of requests, relative to the start of a superframe.
    pub request_offset: Span,
    /// Probe of the trace [`TRACE`], if it is recorded.
    pub probe: Option<Probe>,
    /// Probe of the trace [`super::waits::TRACE`], if it is recorded.
    pub waits: Option<Probe>,
    /// Index in the list of terminals.
    pub terminal: u16,
    /// Size in bytes of the longest packet that its framing can carry.
    pub longest: u32,
    /// True if the scenario lists classes, which share the terminal's slots.
    pub classes: bool,
    /// Errors on the return link.
    pub errors: Option<Errors>,
    /// Errors that hit requests in addition to those of the return link.
    pub request_errors: Option<Errors>,
    /// With ACM: the terminal's name in results, and the control loop of its waveform.
    pub acm: Option<(String, Adaptation)>,
    /// Grants to Quick-Start requests, and the capacity that they divide.
    pub grants: (Option<Grants>, Rate),
    /// Random stream of the terminal.
    pub stream: Stream,
    /// Times at which the control centre acts on a request.
    pub controller: Controller,
    /// Addresses of the terminal and of the gateway.
    pub addresses: (NodeId, NodeId),
    /// Name of the terminal, in results.
    pub name: String,
    /// Constant slots of a terminal that is logged on from the start, or the time at which it
    /// starts to log on.
    pub logon: Logon,
    /// Time of the logoff, and the period after which logons and logoffs repeat.
    pub logoff: Option<(Time, Option<Span>)>,
    /// Time without an answer after which the terminal repeats its logon request.
    pub retry: Span,
    /// The class of each code point (DSCP).
    pub(super) by_dscp: [u8; 64],
    /// Framing: the placement of packets into bursts.
    pub framing: framing::Config,
    /// The terminal's own Es/N0 in clear sky.
    pub esn0_db: Option<acm::Decibel>,
    /// Slots that a packet may use.
    pub access: Access,
    /// Number of shared mini-slots in a superframe, and maximum number of data bytes that the
    /// terminal sends in them.
    pub shared: (u32, u32),
}

/// A packet in slots or in flight. The packet comes first, so that its layout is the same as that
/// of a separate packet and it is moved in the same pieces.
#[repr(C)]
struct Flight {
    packet: Whole<Packet>,
    /// Time of arrival at the gateway.
    arrival: Time,
    /// The trace row that explains the packet's wait, if waits are traced.
    wait_row: Option<Box<waits::Row>>,
    added: Added,
    class: u8,
    /// The waveform of data, with ACM.
    waveform: Option<&'static Modcod>,
}

/// A terminal of a star network. The fields used in each superframe come first and share cache
/// lines, since reading the state of many terminals dominates the run time.
#[repr(C)]
pub struct Terminal {
    slots: Slots,
    /// Plans received for future superframes.
    plans: VecDeque<(u64, Run)>,
    /// Packets by their time of arrival at the gateway.
    in_flight: VecDeque<Flight>,
    /// Time of this superframe's request, if it has not been made.
    request_at: Option<Time>,
    logoff: Option<Time>,
    logon_request_at: Option<Time>,
    /// Start of the next slot to fill, if slots are filled one by one.
    next_fill: Option<Time>,
    /// Constant slots and the first superframe in which they may be used.
    constant: Option<(Run, u64)>,
    /// Packets that arrived at this time or later wait for the next superframe.
    closed_from: Time,
    /// Bytes without a slot of all packets that no longer wait in a buffer.
    unsent: u64,
    /// True if slots are filled one by one when they start: for several classes, or for a
    /// discipline that decides at departure.
    slot_by_slot: bool,
    /// True if a packet, request or assignment makes the end of this superframe relevant.
    active: bool,
    /// The waveform of this superframe, with ACM; `None` in an outage.
    waveform: Option<&'static Modcod>,
    /// True if a satellite serves in this superframe.
    served: bool,
    /// The last superframe for which the plan must not be read from the board.
    last_board_plan: Option<u64>,
    /// Queue in bytes, requested slots and used bytes of this superframe, for the trace.
    row: (u64, u64, u64),
    held: Held,
    messages: u32,
    parts: Parts,
    counters: Counters,
    /// Number of logoffs so far.
    sessions: u64,
    /// Slots, and their capacity in bytes, up to the last change of the waveform.
    previous_totals: (u64, u64),
    requests: Requests,
    /// Rate of the slots that the disciplines know, in bit/s; 0 at first.
    granted_bit_s: u64,
}

impl Terminal {
    /// Creates a terminal at the start of superframe 0.
    pub fn new(parts: Parts, timeline: Timeline) -> Terminal {
        let (constant, logon_request_at) = match parts.logon {
            Logon::Done(run) => (Some((run, 0)), None),
            Logon::Begins(at) => (None, Some(at)),
        };
        let mut terminal = Terminal {
            constant,
            logon_request_at,
            logoff: parts.logoff.map(|(at, _)| at),
            sessions: 0,
            request_at: None,
            plans: VecDeque::new(),
            last_board_plan: None,
            slots: Slots::new(parts.frame, timeline),
            waveform: None,
            served: true,
            previous_totals: (0, 0),
            active: false,
            closed_from: Time::MAX,
            unsent: 0,
            slot_by_slot: Terminal::fills_slot_by_slot(&parts),
            granted_bit_s: 0,
            next_fill: None,
            in_flight: VecDeque::new(),
            requests: Requests::default(),
            held: Held::default(),
            row: (0, 0, 0),
            counters: Counters::default(),
            messages: 0,
            parts,
        };
        terminal.adapt(Time::ZERO);
        terminal.close_queue();
        terminal.assign();
        terminal
    }

    /// Assigns the slots of the present superframe.
    fn assign(&mut self) {
        let superframe = self.slots.superframe();
        while self.plans.front().is_some_and(|(planned, _)| *planned < superframe) {
            self.plans.pop_front();
        }
        let due = self.plans.iter().take_while(|(planned, _)| *planned == superframe).count();
        let constant = self.constant();
        let sent = self.plans.drain(..due).map(|(_, run)| run);
        match &self.parts.board {
            Some(board) if self.last_board_plan.is_none_or(|last| last < superframe) => {
                let mut board = board.open();
                let posted = board.runs(superframe, self.parts.terminal);
                self.slots.assign([constant].into_iter().chain(sent).chain(posted));
            }
            _ => self.slots.assign([constant].into_iter().chain(sent)),
        }
        let assigned = self.slots.count() - u32::from(constant.count);
        self.counters.assigned += u64::from(assigned);
        self.active = assigned > 0;
        if self.slot_by_slot {
            self.learn_granted_rate();
        }
    }

    /// Closes the queue's access to the present superframe for packets that arrive from now on.
    fn close_queue(&mut self) {
        if self.parts.access == Access::Superframe {
            self.closed_from = self.slots.start();
        }
    }

    /// Processes the superframes that have started by `now`.
    #[inline]
    fn advance(&mut self, now: Time, out: &mut Outbox) {
        if now >= self.slots.end() {
            self.begin_superframe(now, out);
        }
        if self.request_at.is_some_and(|at| at < now) {
            // In the skipped superframes there was nothing to request.
            self.request_at = None;
        }
    }

    fn begin_superframe(&mut self, now: Time, out: &mut Outbox) {
        self.record(out);
        self.slots.go_to(now);
        self.close_queue();
        if self.slot_by_slot {
            self.open_buffers(out);
        }
        if self.logoff.is_some_and(|at| at <= now) {
            self.log_off(now, out);
        }
        self.adapt(now);
        if let Some((_, adaptation)) = &mut self.parts.acm {
            adaptation.record(now, out);
        }
        self.assign();
        self.row = (self.queue_bytes(), 0, 0);
        let request_at = self.slots.start() + self.parts.request_offset;
        self.request_at = Some(request_at).filter(|at| *at >= now);
        if request_at == now && self.has_request() {
            self.make_request(now, out);
        }
        self.next_fill = None;
        // A logon response, not the end of the superframe, ends the wait for the logon.
        self.active |= self.has_data() && self.constant.is_some();
        self.send(now, out);
        self.register_on_board();
    }

    /// Registers on the board if the terminal reads it at the end of the superframe. Otherwise
    /// copies the posted plans of this terminal.
    fn register_on_board(&mut self) {
        let Some(board) = &self.parts.board else { return };
        let mut board = board.open();
        if board.set_awake(self.parts.terminal, self.active) && !self.active {
            // The board may still have plans that were copied before the terminal last slept.
            let known = self.slots.superframe().max(self.last_board_plan.unwrap_or(0));
            self.plans.extend(board.later(known, self.parts.terminal));
            self.last_board_plan = board.last();
        }
    }

    /// Adds a packet or message to those in flight, ordered by arrival. Messages may come before
    /// data and vice versa.
    #[inline]
    fn launch(&mut self, flight: Flight) {
        if self.in_flight.back().is_none_or(|last| last.arrival <= flight.arrival) {
            return self.in_flight.push_back(flight);
        }
        let at = self.in_flight.partition_point(|other| other.arrival <= flight.arrival);
        self.in_flight.insert(at, flight);
    }

    fn accept(&mut self, now: Time, mut packet: Packet, out: &mut Outbox) {
        if self.constant.is_none() && self.logon_request_at.is_none() {
            return out.drop(packet, LOGGED_OFF);
        }
        if packet.size > self.parts.longest {
            return out.drop(packet, TOO_LONG);
        }
        let class = match self.parts.classes {
            true => usize::from(self.parts.by_dscp[usize::from(packet.dscp & 63)]),
            false => 0,
        };
        let traffic = &mut self.parts.traffic[class];
        traffic.release_begun(now);
        let (grants, capacity) = &mut self.parts.grants;
        quick_start::pass(grants, now, *capacity, &mut packet);
        if traffic.buffered.is_some() {
            return self.keep(now, class, packet, out);
        }
        match traffic.admission.admit(now, &mut packet, traffic.backlog, &mut self.parts.stream) {
            Verdict::Drop(reason) => {
                self.counters.queue_drops += 1;
                out.drop(packet, reason);
            }
            Verdict::Admit => {
                traffic.backlog.packets += 1;
                traffic.backlog.bytes += u64::from(packet.size);
                self.held.add(&packet);
                let left = traffic.wait_for_slots(now, now, packet, self.closed_from);
                self.unsent += left;
                traffic.arrived += left;
                let alone = traffic.waiting.len() == 1;
                self.active |= self.constant.is_some();
                if self.slot_by_slot {
                    self.fill_slots(now, out);
                } else if alone {
                    self.send_first(now);
                }
            }
        }
    }

    fn receive_plan(&mut self, plan: &Tbtp) {
        for run in plan.runs_of(self.parts.terminal) {
            if plan.superframe <= self.slots.superframe() {
                self.counters.late += u64::from(run.count);
            } else if self.constant.is_some() {
                // A plan received as a message may be older than the plans on the board.
                let at = self.plans.partition_point(|(superframe, _)| *superframe <= plan.superframe);
                self.plans.insert(at, (plan.superframe, run));
            }
        }
        self.parts.opportunities.answered();
    }
}

impl Terminal {
    /// Applies the channel's errors to a packet or message in flight.
    #[inline]
    fn apply_errors(
        &mut self,
        arrival: Time,
        class: u8,
        added: Added,
        is_request: bool,
        packet: &mut Packet,
    ) -> Fate {
        let Parts { errors, request_errors, stream, traffic, .. } = &mut self.parts;
        let mut fate = Fate::Intact;
        if let Some(errors) = errors {
            let Traffic { framer, verdicts, .. } = &mut traffic[usize::from(class)];
            fate = match framer {
                Some(framer) if added != Added::default() => {
                    verdicts.meet(Unit::of(&**framer), added, errors, arrival, packet, stream)
                }
                _ => errors.meet(arrival, packet, stream),
            };
        }
        match request_errors {
            Some(errors) if is_request && fate == Fate::Intact => errors.meet(arrival, packet, stream),
            _ => fate,
        }
    }
}

impl Stage for Terminal {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        self.advance(now, out);
        if port == FROM_HOST {
            self.accept(now, packet, out);
        } else if let Some(plan) = packet.body.of::<Tbtp>() {
            self.receive_plan(plan);
            out.consume(packet);
        } else if let Some(response) = packet.body.of::<LogonResponse>() {
            self.receive_logon(response);
            out.consume(packet);
        } else {
            out.send(TO_HOST, packet);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.advance(now, out);
        if self.logon_request_at.is_some_and(|at| at <= now) {
            self.logon_request_at = Some(now + self.parts.retry);
            let body = Arc::new(LogonRequest { terminal: self.parts.terminal });
            self.send_message(now, message::LOGON_REQUEST_BYTES, body, out);
        }
        if self.request_at == Some(now) && self.has_request() {
            self.make_request(now, out);
        }
        if self.next_fill.is_some_and(|at| at <= now) {
            self.fill_slots(now, out);
        }
        while self.in_flight.front().is_some_and(|flight| flight.arrival <= now) {
            let Flight { arrival, class, added, wait_row, packet, waveform } =
                self.in_flight.pop_front().expect("a wake at an arrival follows a flight");
            let mut packet = packet.into_inner();
            self.held.packets -= 1;
            self.held.bytes -= u64::from(packet.size);
            if let (Some(probe), Some(row)) = (self.parts.waits, wait_row) {
                out.record(probe, now, &row[..]);
            }
            let is_request = packet.body.of::<Request>().is_some();
            if !self.is_received(arrival, waveform) {
                if is_request {
                    self.requests.mark_lost(arrival);
                }
                out.drop(packet, acm::FADED);
                continue;
            }
            let fate = self.apply_errors(arrival, class, added, is_request, &mut packet);
            self.counters.error_drops += u64::from(fate != Fate::Intact);
            if fate == Fate::Lost {
                if is_request {
                    self.requests.mark_lost(arrival);
                }
                out.drop(packet, CORRUPTED);
            } else {
                out.send(if packet.body.is_signalling() { TO_CENTRE } else { TO_GATEWAY }, packet);
            }
        }
    }

    fn change(&mut self, now: Time, change: Change<'_>, out: &mut Outbox) {
        let (before, after) = change.of::<Config>();
        let (before, after) = (&before.return_link, &after.return_link);
        if let (Some((_, adaptation)), Some(acm), true) =
            (&mut self.parts.acm, &after.acm, before.acm != after.acm)
        {
            adaptation.change(now, acm.rule(), acm.clear(self.parts.esn0_db));
        }
        for class in 0..self.parts.traffic.len() {
            let own = after.classes.get(class).and_then(|class| class.queue.as_ref());
            if own.is_none() && before.queue != after.queue {
                self.set_queue(now, class, after.queue.build(after.rate), out);
            }
        }
        if before.error != after.error {
            self.parts.errors = after.error.errors();
        }
        if !self.parts.has_own_scheme {
            self.parts.requester.change(&after.dama.scheme);
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        let mut next = self.in_flight.front().map_or(Time::MAX, |flight| flight.arrival);
        if self.active {
            next = next.min(self.slots.end());
        } else if let Some((superframe, _)) = self.plans.front() {
            next = next.min(self.slots.timeline().start(&self.parts.frame, *superframe));
        }
        if let Some(at) = self.logon_request_at {
            next = next.min(at);
        }
        if let Some(at) = self.next_fill {
            next = next.min(at);
        }
        if let Some(at) = self.logoff.filter(|_| !self.active) {
            // From the first superframe on that starts at this time or later.
            let timeline = self.slots.timeline();
            let superframe = timeline.superframe(&self.parts.frame, at);
            let start = timeline.start(&self.parts.frame, superframe);
            let superframe = superframe + u64::from(start < at);
            next = next.min(timeline.start(&self.parts.frame, superframe).max(self.slots.end()));
        }
        if let Some(at) = self.request_at.filter(|_| self.has_request()) {
            next = next.min(at);
        }
        (next != Time::MAX).then_some(next)
    }

    fn held(&self) -> Held {
        self.all_held()
    }

    fn finish(&mut self, now: Time, out: &mut Outbox) {
        self.record(out);
        if let Some((_, adaptation)) = &mut self.parts.acm {
            adaptation.finish(now, out);
        }
    }

    fn report(&self, now: Time, report: &mut Report) {
        self.report_counters(now, report);
        if let Some((name, adaptation)) = &self.parts.acm {
            report.row(&acm::REPORT, name, &adaptation.report());
        }
    }
}

/// Input port for packets from the host's side.
pub const FROM_HOST: Port = Port(0);
/// Input port for packets from the satellite.
pub const FROM_SATELLITE: Port = Port(1);
/// Output port to the host's side.
pub const TO_HOST: Port = Port(0);
/// Output port to the network control centre.
pub const TO_CENTRE: Port = Port(1);
/// Output port to the gateway.
pub const TO_GATEWAY: Port = Port(2);
