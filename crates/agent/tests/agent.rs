//! Tests agents on loopback: forwarding and delivery over each convergence layer, and that killed
//! agents lose no accepted bundles.

use bentpipe_agent::client::{self, BundleOptions};
use bentpipe_agent::config::{Address, Config, Layer, Ltp, Peer, Planned};
use bentpipe_agent::security::{Key, Keys, Refusal};
use bentpipe_agent::{Counters, Node};
use bentpipe_dtn::ltp::segment::Segment;
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum time for anything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for one test, removed when dropped.
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

/// Returns the configuration of the node `dtn://{node}/` with its storage in `folder`.
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
        plan: None,
        ltp: Ltp::default(),
        keys: Keys::default(),
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

/// Returns a loopback address with a free port.
fn any(layer: Layer) -> Address {
    Address { layer, address: ([127, 0, 0, 1], 0).into() }
}

fn options(to: &str) -> BundleOptions {
    BundleOptions {
        from: "dtn://app/out".to_owned(),
        to: to.to_owned(),
        report: None,
        lifetime: Duration::from_secs(3600),
        hops: Some(10),
        keys: Keys::default(),
    }
}

/// Waits until `done` returns true.
///
/// # Panics
/// If that takes longer than [`PATIENCE`]; the message names `event`.
fn wait_for(event: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{event} did not happen in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the contents of all completely written files in a folder.
fn payloads(folder: &Path) -> BTreeSet<Vec<u8>> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let complete = files.filter(|path| path.extension().is_none_or(|extension| extension != "part"));
    complete.map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn bundles_cross_two_agents_over_every_layer() {
    for layer in [Layer::Tcpcl, Layer::Mtcp, Layer::Stcp, Layer::Udp, Layer::Ltp] {
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
        // The buffer of a UDP socket holds fewer than a hundred of these bundles.
        let count = if layer == Layer::Udp { 30 } else { 100_u64 };
        let bundles = (0..count).map(|number| {
            client::build_bundle(&options("dtn://earth/in"), number, number.to_be_bytes().repeat(100))
                .unwrap()
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

/// RFC 9171, sections 5.10 and 6.1.1: the status report of a delivery is an administrative record
/// to the report-to endpoint.
#[test]
fn deliveries_are_reported_and_expired_bundles_are_dropped() {
    let folder = Folder::new("reports");
    let inbox = folder.0.join("delivered");
    let node = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        deliver: Some(inbox.clone()),
        ..config("earth", &folder.0)
    });
    let reported =
        BundleOptions { report: Some("dtn://earth/reports".to_owned()), ..options("dtn://earth/in") };
    let short_lived = BundleOptions { lifetime: Duration::from_millis(300), ..options("dtn://nowhere/in") };
    let bundles = [
        client::build_bundle(&reported, 1, b"payload".to_vec()).unwrap(),
        client::build_bundle(&short_lived, 2, b"nobody".to_vec()).unwrap(),
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

/// The bundle was sent by dtnd of dtn7 0.21; only its lifetime was changed. Its primary block lacks
/// the CRC that RFC 9171, section 4.3.1, requires.
#[test]
fn a_primary_block_without_a_crc_is_accepted() {
    let folder = Folder::new("no-crc");
    let inbox = folder.0.join("delivered");
    let node = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        deliver: Some(inbox.clone()),
        ..config("earth", &folder.0)
    });
    let dtnd_bundle = "9f88071a000200040082016a2f2f65617274682f696e8201692f2f7468656972732f8201692f2f7468656972732f\
                   821b000000c59efec84f001b000100000000000085060300004c8201692f2f7468656972732f850a02000044821820\
                   0185010100004568656c6c6fff";
    let sent =
        client::send_tcpcl(node.address, "dtn://app/", &mut [bytes(dtnd_bundle)].into_iter(), PATIENCE);
    assert_eq!(sent.unwrap(), 1);
    wait_for("the bundle", || payloads(&inbox.join("in")).len() == 1);
    assert_eq!(payloads(&inbox.join("in")), BTreeSet::from([b"hello".to_vec()]));
    assert_eq!(node.finish().malformed, 0);
}

/// Environment variable with the configuration of an agent. If it is set, this test program runs
/// the agent, as a process that other tests can kill.
const CONFIG_VARIABLE: &str = "BENTPIPE_AGENT_TEST";

/// Runs an agent for [`spawn`]; passes immediately in a normal test run.
#[test]
fn runs_as_a_process() {
    let Ok(text) = std::env::var(CONFIG_VARIABLE) else { return };
    let config: Config = serde_json::from_str(&text).unwrap();
    let mut node = Node::new(config).unwrap();
    loop {
        node.step(Duration::from_millis(50)).unwrap();
    }
}

/// Starts an agent as a process that listens on `port`.
fn spawn(folder: &Path, port: u16, layer: &str) -> Child {
    let text = serde_json::json!({
        "node": "dtn://earth/",
        "storage": folder.join("store"),
        "limit": 1_u64 << 30,
        "deliver": folder.join("delivered"),
        "listen": [{"layer": layer, "address": format!("127.0.0.1:{port}")}],
        "longest": 1 << 24,
    });
    Command::new(std::env::current_exe().unwrap())
        .args(["runs_as_a_process", "--exact", "--nocapture"])
        .env(CONFIG_VARIABLE, text.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn accepted_bundles_survive_kills() {
    const KILLS: u64 = 200;
    const BATCH: u64 = 60;
    let folder = Folder::new("kills");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address: SocketAddr = ([127, 0, 0, 1], port).into();
    let (mut random, mut sequence, mut accepted) = (5_u64, 0_u64, BTreeSet::new());
    let (mut cut_short, mut transfer_time) = (0, Duration::ZERO);
    for kill in 0..=KILLS {
        let agent = Arc::new(Mutex::new(spawn(&folder.0, port, "tcpcl")));
        wait_for("the start of the agent", || std::net::TcpStream::connect(address).is_ok());
        // TCPCL acknowledges bundles in the order of sending, so the accepted bundles are the first
        // ones.
        let first = sequence;
        let mut bundles = (0..BATCH).map(|_| {
            sequence += 1;
            client::build_bundle(&options("dtn://earth/in"), sequence, sequence.to_be_bytes().repeat(50))
                .unwrap()
        });
        let started = Instant::now();
        let killer = (kill > 0).then(|| {
            // Kill the agent at a random time within the duration of a complete transfer.
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let delay = transfer_time * ((random >> 33) % 1000) as u32 / 1000;
            let agent = agent.clone();
            std::thread::spawn(move || {
                std::thread::sleep(delay);
                agent.lock().unwrap().kill().unwrap();
            })
        });
        let count = client::send_tcpcl(address, "dtn://app/", &mut bundles, PATIENCE).unwrap_or(0);
        drop(bundles);
        match killer {
            Some(killer) => {
                killer.join().unwrap();
                cut_short += u64::from(count < BATCH);
                transfer_time = if count < BATCH { transfer_time * 21 / 20 } else { transfer_time * 9 / 10 };
            }
            None => {
                assert_eq!(count, BATCH, "all bundles are accepted without a kill");
                transfer_time = started.elapsed();
                agent.lock().unwrap().kill().unwrap();
            }
        }
        agent.lock().unwrap().wait().unwrap();
        accepted.extend(first + 1..=first + count);
    }
    let mut agent = spawn(&folder.0, port, "tcpcl");
    let delivered = || -> BTreeSet<u64> {
        let payloads = payloads(&folder.0.join("delivered/in"));
        payloads.iter().map(|payload| u64::from_be_bytes(payload[..8].try_into().unwrap())).collect()
    };
    wait_for("delivery of all accepted bundles", || accepted.is_subset(&delivered()));
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(
        cut_short > KILLS / 2 && accepted.len() > 1000,
        "{cut_short} kills hit {} bundles",
        accepted.len()
    );
}

/// A relay between an agent and its peer that drops a fifth of the datagrams in both directions.
struct LossyRelay {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl LossyRelay {
    fn start(peer: SocketAddr) -> LossyRelay {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let (mut agent, mut random, mut lost, mut buffer) = (None, 7_u64, 0, [0; 1 << 16]);
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                let to = if from == peer { agent } else { Some(peer) };
                agent = if from == peer { agent } else { Some(from) };
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                if (random >> 33) % 5 == 0 {
                    lost += 1;
                } else if let Some(to) = to {
                    let _lost_if_full = socket.send_to(&buffer[..length], to);
                }
            }
            lost
        });
        LossyRelay { address, stop, thread: Some(thread) }
    }

    /// Stops the relay and returns the number of dropped datagrams.
    fn finish(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Creates bundles with distinct payloads of `length` bytes.
fn numbered(count: u64, to: &str, length: usize) -> Vec<Vec<u8>> {
    let payload = |number: u64| number.to_be_bytes().repeat(length / 8);
    (0..count).map(|number| client::build_bundle(&options(to), number, payload(number)).unwrap()).collect()
}

/// RFC 5326: lost red data is retransmitted until all of it has arrived.
#[test]
fn ltp_delivers_all_bundles_at_20_percent_datagram_loss() {
    let folder = Folder::new("lossy");
    let inbox = folder.0.join("delivered");
    let earth = Running::start(Config {
        listen: vec![any(Layer::Ltp)],
        deliver: Some(inbox.clone()),
        ..config("earth", &folder.0)
    });
    let relay = LossyRelay::start(earth.address);
    let mars = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        peers: vec![Peer {
            node: "dtn://earth/".to_owned(),
            at: Address { layer: Layer::Ltp, address: relay.address },
        }],
        ltp: Ltp { margin: 0.05, ..Ltp::default() },
        ..config("mars", &folder.0)
    });
    let bundles = numbered(60, "dtn://earth/in", 8000);
    client::send_tcpcl(mars.address, "dtn://app/", &mut bundles.into_iter(), PATIENCE).unwrap();
    wait_for("delivery of all bundles", || payloads(&inbox.join("in")).len() == 60);
    let lost = relay.finish();
    let (mars, earth) = (mars.finish(), earth.finish());
    assert!(lost > 60, "{lost} datagrams were lost");
    assert_eq!((earth.malformed, mars.malformed), (0, 0));
    assert_eq!(mars.forwarded + mars.stored, 60);
}

/// The peer never answers. Bundles are sent up to the limit and retransmitted until the test ends;
/// the other bundles wait in the storage.
#[test]
fn ltp_respects_the_limit_of_bytes_in_flight() {
    let folder = Folder::new("in-flight");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    silent.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mars = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        peers: vec![Peer {
            node: "dtn://earth/".to_owned(),
            at: Address { layer: Layer::Ltp, address: silent.local_addr().unwrap() },
        }],
        ltp: Ltp { margin: 0.05, in_flight: 10_000, ..Ltp::default() },
        ..config("mars", &folder.0)
    });
    let bundles = numbered(40, "dtn://earth/in", 1000);
    client::send_tcpcl(mars.address, "dtn://app/", &mut bundles.into_iter(), PATIENCE).unwrap();
    let (mut sessions, mut datagrams, mut buffer) = (BTreeSet::new(), 0, [0; 2000]);
    // Retransmissions every 50 ms add up to more than 40 datagrams.
    wait_for("retransmission", || {
        while let Ok(length) = silent.recv(&mut buffer) {
            sessions.extend(Segment::read(&buffer[..length]).map(|segment| segment.session.number));
            datagrams += 1;
        }
        datagrams > 40
    });
    // Ten bundles with payloads of 1000 bytes reach the limit of 10 kB. Nine reach it if each has
    // more than 111 bytes of headers.
    assert!((9..=10).contains(&sessions.len()), "{} bundles are in flight", sessions.len());
    let counters = mars.finish();
    assert_eq!((counters.received, counters.stored), (40, 40));
}

/// A rover can reach the Earth over two orbiters, `slow` and `fast`. Its bundles must take the
/// route with the earlier arrival, and leave only during contacts.
#[test]
fn bundles_follow_a_contact_plan() {
    let folder = Folder::new("plan");
    let inbox = folder.0.join("delivered");
    let text = "src,dst,start,end,rate_bps,owlt_s\n\
                rover,slow,0,100,1000000,0.01\nslow,earth,90,100,1000000,0.01\n\
                rover,fast,1.5,100,1000000,0.01\nfast,rover,0,100,1000000,0.01\n\
                fast,earth,2.5,100,1000000,0.01\nearth,fast,0,100,1000000,0.01\n";
    let plan = Some(Planned { text: text.to_owned(), skip_impossible: false, lead: 0.0 });
    let peer =
        |node: &str, layer, address| Peer { node: format!("dtn://{node}/"), at: Address { layer, address } };
    let earth = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        deliver: Some(inbox.clone()),
        ..config("earth", &folder.0)
    });
    let slow = Running::start(Config {
        listen: vec![any(Layer::Udp)],
        peers: vec![peer("earth", Layer::Tcpcl, earth.address)],
        plan: plan.clone(),
        ..config("slow", &folder.0)
    });
    let started = Instant::now();
    let fast = Running::start(Config {
        listen: vec![any(Layer::Ltp)],
        peers: vec![peer("earth", Layer::Tcpcl, earth.address)],
        plan: plan.clone(),
        ..config("fast", &folder.0)
    });
    let rover = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        peers: vec![peer("slow", Layer::Udp, slow.address), peer("fast", Layer::Ltp, fast.address)],
        plan,
        ..config("rover", &folder.0)
    });
    let bundles = numbered(20, "dtn://earth/in", 1000);
    client::send_tcpcl(rover.address, "dtn://app/", &mut bundles.into_iter(), PATIENCE).unwrap();
    wait_for("delivery of all bundles", || payloads(&inbox.join("in")).len() == 20);
    assert!(started.elapsed() > Duration::from_millis(2500), "the contact with the Earth opens after 2.5 s");
    let (rover, slow, fast) = (rover.finish(), slow.finish(), fast.finish());
    assert_eq!((slow.received, fast.received, fast.forwarded + fast.stored), (0, 20, 20));
    assert_eq!((rover.received, rover.forwarded + rover.stored), (20, 20));
    earth.finish();
}

