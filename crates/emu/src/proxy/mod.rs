//! Splitting proxies over the kernel's TCP (`mechanism = "split"` of `[[proxy]]`).
//!
//! A proxy has a network namespace for each side, which is a link or network at its node. In the
//! namespace of a side, the addresses of all hosts beyond the other sides are local addresses, so
//! the kernel ends there the TCP connections that the engine passes to it ([`port`]). A thread
//! ([`relay`]) opens a second connection in the namespace of the other side, from the address and
//! port of the source, and copies data between both ([`line`]). The hosts see each other's
//! addresses, and no packet filter is needed.
//!
//! A connection begins with its SYN. With `accept = "late"`, the thread keeps the SYN until the
//! destination has accepted. If the destination refuses, the kernel refuses the SYN; if the
//! destination does not answer, neither does the proxy.
//!
//! Deviations from the model: each direction has two buffers of `buffer` bytes, one for each
//! socket. Copying takes the time that the machine needs, which is zero in virtual time. Only IPv4
//! is split; TCP over IPv6 passes by. The trace `tcp` of a proxy's connections comes from TCP_INFO
//! every 10 ms or more, with smoothed round-trip times.

mod line;
mod port;
mod relay;

use crate::bridge::Handle;
use crate::clock::{Clock, Timing};
use crate::error::{Doing, Error};
use crate::flows::traffic::rows::Rows;
use crate::flows::traffic::settings::Settings;
use crate::flows::traffic::unapplied;
use crate::flows::variants::Variants;
use crate::host::live::{LiveHost, INTERFACE};
use crate::host::namespace::Namespace;
use crate::host::port::tun::{self, Tun};
use crate::host::port::Port;
use crate::host::process;
use bentpipe_core::address::{port_at, Plan};
use bentpipe_core::{Probe, Report, Table};
use bentpipe_engine::scenario::{Flow, Scenario};
use bentpipe_engine::{Host, RealProxy, Side};
use bentpipe_networks::node::proxy::at;
use bentpipe_networks::node::service::ServedFlow;
use bentpipe_transport::tcp::endpoint;
use bentpipe_transport::{tcp, Config as Transport};
use nix::sys::eventfd::{EfdFlags, EventFd};
use port::{Inbox, SidePort};
use relay::{Ended, Relay};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// A gate of the network, and the port behind it.
type Attached = (Host, Box<dyn Port>);

/// The proxies of an emulated network, before its start.
pub struct Proxies {
    relays: Vec<Relay>,
    variants: Variants,
    unapplied: Vec<String>,
}

/// The proxies of a running network.
pub struct RunningProxies {
    threads: Vec<(JoinHandle<Ended>, Arc<AtomicBool>, Arc<Inbox>)>,
    /// The congestion controls exist as long as this value.
    _variants: Variants,
    unapplied: Vec<String>,
}

/// The namespace of one side of a proxy.
pub(crate) struct SideHost {
    /// Name of the link or network.
    link: String,
    namespace: Namespace,
    /// Addresses of the hosts beyond the link.
    hosts: Vec<Ipv4Addr>,
    /// Packets written to this file arrive in the namespace.
    packets: File,
}

/// A flow of the scenario, as its connections appear at the proxy.
pub(crate) struct SplitFlow {
    served: ServedFlow,
    source: Ipv4Addr,
    destination: SocketAddrV4,
    /// Probes of the traces `tcp` by connection: of the senders towards the source and towards the
    /// destination. Further connections are not traced.
    probes: Vec<[Option<Probe>; 2]>,
}

impl Proxies {
    /// Creates the namespaces of the proxies. Returns their ports, in the order of their gates.
    /// `probe` opens traces.
    ///
    /// # Errors
    /// Returns an error if the machine lacks a required feature, or if a congestion control is not
    /// available.
    pub fn new(
        scenario: &Scenario,
        proxies: Vec<RealProxy>,
        (plan, mtu): (Plan, u32),
        timing: Timing,
        probe: &mut dyn FnMut(&'static Table, &str) -> Option<Probe>,
    ) -> Result<(Proxies, Vec<Attached>), Error> {
        let configs: Vec<tcp::Config> = proxies.iter().flat_map(configs).collect();
        let variants =
            Variants::load(configs.iter(), timing).map_err(|error| io::Error::other(error.to_string()));
        let variants = variants.doing("loading the congestion controls of the proxies")?;
        let (mut relays, mut attachments) = (Vec::new(), Vec::new());
        let unapplied = proxies.iter().flat_map(|proxy| unapplied(proxy, &variants)).collect();
        for proxy in proxies {
            let inbox = Arc::new(Inbox {
                arrived: Mutex::default(),
                event: EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)
                    .doing("making an eventfd")?,
            });
            let mut sides = Vec::new();
            for (number, side) in proxy.sides.iter().enumerate() {
                let (host, port) = side_host(scenario, &proxy, side, (plan, mtu))
                    .doing(format!("making the namespace of {}", side.gate.name))?;
                let port = SidePort::new(port, number, Arc::clone(&inbox));
                attachments.push((side.gate.clone(), Box::new(port) as Box<dyn Port>));
                sides.push(host);
            }
            let flows = split_flows(&proxy, plan, probe);
            relays.push(Relay::new(proxy, flows, sides, inbox, &variants));
        }
        Ok((Proxies { relays, variants, unapplied }, attachments))
    }

