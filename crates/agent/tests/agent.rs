//! Agents on loopback: what they forward and deliver over each convergence layer, and that nothing they accepted is lost when they are
//! killed.

use bentpipe_agent::client::{self, Making};
use bentpipe_agent::config::{Address, Config, Layer, Peer};
use bentpipe_agent::{Counters, Node};
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A folder of its own for a test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("bentpipe-agent-{}-{name}", std::process::id()));
        let _none_before = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

fn config(node: &str, folder: &Path) -> Config {
    Config {
        node: format!("dtn://{node}/"),
        storage: folder.join(node),
        limit: 1 << 30,
        sync: false,
        deliver: None,
        listen: Vec::new(),
        peers: Vec::new(),
        routes: Vec::new(),
        longest: 1 << 24,
        status: None,
    }
}

/// A node that runs on a thread until it is dropped.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Counters>>,
}

impl Running {
    fn start(config: Config) -> Running {
        let mut node = Node::new(config).unwrap();
        let address = node.addresses().unwrap()[0];
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                node.step(Duration::from_millis(20)).unwrap();
            }
            node.finish().unwrap()
        });
        Running { address, stop, thread: Some(thread) }
    }

    fn finish(mut self) -> Counters {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn any(layer: Layer) -> Address {
    Address { layer, address: ([127, 0, 0, 1], 0).into() }
}

fn making(to: &str) -> Making {
    Making {
        from: "dtn://app/out".to_owned(),
        to: to.to_owned(),
        report: None,
        lifetime: Duration::from_secs(3600),
        hops: Some(10),
    }
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn payloads(folder: &Path) -> BTreeSet<Vec<u8>> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let whole = files.filter(|path| path.extension().is_none_or(|extension| extension != "part"));
    whole.map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn bundles_cross_two_agents_over_every_layer() {
    for layer in [Layer::Tcpcl, Layer::Mtcp, Layer::Udp] {
        let folder = Folder::new(&format!("{layer:?}"));
        let inbox = folder.0.join("delivered");
        let earth = Running::start(Config {
            listen: vec![any(layer)],
            deliver: Some(inbox.clone()),
            ..config("earth", &folder.0)
        });
        let orbiter = Running::start(Config {
            listen: vec![any(Layer::Tcpcl)],
            peers: vec![Peer {
                node: "dtn://earth/".to_owned(),
                at: Address { layer, address: earth.address },
            }],
            routes: vec![("*".to_owned(), "dtn://earth/".to_owned())],
            ..config("orbiter", &folder.0)
        });
        // A datagram socket holds fewer than a hundred such bundles.
        let count = if layer == Layer::Udp { 30 } else { 100_u64 };
        let bundles = (0..count).map(|number| {
            client::make(&making("dtn://earth/in"), number, number.to_be_bytes().repeat(100)).unwrap()
        });
        let accepted =
            client::send_tcpcl(orbiter.address, "dtn://app/", &mut bundles.into_iter(), PATIENCE).unwrap();
        assert_eq!(accepted, count);
        let expected: BTreeSet<_> = (0..count).map(|number| number.to_be_bytes().repeat(100)).collect();
        wait_for("delivery", || payloads(&inbox.join("in")) == expected);
        let (orbiter, earth) = (orbiter.finish(), earth.finish());
        assert_eq!((earth.received, earth.delivered, earth.stored), (count, count, 0), "{layer:?}");
        assert_eq!((orbiter.received, orbiter.malformed), (count, 0), "{layer:?}");
        assert_eq!(orbiter.forwarded + orbiter.stored, count, "{layer:?}");
    }
}

/// RFC 9171, section 5.10 and 6.1.1: the status report of a delivery goes to the report-to endpoint as an administrative record.
#[test]
fn deliveries_are_reported_and_what_is_over_is_dropped() {
    let folder = Folder::new("reports");
    let inbox = folder.0.join("delivered");
    let node = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        deliver: Some(inbox.clone()),
        ..config("earth", &folder.0)
    });
    let reported = Making { report: Some("dtn://earth/reports".to_owned()), ..making("dtn://earth/in") };
    let short = Making { lifetime: Duration::from_millis(300), ..making("dtn://nowhere/in") };
    let bundles = [
        client::make(&reported, 1, b"payload".to_vec()).unwrap(),
        client::make(&short, 2, b"nobody".to_vec()).unwrap(),
        b"no bundle".to_vec(),
    ];
    let sent = client::send_tcpcl(node.address, "dtn://app/", &mut bundles.into_iter(), PATIENCE).unwrap();
    assert_eq!(sent, 3);
    wait_for("the report", || payloads(&inbox.join("reports")).len() == 1);
    assert_eq!(payloads(&inbox.join("in")), BTreeSet::from([b"payload".to_vec()]));
    std::thread::sleep(Duration::from_millis(400));
    let counters = node.finish();
    assert_eq!(
        (counters.malformed, counters.expired, counters.reports, counters.delivered, counters.stored),
        (1, 1, 1, 2, 0)
    );
}

