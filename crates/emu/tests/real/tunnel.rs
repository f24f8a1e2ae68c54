//! A host on another machine. Namespaces represent the machines, and a second engine represents the
//! network between them. Needs namespaces, TUN, `ip` and the kernel's VXLAN; on machines without
//! them, prints a message and passes.

#![allow(clippy::disallowed_methods, reason = "the real clock is what is tested")]

use bentpipe_core::address::Plan;
use bentpipe_core::{Recorder, Span};
use bentpipe_emu::calibrate::rig::one_link;
use bentpipe_emu::host::port::{tun, Port};
use bentpipe_emu::report::fidelity::{tunnels, Tunnel};
use bentpipe_emu::{Bridge, Clock, Fidelity, Handle, Live, Namespace, Prepared, Setup, Verdict};
use bentpipe_engine::instantiate_emulated;
use bentpipe_engine::scenario::Scenario;
use bentpipe_testing::skipped;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const MILLISECOND: u64 = 1_000_000;
/// Addresses of the machines, distinct from those of the emulated network.
const MACHINES: [&str; 2] = ["198.18.16.1", "198.18.16.2"];

/// Two machines and the network between them.
struct Machines {
    namespaces: [Namespace; 2],
    between: Handle,
    engine: JoinHandle<Bridge>,
}

/// Sets the one-way delay of the network between the machines, in milliseconds; at most 30.
fn set_delay(between: &Handle, delay: u64) {
    let set = move |bridge: &mut Bridge, now| {
        let stages = bridge.lateness_by_host().next().unwrap().0.stages.clone();
        for stage in stages {
            bridge.network().hasten(now, stage, Span::from_millis(30 - delay));
        }
    };
    between.ask(set).unwrap();
}

impl Machines {
    /// Creates the machines with a delay of 20 ms between them; `None` if this machine does not
    /// support it.
    fn new() -> Option<Machines> {
        let namespaces = match (Namespace::new(), Namespace::new()) {
            (Ok(a), Ok(b)) => [a, b],
            (Err(error), _) | (_, Err(error)) => {
                skipped(format!("no network namespaces: {error}"));
                return None;
            }
        };
        let names = ["a".to_owned(), "b".to_owned()];
        let scenario = one_link(1_000_000_000, 30 * MILLISECOND);
        let bentpipe_engine::Emulated { network, hosts, .. } =
            instantiate_emulated(&scenario, 1, 0, Recorder::default(), &names, false);
        let plan = Plan::new(1).unwrap();
        let attachments = hosts.into_iter().zip(&namespaces).map(|(host, namespace)| {
            let config = tun::Config {
                name: "eth0".to_owned(),
                mtu: 1500,
                ipv4: plan.ipv4(host.node),
                ipv6: Some(plan.ipv6(host.node)),
                default_route: false,
            };
            let port: Box<dyn Port> = Box::new(tun::Tun::new(namespace, &config).unwrap());
            (host, port)
        });
        let (mut bridge, between) =
            Bridge::new(network, Clock::start(), plan, attachments.collect(), None).unwrap();
        let engine = thread::spawn(move || {
            bridge.run(None).unwrap();
            bridge
        });
        set_delay(&between, 20);
        Some(Machines { namespaces, between, engine })
    }

    /// Returns a network on machine A whose host b is on machine B at `address`; `None` without
    /// VXLAN.
    fn emulate(&self, scenario: &Scenario, address: &str) -> Option<Live> {
        let live = on(&self.namespaces[0], scenario, address);
        for command in &live.elsewhere()[0].join {
            if let Err(error) = shell(&self.namespaces[1], command) {
                skipped(error);
                return None;
            }
        }
        Some(live)
    }

    fn stop_between(self) -> [Namespace; 2] {
        self.between.post(|bridge, _| bridge.stop()).unwrap();
        self.engine.join().unwrap();
        self.namespaces
    }
}

/// Returns a network on a machine, whose host b is on another machine at `address`.
fn on(machine: &Namespace, scenario: &Scenario, address: &str) -> Live {
    let live = machine.within(|| {
        let setup = Setup {
            scenario,
            seed: (1, 0),
            hosts: &["a".to_owned(), "b".to_owned()],
            recorder: Recorder::default(),
            capture: None,
            mtu: 1500,
            internet: None,
            radios: None,
            elsewhere: &[("b".to_owned(), SocketAddr::new(address.parse().unwrap(), 4789))],
        };
        Prepared::new(setup).unwrap().start(Clock::start(), None).unwrap()
    });
    live.unwrap()
}

