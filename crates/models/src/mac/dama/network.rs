//! Makes the stages of a network from its configuration.

use super::config::Config;
use super::forward::{self, Forward, Listener};
use super::ncc::{self, Ncc};
use super::plan::Plan;
use super::terminal::{self, Logon, Terminal};
use super::timing::Timing;
use bentpipe_core::{NodeId, Probe, Stream, Table, Time};

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

/// What the network asks of the engine while it is built.
pub trait Supply {
    /// The random stream of the stage of this name.
    fn stream(&mut self, name: &str) -> Stream;
    /// A probe on a table for an entity, when that trace is wanted.
    fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe>;
}

/// Builds network `name` for the addresses of its nodes.
///
/// # Panics
/// When [`Config::check`] has something to say, or `terminals` are not as many as the configuration's.
pub fn build(
    name: &str,
    config: &Config,
    gateway: NodeId,
    terminals: &[NodeId],
    supply: &mut dyn Supply,
) -> Star {
    let members = config.members();
    assert_eq!(members.len(), terminals.len(), "one address for each terminal");
    let frame = config.frame().expect("the configuration has been checked");
    let (link, dama) = (&config.return_link, &config.return_link.dama);
    let timings = || members.iter().map(|member| &member.timing);
    let lead = Timing::lead(&frame, config.plan_transmission(&frame, members.len()), timings());
    let emergent = Timing::response(&frame, dama.processing, lead, timings());
    let response = dama.response.map_or(emergent, |response| response.value());

    let mut plan = Plan::new(frame.slots);
    let mut macs = Vec::new();
    let mut accounts = Vec::new();
    let mut listeners = Vec::new();
    for (index, (member, &address)) in members.iter().zip(terminals).enumerate() {
        // The answer is there after two one-way delays and a plan's transmission, which the lead exceeds.
        let retry = frame.superframe() * (lead + 1) + member.timing.one_way;
        let logon = match member.logon {
            None => Logon::Done(plan.add_constant(member.constant)),
            Some(at) => Logon::Begins { at: Time::ZERO + at, retry },
        };
        let stage = format!("{name}.{}", member.name);
        macs.push(Terminal::new(terminal::Parts {
            name: member.name.clone(),
            terminal: index as u16,
            addresses: (address, gateway),
            frame,
            timing: member.timing,
            logon,
            queue: link.queue.build(),
            errors: link.error.errors(),
            requester: dama.scheme.requester(response),
            stream: supply.stream(&stage),
            probe: supply.probe(&terminal::TRACE, &member.name),
        }));
        accounts.push(ncc::Member {
            address,
            constant: member.constant,
            account: dama.scheme.account(),
            logon: match logon {
                Logon::Done(run) => Some((run, 0)),
                Logon::Begins { .. } => None,
            },
        });
        listeners.push(Listener {
            address,
            delay: member.timing.one_way,
            errors: config.forward.error.errors(),
        });
    }
    let forward_name = format!("{name}.forward");
    Star {
        terminals: macs,
        ncc: Ncc::new(ncc::Parts {
            name: name.to_owned(),
            gateway,
            frame,
            lead,
            response,
            imposed: dama.response.is_some(),
            processing: dama.processing,
            terminals: accounts,
            plan,
            allocator: dama.allocator.build(members.len()),
            probe: supply.probe(&ncc::TRACE, name),
        }),
        forward: Forward::new(forward::Parts {
            name: forward_name.clone(),
            rate: config.forward.rate,
            queue: config.forward.queue.build(),
            terminals: listeners,
            stream: supply.stream(&forward_name),
            probe: supply.probe(&crate::link::TRACE, &forward_name),
        }),
    }
}
