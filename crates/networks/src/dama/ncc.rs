//! The network control centre (NCC, EN 301 790) at the gateway. It collects requests, divides the
//! slots and sends the burst time plan.
//!
//! At each superframe boundary at which any request is pending, it plans the superframe that starts
//! `lead` superframes later (see [`super::timing`]) and sends the plan over the forward link. A
//! terminal's demand is limited to its maximum. The demand is first served from the terminal's
//! guaranteed slots. The allocator then divides the remaining slots, and spare slots go in turn to
//! the terminals that accept them (FCA). A request is used at the first boundary after its arrival
//! and processing. With an imposed response, it is used at the boundary that plans the superframe
//! in which it is to take effect. The NCC sleeps while nothing is pending.
//!
//! Ports: input 0 from the terminals; output 0 to the gateway's router, output 1 to the forward
//! link's signalling.

use super::allocator::{Allocator, Demand};
use super::board::{PostedRequest, SharedBoard};
use super::config::Config;
use super::frame::{Frame, Run};
use super::message::{self, DataBurst, Logoff, LogonRequest, LogonResponse, Request, Tbtp};
use super::plan::{Grant, Plan};
use super::requests::contention::{resolve, Contention};
use super::scheme::{Account, CapacityRequest};
use super::waits::Controller;
use crate::signalling;
use bentpipe_core::{Column, NodeId, Probe, Report, Span, Table, Time};
use bentpipe_stage::{Change, DropReason, Held, Outbox, Packet, Payload, Port, Stage};
use std::collections::VecDeque;
use std::sync::Arc;

/// Trace of the allocator.
pub static TRACE: Table = Table {
    name: "ncc",
    entity: "network",
    about: "for each superframe that was planned, when it was planned",
    columns: &[
        Column::whole("superframe", "1", "number of the planned superframe, from 0"),
        Column::whole("terminals", "1", "number of terminals with a demand"),
        Column::whole("demand", "slots", "sum of the terminals' demands"),
        Column::whole("free", "slots", "slots that are not constant slots (CRA)"),
        Column::whole("granted", "slots", "slots assigned, spare ones included"),
        Column::whole("spare", "slots", "assigned slots that no terminal requested (FCA)"),
    ],
};

/// Counters of the NCC over a run.
pub static REPORT: Table = Table {
    name: "ncc",
    entity: "network",
    about: "at the end of the run",
    columns: &[
        Column::whole("requests", "1", "number of capacity requests received"),
        Column::whole("requested_slots", "slots", "sum of the slots requested"),
        Column::whole("plans", "1", "number of burst time plans sent"),
        Column::whole("plan_bytes", "bytes", "bytes of the burst time plans on the forward link"),
        Column::whole("granted_slots", "slots", "sum of the slots assigned by request over the superframes"),
        Column::whole("spare_slots", "slots", "sum of the slots assigned without a request (FCA)"),
        Column::whole("response", "superframes", "superframes from a request to its assignment (L)"),
        Column::whole("tries", "1", "number of bursts sent in shared mini-slots"),
        Column::whole("collisions", "1", "number of these bursts lost in collisions"),
    ],
};

/// The burst collided with others in its mini-slots and could not be resolved.
pub const COLLISION: DropReason = DropReason::new("collision");

/// The parts of the NCC.
pub struct Parts {
    /// Name of the NCC, in results.
    pub name: String,
    /// Address of the gateway.
    pub gateway: NodeId,
    /// Time structure of the return link.
    pub frame: Frame,
    /// Times at which the control centre acts on a request.
    pub controller: Controller,
    /// Number of superframes from a request to its assignment: the value for the farthest terminal,
    /// or the imposed value.
    pub response: u64,
    /// The terminals that the control centre serves.
    pub terminals: Vec<Member>,
    /// The constant slots that are assigned from the start.
    pub plan: Plan,
    /// The allocator, which divides the slots.
    pub allocator: Box<dyn Allocator>,
    /// The board on which terminals post requests that need no packet.
    pub(super) board: SharedBoard,
    /// Probe of the trace [`TRACE`], if it is recorded.
    pub probe: Option<Probe>,
}

