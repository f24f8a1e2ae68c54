//! The data plane of emulations for `benchmarks/run.py`, which describes the protocol: one
//! measurement, one line of JSON.
//!
//! `bench_plane rate|release|delay|cpu|tcp|deep [--KEY VALUE]...`

#![allow(clippy::disallowed_methods, reason = "the real clock is what is measured")]

use bentpipe_emu::calibrate::load::{offer, ping_pong, Offer};
use bentpipe_emu::calibrate::rig::{one_link, scenario, Ran, Rig};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::io::{Error, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Outcome = Result<Value, Box<dyn std::error::Error>>;

/// The command line after its first word.
struct Options(BTreeMap<String, String>);

impl Options {
    fn number(&self, key: &str, default: f64) -> f64 {
        self.0.get(key).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("--{key} {text}")))
    }

    fn seconds(&self, default: f64) -> Duration {
        Duration::from_secs_f64(self.number("seconds", default))
    }

    fn given(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let mut options = Options(BTreeMap::new());
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        options.0.insert(key.trim_start_matches('-').to_owned(), value);
    }
    let outcome = match what.as_str() {
        "rate" => rate(&options),
        "release" => release(&options),
        "delay" => delay(&options),
        "cpu" => cpu(&options),
        "tcp" => tcp(&options),
        "deep" => deep(&options),
        _ => Err("what? rate, release, delay, cpu, tcp or deep".into()),
    };
    match outcome {
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

/// Returns the line of a measurement: the engine's numbers, which all measurements have, and the
/// numbers in `more`.
fn said(ran: &mut Ran, more: Value) -> Value {
    let us = |span: bentpipe_core::Span| span.as_nanos() as f64 * 1e-3;
    let (lateness, wakeups, readings) = (ran.bridge.lateness(), ran.bridge.wakeups(), ran.bridge.readings());
    let mut line = json!({
        "cpu_s": ran.cpu_s,
        "peak_rss_bytes": peak_rss(),
        "packets": lateness.count(),
        "run_s": ran.end.as_secs_f64(),
        "cpu_share": ran.cpu_s / ran.end.as_secs_f64(),
        "late_p50_us": us(lateness.percentile(50.0)),
        "late_p99_us": us(lateness.percentile(99.0)),
        "late_p999_us": us(lateness.percentile(99.9)),
        "late_max_us": us(lateness.max()),
        "wake_p50_us": us(wakeups.percentile(50.0)),
        "wake_p99_us": us(wakeups.percentile(99.0)),
        "read_p50_us": us(readings.percentile(50.0)),
        "read_p99_us": us(readings.percentile(99.0)),
        "read_max_us": us(readings.max()),
        "lost_outside": ran.bridge.lost(),
        "strays": ran.bridge.strays(),
    });
    line["events"] = json!(ran.bridge.network().events());
    let dropped = ran.bridge.network().out().totals().dropped.values().map(|held| held.packets).sum::<u64>();
    line["dropped_by_model"] = json!(dropped);
    let (Value::Object(line), Value::Object(more)) = (&mut line, more) else {
        unreachable!("both are objects")
    };
    line.extend(more);
    Value::Object(std::mem::take::<Map<String, Value>>(line))
}

fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Measures the packets per second through one link, at `--size 64 --rate 300000`; without a rate,
/// the maximum. `--terminals 1` uses a DVB-RCS return link.
fn rate(options: &Options) -> Outcome {
    let size = options.number("size", 64.0) as usize;
    let asked = options.0.get("rate").map(|_| options.number("rate", 0.0));
    let star = options.given("terminals");
    let rig = if star {
        Rig::start(&return_link(), "st1", "gw", 1500)?
    } else {
        Rig::start(&one_link(100_000_000_000, 0), "a", "b", 1500)?
    };
    if star {
        // Capacity is granted on request, so the first second is a warm-up.
        let warm = Offer { size, rate: Some(1000.0), duration: Duration::from_secs(2), delay: 2_000_000_000 };
        offer(&rig, 0, warm)?;
    }
    let wanted = Offer { size, rate: asked, duration: options.seconds(3.0), delay: 2_000_000_000 };
    let found = offer(&rig, 0, wanted)?;
    let mut ran = rig.stop()?;
    let lost = found.sent - found.received.min(found.sent);
    // Number of packets passed to the receiving host, including those that its program did not read
    // in time.
    let carried = ran.bridge.lateness().count() as f64 / found.seconds;
    let received = found.received;
    let more = json!({
        "sent": found.sent, "received": received, "lost": lost, "rate": found.rate(), "carried": carried,
    });
    Ok(said(&mut ran, more))
}

/// Returns the network of examples/dvb-rcs-upload.toml with a rate at which the engine, not the
/// link, is the limit.
fn return_link() -> bentpipe_engine::scenario::Scenario {
    scenario(json!({
        "name": "return link", "duration": "1 s", "record": {"traces": []},
        "network": {"sat": {"dvb-rcs": {
            "propagation": "250 ms",
            "forward": {"rate": "10 Gbit/s"},
            "terminals": ["st1"],
            "gateway": "gw",
            "return": {
                "rate": "8 Gbit/s",
                "queue": {"drop-tail": {}},
                "slots_per_frame": 4000,
                "frame": "23.5 ms",
                "frames_per_superframe": 4,
                "dama": {"scheme": {"rbdc": {}}, "cra": "6 Gbit/s", "response": 11},
            },
        }}},
    }))
}

/// Measures the release error at `--rate` packets of 1500 bytes per second; with `--busy 1` while
/// the other cores are busy.
fn release(options: &Options) -> Outcome {
    let rate = options.number("rate", 10_000.0);
    let size = options.number("size", 1500.0) as usize;
    // The link is slightly faster than its load, so that it spaces the packets evenly.
    let bits = (rate * size as f64 * 8.0 * 1.05) as u64;
    let rig = Rig::start(&one_link(bits, 50_000_000), "a", "b", 1500)?;
    let over = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let spinners = if options.given("busy") {
            std::thread::available_parallelism().map_or(1, usize::from) - 1
        } else {
            0
        };
        for _ in 0..spinners {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let wanted = Offer { size, rate: Some(rate), duration: options.seconds(3.0), delay: 50_000_000 };
        let found = offer(&rig, 0, wanted);
        over.store(true, Ordering::Relaxed);
        found
    })?;
    let mut ran = rig.stop()?;
    let lost = found.sent - found.received.min(found.sent);
    Ok(said(&mut ran, json!({"sent": found.sent, "lost": lost, "rate": found.rate()})))
}

