//! Builds the stages of a star network from its configuration.

use super::board::SharedBoard;
use super::config::{Config, Return};
use super::forward::{self, Forward, ForwardTerminal};
use super::frame::Frame;
use super::ncc::{self, Ncc};
use super::plan::Plan;
use super::scheme::SchemeContext;
use super::terminal::{self, Logon, Terminal};
use super::terminals::Member;
use super::timing::{Schedule, Timeline};
use super::traffic::{Asks, Traffic};
use super::waits::{self, Controller};
use crate::constellation::HANDOVER;
use crate::propagation::orbit::Handovers;
use crate::propagation::SharedEphemeris;
use bentpipe_core::{NodeId, Span, Time};
use bentpipe_link::acm;
use bentpipe_link::queue::classes;
use bentpipe_stage::packet::quick_start::Grants;
use bentpipe_stage::Supply;

/// The stages of a star network. The terminals are in the order of the configuration.
///
/// The stages are connected as follows. `g` is the gateway's router, `t[i]` the router of terminal
/// i, and n the number of terminals.
///
/// | from | to |
/// | --- | --- |
/// | `g`, next hop `t[i]` | `forward` in i |
/// | `forward` out i | `terminals[i]` in 1 |
/// | `forward` out n + i | `t[i]` |
/// | `terminals[i]` out 0 | `t[i]` |
/// | `t[i]`, next hop `g` | `terminals[i]` in 0 |
/// | `terminals[i]` out 1 | `ncc` in 0 |
/// | `terminals[i]` out 2 | `g` |
/// | `ncc` out 0 | `g` |
/// | `ncc` out 1 | `forward` in n |
pub struct Star {
    /// The MAC layers of the terminals.
    pub terminals: Vec<Terminal>,
    /// The network control centre.
    pub ncc: Ncc,
    /// The forward link, from the gateway to the terminals.
    pub forward: Forward,
}

/// Builds network `name` for the addresses of its nodes. `labels` are the names of the terminals in
/// results.
///
/// # Panics
/// If the configuration has not passed [`Config::check`], or if the number of `terminals` differs
/// from the configuration's.
pub fn build(
    name: &str,
    config: &Config,
    gateway: NodeId,
    terminals: &[NodeId],
    labels: &[String],
    supply: &mut dyn Supply,
) -> Star {
    let members = config.members();
    assert_eq!(members.len(), terminals.len(), "one address for each terminal");
    let shape = StarBuilder::of(name, config, &members);
    let mut plan = Plan::new(&config.carriers().expect(CHECKED));
    let (mut macs, mut accounts, mut forward_terminals) = (Vec::new(), Vec::new(), Vec::new());
    for (index, ((member, &address), label)) in members.iter().zip(terminals).zip(labels).enumerate() {
        let logon = match member.logon {
            None => Logon::Done(plan.add_constant(member.constant).expect(CHECKED)),
            Some(at) => Logon::Begins(Time::ZERO + at),
        };
        macs.push(shape.terminal(index as u16, member, (address, gateway), logon, label, supply));
        accounts.push(shape.account(member, address, logon));
        forward_terminals.push(shape.forward_terminal(member, address, label, supply));
    }
    let ncc = shape.ncc(gateway, accounts, plan, supply);
    let last = members.iter().map(|member| shape.max_offset(member)).max().unwrap_or(Span::ZERO);
    Star { terminals: macs, ncc, forward: shape.forward(forward_terminals, last, supply) }
}

const CHECKED: &str = "the configuration has been checked";

/// Returns the name of the forward link of network `name`, both as a stage and in results.
pub fn forward_name(name: &str) -> String {
    format!("{name}.forward")
}

/// Returns the name of the control centre's stage of network `name`.
pub fn ncc_name(name: &str) -> String {
    format!("{name}.ncc")
}

/// Returns the name of the stage of a terminal of network `name`.
pub fn terminal_name(name: &str, terminal: &str) -> String {
    format!("{name}.{terminal}")
}