/// The NCC's state of a terminal.
pub struct Member {
    /// Address of the terminal.
    pub address: NodeId,
    /// Number of constant slots that the terminal gets at logon.
    pub constant: u32,
    /// Number of slots that the terminal gets before others when it requests them.
    pub guaranteed: u32,
    /// Maximum number of slots that the terminal gets by request.
    pub max_slots: u32,
    /// Weight of the terminal, for allocators that use weights.
    pub weight: u32,
    /// The account that the scheme keeps for the terminal.
    pub account: Box<dyn Account>,
    /// True if the scheme is the terminal's own, which the network's changes do not affect.
    pub has_own_scheme: bool,
    /// The terminal's constant slots and their first superframe, once it has logged on.
    pub logon: Option<(Run, u64)>,
}

impl Member {
    /// Returns true if the terminal is logged on in `superframe` and takes spare slots.
    fn takes_spare(&self, superframe: u64) -> bool {
        self.logon.is_some_and(|(_, from)| from <= superframe) && self.account.takes_spare()
    }
}

/// A request that has not been entered in its terminal's account yet.
struct QueuedRequest {
    /// The superframe from which on the request may be served.
    superframe: u64,
    /// The superframe in which the request was made.
    made: u64,
    /// Time at which the request arrives at the control centre.
    arrival: Time,
    terminal: u16,
    capacity: CapacityRequest,
}

/// The network control centre of a star network.
pub struct Ncc {
    parts: Parts,
    /// Requests in the order in which they fall due.
    due: VecDeque<QueuedRequest>,
    /// Terminals whose account still has a demand, in ascending order.
    pending: Vec<u16>,
    /// Logged-on terminals that take spare slots, in ascending order.
    spare_takers: Vec<u16>,
    /// The terminal that gets the next spare slot.
    turn: u16,
    /// Bursts received in shared mini-slots.
    shared: Vec<(Contention, Packet)>,
    /// Time at which these bursts are decoded.
    decode: Option<Time>,
    /// The boundary after the last one at which a plan was made.
    next_boundary: u64,
    demands: Vec<Demand>,
    grants: Vec<u32>,
    layout: Vec<Grant>,
    /// Terminals with the number of slots that they get by request.
    requested: Vec<(u16, u32)>,
    counters: Counters,
    messages: u32,
}

#[derive(Default)]
struct Counters {
    requests: u64,
    requested: u64,
    plans: u64,
    plan_bytes: u64,
    granted: u64,
    spare: u64,
    tries: u64,
    collisions: u64,
}

impl Ncc {
    /// Creates an NCC that has received no requests.
    pub fn new(parts: Parts) -> Ncc {
        let spare_takers = (0..).zip(&parts.terminals).filter(|(_, member)| member.takes_spare(0));
        Ncc {
            due: VecDeque::new(),
            pending: Vec::new(),
            spare_takers: spare_takers.map(|(terminal, _)| terminal).collect(),
            turn: 0,
            shared: Vec::new(),
            decode: None,
            next_boundary: 0,
            demands: Vec::new(),
            grants: Vec::new(),
            layout: Vec::new(),
            requested: Vec::new(),
            counters: Counters::default(),
            messages: 0,
            parts,
        }
    }

    fn receive_request(&mut self, request: &PostedRequest) {
        self.counters.requests += 1;
        self.counters.requested += request.capacity.slots();
        let &PostedRequest { terminal, superframe: made, capacity, arrival } = request;
        // A request that arrives at a boundary is too late for it, even if the event loop processes
        // the arrival first.
        let superframe = self.parts.controller.earliest(&self.parts.frame, arrival, made);
        let due = QueuedRequest { superframe, made, arrival, terminal, capacity };
        if self.due.back().is_none_or(|last| last.superframe <= superframe) {
            return self.due.push_back(due);
        }
        let at = self.due.partition_point(|due| due.superframe <= superframe);
        self.due.insert(at, due);
    }

    /// Collects the posted requests, some of which may arrive later.
    fn collect_requests(&mut self) {
        let mut posted = std::mem::take(self.parts.board.open().requests());
        posted.drain(..).for_each(|request| self.receive_request(&request));
        *self.parts.board.open().requests() = posted;
    }

