//! Captured packets, read by tshark and tcptrace. If these programs are missing, the tests are
//! reported as skipped and pass.

mod common;

use bentpipe_core::{FlowId, NodeId, Span, Time};
use bentpipe_results::{CaptureOptions, Ending, Existing, PacketCapture, Provenance, RunFolder};
use bentpipe_stage::packet::segment::{SackBlocks, Segment, SegmentFlags, SegmentOptions, Timestamps};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Capture, Content, Ecn, Packet, Payload};
use bentpipe_testing::skipped;
use common::fresh;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug)]
#[allow(dead_code, reason = "shown by its Debug")]
struct Request {
    slots: u32,
}

impl Payload for Request {
    fn content(&self) -> Content {
        Content::Signalling
    }
}

struct Connection {
    capture: PacketCapture,
    now: Time,
    numbers: [u32; 2],
    flow: u32,
    interfaces: u32,
}

const CLIENT: u16 = 3;
const SERVER: u16 = 300;
const ACK: SegmentFlags = SegmentFlags::ACK;

impl Connection {
    fn packet(&mut self, from: u16, size: u32, body: Body) {
        let side = usize::from(from == SERVER);
        let packet = Packet {
            birth: self.now,
            number: self.numbers[side],
            size,
            flow: FlowId(self.flow),
            source: NodeId(from),
            destination: NodeId(CLIENT + SERVER - from),
            connection: 0,
            leg: Leg::THERE,
            dscp: 10,
            ecn: Ecn::Ect0,
            body,
        };
        self.numbers[side] += 1;
        self.capture.packet(side as u32 % self.interfaces, self.now, &packet);
        self.now += Span::from_nanos(1_000_001);
    }

    fn segment(&mut self, from: u16, options_size: u32, segment: Segment) {
        let size = 40 + options_size + u32::from(segment.payload);
        self.packet(from, size, Body::Segment(segment));
    }

    fn syn(&mut self, from: u16, flags: SegmentFlags, acknowledgment: u32, timestamps: bool) {
        let options = SegmentOptions {
            mss: Some(1460),
            window_scale: Some(if from == SERVER { 3 } else { 7 }),
            sack_permitted: true,
            ..SegmentOptions::default()
        };
        let segment = Segment {
            sequence: 999,
            acknowledgment,
            window: 65_535,
            flags: SegmentFlags::SYN.with(flags),
            timestamps: timestamps.then_some(Timestamps::new(5, 0)),
            options: Some(Box::new(options)),
            ..Segment::default()
        };
        self.segment(from, if timestamps { 20 } else { 12 }, segment);
    }

    /// Sends a connection set-up, `data` segments, duplicate acknowledgments with SACK, a
    /// retransmission of the second segment, and a connection release.
    fn talk(&mut self, data: u32, timestamps: bool) {
        let (none, stamps) = (SegmentFlags::default(), timestamps.then_some(Timestamps::new(7, 5)));
        let stamps_size = if timestamps { 12 } else { 0 };
        self.syn(CLIENT, none, 0, timestamps);
        self.syn(SERVER, ACK, 1000, timestamps);
        let plain = Segment {
            sequence: 1000,
            acknowledgment: 1000,
            window: 1 << 20,
            flags: ACK,
            timestamps: stamps,
            ..Segment::default()
        };
        self.segment(CLIENT, stamps_size, plain.clone());
        let payload = if timestamps { 1448 } else { 1460 };
        let at = |index: u32| 1000 + index * u32::from(payload);
        for index in 0..data {
            self.segment(CLIENT, stamps_size, Segment { sequence: at(index), payload, ..plain.clone() });
        }
        for count in 1..=4 {
            let mut sack = SackBlocks::default();
            (0..count).for_each(|block| sack.push(at(2 + 2 * block), at(3 + 2 * block)));
            // The model knows that three blocks fit next to timestamps (RFC 2018, section 3).
            let fitting = if timestamps { count.min(3) } else { count };
            let options = SegmentOptions { sack, ..SegmentOptions::default() };
            let options = Some(Box::new(options));
            let segment = Segment { acknowledgment: at(1), window: 8 << 10, options, ..plain.clone() };
            self.segment(SERVER, stamps_size + 4 + 8 * fitting, segment);
        }
        self.segment(CLIENT, stamps_size, Segment { sequence: at(1), payload, ..plain.clone() });
        let end = at(data);
        self.segment(SERVER, stamps_size, Segment { acknowledgment: end, ..plain.clone() });
        let fin = SegmentFlags::FIN.with(ACK);
        self.segment(CLIENT, stamps_size, Segment { sequence: end, flags: fin, ..plain.clone() });
        self.segment(SERVER, stamps_size, Segment { acknowledgment: end + 1, flags: fin, ..plain.clone() });
        let last = Segment { sequence: end + 1, acknowledgment: 1001, ..plain };
        self.segment(CLIENT, stamps_size, last);
    }
}

