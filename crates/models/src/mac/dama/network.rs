//! Makes the stages of a network from its configuration.

use super::category::Terms;
use super::config::{Config, Return};
use super::forward::{self, Forward, Listener};
use super::frame::Frame;
use super::ncc::{self, Ncc};
use super::plan::Plan;
use super::terminal::{self, Logon, Terminal};
use super::traffic::{Asks, Traffic};
use super::waits::{self, Controller};
use crate::net::quick_start::Grants;
use crate::queue::classes;
use crate::Supply;
use bentpipe_core::{NodeId, Time};

/// The stages of a star network. The terminals stand in the order in which the configuration lists them.
///
/// To be wired, with `g` the gateway's router, `t[i]` the router of terminal i and n the number of terminals:
///
/// | from | to |
/// | --- | --- |
/// | `g`, next hop `t[i]` | `forward` in i |
/// | `forward` out i | `terminals[i]` in 1 |
/// | `terminals[i]` out 0 | `t[i]` |
/// | `t[i]`, next hop `g` | `terminals[i]` in 0 |
/// | `terminals[i]` out 1 | `ncc` in 0 |
/// | `ncc` out 0 | `g` |
/// | `ncc` out 1 | `forward` in n |
pub struct Star {
    /// The terminals' MACs.
    pub terminals: Vec<Terminal>,
    /// The network control centre.
    pub ncc: Ncc,
    /// The forward link.
    pub forward: Forward,
}

/// Builds network `name` for the addresses of its nodes; `label` says what results call the terminal at a node.
///
/// # Panics
/// When [`Config::check`] has something to say, or `terminals` are not as many as the configuration's.
pub fn build(
    name: &str,
    config: &Config,
    gateway: NodeId,
    terminals: &[NodeId],
    label: &dyn Fn(&str) -> String,
    supply: &mut dyn Supply,
) -> Star {
    let members = config.members();
    assert_eq!(members.len(), terminals.len(), "one address for each terminal");
    let frame = config.frame().expect("the configuration has been checked");
    let (link, dama) = (&config.return_link, &config.return_link.dama);
    let timings = || members.iter().map(|member| &member.timing);
    let schedule = config.schedule(&frame, &members);
    let lead = schedule.lead(&frame, config.plan_transmission(&frame, members.len()), timings());
    let emergent = schedule.response(&frame, dama.processing, lead, timings());
    let response = dama.response.map_or(emergent, |response| response.value());
    let controller = Controller {
        phase: schedule.plan,
        lead,
        processing: dama.processing,
        imposed: dama.response.map(|response| response.value()),
    };

    let mut plan = Plan::new(&config.carriers().expect("the configuration has been checked"));
    let mut macs = Vec::new();
    let mut accounts = Vec::new();
    let mut listeners = Vec::new();
    for (index, (member, &address)) in members.iter().zip(terminals).enumerate() {
        let logon = match member.logon {
            None => {
                Logon::Done(plan.add_constant(member.constant).expect("the configuration has been checked"))
            }
            Some(at) => Logon::Begins(Time::ZERO + at),
        };
        let frame = Frame { slot_bytes: member.slot_bytes, ..frame };
        let terms = Terms::new(config.link(), response, &frame);
        let stage = format!("{name}.{}", member.name);
        macs.push(Terminal::new(terminal::Parts {
            name: label(&member.name),
            terminal: index as u16,
            addresses: (address, gateway),
            frame,
            timing: member.timing,
            ask: schedule.ask,
            logon,
            logoff: member.logoff.map(|at| (Time::ZERO + at, member.period)),
            // The answer is there after two one-way delays and a plan's transmission, which the lead exceeds.
            retry: frame.superframe() * (lead + 1) + member.timing.one_way,
            traffic: traffic(link, frame.slot_bytes),
            by_dscp: classes::by_dscp(&link.classes),
            classes: !link.classes.is_empty(),
            longest: link.framing.longest(),
            errors: link.error.errors(),
            request_errors: dama.request_error.errors(),
            grants: (config.quick_start.map(|share| Grants::new(share.value())), link.rate),
            requester: dama.scheme.requester(&terms),
            turns: dama.requests.build(index as u16, response),
            shared: (dama.requests.shared_slots(), dama.requests.data()),
            controller,
            stream: supply.stream(&stage),
            probe: supply.probe(&terminal::TRACE, &label(&member.name)),
            waits: supply.probe(&waits::TRACE, &label(&member.name)),
        }));
        accounts.push(ncc::Member {
            address,
            constant: member.constant,
            guaranteed: member.min,
            most: member.max,
            weight: member.weight,
            account: dama.scheme.account(&terms),
            logon: match logon {
                Logon::Done(run) => Some((run, 0)),
                Logon::Begins(_) => None,
            },
        });
        listeners.push(Listener {
            address,
            delay: member.timing.one_way,
            errors: config.forward.error.errors(),
            plan_errors: dama.plan_error.errors(),
        });
    }
    let forward_name = format!("{name}.forward");
    Star {
        terminals: macs,
        ncc: Ncc::new(ncc::Parts {
            name: name.to_owned(),
            gateway,
            frame,
            controller,
            response,
            terminals: accounts,
            plan,
            allocator: dama.allocator.build(members.len()),
            probe: supply.probe(&ncc::TRACE, name),
        }),
        forward: Forward::new(forward::Parts {
            name: forward_name.clone(),
            rate: config.forward.rate,
            queue: config.forward.queue.build(config.forward.rate),
            grants: config.quick_start,
            framing: config.forward.framing.clone(),
            terminals: listeners,
            stream: supply.stream(&forward_name),
            probe: supply.probe(&crate::link::TRACE, &forward_name),
        }),
    }
}

/// The traffic classes of a terminal: one for everything, unless the scenario names some.
fn traffic(link: &Return, slot_bytes: u32) -> Vec<Traffic> {
    let framer = || link.framing.build(Some(slot_bytes));
    if link.classes.is_empty() {
        return vec![Traffic::new(Asks::default(), link.queue.build(link.rate).admission(), framer())];
    }
    let classes = link.classes.iter();
    classes
        .map(|class| {
            let queue = class.queue.as_ref().unwrap_or(&link.queue).build(link.rate);
            Traffic::new(class.asks, queue.admission(), framer())
        })
        .collect()
}