    /// Stores a burst received in shared mini-slots until all bursts have arrived that may have
    /// collided with it.
    fn receive_shared(&mut self, now: Time, shared: Contention, packet: Packet) {
        self.shared.push((shared, packet));
        self.decode = Some(now + Span::from_nanos(1));
    }

    /// Resolves the collisions among the bursts received in shared mini-slots.
    fn decode_shared(&mut self, now: Time, out: &mut Outbox) {
        self.decode = None;
        let slots: Vec<Contention> = self.shared.iter().map(|(shared, _)| *shared).collect();
        let bursts = std::mem::take(&mut self.shared);
        for ((_, packet), received) in bursts.into_iter().zip(resolve(&slots)) {
            self.counters.tries += 1;
            if !received {
                self.counters.collisions += 1;
                out.drop(packet, COLLISION);
            } else if let Some(&request) = packet.body.of::<Request>() {
                out.consume(packet);
                self.receive_request(&posted_request(now, &request));
            } else {
                let packet = out.consume(packet);
                let burst = packet
                    .body
                    .of::<DataBurst>()
                    .expect("only requests and data bursts are sent in mini-slots");
                burst.packets.iter().for_each(|packet| out.create(TO_ROUTER, packet.clone()));
            }
        }
    }

    fn receive_logon(&mut self, now: Time, terminal: u16, out: &mut Outbox) {
        let superframe = self.parts.controller.earliest(&self.parts.frame, now, 0);
        let member = &mut self.parts.terminals[usize::from(terminal)];
        if member.logon.is_none() {
            // If too few slots are free, the NCC does not answer, and the terminal tries again.
            let Some(constant) = self.parts.plan.add_constant(member.constant) else { return };
            member.logon = Some((constant, superframe));
            if let (true, Err(at)) =
                (member.account.takes_spare(), self.spare_takers.binary_search(&terminal))
            {
                self.spare_takers.insert(at, terminal);
                let next = self.parts.controller.boundary_after(&self.parts.frame, now);
                self.next_boundary = self.next_boundary.max(next);
            }
        }
        let member = &self.parts.terminals[usize::from(terminal)];
        let (constant, superframe) = member.logon.expect("it has just been logged on");
        let address = member.address;
        let response = LogonResponse { terminal, superframe, constant };
        self.send_message(now, address, message::LOGON_RESPONSE_BYTES, Arc::new(response), out);
    }

    fn receive_logoff(&mut self, terminal: u16) {
        let member = &mut self.parts.terminals[usize::from(terminal)];
        let Some((constant, _)) = member.logon.take() else { return };
        member.account.reset();
        self.parts.plan.remove_constant(constant);
        self.pending.retain(|other| *other != terminal);
        self.spare_takers.retain(|other| *other != terminal);
        self.due.retain(|due| due.terminal != terminal);
        // If nothing is pending any more, no later boundary would collect the posted requests.
        self.collect_requests();
        self.parts.board.open().collects = false;
    }

    fn send_message(&mut self, now: Time, to: NodeId, size: u32, body: Arc<dyn Payload>, out: &mut Outbox) {
        out.create(TO_FORWARD, signalling::packet(now, (self.parts.gateway, to), self.messages, size, body));
        self.messages += 1;
    }

    /// Enters the requests that fall due in the accounts of their terminals.
    fn enter_requests(&mut self, superframe: u64) {
        while self.due.front().is_some_and(|due| due.superframe <= superframe) {
            let QueuedRequest { made, terminal, capacity, .. } =
                self.due.pop_front().expect("there is a front");
            let member = &mut self.parts.terminals[usize::from(terminal)];
            if member.logon.is_none() {
                continue;
            }
            member.account.request(superframe, made, capacity);
            if let Err(at) = self.pending.binary_search(&terminal) {
                self.pending.insert(at, terminal);
            }
        }
    }