/// Runs a command in a namespace. Returns its output, or the error.
fn shell(namespace: &Namespace, command: &str) -> Result<String, String> {
    let output = namespace.within(|| Command::new("sh").args(["-c", command]).output()).unwrap().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

fn tunnel(live: &Live) -> Tunnel {
    live.handle().ask(|bridge, _| tunnels(bridge)["b"].clone()).unwrap()
}

/// Waits until the tunnel's estimated delay is about this many milliseconds.
fn wait_until_known(live: &Live, delay: u64) {
    let begin = Instant::now();
    while (tunnel(live).one_way_s * 1e3 - delay as f64).abs() > 0.2 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?} with {delay} ms", tunnel(live));
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns a socket at an address of a namespace. Waits for the address, which the kernel adds some
/// time after the request.
fn bound(namespace: &Namespace, address: &str) -> UdpSocket {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match namespace.within(|| UdpSocket::bind(address)).unwrap() {
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable && Instant::now() < end => {
                thread::sleep(Duration::from_millis(20));
            }
            found => return found.unwrap(),
        }
    }
}

/// Starts a thread that sends every datagram back to its sender.
fn echo(namespace: &Namespace, address: &str) {
    let socket = bound(namespace, address);
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        // The thread ends with the process, or after a datagram of one byte.
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if length == 1 || socket.send_to(&buffer[..length], from).is_err() {
                break;
            }
        }
    });
}

/// Returns the smallest of nine round trips of `size` bytes, in milliseconds.
fn round_trip(live: &Live, from: &str, to: &str, size: usize) -> f64 {
    let socket = bound(&live.host("a").unwrap().namespace, from);
    let took = (0..9).map(|_| {
        let begin = Instant::now();
        socket.send_to(&vec![7; size], to).unwrap();
        assert_eq!(socket.recv(&mut [0; 2000]).unwrap(), size);
        begin.elapsed().as_secs_f64() * 1e3
    });
    took.fold(f64::INFINITY, f64::min)
}

#[test]
fn the_path_to_another_machine_is_part_of_the_delay() {
    let Some(machines) = Machines::new() else { return };
    let scenario = one_link(100_000_000, 250 * MILLISECOND);
    let Some(live) = machines.emulate(&scenario, MACHINES[1]) else { return };
    let there = &machines.namespaces[1];
    for address in ["198.18.0.2:7", "[fd62:656e:7470::2]:7"] {
        echo(there, address);
    }
    for delay in [20, 30] {
        set_delay(&machines.between, delay);
        wait_until_known(&live, delay);
        // Packets of 1400 bytes and more are sent in two outer packets.
        for (from, to, size) in [
            ("198.18.0.1:0", "198.18.0.2:7", 100),
            ("[fd62:656e:7470::1]:0", "[fd62:656e:7470::2]:7", 100),
            ("198.18.0.1:0", "198.18.0.2:7", 1472),
        ] {
            let took = round_trip(&live, from, to, size);
            println!("{took:.3} ms there and back for {size} bytes, of which {} ms in the tunnel", 2 * delay);
            let rest = took - 500.0;
            assert!(rest.abs() < 1.0, "{size} bytes took {took} ms with {delay} ms between the machines");
        }
    }
    let fidelity = |live: &Live| {
        let scenario = scenario.clone();
        live.handle().ask(move |bridge, now| Fidelity::of(bridge, &scenario, now)).unwrap()
    };
    let measured = fidelity(&live).measured;
    assert_eq!((measured.lost, measured.tunnels["b"].probes_lost), (0, 0));
    assert!(measured.tunnels["b"].remaining.max_s < 1e-3, "{:?}", measured.tunnels);

    let here = &live.host("a").unwrap().namespace;
    assert!(arrives(here, there, "198.18.0.2:80"), "2 MB over TCP arrived changed");

    let namespaces = machines.stop_between();
    while tunnel(&live).probes_lost == 0 {
        thread::sleep(Duration::from_millis(50));
    }
    let lossy = fidelity(&live);
    assert_eq!(lossy.verdict, Verdict::Void);
    assert!(lossy.reasons.iter().any(|reason| reason.contains("probes to the machine of b were lost")));
    println!("{:?}", lossy.measured.tunnels);
    live.finish().unwrap();
    let again = namespaces[0].within(|| {
        UdpSocket::bind("127.0.0.1:4789").map(|socket| socket.local_addr().unwrap().port()).unwrap()
    });
    assert_eq!(again.unwrap(), 4789, "the tunnel's port is free again");
}

/// Sends 2 MB over TCP from one namespace to `address` in another. Returns true if they arrive
/// unchanged.
fn arrives(from: &Namespace, to: &Namespace, address: &str) -> bool {
    let listener = to.within(|| TcpListener::bind(address)).unwrap().unwrap();
    let sent: Vec<u8> = (0..2_000_000u32).map(|byte| (byte * 7 + byte / 251) as u8).collect();
    let receiver = thread::spawn(move || {
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
        received
    });
    let mut connection = from.within(|| TcpStream::connect(address)).unwrap().unwrap();
    connection.write_all(&sent).unwrap();
    drop(connection);
    receiver.join().unwrap() == sent
}