/// The agent of [`accepted_bundles_survive_kills`], as a process of its own: this test's program with this variable.
const ROLE: &str = "BENTPIPE_AGENT_TEST";

#[test]
fn runs_as_a_process() {
    let Ok(text) = std::env::var(ROLE) else { return };
    let config: Config = serde_json::from_str(&text).unwrap();
    let mut node = Node::new(config).unwrap();
    loop {
        node.step(Duration::from_millis(50)).unwrap();
    }
}

fn spawn(folder: &Path, port: u16) -> Child {
    let text = serde_json::json!({
        "node": "dtn://earth/",
        "storage": folder.join("store"),
        "limit": 1_u64 << 30,
        "deliver": folder.join("delivered"),
        "listen": [{"layer": "tcpcl", "address": format!("127.0.0.1:{port}")}],
        "longest": 1 << 24,
    });
    Command::new(std::env::current_exe().unwrap())
        .args(["runs_as_a_process", "--exact", "--nocapture"])
        .env(ROLE, text.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn accepted_bundles_survive_kills() {
    const KILLS: u64 = 200;
    let folder = Folder::new("kills");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address: SocketAddr = ([127, 0, 0, 1], port).into();
    let (mut random, mut sequence, mut accepted) = (5_u64, 0_u64, BTreeSet::new());
    let mut cut_short = 0;
    for _ in 0..KILLS {
        let mut agent = spawn(&folder.0, port);
        wait_for("its start", || std::net::TcpStream::connect(address).is_ok());
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let delay = Duration::from_micros((random >> 33) % 20_000);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            agent.kill().unwrap();
            agent.wait().unwrap();
        });
        // TCPCL acknowledges in the order of sending, so that the accepted ones are the first.
        let first = sequence;
        let mut bundles = (0..2000_u64).map(|_| {
            sequence += 1;
            client::make(&making("dtn://earth/in"), sequence, sequence.to_be_bytes().repeat(50)).unwrap()
        });
        let count = client::send_tcpcl(address, "dtn://app/", &mut bundles, PATIENCE).unwrap_or(0);
        drop(bundles);
        accepted.extend(first + 1..=first + count);
        cut_short += u64::from(count < 2000);
        killer.join().unwrap();
    }
    let mut agent = spawn(&folder.0, port);
    let there = || -> BTreeSet<u64> {
        let payloads = payloads(&folder.0.join("delivered/in"));
        payloads.iter().map(|payload| u64::from_be_bytes(payload[..8].try_into().unwrap())).collect()
    };
    wait_for("delivery of all that was accepted", || accepted.is_subset(&there()));
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(
        cut_short > KILLS / 2 && accepted.len() > 1000,
        "{cut_short} kills hit {} bundles",
        accepted.len()
    );
}
