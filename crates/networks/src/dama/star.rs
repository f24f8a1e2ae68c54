//! The star as an access network: its nodes, the names of its stages, and their connections.

use super::config::Config;
use super::network::{self, forward_name, ncc_name, terminal_name};
use crate::{AccessNetwork, Changing, Classes, Construction, Part, RatedLink};
use bentpipe_core::{NodeId, Problems, Rate, Span};
use bentpipe_link::acm;
use bentpipe_link::acm::budget::Sheet;
use bentpipe_link::framing;
use bentpipe_link::queue::{self, classes};
use bentpipe_stage::facts::{Crossing, Hop};
use bentpipe_stage::Port;
use std::collections::BTreeSet;
use std::sync::Arc;

impl AccessNetwork for Config {
    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        self.path_hops(name, crossings)
    }

    fn queues(&self) -> Vec<(String, Rate, queue::Config)> {
        self.described_queues()
    }

    fn nodes(&self) -> Vec<String> {
        let mut nodes = self.terminal_names();
        nodes.push(self.gateway.clone());
        nodes
    }

    fn named_after_nodes(&self) -> (&'static str, Vec<String>) {
        (TERMINAL, self.terminal_names())
    }

    fn classes(&self) -> Option<Classes> {
        let listed = &self.return_link.classes;
        let named = classes::by_dscp(listed)
            .map(|place| listed.get(usize::from(place)).map(|class| class.name.clone()));
        let by_dscp: Option<Vec<String>> = named.into_iter().collect();
        Some(Classes { nodes: self.terminal_names().into_iter().collect(), by_dscp: by_dscp? })
    }

    fn parts(&self, name: &str) -> Vec<Part> {
        let own = [forward_name(name), ncc_name(name)].map(Part::of_network);
        let terminals = self.terminal_names().into_iter().map(|terminal| Part {
            name: terminal_name(name, &terminal),
            what: Some(format!("its terminal \"{terminal}\"")),
        });
        own.into_iter().chain(terminals).collect()
    }

    fn check(&self, problems: &mut Problems) {
        Config::check(self, problems);
    }

    fn remark(&self, duration: Span, remarks: &mut Problems) {
        self.remark_orbit(duration, remarks);
        for (key, acm) in [("forward", &self.forward.acm), ("return", &self.return_link.acm)] {
            let Some(acm) = acm else { continue };
            remarks.within(key, |remarks| remarks.within("acm", |remarks| acm.remark(remarks)));
        }
    }

    fn budgets(&self) -> Vec<(&'static str, Sheet)> {
        let of = |name: &'static str, acm: &Option<acm::Config>| Some((name, acm.as_ref()?.sheet()?));
        [of("forward", &self.forward.acm), of("return", &self.return_link.acm)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn framings(&self, name: &str) -> Vec<(String, framing::Config)> {
        // The return link has one stage per terminal; all have the same framing.
        let back = (format!("{name}.return"), self.return_link.framing.clone());
        vec![(forward_name(name), self.forward.framing.clone()), back]
    }

    fn rated(&self, name: &str) -> Vec<RatedLink> {
        // All terminals of a star have nearly the same delay, so the delay of the first is used.
        let delay = self.members().first().map_or(Span::ZERO, |member| member.timing.one_way);
        let (rate, error) = (self.forward.rate, self.forward.error.clone());
        // With ACM the rate depends on the terminal and on the weather.
        let traced = self.forward.acm.is_some();
        vec![RatedLink { name: forward_name(name), rate: *rate, delay, error, traced }]
    }

    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>) {
        build(name, self, site);
    }

    fn multicast(&self, _crossings: &BTreeSet<[&str; 2]>) -> Result<(), &'static str> {
        Ok(())
    }

    fn changing(&self, name: &str) -> Option<Changing> {
        let terminals = self.terminal_names().into_iter().map(|terminal| terminal_name(name, &terminal));
        let stages = [forward_name(name), ncc_name(name)].into_iter().chain(terminals).collect();
        Some(Changing { stages, config: Arc::new(self.clone()) })
    }

    fn check_change(&self, start: &Changing, problems: &mut Problems) {
        let start = start.config.downcast_ref().expect("a change keeps the kind of a network");
        Config::check_change(self, start, problems);
    }
}

/// Noun for the part of the network at each node except the gateway.
const TERMINAL: &str = "terminal";

/// Adds the stages of network `name`, connected as described at [`network::Star`].
pub fn build(name: &str, config: &Config, site: &mut dyn Construction<'_>) {
    let gateway = site.node(&config.gateway);
    let members = config.members();
    let nodes: Vec<NodeId> = members.iter().map(|member| site.node(&member.name)).collect();
    let labels: Vec<String> = members.iter().map(|member| site.label(TERMINAL, &member.name)).collect();
    let mut star = network::build(name, config, gateway, &nodes, &labels, site);
    star.forward.copy_by(site.copying());
    let forward = site.stage(&forward_name(name), Box::new(star.forward));
    let ncc = site.stage(&ncc_name(name), Box::new(star.ncc));
    site.towards_node((ncc, Port(0)), gateway);
    site.wire((ncc, Port(1)), (forward, Port(members.len() as u16)));
    for (index, (terminal, (member, node))) in
        star.terminals.into_iter().zip(members.iter().zip(nodes)).enumerate()
    {
        let past = u16::try_from(members.len() + index).ok();
        let (index, delay) = (Port(index as u16), member.timing.one_way);
        let stage = site.stage(&terminal_name(name, &member.name), Box::new(terminal));
        site.edge(gateway, node, (forward, index), delay);
        site.wire((forward, index), (stage, Port(1)));
        site.towards_node((stage, Port(0)), node);
        if let Some(past) = past {
            site.towards_node((forward, Port(past)), node);
        }
        site.edge(node, gateway, (stage, Port(0)), delay);
        site.wire((stage, Port(1)), (ncc, Port(0)));
        site.towards_node((stage, Port(2)), gateway);
    }
}