/// Measures the delay that the emulation adds to a path of zero length: half of a UDP round trip
/// between two programs.
fn delay(options: &Options) -> Outcome {
    let rig = Rig::start(&one_link(100_000_000_000, 0), "a", "b", 1500)?;
    let pause = Duration::from_micros(options.number("pause", 200.0) as u64);
    let mut trips = ping_pong(&rig, options.number("rounds", 5000.0) as usize, 64, pause)?;
    trips.sort_unstable();
    let at = |share: f64| trips[((trips.len() - 1) as f64 * share) as usize] as f64 * 0.5e-3;
    let more = json!({"added_p50_us": at(0.5), "added_p99_us": at(0.99), "added_max_us": at(1.0)});
    Ok(said(&mut rig.stop()?, more))
}

/// Measures the CPU time of the engine's thread: idle, or with `--rate` bits per second over a
/// satellite of 250 ms.
fn cpu(options: &Options) -> Outcome {
    let bits = options.number("rate", 0.0);
    let rig = Rig::start(&one_link(2_000_000, 250_000_000), "a", "b", 1500)?;
    if bits > 0.0 {
        let wanted = Offer {
            size: 1500,
            rate: Some(bits / 12_000.0),
            duration: options.seconds(5.0),
            delay: 250_000_000,
        };
        offer(&rig, 0, wanted)?;
    } else {
        std::thread::sleep(options.seconds(5.0));
    }
    Ok(said(&mut rig.stop()?, json!({})))
}

