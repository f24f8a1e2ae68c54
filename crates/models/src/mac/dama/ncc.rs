//! The network control centre (NCC, EN 301 790), at the gateway: collects requests, divides the slots, sends
//! the burst time plan.
//!
//! At each superframe boundary at which anything is pending it plans the superframe that is `lead` ahead (see
//! [`super::timing`]) and sends the plan over the forward link. A request is used at the first boundary after
//! its arrival and processing, or, with an imposed response, at the boundary that plans the superframe in
//! which it is to take effect. Without anything pending the NCC sleeps.
//!
//! Ports: in 0 from the terminals; out 0 to the gateway's router, out 1 to the forward link's signalling.

use super::allocator::{Allocator, Demand};
use super::category::Account;
use super::config::Config;
use super::frame::{Frame, Run};
use super::message::{self, LogonRequest, LogonResponse, Request, Tbtp};
use super::plan::Plan;
use bentpipe_core::{
    Change, Column, Message, NodeId, Outbox, Packet, Port, Probe, Report, Span, Stage, Table, Time,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Trace of the allocator.
pub static TRACE: Table = Table {
    name: "ncc",
    entity: "network",
    about: "for each superframe that was planned, when it was planned",
    columns: &[
        Column::whole("superframe", "1", "number of the planned superframe"),
        Column::whole("terminals", "1", "terminals with a demand"),
        Column::whole("demand", "slots", "sum of the demands"),
        Column::whole("free", "slots", "slots that are not constant"),
        Column::whole("granted", "slots", "slots assigned"),
    ],
};

/// What the NCC did in a run.
pub static REPORT: Table = Table {
    name: "ncc",
    entity: "network",
    about: "at the end of the run",
    columns: &[
        Column::whole("requests", "1", "capacity requests received"),
        Column::whole("requested_slots", "slots", "sum of the requests received"),
        Column::whole("plans", "1", "burst time plans sent"),
        Column::whole("plan_bytes", "bytes", "their bytes on the forward link"),
        Column::whole("granted_slots", "slots", "sum of the assigned slots over the superframes"),
        Column::whole("response", "superframes", "superframes from a request to its assignment (L)"),
    ],
};

/// What the NCC is made of.
pub struct Parts {
    /// Name in results.
    pub name: String,
    /// The gateway's address.
    pub gateway: NodeId,
    /// Time structure of the return link.
    pub frame: Frame,
    /// Superframes from the boundary at which a plan is made to the superframe that it plans.
    pub lead: u64,
    /// Superframes from a request to its assignment; imposed when `imposed`, else what emerges for the
    /// farthest terminal.
    pub response: u64,
    /// Whether requests are held until `response` superframes after the one in which they were made.
    pub imposed: bool,
    /// Time from a request's arrival until it may be used.
    pub processing: Span,
    /// The terminals.
    pub terminals: Vec<Member>,
    /// Constant slots that are taken from the start.
    pub plan: Plan,
    /// Divides the slots.
    pub allocator: Box<dyn Allocator>,
    /// Probe on [`TRACE`].
    pub probe: Option<Probe>,
}

/// What the NCC knows of a terminal.
pub struct Member {
    /// Its address.
    pub address: NodeId,
    /// Constant slots that it gets at logon.
    pub constant: u32,
    /// The account of its capacity category.
    pub account: Box<dyn Account>,
    /// Its logon, once that has happened.
    pub logon: Option<(Run, u64)>,
}

/// A request on its way to its account.
struct Due {
    /// The superframe from which it may be served.
    superframe: u64,
    terminal: u16,
    slots: u32,
}

/// The stage.
pub struct Ncc {
    parts: Parts,
    /// Requests in the order in which they fall due.
    due: VecDeque<Due>,
    /// Terminals whose account is not at rest, in ascending order.
    pending: Vec<u16>,
    /// The boundary after the last one at which a plan was made.
    next_boundary: u64,
    demands: Vec<Demand>,
    grants: Vec<u32>,
    requests: u64,
    requested: u64,
    plans: u64,
    plan_bytes: u64,
    granted: u64,
    messages: u32,
}

impl Ncc {
    /// An NCC to which no request has come yet.
    pub fn new(parts: Parts) -> Ncc {
        Ncc {
            parts,
            due: VecDeque::new(),
            pending: Vec::new(),
            next_boundary: 0,
            demands: Vec::new(),
            grants: Vec::new(),
            requests: 0,
            requested: 0,
            plans: 0,
            plan_bytes: 0,
            granted: 0,
            messages: 0,
        }
    }

    /// The superframe that is planned at the first boundary at which something that came now may be used.
    /// What comes at a boundary has missed it, whichever of the two the event loop handles first.
    fn earliest(&self, now: Time) -> u64 {
        let ready = now + self.parts.processing;
        ready.since(Time::ZERO) / self.parts.frame.superframe() + 1 + self.parts.lead
    }

    fn hear_request(&mut self, now: Time, request: &Request) {
        self.requests += 1;
        self.requested += u64::from(request.slots);
        let mut superframe = self.earliest(now);
        if self.parts.imposed {
            superframe = superframe.max(request.superframe + self.parts.response);
        }
        let at = self.due.partition_point(|due| due.superframe <= superframe);
        self.due.insert(at, Due { superframe, terminal: request.terminal, slots: request.slots });
    }

    fn hear_logon(&mut self, now: Time, terminal: u16, out: &mut Outbox) {
        let superframe = self.earliest(now);
        let member = &mut self.parts.terminals[usize::from(terminal)];
        let (constant, superframe) =
            *member.logon.get_or_insert_with(|| (self.parts.plan.add_constant(member.constant), superframe));
        let address = member.address;
        let response = LogonResponse { terminal, superframe, constant };
        self.tell(now, address, message::LOGON_RESPONSE_BYTES, Arc::new(response), out);
    }

    fn tell(&mut self, now: Time, to: NodeId, size: u32, body: Arc<dyn Message>, out: &mut Outbox) {
        out.create(TO_FORWARD, message::packet(now, (self.parts.gateway, to), self.messages, size, body));
        self.messages += 1;
    }

    /// Plans one superframe.
    fn make_plan(&mut self, now: Time, superframe: u64, out: &mut Outbox) {
        let members = &mut self.parts.terminals;
        while self.due.front().is_some_and(|due| due.superframe <= superframe) {
            let Due { terminal, slots, .. } = self.due.pop_front().expect("there is a front");
            members[usize::from(terminal)].account.request(superframe, slots);
            if let Err(at) = self.pending.binary_search(&terminal) {
                self.pending.insert(at, terminal);
            }
        }
        self.demands.clear();
        self.grants.clear();
        let demands = &mut self.demands;
        self.pending.retain(|&terminal| {
            let slots = members[usize::from(terminal)].account.demand(superframe);
            if slots > 0 {
                demands.push(Demand { terminal, slots });
            }
            slots > 0
        });
        let free = self.parts.plan.free();
        self.parts.allocator.allocate(free, &self.demands, &mut self.grants);
        let mut layout = self.parts.plan.layout();
        let mut entries = Vec::with_capacity(self.grants.len().min(free as usize));
        for (demand, &slots) in self.demands.iter().zip(&self.grants).filter(|(_, slots)| **slots > 0) {
            entries.push((demand.terminal, layout.take(slots)));
            members[usize::from(demand.terminal)].account.grant(slots);
        }
        let granted: u32 = self.grants.iter().sum();
        self.granted += u64::from(granted);
        if let Some(probe) = self.parts.probe {
            let demand: u64 = self.demands.iter().map(|demand| u64::from(demand.slots)).sum();
            let values = [
                superframe as f64,
                self.demands.len() as f64,
                demand as f64,
                f64::from(free),
                f64::from(granted),
            ];
            out.record(probe, now, &values);
        }
        if !entries.is_empty() {
            let bytes = Tbtp::bytes(&self.parts.frame, entries.len());
            self.plans += 1;
            self.plan_bytes += u64::from(bytes);
            self.tell(now, message::ALL_TERMINALS, bytes, Arc::new(Tbtp { superframe, entries }), out);
        }
    }

    fn boundary(&self, number: u64) -> Time {
        Time::ZERO + self.parts.frame.superframe() * number
    }
}

impl Stage for Ncc {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if let Some(request) = message::message::<Request>(&packet) {
            self.hear_request(now, request);
            out.consume(packet);
        } else if let Some(&LogonRequest { terminal }) = message::message(&packet) {
            out.consume(packet);
            self.hear_logon(now, terminal, out);
        } else {
            out.send(TO_ROUTER, packet);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        let boundary = now.since(Time::ZERO) / self.parts.frame.superframe();
        if boundary >= self.next_boundary {
            self.next_boundary = boundary + 1;
            self.make_plan(now, boundary + self.parts.lead, out);
        }
    }

    fn change(&mut self, _now: Time, change: Change<'_>, _out: &mut Outbox) {
        let (_, after) = change.of::<Config>();
        let scheme = &after.return_link.dama.scheme;
        self.parts.terminals.iter_mut().for_each(|member| member.account.change(scheme));
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        if !self.pending.is_empty() {
            Some(self.boundary(self.next_boundary))
        } else {
            self.due.front().map(|due| self.boundary(due.superframe - self.parts.lead))
        }
    }

    fn report(&self, _now: Time, report: &mut Report) {
        let values = [
            self.requests as f64,
            self.requested as f64,
            self.plans as f64,
            self.plan_bytes as f64,
            self.granted as f64,
            self.parts.response as f64,
        ];
        report.row(&REPORT, &self.parts.name, &values);
    }
}

/// Out port towards the gateway's router.
pub const TO_ROUTER: Port = Port(0);
/// Out port towards the forward link's signalling.
pub const TO_FORWARD: Port = Port(1);