    /// Determines the slots that each terminal gets by request: first its guaranteed slots, then
    /// the slots granted by the allocator.
    fn allocate_slots(&mut self, superframe: u64) -> u64 {
        let free = self.parts.plan.free();
        let longest = self.parts.plan.demand_limit();
        let (mut left, mut demanded) = (free, 0);
        self.demands.clear();
        self.layout.clear();
        let (members, demands, layout) = (&mut self.parts.terminals, &mut self.demands, &mut self.layout);
        self.pending.retain(|&terminal| {
            let member = &mut members[usize::from(terminal)];
            let demand = member.account.demand(superframe);
            if demand.slots() == 0 {
                return false;
            }
            demanded += u64::from(demand.slots());
            let max_slots = member.max_slots.min(longest);
            let (rate, volume) =
                (demand.rate.min(max_slots), demand.volume.min(max_slots - demand.rate.min(max_slots)));
            let guaranteed = member.guaranteed.min(rate + volume).min(left);
            left -= guaranteed;
            let constant = member.logon.map_or(Run::default(), |(run, _)| run);
            layout.push(Grant::new(terminal, constant, guaranteed));
            let by_rate = guaranteed.min(rate);
            let (rate, volume) = (rate - by_rate, volume - (guaranteed - by_rate));
            if rate + volume > 0 {
                demands.push(Demand { terminal, rate, volume, weight: member.weight });
            }
            true
        });
        self.grants.clear();
        self.parts.allocator.allocate(left, &self.demands, &mut self.grants);
        let mut granted = self.demands.iter().zip(&self.grants).peekable();
        for grant in &mut self.layout {
            if let Some((_, slots)) = granted.next_if(|(demand, _)| demand.terminal == grant.terminal) {
                grant.slots += slots;
            }
        }
        demanded
    }

    /// Assigns `left` spare slots in turn. `layout` has the terminals' grants in ascending order,
    /// before and after.
    fn assign_spare(&mut self, superframe: u64, left: u32) {
        if left == 0 || self.spare_takers.is_empty() {
            return;
        }
        let longest = self.parts.plan.demand_limit();
        let from = self.spare_takers.partition_point(|terminal| *terminal < self.turn);
        let count = self.spare_takers.len() as u32;
        for turn in 0..count.min(left) {
            let terminal = self.spare_takers[(from + turn as usize) % count as usize];
            let member = &self.parts.terminals[usize::from(terminal)];
            if !member.takes_spare(superframe) {
                continue;
            }
            let slots = left / count + u32::from(turn < left % count);
            self.turn = if slots > left / count { terminal + 1 } else { self.turn };
            match self.layout.binary_search_by_key(&terminal, |grant| grant.terminal) {
                Ok(at) => self.layout[at].slots = (self.layout[at].slots + slots).min(longest),
                Err(at) => {
                    let constant = member.logon.map_or(Run::default(), |(run, _)| run);
                    self.layout.insert(at, Grant::new(terminal, constant, slots.min(longest)));
                }
            }
        }
    }

    /// Divides the slots of a superframe among the terminals and sends the plan.
    fn make_plan(&mut self, now: Time, superframe: u64, out: &mut Outbox) {
        self.enter_requests(superframe);
        let demanded = self.allocate_slots(superframe);
        let mut requested = std::mem::take(&mut self.requested);
        requested.clear();
        requested.extend(
            self.layout.iter().map(|grant| (grant.terminal, grant.slots)).filter(|(_, slots)| *slots > 0),
        );
        let granted: u32 = requested.iter().map(|(_, slots)| slots).sum();
        let free = self.parts.plan.free();
        self.assign_spare(superframe, free - granted);
        let total: u32 = self.layout.iter().map(|grant| grant.slots).sum();
        let mut entries = Vec::with_capacity(self.layout.len().min(free as usize));
        self.parts.plan.lay_out(superframe, &mut self.layout, &mut entries);
        let unplaced: u32 = self.layout.iter().map(|grant| grant.slots).sum();
        let mut by_request = 0;
        for &(terminal, slots) in &requested {
            // Slots that did not fit into the layout are first deducted from the spare slots.
            let mut slots = slots;
            if unplaced > 0 {
                let runs = entries.iter().filter(|(other, _)| *other == terminal);
                slots = slots.min(runs.map(|(_, run)| u32::from(run.count)).sum());
            }
            by_request += slots;
            self.parts.terminals[usize::from(terminal)].account.grant(superframe, slots);
        }
        self.requested = requested;
        let spare = total - unplaced - by_request;
        self.counters.granted += u64::from(by_request);
        self.counters.spare += u64::from(spare);
        if let Some(probe) = self.parts.probe {
            let values = [
                superframe as f64,
                self.pending.len() as f64,
                demanded as f64,
                f64::from(free),
                f64::from(by_request + spare),
                f64::from(spare),
            ];
            out.record(probe, now, &values);
        }
        if !entries.is_empty() {
            let bytes = Tbtp::bytes(&self.parts.frame, entries.len());
            self.counters.plans += 1;
            self.counters.plan_bytes += u64::from(bytes);
            self.send_message(
                now,
                message::ALL_TERMINALS,
                bytes,
                Arc::new(Tbtp { superframe, entries }),
                out,
            );
        }
    }