/// LTP reports data before a block is complete. If the receiver is killed, it loses the data of
/// incomplete blocks, and later reports no longer claim that data.
#[test]
fn bundles_over_ltp_survive_kills_of_the_receiver() {
    const KILLS: u64 = 25;
    let folder = Folder::new("ltp-kills");
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mars = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        peers: vec![Peer {
            node: "dtn://earth/".to_owned(),
            at: Address { layer: Layer::Ltp, address: ([127, 0, 0, 1], port).into() },
        }],
        ltp: Ltp { margin: 0.05, rate: 20_000_000, ..Ltp::default() },
        ..config("mars", &folder.0)
    });
    let count = 1500;
    let bundles = numbered(count, "dtn://earth/in", 8000);
    client::send_tcpcl(mars.address, "dtn://app/", &mut bundles.into_iter(), PATIENCE).unwrap();
    let delivered = || fs::read_dir(folder.0.join("delivered/in")).map_or(0, |files| files.count() as u64);
    let (mut random, mut kills) = (11_u64, 0);
    while kills < KILLS && delivered() < count / 2 {
        let mut agent = spawn(&folder.0, port, "ltp");
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let target = delivered() + (random >> 33) % 20;
        wait_for("delivery of more bundles", || delivered() >= target);
        std::thread::sleep(Duration::from_micros((random >> 40) % 4000));
        agent.kill().unwrap();
        agent.wait().unwrap();
        kills += 1;
    }
    let delivered_at_last_kill = delivered();
    let mut agent = spawn(&folder.0, port, "ltp");
    wait_for("delivery of all bundles", || payloads(&folder.0.join("delivered/in")).len() as u64 == count);
    agent.kill().unwrap();
    agent.wait().unwrap();
    let mars = mars.finish();
    assert!(
        kills > 5 && delivered_at_last_kill < count,
        "{delivered_at_last_kill} bundles had arrived at the last of {kills} kills"
    );
    assert_eq!((mars.received, mars.forwarded + mars.stored), (count, count));
}

