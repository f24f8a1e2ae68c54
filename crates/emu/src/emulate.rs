//! A whole run on the real clock: hosts, flows, results.

use crate::bridge::Handle;
use crate::clock::{Clock, Timing};
use crate::error::{Doing, Error as Trouble};
use crate::flows::commands::{self, Commands, Done, Planned};
use crate::flows::traffic::settings::{Disagreement, Settings};
use crate::flows::traffic::{self, Ran, Traffic};
use crate::flows::variants::{Unknown, Variants};
use crate::host::live::LiveHost;
use crate::live::{Live, Prepared, Setup};
use crate::proxy::RunningProxies;
use crate::report::fidelity::{Datagrams, Fidelity, Flows, Programs};
use crate::report::tcp_memory;
use crate::wifi::{refused, Radios};
use bentpipe_bpf::Skipped;
use bentpipe_core::{Report, Seen, Span, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_networks::wifi::counters as wifi;
use bentpipe_results::{Cost, ResultsError};
use bentpipe_runs::{interrupted_at, Closing, Follow, Made, OnlyProgress, Options, Run, Running, Writers};
use bentpipe_stage::{Capture, Packet, Totals};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The outcome of an emulated run.
pub struct Emulated {
    /// The reports of the stages and the flows.
    pub report: Report,
    /// The packets created, consumed and dropped.
    pub totals: Totals,
    /// True if the run reached its end, false if it was interrupted.
    pub complete: bool,
    /// Number of events, real time and processor time of the run.
    pub cost: Cost,
    /// Accuracy of the emulation, and the verdict on its results.
    pub fidelity: Fidelity,
}

/// The error of a run without results.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be created or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// This machine lacks a required feature.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// A congestion control is unavailable.
    #[error(transparent)]
    Variant(#[from] Unknown),
    /// Two flows need different settings of one host.
    #[error(transparent)]
    Settings(#[from] Disagreement),
    /// The kernel's Wi-Fi cannot run a network of the scenario.
    #[error(transparent)]
    Wifi(#[from] refused::Refused),
    /// The scenario names programs, which are not allowed.
    #[error("the scenario would run these programs, which --allow-commands allows:{}", listed(.0))]
    NotAllowed(Vec<Planned>),
}

fn listed(planned: &[Planned]) -> String {
    let line = |planned: &Planned| {
        format!("\n  flow {:?} at host {:?}: {}", planned.flow, planned.host, planned.shown())
    };
    planned.iter().map(line).collect()
}

/// Ethernet's maximum packet size, used unless a flow needs more.
const MTU: u32 = 1500;

/// Maximum time between two reports of progress.
pub(crate) const PROGRESS: Duration = Duration::from_millis(100);
/// Number of progress reports in a run in virtual time, in which a report costs more than the time
/// between two reports; and the maximum time between two reports, since they also stop a run.
const STEPS: u32 = 200;
const LONGEST_STEP: Duration = Duration::from_secs(10);

/// Time for the threads to start, also on a busy machine; nothing is sent before.
pub(crate) const LEAD: Span = Span::from_millis(50);

/// Emulates `scenario`, whose resolved text is `text`, into the folder `out`, which may contain an
/// earlier run. Calls `progress` with the completed fraction about ten times a second; it stops the
/// run by breaking.
///
/// # Errors
/// Returns an error if the machine lacks a required feature, or if the folder cannot be created or
/// written. Data written before remains readable and is marked incomplete. Hosts, interfaces and
/// congestion controls are removed in any case.
pub fn emulate(
    scenario: &Scenario,
    text: &str,
    out: &Path,
    options: &Options,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Emulated, Error> {
    emulate_on(Timing::Real, scenario, text, out, options, &mut OnlyProgress(progress))
}

/// Emulates as [`emulate`] does, with an observer that may change the scenario.
///
/// # Errors
/// Returns errors as [`emulate`] does.
pub fn emulate_followed(
    scenario: &Scenario,
    text: &str,
    out: &Path,
    options: &Options,
    follow: &mut dyn Follow,
) -> Result<Emulated, Error> {
    emulate_on(Timing::Real, scenario, text, out, options, follow)
}

/// Emulates as [`emulate_followed`] does, on a machine with this timing.
pub(crate) fn emulate_on(
    timing: Timing,
    scenario: &Scenario,
    text: &str,
    out: &Path,
    options: &Options,
    follow: &mut dyn Follow,
) -> Result<Emulated, Error> {
    let (seed, number) = options.seeds(scenario);
    let scenario = &*scenario.started(seed, number);
    let planned = commands::plan(scenario);
    if !planned.is_empty() && !options.allow_commands {
        return Err(Error::NotAllowed(planned));
    }
    refused::check(scenario)?;
    refused::check_kernel(scenario, timing)?;
    let variants =
        Variants::load(traffic::flows(scenario).filter_map(|(_, flow)| flow.transport.tcp()), timing)?;
    let names: BTreeSet<_> = traffic::flows(scenario).flat_map(|(_, flow)| [&flow.from, &flow.to]).collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    let opened = Clock::start().with(timing);
    let (mut run, Writers { recorder, capture }) =
        Run::open("emulate", scenario, text, out, options, opened.unix_zero())?;
    let mut prepared = Prepared::new(Setup {
        scenario,
        seed: run.seed(),
        hosts: &names,
        recorder,
        capture: None,
        mtu: largest_packet(scenario).max(MTU),
        internet: None,
        radios: Some(timing),
        elsewhere: &[],
    })?;
    let settings = settings(scenario, prepared.hosts(), &variants)?;
    for (host, settings) in prepared.hosts().iter().zip(&settings) {
        settings.apply(host)?;
    }
    let (hosts, network) = prepared.parts();
    let traffic = Traffic::new(scenario, run.seed(), hosts, &variants, timing, &mut |table, entity| {
        scenario.record.writes(table).then(|| network.out().recorder().open(table, entity))
    })?;
    let mut commands = Commands::prepare(planned, hosts, run.folder().path())?;
    let clock = Clock::start_after(LEAD).with(timing);
    if let Some(capture) = capture {
        let shift = Span::from_nanos(clock.unix_zero() - opened.unix_zero());
        network.out().set_capture(Some(Box::new(Shifted { capture, shift })));
    }
    let end = Time::ZERO + scenario.duration;
    let live = prepared.start(clock, Some(end))?;
    if let Some(observer) = traffic.observer() {
        let _ = live.handle().post(move |bridge, _| bridge.observe(observer));
    }
    commands.start(clock)?;
    let mut memory = tcp_memory::Watch::begin();
    let cpu = processor_time();
    let mut alive = Alive { handle: live.handle(), changes: Vec::new() };
    let ran = run_flows(traffic, &live, clock, end, &mut |fraction| {
        memory.look();
        run.failed() || follow.at(fraction, &mut alive).is_break()
    })?;
    let changes = alive.changes;
    let applied: BTreeMap<_, _> =
        names.iter().zip(&settings).map(|(name, settings)| (name, settings.describe())).collect();
    run.folder().provenance().notes.insert("hosts".to_owned(), json!(applied));
    let (reached, commands) = (clock.now().min(end), commands.finish(clock));
    let Skipped { repaired, begun } = variants.skipped();
    let skipped = Programs { repaired, begun, absurd: ran.absurd() };
    conclude(scenario, run, live, Ended { reached, end, cpu, ran, commands, memory, skipped, changes })
}

/// Time limit for an answer of the engine, which does not answer at the end of the run.
const PATIENCE: Duration = Duration::from_secs(2);

/// A run whose engine has its own thread.
struct Alive<'a> {
    handle: &'a Handle,
    changes: Vec<Made>,
}

impl Running for Alive<'_> {
    fn look(&mut self) -> Seen {
        let seen = self.handle.ask_within(PATIENCE, |bridge, _| bridge.network().out().recorder().look());
        seen.unwrap_or_default()
    }

    fn change(&mut self, key: &str, value: &str) -> Result<Time, String> {
        let (key, value) = (key.to_owned(), value.to_owned());
        let made = self.handle.ask_within(PATIENCE, move |bridge, at| {
            let changed = bridge.network().change(at, &key, &value);
            changed.map(|()| Made { at, key, value }).map_err(|refused| refused.to_string())
        });
        let made = made.map_err(|ended| ended.to_string())??;
        let at = made.at;
        self.changes.push(made);
        Ok(at)
    }
}

/// Runs the flows in a separate thread until `end`, or until `look`, which gets the completed
/// fraction, stops them.
fn run_flows(
    traffic: Traffic,
    live: &Live,
    clock: Clock,
    end: Time,
    look: &mut dyn FnMut(f64) -> bool,
) -> Result<Ran, Trouble> {
    let pause = match clock.timing() {
        Timing::Real => PROGRESS,
        Timing::Virtual => PROGRESS.max(Duration::from_nanos(end.as_nanos()) / STEPS).min(LONGEST_STEP),
    };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("traffic".to_owned());
        let driver = thread
            .spawn_scoped(scope, || traffic.run(clock, end, live.handle(), &|| stop.load(Ordering::Relaxed)))
            .doing("starting the traffic's thread")?;
        if clock.timing() == Timing::Virtual {
            clock.wait_for_zero();
        }
        while !driver.is_finished() {
            thread::park_timeout(pause);
            if look((clock.now().as_secs_f64() / end.as_secs_f64()).min(1.0)) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The state of a run whose flows have ended.
struct Ended {
    reached: Time,
    /// Time at which the run ends if it is not interrupted.
    end: Time,
    /// Processor seconds that the process had used before the run.
    cpu: f64,
    ran: Ran,
    commands: Done,
    memory: tcp_memory::Watch,
    skipped: Programs,
    /// The changes that were made by hand.
    changes: Vec<Made>,
}

/// Ends the network, writes the reports, and closes the folder.
fn conclude(scenario: &Scenario, mut run: Run, mut live: Live, ended: Ended) -> Result<Emulated, Error> {
    let Ended { reached, end, cpu, mut ran, commands, memory, skipped, changes } = ended;
    let scheduling = live.scheduling();
    let memory = memory.finish(live.hosts().iter().map(|host| &host.namespace));
    let (radios, proxies) = (live.take_radios(), live.take_proxies());
    let mut bridge = live.finish()?;
    let media = radios.map_or(Ok(Vec::new()), Radios::finish)?;
    let datagrams = Datagrams { late: ran.lateness().into(), lost: ran.lost_datagrams() };
    let by_proxies = proxies.iter().flat_map(RunningProxies::unapplied);
    let unapplied = ran.unapplied().iter().chain(by_proxies).cloned().collect();
    let flows = Flows { datagrams, unapplied, skipped };
    let fidelity = Fidelity::of(&mut bridge, scenario, reached).with_tcp_memory(memory).with_flows(flows);
    let streams = bridge.take_streams();
    let network = bridge.network();
    network.out().set_capture(None);
    network.finish(reached);
    if scenario.record.writes(&wifi::TRACE) {
        media.iter().for_each(|(medium, _)| medium.record(network.out()));
    }
    network.out().recorder().finish();
    let mut report = network.report(reached);
    ran.report(reached, &mut report);
    media.iter().for_each(|(medium, drops)| medium.report(drops, &mut report));
    commands.report(&mut report);
    if let Some(proxies) = proxies {
        proxies.finish(&mut report)?;
    }
    streams.report(&mut report);
    let totals = network.out().totals().clone();
    let notes = &mut run.folder().provenance().notes;
    notes.insert("emulation".to_owned(), json!(ran.notes()));
    notes.insert("commands".to_owned(), json!(commands.notes()));
    notes.insert("engine thread".to_owned(), json!(format!("{scheduling:?}")));
    fidelity.write(run.folder().path()).doing("writing fidelity.json")?;
    let complete = reached == end;
    let cost = run.close(Closing {
        reached,
        report: &report,
        totals: &totals,
        held: network.held(),
        stages: network.names(),
        interrupted: (!complete).then(|| interrupted_at(reached)),
        events: network.events(),
        wall_seconds: reached.as_secs_f64(),
        cpu_seconds: processor_time() - cpu,
        changes: &changes,
    })?;
    Ok(Emulated { report, totals, complete, cost, fidelity })
}

/// Returns the size of the largest packet of the flows whose transports limit it, in bytes.
fn largest_packet(scenario: &Scenario) -> u32 {
    let largest = traffic::flows(scenario).filter_map(|(_, flow)| flow.transport.largest_packet());
    largest.map(|(bytes, _)| bytes as u32).max().unwrap_or(0)
}

fn settings(
    scenario: &Scenario,
    hosts: &[LiveHost],
    variants: &Variants,
) -> Result<Vec<Settings>, Disagreement> {
    let mut settings: Vec<Settings> = hosts.iter().map(|_| Settings::common()).collect();
    let node = |name: &str| hosts.iter().position(|host| host.name == name).expect("all ends are hosts");
    for (_, flow) in traffic::flows(scenario) {
        for (own, peer) in [(&flow.from, &*flow.to), (&flow.to, &flow.from)] {
            let (settings, peer) = (&mut settings[node(own)], hosts[node(peer)].ipv4);
            settings.add(flow, own, peer)?;
            if let Some(config) = flow.transport.tcp().filter(|config| !variants.sets_threshold(config)) {
                let segments = config.initial_ssthresh.map(|segments| segments.value());
                settings.add_threshold(flow, own, peer, segments)?;
            }
        }
    }
    for (_, flow) in traffic::flows(scenario).filter(|(_, flow)| flow.is_command()) {
        let Some(config) = flow.transport.tcp() else { continue };
        for (own, peer) in [(&flow.from, &*flow.to), (&flow.to, &flow.from)] {
            settings[node(own)].add_default(flow, own, hosts[node(peer)].ipv4, variants.name(config))?;
        }
    }
    Ok(settings)
}

/// Returns the processor time of this process in seconds.
pub(crate) fn processor_time() -> f64 {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF);
    usage.map_or(f64::NAN, |usage| {
        let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        seconds(usage.user_time()) + seconds(usage.system_time())
    })
}

/// A capture whose time zero is earlier than that of the run.
struct Shifted {
    capture: Box<dyn Capture>,
    shift: Span,
}

impl Capture for Shifted {
    fn packet(&mut self, interface: u32, now: Time, packet: &Packet) {
        self.capture.packet(interface, now + self.shift, packet);
    }
}
