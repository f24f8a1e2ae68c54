//! The cost of computing a constellation's forwarding state before a run, at fixed steps, for every
//! site and satellite, as Hypatia does (Kassing et al., IMC 2020): `bench_forwarding SCENARIO.toml
//! STEP_MS SECONDS`. Prints the processor time of one thread.
//!
//! The method is Hypatia's; the implementation is ours, with the positions, links and trees of a
//! run.

use bentpipe_core::{Span, Time};
use bentpipe_engine::presets;
use bentpipe_engine::scenario::{NetworkKind, Scenario};
use bentpipe_networks::constellation::routes::Exit;
use bentpipe_scenario::{load, Source};
use cpu_time::ThreadTime;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, step, seconds] = &words[..] else {
        return Err("usage: bench_forwarding SCENARIO.toml STEP_MS SECONDS".into());
    };
    let step = Span::from_millis(step.parse()?);
    let end = Time::ZERO + Span::from_secs(seconds.parse()?);
    let loaded = load::<Scenario>(Source::File(Path::new(file)), &presets::all(), &[])?;
    let constellation = loaded.value.network.values().find_map(|network| match network {
        NetworkKind::Constellation(config) => Some(config.clone()),
        _ => None,
    });
    let mut config = constellation.ok_or("the scenario has no constellation")?;
    config.routing.refresh = step;
    let begin = ThreadTime::now();
    let mut topology = config.topology();
    let exits: Vec<_> =
        (0..topology.sites.len() as u32).map(|site| vec![Exit { site, delay_beyond: Span::ZERO }]).collect();
    let sites = exits.len();
    let mut routes = config.routes(&topology, exits);
    let (mut now, mut states) = (Time::ZERO, 0u64);
    while now < end {
        while topology.advance(now).is_some() {}
        for site in 0..sites {
            states += routes.tree(site, now, &topology).paths.costs.len() as u64;
        }
        now += step;
    }
    let cpu = begin.elapsed().as_secs_f64();
    let simulated = end.as_secs_f64();
    println!(
        "{states} next hops for {simulated} s in {cpu:.2} s of processor time: {:.2} times real time",
        simulated / cpu
    );
    Ok(())
}