/// RFC 9171, sections 5.8 and 5.9: a bundle of 100 kB crosses contacts that carry 37.5 kB each.
#[test]
fn a_bundle_that_fits_no_contact_is_fragmented_and_reassembled() {
    let folder = Folder::new("fragments");
    let inbox = folder.0.join("delivered");
    // A busy machine misses some of the contacts.
    let windows = (0..200).map(|number| {
        let start = 0.3 + 0.5 * f64::from(number);
        format!("rover,earth,{start},{},1000000,0.01\n", start + 0.3)
    });
    let text = format!("src,dst,start,end,rate_bps,owlt_s\n{}", windows.collect::<String>());
    let earth = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        deliver: Some(inbox.clone()),
        ..config("earth", &folder.0)
    });
    let rover = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        peers: vec![Peer {
            node: "dtn://earth/".to_owned(),
            at: Address { layer: Layer::Tcpcl, address: earth.address },
        }],
        plan: Some(Planned { text, skip_impossible: false, lead: 0.0 }),
        ..config("rover", &folder.0)
    });
    let payload: Vec<u8> = (0..100_000_u32).map(|index| (index % 251) as u8).collect();
    let bundle = client::build_bundle(&options("dtn://earth/in"), 1, payload.clone()).unwrap();
    client::send_tcpcl(rover.address, "dtn://app/", &mut [bundle].into_iter(), PATIENCE).unwrap();
    wait_for("delivery", || payloads(&inbox.join("in")) == BTreeSet::from([payload.clone()]));
    let (rover, earth) = (rover.finish(), earth.finish());
    assert!(rover.fragmented >= 3 && rover.forwarded >= 4, "{rover:?}");
    assert_eq!((earth.delivered, earth.delivered_bytes, earth.stored), (1, 100_000, 0));
}

