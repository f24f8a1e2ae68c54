//! The nodes of a scenario, with the links and networks between them.

use crate::builder::Builder;
use crate::scenario::{LinkPair, Scenario};
use bentpipe_core::{NodeId, Recorder, Streams};
use bentpipe_link::arq::{self, Arq};
use bentpipe_link::{self as link, Link};
use bentpipe_networks::multilink::{self, Multilink};
use bentpipe_networks::Construction;
use bentpipe_stage::{Port, Supply};

/// Adds the nodes of `scenario`, the links and networks between them, and the ends of its flows.
pub(crate) fn lay(scenario: &Scenario, streams: Streams, recorder: Recorder) -> Builder<'_> {
    lay_with(scenario, streams, recorder, None)
}

/// Adds the nodes as [`lay`] does. If `radios` is set, radios of the machine's kernel replace
/// models, and their gates are numbered from `radios` on.
pub(crate) fn lay_with(
    scenario: &Scenario,
    streams: Streams,
    recorder: Recorder,
    radios: Option<u32>,
) -> Builder<'_> {
    let mut builder = Builder::new(streams, recorder, &scenario.record);
    if let Some(first) = radios {
        builder.allow_radios(first);
    }
    for link in scenario.link.iter().filter(|link| scenario.multilink_of(&link.name).is_none()) {
        add_link(&mut builder, link);
    }
    for multilink in &scenario.multilink {
        add_multilink(&mut builder, scenario, multilink);
    }
    builder.networks(scenario.network.iter().map(|(name, network)| (name.as_str(), &**network)));
    for flow in &scenario.flow {
        let (from, to) = (builder.node(&flow.from), builder.node(&flow.to));
        builder.flow(&flow.name, from, to);
    }
    builder
}

fn add_link<'a>(builder: &mut Builder<'a>, pair: &'a LinkPair) {
    builder.begin(&pair.name);
    let (a, b) = (builder.node(&pair.from), builder.node(&pair.to));
    let ends = [(a, b), (b, a)];
    if let Some(config) = &pair.arq {
        return add_repeating(builder, pair, config, ends);
    }
    for (Direction { name, config, link }, (from, to)) in directions(builder, pair).into_iter().zip(ends) {
        let stage = builder.stage(&name, Box::new(link));
        builder.edge(from, to, (stage, Port(0)), config.delay);
        builder.towards_node((stage, Port(0)), to);
    }
}

/// Adds a link with retransmissions. Both directions of such a link are one stage.
fn add_repeating<'a>(
    builder: &mut Builder<'a>,
    pair: &'a LinkPair,
    config: &arq::Config,
    ends: [(NodeId, NodeId); 2],
) {
    let configs = [pair.forward(), pair.back()];
    let parts = directions(builder, pair);
    let streams = parts.each_ref().map(|part| builder.stream(&format!("{}.arq", part.name)));
    let names = parts.each_ref().map(|part| part.name.clone());
    let stage = Arq::new(
        config,
        parts.map(|part| part.link),
        [&configs[0], &configs[1]],
        [&names[0], &names[1]],
        streams,
    );
    let stage = builder.stage(&pair.name, Box::new(stage));
    for ((from, to), (port, config)) in ends.into_iter().zip([Port(0), Port(1)].into_iter().zip(&configs)) {
        builder.edge(from, to, (stage, port), config.delay);
        builder.towards_node((stage, port), to);
        let crossed = Port(port.0 + 2);
        builder.wire((stage, crossed), (stage, crossed));
    }
}

/// One direction of a link.
struct Direction {
    name: String,
    config: link::Config,
    link: Link,
}

fn directions(builder: &mut Builder<'_>, pair: &LinkPair) -> [Direction; 2] {
    let both = [
        (pair.name.clone(), pair.forward(), pair.ends()),
        (LinkPair::back_name(&pair.name), pair.back(), pair.back_ends()),
    ];
    both.map(|(name, config, ends)| {
        let (stream, probe) = (builder.stream(&name), builder.probe(&link::TRACE, &name));
        let config = if pair.arq.is_some() { arq::below(&config) } else { config };
        let changes = config.acm.as_ref().and_then(|_| builder.probe(&link::acm::TRACE, &name));
        let mut link = Link::new(&name, &config, stream, probe).adapting(&config, ends, changes);
        if let Some(contacts) = &pair.contacts {
            let (from, to) = if name == pair.name { (&pair.from, &pair.to) } else { (&pair.to, &pair.from) };
            link =
                link.open_in(contacts.openings(from, to, builder.stream(&format!("{}.contacts", pair.name))));
        }
        Direction { name, config, link }
    })
}

/// Adds the links of a multilink as one stage. Routing uses the delay of the links in use at the
/// start.
fn add_multilink<'a>(builder: &mut Builder<'a>, scenario: &Scenario, config: &'a multilink::Config) {
    builder.begin(&config.name);
    let members = config.links.iter().filter_map(|name| scenario.link.iter().find(|link| link.name == *name));
    let members: Vec<&LinkPair> = members.collect();
    let (a, b) = (builder.node(&members[0].from), builder.node(&members[0].to));
    let mut parts = multilink::Parts {
        links: Vec::new(),
        rates: Vec::new(),
        schedule: scenario.schedule_of(config),
        stream: builder.stream(&config.name),
        probe: builder.probe(&multilink::SELECTION, &config.name),
    };
    let delay = members[0].delay;
    for member in members {
        let [forward, back] = directions(builder, member);
        parts.rates.push([*forward.config.rate, *back.config.rate]);
        parts.links.push([forward.link, back.link.leaving_by(Port(1))]);
    }
    let stage = builder.stage(&config.name, Box::new(Multilink::new(config, parts)));
    for (port, from, to) in [(Port(0), a, b), (Port(1), b, a)] {
        builder.edge(from, to, (stage, port), delay);
        builder.towards_node((stage, port), to);
    }
}