    /// Starts the threads of the proxies.
    ///
    /// # Errors
    /// Returns an error if there are no more threads or file descriptors.
    pub fn start(self, clock: Clock, handle: &Handle) -> Result<RunningProxies, Error> {
        let mut threads = Vec::new();
        for relay in self.relays {
            let (stop, inbox) = (Arc::new(AtomicBool::new(false)), relay.inbox());
            let (stopping, rows) = (Arc::clone(&stop), Rows::new(handle.clone()));
            let thread = thread::Builder::new().name("proxy".to_owned());
            let thread =
                thread.spawn(move || relay.run(clock, rows, &stopping)).doing("starting a proxy's thread")?;
            threads.push((thread, stop, inbox));
        }
        Ok(RunningProxies { threads, _variants: self.variants, unapplied: self.unapplied })
    }
}

impl RunningProxies {
    /// Returns the keys of the scenario that the kernel did not apply, as sentences.
    pub fn unapplied(&self) -> &[String] {
        &self.unapplied
    }

    /// Ends the proxies and writes their rows.
    ///
    /// # Errors
    /// Returns an error if a proxy has failed.
    pub fn finish(mut self, report: &mut Report) -> Result<(), Error> {
        for ended in self.end() {
            let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended.report(report).doing("splitting connections")?;
        }
        Ok(())
    }

    /// Stops all threads and waits for their ends.
    fn end(&mut self) -> Vec<thread::Result<Ended>> {
        let stopped = self.threads.drain(..).map(|(thread, stop, inbox)| {
            stop.store(true, Ordering::Relaxed);
            let _ = inbox.event.write(1);
            thread.join()
        });
        stopped.collect()
    }
}

impl Drop for RunningProxies {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the TCP settings of all legs of a proxy.
fn configs(proxy: &RealProxy) -> Vec<tcp::Config> {
    let flows = proxy.flows.iter().flat_map(|served| {
        served.links.each_ref().map(|link| proxy.config.side(link, served.transport.tcp()))
    });
    let others = proxy.sides.iter().map(|side| proxy.config.side(&side.link, None));
    flows.chain(others).collect()
}

/// Returns a sentence for each key of the proxy's sides that the kernel cannot apply.
fn unapplied(proxy: &RealProxy, variants: &Variants) -> BTreeSet<String> {
    let legs = proxy.flows.iter().flat_map(|served| served.links.iter().map(move |link| (link, served)));
    let sentences = legs.flat_map(|(link, served)| {
        let config = proxy.config.side(link, served.transport.tcp());
        let all = unapplied::of_config(&config, false, variants).into_iter();
        all.map(|sentence| format!("proxy {} over {link}: {sentence}", proxy.name)).collect::<Vec<_>>()
    });
    sentences.collect()
}

/// Creates the namespace of a side, in which the hosts beyond all other sides are local.
fn side_host(
    scenario: &Scenario,
    proxy: &RealProxy,
    side: &Side,
    (plan, mtu): (Plan, u32),
) -> io::Result<(SideHost, Tun)> {
    let namespace = Namespace::new()?;
    let config = tun::Config {
        name: INTERFACE.to_owned(),
        mtu,
        ipv4: plan.ipv4(side.gate.node),
        ipv6: None,
        default_route: false,
    };
    let port = Tun::new(&namespace, &config)?;
    let packets = port.writer()?;
    let others = proxy.sides.iter().filter(|other| other.link != side.link);
    let local: Vec<Ipv4Addr> = others.flat_map(|other| &other.hosts).map(|node| plan.ipv4(*node)).collect();
    namespace.within(|| {
        local.iter().try_for_each(|address| {
            let mut ip = Command::new("ip");
            ip.args(["route", "add", "local", &format!("{address}/32"), "dev", "lo"]);
            process::configure(ip, "")
        })
    })??;
    let host = LiveHost {
        name: side.gate.name.clone(),
        node: side.gate.node,
        namespace,
        ipv4: config.ipv4,
        ipv6: plan.ipv6(side.gate.node),
    };
    let mut settings = Settings::common();
    for served in proxy.flows.iter() {
        for (end, link) in served.ends.iter().zip(&served.links).filter(|(_, link)| **link == side.link) {
            let config = proxy.config.side(link, served.transport.tcp());
            let flow = scenario.flow[served.flow.0 as usize].clone();
            let flow = Flow { transport: Transport::Tcp(config), ..flow };
            let added = settings.add(&flow, &host.name, plan.ipv4(*end));
            added.map_err(|error| io::Error::other(error.to_string()))?;
        }
    }
    settings.apply(&host).map_err(|error| io::Error::other(error.to_string()))?;
    let hosts = side.hosts.iter().map(|node| plan.ipv4(*node)).collect();
    Ok((SideHost { link: side.link.clone(), namespace: host.namespace, hosts, packets }, port))
}

/// Returns the flows of a proxy with the addresses and the traces of their connections.
fn split_flows(
    proxy: &RealProxy,
    plan: Plan,
    probe: &mut dyn FnMut(&'static Table, &str) -> Option<Probe>,
) -> Vec<SplitFlow> {
    let of = |served: &ServedFlow| {
        let [from, to] = served.ends;
        let port = port_at(served.flow, to, from);
        let (source, destination) = (plan.ipv4(from), SocketAddrV4::new(plan.ipv4(to), port));
        let probes = served
            .traced
            .iter()
            .map(|[there, back]| [back, there].map(|name| probe(&endpoint::TRACE, &at(name, &proxy.name))));
        SplitFlow { probes: probes.collect(), served: served.clone(), source, destination }
    };
    proxy.flows.iter().map(of).collect()
}
