//! Registers congestion controls with the running kernel, uses several at once, and removes them.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bentpipe_bpf::{list, register, Start};
use common::{congestion, connection, in_namespace, skips, transfer, Info};

/// Serializes the tests, since one test could take a name that another has just released.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_registered(name: &str) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().any(|other| other == name)
}

/// Waits until `name` is free. A kernel worker removes the objects of a killed process some time
/// after its end, and another process, such as another test program, may take a free name at once
/// and hold it while it transfers data.
#[allow(clippy::disallowed_methods, reason = "the kernel gives no notice when a name becomes free")]
fn expect_released(name: &str) {
    for _ in 0..6000 {
        if !is_registered(name) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{name} is still registered");
}

fn parameters(values: &[(&str, i64)]) -> BTreeMap<String, i64> {
    values.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn every_variant_starts_with_the_given_window_and_completes_a_transfer() {
    if skips() {
        return;
    }
    let _turn = turn();
    for variant in list() {
        let start = Start { initial_window: Some(3), initial_ssthresh: Some(17) };
        let registered = register(variant, &BTreeMap::new(), &start).unwrap();
        assert!(registered.name().starts_with(&format!("bp_{variant}")) && registered.name().len() <= 15);
        in_namespace(|| {
            let (mut client, mut server) = connection(registered.name(), None);
            assert_eq!(congestion(&client), registered.name());
            let info = Info::of(&client);
            // The window of a fixed rate does not grow from an initial value; it is a parameter.
            let window = if variant == "fixed_rate" { 10_000 } else { 3 };
            assert_eq!((info.snd_cwnd(), info.snd_ssthresh()), (window, 17), "{variant}");
            transfer(&mut client, &mut server, 2_000_000);
            assert!(Info::of(&client).snd_cwnd() > 1, "{variant}");
        });
        let name = registered.name().to_owned();
        drop(registered);
        expect_released(&name);
    }
}

#[test]
fn without_a_start_the_kernel_s_defaults_apply() {
    if skips() {
        return;
    }
    let _turn = turn();
    let registered = register("reno", &BTreeMap::new(), &Start::default()).unwrap();
    in_namespace(|| {
        let (client, _server) = connection(registered.name(), None);
        let info = Info::of(&client);
        assert_eq!((info.snd_cwnd(), info.snd_ssthresh()), (10, 0x7fff_ffff));
    });
}

#[test]
fn two_registrations_of_a_variant_have_separate_names_parameters_and_starts() {
    if skips() {
        return;
    }
    let _turn = turn();
    // Slow start is disabled, so the parameters determine the growth: one segment per round, or
    // none where round-trip times vary.
    let start = |window| Start { initial_window: Some(window), initial_ssthresh: Some(2) };
    let aggressive = parameters(&[("alpha", 65_535), ("beta", 65_535), ("gamma", 65_535)]);
    let aggressive = register("vegas95", &aggressive, &start(4)).unwrap();
    let cautious = parameters(&[("alpha", 0), ("beta", 0), ("gamma", 0)]);
    let cautious = register("vegas95", &cautious, &start(5)).unwrap();
    assert_ne!(aggressive.name(), cautious.name());
    assert!(is_registered(aggressive.name()) && is_registered(cautious.name()));
    in_namespace(|| {
        let window = |name: &str, first| {
            let (mut client, mut server) = connection(name, None);
            assert_eq!(Info::of(&client).snd_cwnd(), first);
            transfer(&mut client, &mut server, 1_000_000);
            Info::of(&client).snd_cwnd()
        };
        let windows = (window(aggressive.name(), 4), window(cautious.name(), 5));
        assert!(windows.0 > 2 * windows.1, "{windows:?}");
    });
    let name = aggressive.name().to_owned();
    drop(aggressive);
    assert!(is_registered(cautious.name()));
    expect_released(&name);
}

/// The process that the next test kills: registers a congestion control, prints its name, and
/// waits.
#[test]
#[ignore = "run only by a_killed_process_leaves_no_registration"]
fn process_to_kill() {
    let registered = register("reno", &BTreeMap::new(), &Start::default()).unwrap();
    println!("\nregistered {}", registered.name());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_killed_process_leaves_no_registration() {
    if skips() {
        return;
    }
    let _turn = turn();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process_to_kill", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let name = lines
        .map_while(Result::ok)
        .find_map(|line| Some(line.strip_prefix("registered ")?.to_owned()))
        .unwrap();
    assert!(is_registered(&name));
    child.kill().unwrap();
    child.wait().unwrap();
    expect_released(&name);
}