fn captured(name: &str, interfaces: &[&str], options: CaptureOptions) -> PathBuf {
    let path = fresh(name);
    let provenance = Provenance::new("simulate", 1, 0);
    let mut folder = RunFolder::create(&path, Existing::Refuse, "", provenance).unwrap();
    let interfaces: Vec<String> = interfaces.iter().map(ToString::to_string).collect();
    let capture = folder.capture(&interfaces, options).unwrap();
    let interfaces = interfaces.len() as u32;
    let mut connection = Connection { capture, now: Time::ZERO, numbers: [0, 65_534], flow: 0, interfaces };
    connection.talk(20, true);
    connection.flow = 20_000;
    connection.talk(20, false);
    for (size, flow) in [(200, 1), (28, 2), (1500, 3), (29, 3), (65_535, 4)] {
        connection.flow = flow;
        connection.packet(SERVER, size, Body::Datagram);
    }
    connection.packet(CLIENT, 64, Body::layer(Request { slots: 12 }));
    connection.packet(CLIENT, 4, Body::layer(Request { slots: 1 }));
    // ICMP echo request with a valid checksum, from 198.18.0.4 to 198.18.1.45.
    let ping = [
        0x45, 0, 0, 28, 0, 1, 0, 0, 64, 1, 0xed, 0x8a, 198, 18, 0, 4, 198, 18, 1, 45, 8, 0, 0xf7, 0xfd, 0, 1,
        0, 1,
    ];
    connection.packet(CLIENT, 28, Body::Frame(Box::new(ping)));
    folder.finish(Ending::Complete, Default::default()).unwrap();
    path.join("packets.pcapng")
}

/// Names of the two capture points, one per direction.
const INTERFACES: [&str; 2] = ["st1 up", "gw down"];
const SEGMENTS: usize = 32;
const PACKETS: usize = 2 * SEGMENTS + 5 + 2 + 1;

/// Returns the output of a program. If the program is not installed, reports the test as skipped
/// and returns `None`.
fn output_of(program: &str, arguments: &[&str], file: &Path) -> Option<String> {
    match Command::new(program).args(arguments).arg(file).output() {
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{program}: {error}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            skipped(format!("{program}: {error}"));
            None
        }
    }
}

fn tshark(arguments: &[&str], file: &Path) -> Option<String> {
    let mut all = vec![
        "-n",
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
    ];
    all.extend_from_slice(arguments);
    all.push("-r");
    output_of("tshark", &all, file)
}

#[test]
fn tshark_finds_every_packet_well_formed() {
    let file = captured("tshark", &INTERFACES, CaptureOptions::default());
    let bad = "_ws.malformed || ip.checksum.status != Good || tcp.checksum.status != Good \
               || udp.checksum.status != Good || icmp.checksum.status != Good || _ws.expert.severity >= 0x800000";
    let Some(bad) = tshark(&["-Y", bad], &file) else { return };
    assert_eq!(bad, "");
    let Some(all) = tshark(&["-T", "fields", "-e", "frame.number"], &file) else { return };
    assert_eq!(all.lines().count(), PACKETS);
}