/// Containers of one machine are connected in this way, with packets without computed checksums.
#[test]
fn machines_joined_by_a_veth_pair_carry_tcp_both_ways() {
    let (Ok(a), Ok(b)) = (Namespace::new(), Namespace::new()) else {
        return skipped("no network namespaces");
    };
    let pair = format!("ip link add eth0 type veth peer name eth0 netns {}", b.path());
    if let Err(error) = shell(&a, &pair) {
        return skipped(error);
    }
    for (namespace, number) in [(&a, 1), (&b, 2)] {
        let up = format!("ip address add 203.0.113.{number}/24 dev eth0 && ip link set eth0 up");
        shell(namespace, &up).unwrap();
    }
    let scenario = one_link(100_000_000, 5 * MILLISECOND);
    let live = on(&a, &scenario, "203.0.113.2");
    for command in &live.elsewhere()[0].join {
        if let Err(error) = shell(&b, command) {
            return skipped(error);
        }
    }
    let here = &live.host("a").unwrap().namespace;
    for (there, back) in
        [("198.18.0.2:80", "198.18.0.1:80"), ("[fd62:656e:7470::2]:80", "[fd62:656e:7470::1]:80")]
    {
        assert!(arrives(here, &b, there), "to {there}");
        assert!(arrives(&b, here, back), "to {back}");
    }
    echo(&b, "198.18.0.2:7");
    let took = round_trip(&live, "198.18.0.1:0", "198.18.0.2:7", 1472);
    assert!((10.0..12.0).contains(&took), "{took} ms");
    // No packet was longer than the network's MTU: 8 MB in both directions are some 5600 packets
    // plus acknowledgments.
    let longest = live.handle().ask(|bridge, now| {
        let report = bridge.network().report(now);
        let value = |column| report.value("link", "link.return", column).unwrap();
        value("bytes") / value("packets")
    });
    assert!(longest.unwrap() < 1500.0);
    let mut bridge = live.finish().unwrap();
    assert_eq!((bridge.lost(), bridge.network().out().totals().dropped.len()), (0, 0));
}

#[test]
fn a_machine_that_is_too_far_away_voids_the_run() {
    let Some(machines) = Machines::new() else { return };
    let scenario = one_link(100_000_000, 5 * MILLISECOND);
    let Some(live) = machines.emulate(&scenario, MACHINES[1]) else { return };
    echo(&machines.namespaces[1], "198.18.0.2:7");
    wait_until_known(&live, 20);
    let took = round_trip(&live, "198.18.0.1:0", "198.18.0.2:7", 100);
    assert!(took >= 40.0, "{took} ms is less than the tunnel takes");
    let fidelity = live.handle().ask(move |bridge, now| Fidelity::of(bridge, &scenario, now)).unwrap();
    assert_eq!(fidelity.verdict, Verdict::Void, "15 ms are left where 1 ms is tolerated");
    assert!(
        fidelity.reasons.iter().any(|reason| reason.contains("longer than the delay of its link, by 15.")),
        "{:?}",
        fidelity.reasons
    );
    live.finish().unwrap();
    machines.stop_between();
}

#[test]
fn a_wireguard_tunnel_carries_the_packets() {
    let Some(machines) = Machines::new() else { return };
    let key = |command: &str| shell(&machines.namespaces[0], command);
    let keys: Result<Vec<_>, String> = (0..2)
        .map(|_| {
            let private = key("ip link add wg0 type wireguard && ip link del wg0 && wg genkey")?;
            let public = key(&format!("echo {private} | wg pubkey"))?;
            Ok((private, public))
        })
        .collect();
    let keys = match keys {
        Ok(keys) => keys,
        Err(error) => return skipped(format!("no WireGuard: {error}")),
    };
    for (own, peer) in [(0, 1), (1, 0)] {
        let (private, public, endpoint) = (&keys[own].0, &keys[peer].1, MACHINES[peer]);
        let commands = format!(
            "set -e; ip link add wg0 type wireguard; echo {private} | wg set wg0 listen-port 51820 \
             private-key /dev/stdin peer {public} allowed-ips 10.77.0.0/24 endpoint {endpoint}:51820; \
             ip address add 10.77.0.{}/24 dev wg0; ip link set wg0 up",
            own + 1
        );
        shell(&machines.namespaces[own], &commands).unwrap();
    }
    let scenario = one_link(100_000_000, 250 * MILLISECOND);
    let Some(live) = machines.emulate(&scenario, "10.77.0.2") else { return };
    echo(&machines.namespaces[1], "198.18.0.2:7");
    wait_until_known(&live, 20);
    let took = round_trip(&live, "198.18.0.1:0", "198.18.0.2:7", 1472);
    assert!((took - 500.0).abs() < 2.0, "it took {took} ms");
}