/// Measures one flow of the kernel's TCP (reno) over a link of `--rate` bits per second and 250 ms
/// each way, in the last `--seconds` of a run, after a warm-up of `--warm` seconds. `--mtu 1500`.
fn tcp(options: &Options) -> Outcome {
    let bits = options.number("rate", 1e9);
    let mtu = options.number("mtu", 1500.0) as u32;
    let delay = options.number("delay_ms", 250.0);
    let rig = Rig::start(&one_link(bits as u64, (delay * 1e6) as u64), "a", "b", mtu)?;
    let window = options.number("window", bits / 8.0 * 2.0 * delay * 1e-3 * 1.3) as u64;
    for namespace in rig.namespaces() {
        for (name, value) in [
            ("net.ipv4.tcp_congestion_control", "reno".to_owned()),
            // Doubled, since the kernel also counts its own structures.
            ("net.ipv4.tcp_rmem", format!("4096 {0} {0}", (2 * window).min(0x7fff_ffff))),
            ("net.ipv4.tcp_wmem", format!("4096 {0} {0}", (2 * window).min(0x7fff_ffff))),
        ] {
            namespace.set_sysctl(name, &value)?;
        }
    }
    let [a, b] = rig.addresses();
    let listener = rig.namespaces()[1].within(|| TcpListener::bind((b, 5001)))??;
    let mut sender = rig.namespaces()[0].within(|| TcpStream::connect((b, 5001)))??;
    let (mut receiver, peer) = listener.accept()?;
    assert_eq!(peer.ip(), a);
    let (warm, measured) = (Duration::from_secs_f64(options.number("warm", 15.0)), options.seconds(10.0));
    let begin = Instant::now();
    let (bytes, seconds) = std::thread::scope(|scope| {
        scope.spawn(move || {
            let data = vec![0u8; 1 << 20];
            while begin.elapsed() < warm + measured && sender.write_all(&data).is_ok() {}
            let _ = sender.shutdown(std::net::Shutdown::Both);
        });
        let mut buffer = vec![0u8; 1 << 20];
        let (mut bytes, mut since) = (0u64, None);
        loop {
            let length = receiver.read(&mut buffer)?;
            let now = begin.elapsed();
            if length == 0 || now >= warm + measured {
                let since = since.unwrap_or(now);
                return Ok::<_, Error>((bytes, (now - since).as_secs_f64()));
            }
            if now >= warm {
                match since {
                    None => since = Some(now),
                    Some(_) => bytes += length as u64,
                }
            }
        }
    })?;
    let retransmitted =
        rig.namespaces()[0].within(|| std::fs::read_to_string("/proc/thread-self/net/snmp"))??;
    let mut lines = retransmitted.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let column = names.split(' ').position(|name| name == "RetransSegs");
    let retransmitted: u64 =
        column.and_then(|column| values.split(' ').nth(column)?.parse().ok()).unwrap_or(0);
    let more = json!({"goodput_bps": bytes as f64 * 8.0 / seconds, "retransmitted": retransmitted});
    Ok(said(&mut rig.stop()?, more))
}

/// Checks that every packet arrives over `--delay 20` seconds each way at 100 kbit/s.
fn deep(options: &Options) -> Outcome {
    let delay = options.number("delay", 5.0);
    let rig = Rig::start(&one_link(100_000, (delay * 1e9) as u64), "a", "b", 1500)?;
    let wanted = Offer {
        size: 1500,
        rate: Some(8.0),
        duration: options.seconds(2.0 * delay),
        delay: (delay * 1e9) as u64,
    };
    let found = offer(&rig, 0, wanted)?;
    let lost = found.sent - found.received.min(found.sent);
    Ok(said(&mut rig.stop()?, json!({"sent": found.sent, "lost": lost})))
}
