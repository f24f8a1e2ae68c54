//! Runs that report their own defects: an engine that could not run, and packets that were lost
//! before the engine read them.

use bentpipe_core::{address, Recorder};
use bentpipe_emu::calibrate::load::{self, Offer};
use bentpipe_emu::calibrate::rig::{one_link, Rig};
use bentpipe_emu::host::port::{memory, Port};
use bentpipe_emu::{Bridge, Clock, Fidelity, Verdict};
use bentpipe_engine::instantiate_emulated;
use bentpipe_testing::skipped;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Returns an IPv4 packet without payload from node 0 to node 1, which is all that the network
/// needs.
fn packet() -> Vec<u8> {
    let mut packet = vec![0; 40];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&40u16.to_be_bytes());
    packet[12..16].copy_from_slice(&address::ipv4(bentpipe_core::NodeId(0)).octets());
    packet[16..20].copy_from_slice(&address::ipv4(bentpipe_core::NodeId(1)).octets());
    packet
}

/// Waits for a condition, and panics if it does not hold within 30 s.
#[allow(clippy::disallowed_methods, reason = "it is the machine's time that is limited, not the model's")]
fn wait_for(mut there: impl FnMut() -> bool) {
    let started = Instant::now();
    while !there() {
        assert!(started.elapsed() < Duration::from_secs(30), "the packet did not pass within 30 s");
    }
}

/// Returns a network of one link in memory, whose engine is suspended for `pause` while a packet is
/// in flight. The keys in `by_hand` are set after that packet has arrived.
fn run(pause: Option<Duration>, by_hand: &[(&'static str, &'static str)]) -> Fidelity {
    let scenario = one_link(10_000_000, 300_000_000);
    let names = ["a".to_owned(), "b".to_owned()];
    let bentpipe_engine::Emulated { network, hosts, .. } =
        instantiate_emulated(&scenario, 1, 0, Recorder::default(), &names, false);
    let (mut ways, mut peers) = (Vec::new(), Vec::new());
    for host in hosts {
        let (port, peer) = memory::pair().unwrap();
        ways.push((host, Box::new(port) as Box<dyn Port>));
        peers.push(peer);
    }
    let (mut bridge, handle) = Bridge::new(network, Clock::start(), Default::default(), ways, None).unwrap();
    let engine = std::thread::Builder::new().spawn(move || {
        bridge.run(None).unwrap();
        bridge
    });
    peers[0].send(packet());
    wait_for(|| handle.ask(|bridge, _| bridge.network().receives()).unwrap() > 0);
    if let Some(pause) = pause {
        let (never, wait) = channel::<()>();
        let blocked = move |_: &mut Bridge, _| {
            let _ = wait.recv_timeout(pause);
        };
        handle.post(blocked).unwrap();
        handle.ask(|_, _| ()).unwrap();
        drop(never);
    }
    wait_for(|| handle.ask(|bridge, _| bridge.lateness().count()).unwrap() > 0);
    for &(key, value) in by_hand {
        let changed = handle.ask(move |bridge, now| bridge.network().change(now, key, value));
        changed.unwrap().unwrap();
    }
    let fidelity = handle.ask(move |bridge, now| Fidelity::of(bridge, &scenario, now)).unwrap();
    handle.post(|bridge, _| bridge.stop()).unwrap();
    engine.unwrap().join().unwrap();
    fidelity
}

#[test]
fn a_suspended_engine_reports_its_lateness() {
    let undisturbed = run(None, &[]);
    assert_eq!(undisturbed.measured.lateness.count, 1);
    assert_eq!(undisturbed.measured.lost, 0);
    assert_eq!(undisturbed.measured.links[0].achieved_rate, Some(10_000_000.0));
    assert_eq!(undisturbed.measured.links[0].achieved_loss, Some(0.0));

    let starved = run(Some(Duration::from_millis(800)), &[]);
    assert_eq!(starved.verdict, Verdict::Void, "{:?}", starved.reasons);
    assert!(starved.measured.lateness.max_s >= 0.3, "{:?}", starved.measured.lateness);
    let reasons = starved.reasons.join("\n");
    assert!(reasons.contains("a packet was late by"), "{reasons}");
    assert!(reasons.contains("tolerated: 20 ms"), "{reasons}");
}

#[test]
fn changes_by_hand_do_not_count_as_deviations_from_the_scenario() {
    let links = |by_hand| run(None, by_hand).measured.links;
    let slower = links(&[("link.link.rate", "1 Mbit/s")]);
    assert_eq!(slower[0].rate, 10_000_000.0);
    assert_eq!((slower[0].achieved_rate, slower[0].achieved_loss), (None, Some(0.0)));
    // One change does not hide others.
    let both = links(&[
        ("link.link.error", "{ kind = \"packet\", probability = 0.5 }"),
        ("link.link.rate", "1 Mbit/s"),
    ]);
    assert_eq!((both[0].achieved_rate, both[0].achieved_loss), (None, None));
    let farther = links(&[("link.link.delay", "400 ms")]);
    assert_eq!((farther[0].achieved_rate, farther[0].achieved_loss), (Some(10_000_000.0), Some(0.0)));
}

#[test]
fn losses_in_the_kernel_before_the_engine_void_a_run() {
    let scenario = one_link(10_000_000_000, 0);
    let rig = match Rig::start(&scenario, "a", "b", 1500) {
        Ok(rig) => rig,
        Err(error) => {
            skipped(error);
            return;
        }
    };
    let (go_on, wait) = channel::<()>();
    let blocked = move |_: &mut Bridge, _| {
        let _ = wait.recv();
    };
    rig.handle().post(blocked).unwrap();
    // More packets than the queue of an interface holds.
    let mut sent = 0;
    while sent < 140_000 {
        let offer = Offer { size: 64, rate: None, duration: Duration::from_millis(50), delay: 0 };
        sent += load::send_only(&rig, 0, offer).unwrap();
    }
    drop(go_on);
    let mut ran = rig.stop().unwrap();
    let fidelity = Fidelity::of(&mut ran.bridge, &scenario, ran.end);
    assert_eq!(fidelity.verdict, Verdict::Void);
    let reason = format!("{} packets were lost that no model dropped, tolerated: 0", fidelity.measured.lost);
    assert!(fidelity.measured.lost > 0 && fidelity.reasons.contains(&reason), "{:?}", fidelity.reasons);
}
