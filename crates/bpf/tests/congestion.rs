//! Congestion controls in the running kernel: selected, in use, several at once, and removed again.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bentpipe_bpf::{list, register, Start};
use common::{congestion, connection, in_namespace, skips, transfer, Info};

/// Runs the tests one at a time, because another test may take a name that one has released.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_registered(name: &str) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().any(|other| other == name)
}

fn parameters(values: &[(&str, i64)]) -> BTreeMap<String, i64> {
    values.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn every_variant_carries_a_transfer_from_the_start_it_was_given() {
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
            // A fixed rate has no window that grows from the start: its window is its parameter.
            let window = if variant == "fixed_rate" { 10_000 } else { 3 };
            assert_eq!((info.snd_cwnd(), info.snd_ssthresh()), (window, 17), "{variant}");
            transfer(&mut client, &mut server, 2_000_000);
            assert!(Info::of(&client).snd_cwnd() > 1, "{variant}");
        });
        let name = registered.name().to_owned();
        drop(registered);
        assert!(!is_registered(&name), "{name}");
    }
}

#[test]
fn without_a_start_the_kernel_s_own_holds() {
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
fn two_of_one_variant_have_their_own_names_parameters_and_starts() {
    if skips() {
        return;
    }
    let _turn = turn();
    // Without slow start the parameters decide: growth by one per round, or none if round-trip
    // times vary.
    let start = |window| Start { initial_window: Some(window), initial_ssthresh: Some(2) };
    let eager = parameters(&[("alpha", 65_535), ("beta", 65_535), ("gamma", 65_535)]);
    let eager = register("vegas95", &eager, &start(4)).unwrap();
    let shy = parameters(&[("alpha", 0), ("beta", 0), ("gamma", 0)]);
    let shy = register("vegas95", &shy, &start(5)).unwrap();
    assert_ne!(eager.name(), shy.name());
    assert!(is_registered(eager.name()) && is_registered(shy.name()));
    in_namespace(|| {
        let window = |name: &str, first| {
            let (mut client, mut server) = connection(name, None);
            assert_eq!(Info::of(&client).snd_cwnd(), first);
            transfer(&mut client, &mut server, 1_000_000);
            Info::of(&client).snd_cwnd()
        };
        let windows = (window(eager.name(), 4), window(shy.name(), 5));
        assert!(windows.0 > 2 * windows.1, "{windows:?}");
    });
    let name = eager.name().to_owned();
    drop(eager);
    assert!(!is_registered(&name) && is_registered(shy.name()));
}

/// The process that the next test kills: it registers, reports this, and waits.
#[test]
#[ignore = "only run by the test that kills it"]
fn a_process_that_registers() {
    let registered = register("reno", &BTreeMap::new(), &Start::default()).unwrap();
    println!("\nregistered {}", registered.name());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test waits for the kernel, at no particular point")]
fn a_killed_process_leaves_nothing() {
    if skips() {
        return;
    }
    let _turn = turn();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_that_registers", "--ignored", "--nocapture"])
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
    // A kernel worker removes the objects of a process after the process has ended.
    for _ in 0..1000 {
        if !is_registered(&name) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{name} is still registered");
}
