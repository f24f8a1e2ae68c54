//! A single run for `benchmarks/run.py`, which describes the protocol: `bench_run SCENARIO.toml
//! [--seed N] [--traces DIR]`. For `benchmarks/same.py`, `bench_run SCENARIO.toml --folder DIR`
//! writes the whole run folder.

use bentpipe_core::{Recorder, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{instantiate, presets, Network};
use bentpipe_results::{Ending, Existing, Provenance, RunFolder};
use bentpipe_runs::Options;
use bentpipe_scenario::{load, Loaded, Source};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

struct Arguments {
    scenario: PathBuf,
    seed: Option<u64>,
    traces: Option<PathBuf>,
    folder: Option<PathBuf>,
}

fn arguments() -> Option<Arguments> {
    let mut words = std::env::args().skip(1);
    let mut arguments = Arguments { scenario: words.next()?.into(), seed: None, traces: None, folder: None };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seed" => arguments.seed = Some(words.next()?.parse().ok()?),
            "--traces" => arguments.traces = Some(words.next()?.into()),
            "--folder" => arguments.folder = Some(words.next()?.into()),
            _ => return None,
        }
    }
    Some(arguments)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("usage: bench_run SCENARIO.toml [--seed N] [--traces DIR | --folder DIR]");
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, Box<dyn std::error::Error>> {
    let loaded = load::<Scenario>(Source::File(&arguments.scenario), &presets::all(), &[])?;
    let scenario = &loaded.value;
    let seed = arguments.seed.unwrap_or(scenario.seed.value());
    if let Some(folder) = &arguments.folder {
        return whole(&loaded, seed, folder);
    }
    let end = Time::ZERO + scenario.duration;
    let stride = scenario.duration / 1000;
    let (mut network, driven);
    match &arguments.traces {
        None => {
            let mut silent = scenario.clone();
            silent.record.traces.clear();
            network = instantiate(&silent, seed, 0, Recorder::default());
            driven = bentpipe_runs::virtual_time::drive(&mut network, end, stride, &mut |_, _| {
                ControlFlow::Continue(())
            });
        }
        Some(out) => {
            let provenance = Provenance::new("simulate", seed, 0);
            let mut folder = RunFolder::create(out, Existing::Replace, &loaded.to_toml(), provenance)?;
            let recorder = Recorder::new(Box::new(folder.traces()?));
            network = instantiate(scenario, seed, 0, recorder);
            driven = bentpipe_runs::virtual_time::drive(&mut network, end, stride, &mut |_, _| {
                ControlFlow::Continue(())
            });
            network.out().recorder().finish();
            folder.finish(Ending::Complete, Default::default())?;
        }
    }
    let report = network.report(end);
    let sum = |table: &str, column: &str| -> f64 {
        let rows = report.rows().iter().filter(|(of, _, _)| of.name == table);
        rows.filter_map(|(_, entity, _)| report.value(table, entity, column)).sum()
    };
    Ok(format!(
        "{{\"cpu_s\": {}, \"events\": {}, \"calls\": {}, \"packets\": {}, \"hops\": {}, \"goodput_bytes\": {}, \
         \"peak_rss_bytes\": {}}}",
        driven.cpu.as_secs_f64(),
        network.events(),
        calls(&network),
        sum("flow_destination", "delivered_packets"),
        sum("link", "packets"),
        sum("flow_destination", "delivered_bytes"),
        peak_rss(Path::new("/proc/self/status"))?,
    ))
}

/// Runs the scenario as `bentpipe simulate` does.
fn whole(loaded: &Loaded<Scenario>, seed: u64, folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let options = Options { seed: Some(seed), ..Options::default() };
    let proceed = &mut |_| ControlFlow::Continue(());
    let run =
        bentpipe_runs::virtual_time::simulate(&loaded.value, &loaded.to_toml(), folder, &options, proceed)?;
    Ok(format!("{{\"events\": {}, \"created\": {}}}", run.cost.events, run.totals.created.packets))
}

fn calls(network: &Network) -> u64 {
    network.events() + network.receives()
}

/// Returns the largest resident set in bytes. The kernel reports it in kB.
fn peak_rss(status: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(status)?;
    let line =
        text.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}
