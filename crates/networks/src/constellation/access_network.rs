//! The constellation as an access network: one stage with a port per site, which routes packets
//! between the sites.

use super::config::Config;
use super::groups;
use super::path::{FlowPath, PATH};
use super::routes::Exit;
use super::serving::HANDOVER;
use super::stage::{Constellation, Parts};
use crate::{AccessNetwork, Construction, Expanded, FlowEnds, NetworkKind, OutsideRoutes, Part};
use bentpipe_core::{NodeId, Problems, Rate, Span, Streams};
use bentpipe_link::queue;
use bentpipe_stage::facts::{Crossing, Hop};
use bentpipe_stage::Port;
use bentpipe_stage::Supply;
use bentpipe_transport::names::reverse;
use std::collections::BTreeSet;

impl AccessNetwork for Config {
    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        self.path_hops(name, crossings)
    }

    fn queues(&self) -> Vec<(String, Rate, queue::Config)> {
        self.described_queues()
    }

    fn nodes(&self) -> Vec<String> {
        self.sites.keys().cloned().collect()
    }

    fn expanded(&self, problems: &mut Problems) -> Option<(NetworkKind, Vec<Expanded>)> {
        let mut expanded = None;
        problems.within("sites", |problems| expanded = groups::expanded(&self.sites, problems));
        let (sites, members) = expanded?;
        Some((NetworkKind::Constellation(Config { sites, ..self.clone() }), members))
    }

    fn parts(&self, name: &str) -> Vec<Part> {
        vec![Part::of_network(name.to_owned())]
    }

    fn check(&self, problems: &mut Problems) {
        Config::check(self, problems);
    }

    fn remark(&self, duration: Span, remarks: &mut Problems) {
        Config::remark(self, duration, remarks);
    }

    fn multicast(&self, _crossings: &BTreeSet<[&str; 2]>) -> Result<(), &'static str> {
        Ok(())
    }

    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>) {
        let nodes: Vec<NodeId> = self.sites.keys().map(|node| site.node(node)).collect();
        let (streams, copying) = (site.streams(), site.copying());
        let stage = site.routing_stage(
            name,
            &nodes,
            Box::new(move |beyond, supply| {
                let mut stage = self.stage(name, beyond, streams, supply);
                stage.copy_by(copying);
                Box::new(stage)
            }),
        );
        let entries = nodes.iter().enumerate().map(|(index, &node)| (node, (stage, Port(index as u16))));
        let entries: Vec<_> = entries.collect();
        entries.iter().for_each(|&(node, port)| site.towards_node(port, node));
        let delay = self.expected_delays();
        site.mesh(&entries, &delay);
    }
}

impl Config {
    fn stage(
        &self,
        name: &str,
        beyond: OutsideRoutes,
        streams: Streams,
        supply: &mut dyn Supply,
    ) -> Constellation {
        let handovers = self.sites.keys().map(|site| supply.probe(&HANDOVER, site)).collect();
        let flows = beyond.flows.into_iter().map(|FlowEnds { name, from, to }| {
            let forth =
                FlowPath { destination: to, probe: supply.probe(&PATH, &name), flow: Some(name.clone()) };
            let back = supply.probe(&PATH, &reverse(&name));
            [forth, FlowPath { destination: from, probe: back, flow: None }]
        });
        let flows = flows.collect();
        let exits = |delays: Vec<Option<Span>>| {
            let exits =
                (0..).zip(delays).filter_map(|(site, beyond)| Some(Exit { site, delay_beyond: beyond? }));
            exits.collect()
        };
        let destinations = beyond.destinations.into_iter().map(|(node, delays)| (node, exits(delays)));
        let destinations = destinations.collect();
        Constellation::new(self, Parts { name: name.to_owned(), destinations, streams, handovers, flows })
    }
}
