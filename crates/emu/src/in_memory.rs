//! A whole run on the real clock without privileges. Engine thread, ports and clock are those of an
//! emulation. The hosts are models in a second thread, behind ports in memory.
//!
//! Packets cross the ports as bytes, like the packets of any host: a network header with the
//! destination for the engine, and a number, under which the sending host stores the rest of the
//! packet. There are no traces of flows.

use crate::bridge::{Bridge, Handle};
use crate::clock::wait::Wait;
use crate::clock::{Clock, Scheduling, Timing};
use crate::emulate::{processor_time, Emulated, Error, LEAD, PROGRESS};
use crate::error::Doing;
use crate::frame;
use crate::host::port::memory::{pair, Peer};
use crate::host::port::Port;
use crate::report::fidelity::Fidelity;
use bentpipe_core::address::{ports, Plan};
use bentpipe_core::{FlowId, NodeId, Report, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{instantiate_emulated, instantiate_ends, Host, Network, StageId};
use bentpipe_runs::{interrupted_at, Closing, Options, Run, Writers};
use bentpipe_stage::{Packet, Port as Entry, UDP};
use bentpipe_wire::write;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;

/// Bytes of each packet at a port: IPv4 header, ports, number.
const HEAD: usize = 28;
/// Number of the event that ends the run.
const STOP: u64 = u64::MAX - 1;

/// Emulates `scenario` as [`emulate`](crate::emulate()) does, with models as hosts.
///
/// # Errors
/// Returns an error if the folder cannot be created or written, or if there are no more file
/// descriptors or threads.
///
/// # Panics
/// Panics if [`Scenario::check_simulated`] returns an error.
pub fn emulate_in_memory(
    scenario: &Scenario,
    text: &str,
    out: &Path,
    options: &Options,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Emulated, Error> {
    let opened = Clock::start();
    let (mut run, Writers { recorder, .. }) =
        Run::open("emulate in memory", scenario, text, out, options, opened.unix_zero())?;
    let ((seed, number), names) = (run.seed(), scenario.nodes());
    let bentpipe_engine::Emulated { network, hosts, .. } =
        instantiate_emulated(scenario, seed, number, recorder, &names, false);
    let (mut attachments, mut peers) = (Vec::new(), Vec::new());
    for host in &hosts {
        let (port, peer) = pair().doing("making a port in memory")?;
        attachments.push((host.clone(), Box::new(port) as Box<dyn Port>));
        peers.push(peer);
    }
    let clock = Clock::start_after(LEAD);
    let end = Time::ZERO + scenario.duration;
    let (mut bridge, handle) = Bridge::new(network, clock, Plan::default(), attachments, None)
        .doing("waiting for packets and timers")?;
    let (network, stages) = instantiate_ends(scenario, seed, number, &hosts);
    let mut ends = Ends { network, stages, hosts, peers, flying: BTreeMap::new(), next: 0 };
    let cpu = processor_time();
    let reached = run_both(&mut bridge, &mut ends, &handle, (clock, end), &mut |fraction| {
        run.failed() || progress(fraction).is_break()
    })?;
    let fidelity = Fidelity::of(&mut bridge, scenario, reached);
    let network = bridge.network();
    network.out().recorder().finish();
    let mut report = network.report(reached);
    add(&mut report, &ends.network.report(reached));
    let totals = network.out().totals().clone();
    fidelity.write(run.folder().path()).doing("writing fidelity.json")?;
    let complete = reached == end;
    let cost = run.close(Closing {
        reached,
        report: &report,
        totals: &totals,
        held: network.held(),
        stages: network.names(),
        interrupted: (!complete).then(|| interrupted_at(reached)),
        events: network.events() + ends.network.events(),
        wall_seconds: reached.as_secs_f64(),
        cpu_seconds: processor_time() - cpu,
        changes: &[],
    })?;
    Ok(Emulated { report, totals, complete, cost, fidelity })
}

/// Runs engine and hosts, each in a separate thread, until `end`, or until `look`, which gets the
/// completed fraction, stops them. Returns the time at which they stopped.
fn run_both(
    bridge: &mut Bridge,
    ends: &mut Ends,
    handle: &Handle,
    (clock, end): (Clock, Time),
    look: &mut dyn FnMut(f64) -> bool,
) -> Result<Time, Error> {
    let stop = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC);
    let stop = stop.doing("waiting for the end")?;
    let (reached, outcome) = thread::scope(|scope| {
        let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
        let engine = spawn("engine").spawn_scoped(scope, || {
            Scheduling::best();
            bridge.run(Some(end))
        });
        let engine = engine.doing("starting the engine's thread")?;
        let seen = &stop;
        let ends = spawn("hosts").spawn_scoped(scope, move || {
            Scheduling::best();
            ends.run(clock, end, seen)
        });
        let ends = ends.doing("starting the hosts' thread")?;
        while !(engine.is_finished() && ends.is_finished()) {
            thread::park_timeout(PROGRESS);
            if look((clock.now().as_secs_f64() / end.as_secs_f64()).min(1.0)) {
                let _ = handle.post(|bridge, _| bridge.stop());
                let _ = stop.write(1);
            }
        }
        let reached = clock.now().min(end);
        let joined = [engine.join(), ends.join()];
        let outcomes = joined.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok::<_, Error>((reached, outcomes.into_iter().collect::<io::Result<()>>()))
    })?;
    outcome.doing("moving packets between hosts and engine")?;
    Ok(reached)
}

fn add(report: &mut Report, other: &Report) {
    for (table, entity, values) in other.rows() {
        report.row(table, entity, values);
    }
}

/// The hosts of the run: models at their ends of the ports.
struct Ends {
    network: Network,
    stages: BTreeMap<(FlowId, NodeId), StageId>,
    hosts: Vec<Host>,
    peers: Vec<Peer>,
    /// Packets that have been sent and have not arrived, including lost packets, by number.
    flying: BTreeMap<u32, Packet>,
    next: u32,
}

impl Ends {
    fn run(&mut self, clock: Clock, end: Time, stop: &EventFd) -> io::Result<()> {
        let mut wait = Wait::new(Timing::Real)?;
        wait.watch(stop.as_fd(), STOP)?;
        for (number, peer) in self.peers.iter().enumerate() {
            wait.watch(peer.as_fd(), number as u64)?;
        }
        wait.begin(clock.now());
        loop {
            let now = clock.now().min(end);
            self.network.step(now);
            self.hand_out();
            if now == end {
                return Ok(());
            }
            let next = self.network.next_wake().map_or(end, |wake| wake.min(end));
            let ready = wait.wait(&clock, now, Some(next))?;
            for index in 0..ready.count {
                match wait.ready(index) {
                    None => {}
                    Some(STOP) => return Ok(()),
                    Some(number) => self.take_in(number as usize, clock, end),
                }
            }
        }
    }

    /// Passes the packets that have arrived at a host to the host's models.
    fn take_in(&mut self, number: usize, clock: Clock, end: Time) {
        while let Some(bytes) = self.peers[number].receive() {
            let now = clock.now().min(end);
            self.network.step(now);
            let kept = bytes.get(HEAD - 4..HEAD).and_then(|number| number.try_into().ok());
            let packet = kept.and_then(|number| self.flying.remove(&u32::from_be_bytes(number)));
            let headers = frame::parse(&bytes);
            if let Some((mut packet, headers)) = packet.zip(headers) {
                packet.ecn = headers.ecn;
                if let Some(stage) = self.stages.get(&(packet.flow, self.hosts[number].node)) {
                    self.network.inject(now, *stage, Entry(0), packet);
                }
            }
            self.hand_out();
        }
    }

    /// Sends the packets that the ends have released.
    fn hand_out(&mut self) {
        while let Some(leaving) = self.network.out().next_leaving() {
            let packet = leaving.packet;
            let bytes = bytes(&packet, self.next);
            self.flying.insert(self.next, packet);
            self.next = self.next.wrapping_add(1);
            self.peers[leaving.gate as usize].send(bytes);
        }
    }
}

/// Returns a packet in the form in which it crosses a port: network header, ports, and the packet's
/// number.
fn bytes(packet: &Packet, number: u32) -> Vec<u8> {
    let plan = Plan::default();
    let mut bytes = vec![0; HEAD.max(packet.size as usize)];
    let ends = (plan.ipv4(packet.source), plan.ipv4(packet.destination));
    let class = packet.traffic_class();
    let protocol = packet.body.payload().map_or(UDP, |payload| payload.protocol());
    let header = write::ipv4(ends, class, 0, protocol, bytes.len() as u16);
    bytes[..20].copy_from_slice(&header);
    let (low, high) = ports(packet.flow);
    let (own, other) = if packet.source <= packet.destination { (low, high) } else { (high, low) };
    bytes[20..22].copy_from_slice(&own.to_be_bytes());
    bytes[22..24].copy_from_slice(&other.to_be_bytes());
    bytes[24..28].copy_from_slice(&number.to_be_bytes());
    bytes
}
