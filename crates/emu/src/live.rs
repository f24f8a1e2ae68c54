//! A running network on this machine: a namespace and an interface for each host, and the engine's
//! thread between them. The network ends with this process.

use crate::bridge::{Bridge, Ended, Handle};
use crate::clock::{Clock, Scheduling, Timing};
use crate::error::{Doing, Error};
use crate::host::internet::Internet;
use crate::host::live::{LiveHost, INTERFACE};
use crate::host::namespace::Namespace;
use crate::host::port::tun::{self, Tun};
use crate::host::port::tunnel::{self, Tunnel};
use crate::host::port::Port;
use crate::proxy::{Proxies, RunningProxies};
use crate::report::memory::Need;
use crate::wifi::Radios;
use bentpipe_core::address::Plan;
use bentpipe_core::{Recorder, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{instantiate_emulated, Emulated, Host, Network};
use bentpipe_stage::Capture;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread::{self, JoinHandle};

/// Settings that keep a host's IPv6 from sending packets by itself. Without them the kernel would
/// solicit routers at random moments forever, and repeat reports of multicast groups (MLD) after
/// random times, although there are no routers. In virtual time each such moment sets the guest's
/// clock, which changes the rounding of all later moments. [`tun`] gives the interface its
/// link-local address: an address from the kernel becomes usable up to two seconds later, and
/// Chromium then aborts the page that it is loading (ERR_NETWORK_CHANGED).
const QUIET: [(&str, &str); 4] = [
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.mldv1_unsolicited_report_interval", "1"),
    ("net.ipv6.conf.default.mldv2_unsolicited_report_interval", "1"),
];

/// The configuration of a running network.
pub struct Setup<'a> {
    /// The network. Its flows with model endpoints run in it.
    pub scenario: &'a Scenario,
    /// Seed and number of the run, for the random streams.
    pub seed: (u64, u64),
    /// Names of the nodes that are real hosts.
    pub hosts: &'a [String],
    /// Receives the rows of the traces.
    pub recorder: Recorder,
    /// Receives the captured packets, if there is a capture.
    pub capture: Option<Box<dyn Capture>>,
    /// Maximum size of a packet on the hosts' interfaces, in bytes.
    pub mtu: u32,
    /// Node behind which the machine's own network begins, and a name for the machine's rules for
    /// this path.
    pub internet: Option<(&'a str, &'a str)>,
    /// The clock, if networks with `stack = "linux"` use radios of this kernel; `None` if they run
    /// the model.
    pub radios: Option<Timing>,
    /// Hosts on other machines, each with the machine's address and the UDP port of its tunnel. The
    /// ports differ.
    pub elsewhere: &'a [(String, SocketAddr)],
}

/// A host of a running network on another machine.
#[derive(Debug)]
pub struct Elsewhere {
    /// Name of the node that the host represents.
    pub name: String,
    /// Address of the other machine, and UDP port at both machines.
    pub machine: SocketAddr,
    /// IPv4 address of the host.
    pub ipv4: Ipv4Addr,
    /// IPv6 address of the host.
    pub ipv6: Ipv6Addr,
    /// The commands that join the host to the network. Root must run them on the other machine.
    pub join: Vec<String>,
}

/// A network that is ready to run: the hosts exist, and time has not started.
pub struct Prepared {
    network: Network,
    hosts: Vec<LiveHost>,
    elsewhere: Vec<Elsewhere>,
    attachments: Vec<(Host, Box<dyn Port>)>,
    plan: Plan,
    outlet: Option<(usize, Box<dyn Port>)>,
    internet: Option<Internet>,
    radios: Option<Radios>,
    proxies: Proxies,
}

/// A network whose engine is running.
pub struct Live {
    hosts: Vec<LiveHost>,
    elsewhere: Vec<Elsewhere>,
    handle: Handle,
    engine: Option<JoinHandle<Engine>>,
    clock: Clock,
    scheduling: Scheduling,
    internet: Option<Internet>,
    radios: Option<Radios>,
    proxies: Option<RunningProxies>,
}

