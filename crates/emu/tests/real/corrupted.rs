//! Corrupted packets at real kernels. With stale checksums, the kernels drop and count the packets.
//! With valid checksums, their programs read wrong bytes. Needs namespaces and TUN; on machines
//! without them, prints a message and passes.

use bentpipe_core::Recorder;
use bentpipe_emu::{Clock, Live, Namespace, Prepared, Setup};
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_scenario::Source;
use bentpipe_testing::skipped;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

const DATAGRAMS: usize = 40;
const BYTES: usize = 300_000;

/// Returns a network of two hosts whose link corrupts packets from a to b; `None` if the machine
/// does not support it.
fn network(effect: &str, probability: f64) -> Option<Live> {
    if let Err(error) = Namespace::new() {
        skipped(format!("no network namespaces: {error}"));
        return None;
    }
    let text = format!(
        "name = \"t\"\nduration = \"60 s\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\n\
         rate = \"50 Mbit/s\"\ndelay = \"2 ms\"\n\
         error = {{ kind = \"packet\", probability = {probability}, effect = \"{effect}\" }}\n\
         return = {{ rate = \"50 Mbit/s\", delay = \"2 ms\" }}\n"
    );
    let source = Source::Text { name: "test", text: &text };
    let loaded = bentpipe_scenario::load::<Scenario>(source, &presets::all(), &[]);
    let scenario = loaded.unwrap_or_else(|error| panic!("{error}")).value;
    let hosts = ["a".to_owned(), "b".to_owned()];
    let prepared = Prepared::new(Setup {
        scenario: &scenario,
        seed: (1, 0),
        hosts: &hosts,
        recorder: Recorder::default(),
        capture: None,
        mtu: 1500,
        internet: None,
        radios: None,
        elsewhere: &[],
    });
    Some(prepared.unwrap().start(Clock::start(), None).unwrap())
}

/// Returns a counter of /proc/net/snmp at host b.
fn counter(live: &Live, protocol: &str, name: &str) -> u64 {
    let read = || {
        ["snmp", "snmp6"]
            .map(|file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap())
    };
    let [four, six] = live.host("b").unwrap().namespace.within(read).unwrap();
    if let Some(line) = six.lines().find_map(|line| line.strip_prefix(&format!("{protocol}{name}"))) {
        return line.trim().parse().unwrap();
    }
    let mut lines = four.lines().filter_map(|line| line.strip_prefix(&format!("{protocol}: ")));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split(' ').position(|other| other == name).unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}

/// Sends datagrams from a to b. Returns the datagrams that arrive.
fn datagrams(live: &Live, from: &str, to: &str) -> Vec<Vec<u8>> {
    let at = |host: &str, address: &str| {
        live.host(host).unwrap().namespace.within(|| UdpSocket::bind(address)).unwrap().unwrap()
    };
    let (sender, receiver) = (at("a", from), at("b", to));
    receiver.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    for number in 0..DATAGRAMS {
        sender.send_to(&vec![number as u8; 100 + number], to).unwrap();
    }
    let mut buffer = [0; 2000];
    let mut arrived = Vec::new();
    while arrived.len() < DATAGRAMS {
        let Ok(length) = receiver.recv(&mut buffer) else { break };
        arrived.push(buffer[..length].to_vec());
    }
    arrived
}

fn stream_bytes() -> Vec<u8> {
    (0..BYTES).map(|byte| ((byte * 31) >> 3) as u8).collect()
}

/// Returns the bytes that b reads from a connection on which a writes [`stream_bytes`].
fn stream(live: &Live) -> Vec<u8> {
    let inside = |host: &str| &live.host(host).unwrap().namespace;
    let listener = inside("b").within(|| TcpListener::bind("198.18.0.2:99")).unwrap().unwrap();
    let reading = thread::Builder::new().spawn(move || {
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
        received
    });
    let mut sender = inside("a").within(|| TcpStream::connect("198.18.0.2:99")).unwrap().unwrap();
    sender.write_all(&stream_bytes()).unwrap();
    drop(sender);
    reading.unwrap().join().unwrap()
}

fn wrong_bits(received: &[u8], sent: &[u8]) -> u32 {
    assert_eq!(received.len(), sent.len());
    received.iter().zip(sent).map(|(one, other)| (one ^ other).count_ones()).sum()
}

const ADDRESSES: [(&str, &str); 2] =
    [("198.18.0.1:7", "198.18.0.2:9"), ("[fd62:656e:7470::1]:7", "[fd62:656e:7470::2]:9")];

#[test]
fn a_kernel_drops_packets_with_stale_checksums() {
    let Some(live) = network("stale-checksum", 1.0) else { return };
    for ((from, to), protocol) in ADDRESSES.into_iter().zip(["Udp", "Udp6"]) {
        assert_eq!(datagrams(&live, from, to).len(), 0, "{protocol}");
        assert_eq!(counter(&live, protocol, "InErrors"), DATAGRAMS as u64, "{protocol}");
        // A length field that is too large is detected earlier than the checksum. This concerns 15
        // of the 16 bits of that field, out of more than 864 bits.
        let refused = counter(&live, protocol, "InCsumErrors");
        assert!(refused >= DATAGRAMS as u64 * 8 / 10, "{protocol}: {refused}");
    }
    let bridge = live.finish().unwrap();
    assert_eq!(bridge.lost(), 0);
    let live = network("stale-checksum", 0.03).unwrap();
    assert_eq!(wrong_bits(&stream(&live), &stream_bytes()), 0);
    let refused = counter(&live, "Tcp", "InCsumErrors");
    println!("TCP refused {refused} segments");
    // 3 % of at least 208 segments are 6, with a standard deviation of 2.5.
    assert!(refused > 0);
}

#[test]
fn a_program_reads_wrong_bytes_with_valid_checksums() {
    let Some(live) = network("valid-checksum", 1.0) else { return };
    for (from, to) in ADDRESSES {
        let arrived = datagrams(&live, from, to);
        assert_eq!(arrived.len(), DATAGRAMS, "to {to}");
        for (number, datagram) in arrived.iter().enumerate() {
            assert_eq!(wrong_bits(datagram, &vec![number as u8; 100 + number]), 1, "{number} to {to}");
        }
    }
    drop(live);
    // At a higher probability, packets without payload would be lost, and every handshake with
    // them.
    let live = network("valid-checksum", 0.1).unwrap();
    let wrong = wrong_bits(&stream(&live), &stream_bytes());
    println!("TCP delivered {wrong} wrong bits");
    assert!(wrong > 0);
    for protocol in ["Tcp", "Udp", "Udp6"] {
        assert_eq!(counter(&live, protocol, "InCsumErrors"), 0, "{protocol}");
    }
}