#[test]
fn tshark_reads_the_fields_that_models_wrote() {
    let file = captured("fields", &INTERFACES, CaptureOptions::default());
    let fields = |filter: &str, names: &[&str]| {
        let mut arguments = vec!["-T", "fields", "-E", "separator= ", "-Y", filter];
        names.iter().for_each(|name| arguments.extend_from_slice(&["-e", name]));
        tshark(&arguments, &file)
    };
    let Some(syn) = fields(
        "tcp.stream == 0 && tcp.flags.syn == 1",
        &["ip.src", "ip.dst", "tcp.srcport", "ip.id", "tcp.options.wscale.shift", "tcp.options.mss_val"],
    ) else {
        return;
    };
    assert_eq!(
        syn,
        "198.18.0.4 198.18.1.45 49152 0x0000 7 1460\n198.18.1.45 198.18.0.4 49152 0xfffe 3 1460\n"
    );
    // A captured frame has the bytes that its host sent, with the marks that the network has set.
    let frame = fields("icmp", &["ip.dsfield.dscp", "ip.dsfield.ecn"]);
    assert_eq!(frame.as_deref(), Some("10 2\n"));
    let data = fields(
        "tcp.stream == 0 && tcp.len > 0 && tcp.seq_raw == 1000",
        &["ip.len", "tcp.window_size_value", "tcp.window_size", "ip.dsfield.dscp", "ip.dsfield.ecn"],
    );
    assert_eq!(data.unwrap(), "1500 8192 1048576 10 2\n");
    let sack = fields("tcp.options.sack", &["tcp.stream", "tcp.options.sack.count", "tcp.hdr_len"]);
    assert_eq!(sack.unwrap(), "0 1 44\n0 2 52\n0 3 60\n0 3 60\n1 1 32\n1 2 40\n1 3 48\n1 4 56\n");
    let retransmitted = fields("tcp.analysis.retransmission", &["tcp.stream"]);
    assert_eq!(retransmitted.unwrap(), "0\n1\n");
    let times = fields("frame.number <= 2", &["frame.time_epoch", "frame.interface_name"]);
    assert_eq!(times.unwrap(), "0.000000000 st1 up\n0.001000001 gw down\n");
    let control = fields("udp.port == 65535", &["ip.len", "frame.comment"]);
    assert_eq!(control.unwrap(), "64 Request { slots: 12 }\n28 Request { slots: 1 }\n");
}

#[test]
fn truncated_capture_keeps_headers_and_lengths() {
    let file =
        captured("snapped", &INTERFACES, CaptureOptions { snap: Some(96), epoch: 1_700_000_000_000_000_000 });
    let arguments = ["-T", "fields", "-e", "frame.cap_len", "-e", "frame.len", "-Y", "frame.len > 96"];
    let Some(lengths) = tshark(&arguments, &file) else { return };
    assert_eq!(lengths.lines().count(), 2 * 21 + 3);
    assert!(lengths.lines().all(|line| line.starts_with("96\t")), "{lengths}");
    let Some(malformed) = tshark(&["-Y", "_ws.malformed"], &file) else { return };
    assert_eq!(malformed, "");
}

#[test]
fn tcptrace_counts_the_connection() {
    let file = captured("tcptrace", &["st1"], CaptureOptions::default());
    let Some(found) = output_of("tcptrace", &["-l", "-n", "-r"], &file) else { return };
    assert!(found.contains("TCP connection 2:"), "{found}");
    assert_eq!(found.matches("complete conn: yes").count(), 2, "{found}");
    let words = found.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("rexmt data pkts: 1 rexmt data pkts: 0"), "{found}");
    assert!(words.contains("adv wind scale: 7 adv wind scale: 3"), "{found}");
    assert!(words.contains("unique bytes sent: 28960 unique bytes sent: 0"), "{found}");
}
