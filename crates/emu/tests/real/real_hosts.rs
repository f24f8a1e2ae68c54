//! Real kernels behind the engine. Needs namespaces and TUN; on machines without them, prints a
//! message and passes.

#![allow(clippy::disallowed_methods, reason = "the real clock is what is tested")]

use bentpipe_core::address::Plan;
use bentpipe_core::{NodeId, Recorder};
use bentpipe_emu::host::port::{tun, Port};
use bentpipe_emu::{Bridge, Clock, Namespace};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{instantiate_emulated, presets};
use bentpipe_scenario::Source;
use bentpipe_testing::skipped;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"
name = "t"
duration = "60 s"
[[link]]
name = "sat"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "50 ms"
[[flow]]
name = "f"
from = "a"
to = "b"
app = "bulk"
transport = "tcp"
"#;

#[test]
fn datagrams_of_all_sizes_take_the_time_of_the_model() {
    let namespaces = match (Namespace::new(), Namespace::new()) {
        (Ok(a), Ok(b)) => [a, b],
        (Err(error), _) | (_, Err(error)) => {
            skipped(format!("no network namespaces: {error}"));
            return;
        }
    };
    let source = Source::Text { name: "test", text: SCENARIO };
    let scenario = bentpipe_scenario::load::<Scenario>(source, &presets::all(), &[]).unwrap().value;
    let names = ["a".to_owned(), "b".to_owned()];
    let bentpipe_engine::Emulated { network, hosts, .. } =
        instantiate_emulated(&scenario, 1, 0, Recorder::default(), &names, false);
    let mut ways = Vec::new();
    for (host, namespace) in hosts.into_iter().zip(&namespaces) {
        let plan = Plan::default();
        let config = tun::Config {
            name: "sat0".to_owned(),
            mtu: 9000,
            ipv4: plan.ipv4(host.node),
            ipv6: Some(plan.ipv6(host.node)),
            default_route: false,
        };
        let port: Box<dyn Port> = Box::new(tun::Tun::new(namespace, &config).unwrap());
        ways.push((host, port));
    }
    let (mut bridge, handle) = Bridge::new(network, Clock::start(), Plan::default(), ways, None).unwrap();
    let engine = std::thread::Builder::new().spawn(move || {
        bridge.run(None).unwrap();
        bridge
    });
    let engine = engine.unwrap();
    for (from, to) in [("198.18.0.1:7", "198.18.0.2:9"), ("[fd62:656e:7470::1]:7", "[fd62:656e:7470::2]:9")] {
        let sender = namespaces[0].within(|| UdpSocket::bind(from)).unwrap().unwrap();
        let receiver = namespaces[1].within(|| UdpSocket::bind(to)).unwrap().unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        // 20000 bytes need fragments; 8900 fit into one packet of 9000.
        for size in [1, 1400, 8900, 20_000] {
            let payload: Vec<u8> = (0..size).map(|byte| byte as u8).collect();
            let mut received = vec![0; 65_536];
            let begin = Instant::now();
            sender.send_to(&payload, to).unwrap();
            let length = receiver.recv(&mut received).unwrap();
            let took = begin.elapsed().as_secs_f64();
            assert!(received[..length] == payload[..], "{size} bytes to {to} arrived changed");
            let least = 0.05 + size as f64 * 8.0 / 10e6;
            assert!(took >= least, "{size} bytes arrived after {took} s, before the model's {least} s");
        }
    }
    handle.post(|bridge, _| bridge.stop()).unwrap();
    let mut bridge = engine.join().unwrap();
    assert_eq!(bridge.lost(), 0);
    assert!(bridge.lateness().count() >= 12);
    println!("late p50 {:?} max {:?}", bridge.lateness().percentile(50.0), bridge.lateness().max());
    assert!(bridge.network().out().totals().dropped.is_empty());
}

#[test]
fn an_ipv6_address_receives_as_soon_as_its_interface_exists() {
    let address = Plan::default().ipv6(NodeId(0));
    // The kernel may be fast by chance, so there are several attempts.
    for _ in 0..5 {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => return skipped(format!("no network namespaces: {error}")),
        };
        let config = tun::Config {
            name: "sat0".to_owned(),
            mtu: 1500,
            ipv4: Plan::default().ipv4(NodeId(0)),
            ipv6: Some(address),
            default_route: true,
        };
        let arrived = namespace.within(|| {
            let _port = tun::Tun::here(&config).unwrap();
            let socket = UdpSocket::bind((address, 9)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            socket.send_to(b"here", (address, 9)).unwrap();
            socket.recv(&mut [0; 10])
        });
        assert_eq!(arrived.unwrap().unwrap(), 4);
    }
}