struct Engine {
    bridge: Bridge,
    outcome: io::Result<()>,
}

impl Prepared {
    /// Creates the hosts' namespaces and interfaces.
    ///
    /// # Errors
    /// Returns an error if the machine lacks a required feature.
    ///
    /// # Panics
    /// Panics if `hosts` or `internet` name no node of the scenario.
    pub fn new(setup: Setup<'_>) -> Result<Prepared, Error> {
        Need::of(setup.scenario).check()?;
        let (seed, run) = setup.seed;
        let Emulated { mut network, hosts: nodes, radios: links, proxies } = instantiate_emulated(
            setup.scenario,
            seed,
            run,
            setup.recorder,
            setup.hosts,
            setup.radios.is_some(),
        );
        network.out().set_capture(setup.capture);
        let (plan, internet) = match setup.internet {
            Some((_, rules)) => {
                let internet = Internet::new(rules, setup.mtu)?;
                (internet.plan(), Some(internet))
            }
            None => (Plan::default(), None),
        };
        let (mut hosts, mut elsewhere, mut attachments) = (Vec::new(), Vec::new(), Vec::new());
        for host in nodes {
            if let Some((_, machine)) = setup.elsewhere.iter().find(|(name, _)| *name == host.name) {
                let (there, port) = connect(&host, *machine, plan, setup.mtu)?;
                elsewhere.push(there);
                attachments.push((host, Box::new(port) as Box<dyn Port>));
                continue;
            }
            let namespace = Namespace::new().doing(format!("making the namespace of host {}", host.name))?;
            // Some kernels have no IPv6.
            for (name, value) in QUIET {
                let _ = namespace.set_sysctl(name, value);
            }
            let (ipv4, ipv6) = (plan.ipv4(host.node), plan.ipv6(host.node));
            let config = tun::Config {
                name: INTERFACE.to_owned(),
                mtu: setup.mtu,
                ipv4,
                ipv6: Some(ipv6),
                default_route: internet.is_some(),
            };
            let port = Tun::new(&namespace, &config)
                .doing(format!("making the TUN interface of host {}", host.name))?;
            // Hosts may use ping without privileges.
            let own = nix::unistd::getegid();
            for groups in ["0 2147483647".to_owned(), format!("{own} {own}")] {
                if namespace.set_sysctl("net.ipv4.ping_group_range", &groups).is_ok() {
                    break;
                }
            }
            hosts.push(LiveHost { name: host.name.clone(), node: host.node, namespace, ipv4, ipv6 });
            attachments.push((host, Box::new(port) as Box<dyn Port>));
        }
        let outlet = match (setup.internet, &internet) {
            (Some((node, _)), Some(internet)) => {
                let number = attachments.iter().position(|(host, _)| host.name == node);
                let port: Box<dyn Port> = Box::new(internet.port()?);
                Some((number.expect("the outlet is at a host"), port))
            }
            _ => None,
        };
        let radios = match setup.radios.filter(|_| !links.is_empty()) {
            None => None,
            Some(timing) => {
                let all: Vec<_> = links.iter().map(|(link, _)| link.clone()).collect();
                let radios = Radios::new(setup.scenario, setup.seed, &all, timing)?;
                for (link, host) in links {
                    attachments.push((host, radios.port(&link)?));
                }
                Some(radios)
            }
        };
        let timing = setup.radios.unwrap_or(Timing::Real);
        let record = &setup.scenario.record;
        let mut probe =
            |table, entity: &str| record.writes(table).then(|| network.out().recorder().open(table, entity));
        let (proxies, sides) = Proxies::new(setup.scenario, proxies, (plan, setup.mtu), timing, &mut probe)?;
        attachments.extend(sides);
        Ok(Prepared { network, hosts, elsewhere, attachments, plan, outlet, internet, radios, proxies })
    }