/// Values that the stages of a network share.
struct StarBuilder<'a> {
    name: &'a str,
    config: &'a Config,
    frame: Frame,
    schedule: Schedule,
    /// L, the number of superframes from a request to its assignment.
    response: u64,
    controller: Controller,
    board: SharedBoard,
    /// The satellites, if they move.
    ephemeris: Option<SharedEphemeris>,
}

impl<'a> StarBuilder<'a> {
    fn of(name: &'a str, config: &'a Config, members: &[Member]) -> StarBuilder<'a> {
        let frame = config.frame().expect(CHECKED);
        let dama = &config.return_link.dama;
        let (schedule, lead, response) = config.response(&frame, members);
        let imposed = dama.response.map(|response| response.value());
        let controller = Controller { phase: schedule.plan, lead, processing: dama.processing, imposed };
        let ephemeris = config.ephemeris(members);
        StarBuilder {
            name,
            config,
            frame,
            schedule,
            response,
            controller,
            board: SharedBoard::default(),
            ephemeris,
        }
    }

    /// Maximum delay from the start of a superframe at the control centre to its start at this
    /// terminal.
    fn max_offset(&self, member: &Member) -> Span {
        // With moving satellites, the offset is always less than the maximum delay.
        if self.ephemeris.is_some() {
            member.timing.up
        } else {
            member.timing.offset
        }
    }

    /// Returns the superframes of a terminal.
    fn timeline(&self, member: &Member) -> Timeline {
        match &self.ephemeris {
            None => Timeline::constant(member.timing),
            Some(ephemeris) => {
                let site = self.config.site(member).expect(CHECKED);
                Timeline::moving(&self.frame, member.timing, ephemeris.track(&site))
            }
        }
    }

    /// Returns the frame with the slot capacity of a terminal.
    fn frame_of(&self, member: &Member) -> Frame {
        Frame { slot_bytes: member.slot_bytes, ..self.frame }
    }

    fn scheme_context(&self, member: &Member) -> SchemeContext {
        SchemeContext::new(self.config.link(), self.response, &self.frame_of(member))
    }

    fn terminal(
        &self,
        terminal: u16,
        member: &Member,
        addresses: (NodeId, NodeId),
        logon: Logon,
        label: &str,
        supply: &mut dyn Supply,
    ) -> Terminal {
        let (config, link) = (self.config, &self.config.return_link);
        let dama = &link.dama;
        let parts = terminal::Parts {
            name: label.to_owned(),
            terminal,
            addresses,
            frame: self.frame_of(member),
            request_offset: self.schedule.request_offset,
            logon,
            logoff: member.logoff.map(|at| (Time::ZERO + at, member.period)),
            // The answer arrives after two one-way delays and the transmission of a plan. The lead
            // covers one of these delays and the transmission.
            retry: self.frame.superframe() * (self.controller.lead + 1) + member.timing.one_way,
            traffic: traffic(link, member.slot_bytes),
            by_dscp: classes::by_dscp(&link.classes),
            classes: !link.classes.is_empty(),
            longest: link.framing.longest(),
            acm: self.adaptation(link.acm.as_ref(), member.esn0_db.1, (member, label, "return"), supply),
            esn0_db: member.esn0_db.1,
            framing: link.framing.clone(),
            errors: link.error.errors(),
            request_errors: dama.request_error.errors(),
            grants: (config.quick_start.map(|share| Grants::new(share.value())), link.rate),
            requester: member.scheme.requester(&self.scheme_context(member)),
            has_own_scheme: member.has_own_scheme,
            opportunities: dama.requests.build(terminal, self.response),
            access: dama.access,
            shared: (dama.requests.shared_slots(), dama.requests.data()),
            controller: self.controller,
            board: self.reads_board(member).then(|| self.board.clone()),
            stream: supply.stream(&terminal_name(self.name, &member.name)),
            probe: supply.probe(&terminal::TRACE, label),
            waits: supply.probe(&waits::TRACE, label),
        };
        Terminal::new(parts, self.timeline(member))
    }

    fn account(&self, member: &Member, address: NodeId, logon: Logon) -> ncc::Member {
        ncc::Member {
            address,
            constant: member.constant,
            guaranteed: member.min,
            max_slots: member.max,
            weight: member.weight,
            account: member.scheme.account(&self.scheme_context(member)),
            has_own_scheme: member.has_own_scheme,
            logon: match logon {
                Logon::Done(run) => Some((run, 0)),
                Logon::Begins(_) => None,
            },
        }
    }

    /// Returns true if a terminal is logged on for the whole run and has its own request slots.
    fn reads_board(&self, member: &Member) -> bool {
        let shared = self.config.return_link.dama.requests.shared_slots() > 0;
        member.logon.is_none() && member.logoff.is_none() && !shared
    }

    /// Returns the control loop of a terminal's MODCODs in one direction, with its name in results.
    fn adaptation(
        &self,
        config: Option<&acm::Config>,
        own: Option<acm::Decibel>,
        (member, label, direction): (&Member, &str, &str),
        supply: &mut dyn Supply,
    ) -> Option<(String, acm::Adaptation)> {
        let name = format!("{label}.{direction}");
        let names: Vec<&str> = member.names.iter().map(String::as_str).collect();
        let acm = config?;
        let probe = supply.probe(&acm::TRACE, &name);
        Some((name, acm.adaptation(own, &names, &self.config.gateway, probe)))
    }

    fn forward_terminal(
        &self,
        member: &Member,
        address: NodeId,
        label: &str,
        supply: &mut dyn Supply,
    ) -> ForwardTerminal {
        let acm = self.config.forward.acm.as_ref();
        ForwardTerminal {
            acm: self.adaptation(acm, member.esn0_db.0, (member, label, "forward"), supply),
            esn0_db: member.esn0_db.0,
            address,
            timeline: self.timeline(member),
            reads_board: self.reads_board(member),
            bypass: self.reads_board(member) && self.config.return_link.acm.is_none(),
            errors: self.config.forward.error.errors(),
            plan_errors: self.config.return_link.dama.plan_error.errors(),
        }
    }

    fn ncc(&self, gateway: NodeId, terminals: Vec<ncc::Member>, plan: Plan, supply: &mut dyn Supply) -> Ncc {
        Ncc::new(ncc::Parts {
            name: self.name.to_owned(),
            gateway,
            frame: self.frame,
            controller: self.controller,
            response: self.response,
            allocator: self.config.return_link.dama.allocator.build(terminals.len()),
            terminals,
            plan,
            board: self.board.clone(),
            probe: supply.probe(&ncc::TRACE, self.name),
        })
    }

    fn forward(&self, terminals: Vec<ForwardTerminal>, last: Span, supply: &mut dyn Supply) -> Forward {
        let (name, link) = (forward_name(self.name), &self.config.forward);
        let handovers = self.ephemeris.as_ref().map(|ephemeris| {
            let gateway = self.config.gateway.clone();
            let probe = supply.probe(&HANDOVER, &gateway);
            Handovers::new(ephemeris.clone(), gateway, probe)
        });
        Forward::new(forward::Parts {
            config: link.clone(),
            grants: self.config.quick_start,
            terminals,
            frame: self.frame,
            last,
            handovers,
            board: self.board.clone(),
            stream: supply.stream(&name),
            probe: supply.probe(&bentpipe_link::TRACE, &name),
            name,
        })
    }
}

/// Returns the traffic classes of a terminal: those of the scenario, or a single one.
fn traffic(link: &Return, slot_bytes: u32) -> Vec<Traffic> {
    let framer = || link.framing.build(Some(slot_bytes));
    if link.classes.is_empty() {
        return vec![Traffic::new(Asks::default(), link.queue.build(link.rate), framer)];
    }
    let classes = link.classes.iter();
    classes
        .map(|class| {
            let queue = class.queue.as_ref().unwrap_or(&link.queue).build(link.rate);
            Traffic::new(class.asks, queue, framer)
        })
        .collect()
}