/// Decodes hexadecimal digits.
fn bytes(hex: &str) -> Vec<u8> {
    let byte = |index: usize| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap();
    (0..hex.len() / 2).map(byte).collect()
}

/// The examples of RFC 9173, appendix A: a signed bundle is accepted only with its key, and an
/// encrypted bundle is decrypted to the original.
#[test]
fn rfc_9173_examples_open_only_with_their_keys() {
    let examples: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/authorities/dtn/rfc9173_examples.json")).unwrap();
    let text = |name: &str| examples[name].as_str().unwrap().to_owned();
    let bundle = |name: &str| bp7::Bundle::try_from(bytes(&text(name)).as_slice()).unwrap();
    let key = |name: &str| Some(Key::try_from(text(name)).unwrap());
    let payload = bundle("original").payload().cloned().unwrap();

    let signer = Keys { integrity: key("a1_key"), confidentiality: None };
    let mut signed = bundle("a1_bundle");
    assert_eq!(signer.open(&mut signed), Ok(()));
    assert_eq!(signed.payload(), Some(&payload));
    assert_eq!(signer.open(&mut bundle("original")), Err(Refusal::Missing));
    signed.set_payload(b"Ready to generate a 32-byte paylaod".to_vec());
    assert_eq!(signer.open(&mut signed), Err(Refusal::Failed));
    let other = Keys { integrity: key("a2_key_encryption_key"), confidentiality: None };
    assert_eq!(other.open(&mut bundle("a1_bundle")), Err(Refusal::Failed));

    let reader = Keys { integrity: None, confidentiality: key("a2_key_encryption_key") };
    let mut encrypted = bundle("a2_bundle");
    assert_ne!(encrypted.payload(), Some(&payload));
    assert_eq!(reader.open(&mut encrypted), Ok(()));
    assert_eq!(encrypted.payload(), Some(&payload));
    let other = Keys { integrity: None, confidentiality: key("a1_key") };
    assert_eq!(other.open(&mut bundle("a2_bundle")), Err(Refusal::Failed));
    assert_eq!(reader.open(&mut bundle("original")), Err(Refusal::Missing));
}