    fn boundary(&self, number: u64) -> Time {
        Time::ZERO + self.parts.controller.phase + self.parts.frame.superframe() * number
    }
}

impl Stage for Ncc {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if let Some(&request) = packet.body.of::<Request>() {
            match request.shared {
                Some(shared) => self.receive_shared(now, shared, packet),
                None => {
                    out.consume(packet);
                    self.receive_request(&posted_request(now, &request));
                }
            }
        } else if let Some(DataBurst { shared, .. }) = packet.body.of() {
            self.receive_shared(now, *shared, packet);
        } else if let Some(&LogonRequest { terminal }) = packet.body.of() {
            out.consume(packet);
            self.receive_logon(now, terminal, out);
        } else if let Some(&Logoff { terminal, .. }) = packet.body.of() {
            out.consume(packet);
            self.receive_logoff(terminal);
        } else {
            out.send(TO_ROUTER, packet);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        if self.decode.is_some_and(|at| at <= now) {
            self.decode_shared(now, out);
        }
        let first = Time::ZERO + self.parts.controller.phase;
        let boundary = now.since(first) / self.parts.frame.superframe();
        // Not every wake is at a boundary: some only decode bursts.
        if now >= first && now == self.boundary(boundary) && boundary >= self.next_boundary {
            self.next_boundary = boundary + 1;
            self.collect_requests();
            self.make_plan(now, boundary + self.parts.controller.lead, out);
            self.parts.board.open().collects = !self.pending.is_empty() || !self.spare_takers.is_empty();
        }
    }

    fn change(&mut self, _now: Time, change: Change<'_>, _out: &mut Outbox) {
        let (_, after) = change.of::<Config>();
        let scheme = &after.return_link.dama.scheme;
        let sharing = self.parts.terminals.iter_mut().filter(|member| !member.has_own_scheme);
        sharing.for_each(|member| member.account.change(scheme));
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        let plan = if !self.pending.is_empty() || !self.spare_takers.is_empty() {
            Some(self.boundary(self.next_boundary))
        } else {
            self.due.front().map(|due| self.boundary(due.superframe - self.parts.controller.lead))
        };
        match self.decode {
            Some(decode) => Some(plan.map_or(decode, |plan| plan.min(decode))),
            None => plan,
        }
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        self.shared.iter().for_each(|(_, packet)| held.add(packet));
        held
    }

    fn report(&self, now: Time, report: &mut Report) {
        let Counters { mut requests, mut requested, plans, plan_bytes, granted, spare, tries, collisions } =
            self.counters;
        for late in self.due.iter().filter(|due| due.arrival > now) {
            requests -= 1;
            requested -= late.capacity.slots();
        }
        for posted in self.parts.board.open().requests().iter().filter(|posted| posted.arrival <= now) {
            requests += 1;
            requested += posted.capacity.slots();
        }
        let values =
            [requests, requested, plans, plan_bytes, granted, spare, self.parts.response, tries, collisions];
        report.row(&REPORT, &self.parts.name, &values.map(|value| value as f64));
    }
}

/// Returns the posted form of a request that arrived as a message.
fn posted_request(now: Time, request: &Request) -> PostedRequest {
    let &Request { terminal, superframe, capacity, .. } = request;
    PostedRequest { terminal, superframe, capacity, arrival: now }
}

/// Output port to the gateway's router.
pub const TO_ROUTER: Port = Port(0);
/// Output port to the forward link's signalling.
pub const TO_FORWARD: Port = Port(1);