    /// Returns the hosts on this machine.
    pub fn hosts(&self) -> &[LiveHost] {
        &self.hosts
    }

    /// Returns the hosts on other machines, which can join after time has started.
    pub fn elsewhere(&self) -> &[Elsewhere] {
        &self.elsewhere
    }

    /// Returns the hosts, and the network, in which the caller can open traces.
    pub fn parts(&mut self) -> (&[LiveHost], &mut Network) {
        (&self.hosts, &mut self.network)
    }

    /// Starts the clock, and runs the network until `end`, or without an end until it is finished.
    ///
    /// # Errors
    /// Returns an error if there are no more threads or file descriptors.
    pub fn start(self, clock: Clock, end: Option<Time>) -> Result<Live, Error> {
        if let Some(radios) = &self.radios {
            radios.begin(&clock);
        }
        let (mut bridge, handle) = Bridge::new(self.network, clock, self.plan, self.attachments, self.outlet)
            .doing("waiting for packets and timers")?;
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let engine = thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || {
                let _ = tell.send(Scheduling::best());
                let outcome = bridge.run(end);
                Engine { bridge, outcome }
            })
            .doing("starting the engine's thread")?;
        let scheduling = told.recv().unwrap_or(Scheduling::Ordinary);
        let proxies = Some(self.proxies.start(clock, &handle)?);
        Ok(Live {
            hosts: self.hosts,
            elsewhere: self.elsewhere,
            handle,
            engine: Some(engine),
            clock,
            scheduling,
            internet: self.internet,
            radios: self.radios,
            proxies,
        })
    }
}

/// Creates the tunnel to a host on another machine.
fn connect(host: &Host, machine: SocketAddr, plan: Plan, mtu: u32) -> Result<(Elsewhere, Tunnel), Error> {
    let (ipv4, ipv6) = (plan.ipv4(host.node), plan.ipv6(host.node));
    let config = tunnel::Config { machine, node: host.node, ipv4, ipv6, prober: plan.ipv4_outside(), mtu };
    let here = Tunnel::here(machine)?;
    let join = config.join(INTERFACE, here);
    Ok((Elsewhere { name: host.name.clone(), machine, ipv4, ipv6, join }, Tunnel::new(&config, here)?))
}

impl Live {
    /// Returns the hosts on this machine.
    pub fn hosts(&self) -> &[LiveHost] {
        &self.hosts
    }

    /// Returns the hosts on other machines.
    pub fn elsewhere(&self) -> &[Elsewhere] {
        &self.elsewhere
    }

    /// Returns the host of a node, if it is on this machine.
    pub fn host(&self, name: &str) -> Option<&LiveHost> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// Returns a handle to the engine.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns the clock of the run.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the scheduling class of the engine's thread.
    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    /// Takes the radios of this kernel, which provide their statistics at the end.
    pub fn take_radios(&mut self) -> Option<Radios> {
        self.radios.take()
    }

    /// Takes the proxies, which provide their statistics at the end.
    pub fn take_proxies(&mut self) -> Option<RunningProxies> {
        self.proxies.take()
    }

    /// Returns the outlet to the machine's own network.
    pub fn internet(&self) -> Option<&Internet> {
        self.internet.as_ref()
    }

    /// Ends the engine and returns it for its statistics. Its hosts and interfaces are removed when
    /// it is dropped.
    ///
    /// # Errors
    /// Returns an error if a port failed during the run.
    pub fn finish(mut self) -> Result<Bridge, Error> {
        let _ = self.handle.post(|bridge, _| bridge.stop());
        let engine = self.engine.take().expect("a network is finished once");
        let Engine { bridge, outcome } =
            engine.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.doing("moving packets between the hosts and the engine")?;
        let mut bridge = bridge;
        bridge.settle();
        Ok(bridge)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            let stopped: Result<(), Ended> = self.handle.post(|bridge, _| bridge.stop());
            drop(stopped);
            let _ = engine.join();
        }
    }
}