#[test]
fn forwarders_need_no_keys_and_the_destination_refuses_unprotected_payloads() {
    let folder = Folder::new("keys");
    let inbox = folder.0.join("delivered");
    let status = folder.0.join("counts.json");
    let key = |digits: &str, bytes: usize| Some(Key::try_from(digits.repeat(bytes)).unwrap());
    let keys = Keys { integrity: key("1a", 48), confidentiality: key("2b", 32) };
    let earth = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        deliver: Some(inbox.clone()),
        keys: keys.clone(),
        status: Some(status.clone()),
        ..config("earth", &folder.0)
    });
    let orbiter = Running::start(Config {
        listen: vec![any(Layer::Tcpcl)],
        peers: vec![Peer {
            node: "dtn://earth/".to_owned(),
            at: Address { layer: Layer::Tcpcl, address: earth.address },
        }],
        ..config("orbiter", &folder.0)
    });
    let protected = BundleOptions { keys: keys.clone(), ..options("dtn://earth/in") };
    let wrong = BundleOptions {
        keys: Keys { integrity: key("3c", 48), ..keys.clone() },
        ..options("dtn://earth/in")
    };
    let unsigned = BundleOptions { keys: Keys { integrity: None, ..keys }, ..options("dtn://earth/in") };
    let secret = b"the secret of the third planet".to_vec();
    let bundles = [&protected, &wrong, &unsigned, &options("dtn://earth/in")].map(|options| {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        client::build_bundle(options, NUMBER.fetch_add(1, Ordering::Relaxed), secret.clone()).unwrap()
    });
    let shows_secret = |bundle: &[u8]| bundle.windows(secret.len()).any(|window| window == secret);
    assert_eq!(bundles.each_ref().map(|bundle| shows_secret(bundle)), [false, false, false, true]);
    let sent = client::send_tcpcl(orbiter.address, "dtn://app/", &mut bundles.into_iter(), PATIENCE).unwrap();
    assert_eq!(sent, 4);
    let counts = || -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(&status).unwrap_or_default()).unwrap_or_default()
    };
    wait_for("four bundles at the Earth", || counts()["received"] == 4 && counts()["stored"] == 0);
    assert_eq!(payloads(&inbox.join("in")), BTreeSet::from([secret.clone()]));
    let (orbiter, earth) = (orbiter.finish(), earth.finish());
    assert_eq!((orbiter.forwarded, orbiter.rejected), (4, 0));
    assert_eq!((earth.received, earth.delivered, earth.rejected, earth.stored), (4, 1, 3, 0));
}
