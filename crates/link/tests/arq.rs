//! Links with retransmissions: the guarantees of go-back-n and its cost.

use bentpipe_core::{Count, NodeId, Report, Span, Streams, Time};
use bentpipe_dtn::coding::{Channel, Code};
use bentpipe_link::arq::{below, Arq, Config, Frames};
use bentpipe_link::queue;
use bentpipe_link::{self as link, contacts, framing, Link};
use bentpipe_stage::{Held, Packet, Port, Sent, Stage};
use bentpipe_testing::bench::{Bench, Network, Wires};
use proptest::prelude::*;

const PACKET: u32 = 113;
const NONE: &str = r#"{"none": {}}"#;

fn config(rate: u64, delay: Span, loss: &str) -> link::Config {
    let text = format!(r#"{{"rate": "{rate} bit/s", "delay": "{delay}", "error": {loss}}}"#);
    let config: link::Config = serde_json::from_str(&text).expect("a link");
    link::Config { queue: queue::Config::Unlimited(Default::default()), ..config }
}

fn stage(config: &Config, links: [link::Config; 2], seed: u64) -> Arq {
    let streams = Streams::new(seed, 0);
    let names = ["l", "l.return"];
    let made =
        [0, 1].map(|side| Link::new(names[side], &below(&links[side]), streams.stream(names[side]), None));
    let queues = names.map(|name| streams.stream(&format!("{name}.arq")));
    Arq::new(config, made, [&links[0], &links[1]], names, queues)
}

/// A link with retransmissions. Packets leave by ports 0 and 1; the other ports lead to the links
/// below and back.
struct Joined(Arq);

impl Network for Joined {
    fn stages(&self) -> usize {
        1
    }

    fn stage(&mut self, _place: usize) -> &mut dyn Stage {
        &mut self.0
    }

    fn carry(&mut self, _from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>) {
        for sent in sent {
            match sent.port {
                Port(0 | 1) => wires.leave(sent),
                port => wires.to(0, port, sent.packet),
            }
        }
    }
}

/// Sends packets in both directions, then runs the stage until it is idle or `end` is reached.
/// Returns the stage, and number and time of each packet that leaves, by direction.
fn run(arq: Arq, packets: [u32; 2], end: Time) -> (Arq, [Vec<(u32, Time)>; 2]) {
    let mut bench = Bench::new(Joined(arq));
    bench.audited = true;
    for side in [0, 1] {
        for number in 0..packets[side as usize] {
            let packet = Packet { number, size: PACKET, destination: NodeId(side), ..Packet::default() };
            bench.offer(Time::ZERO, 0, Port(side), packet);
        }
    }
    bench.run(end);
    let leaving = |side| bench.left.iter().filter(move |left| left.port == Port(side));
    let arrived = [0, 1].map(|side| leaving(side).map(|left| (left.packet.number, left.at)).collect());
    (bench.network.0, arrived)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// With any loss of frames and reports except total loss, each packet arrives once and in order
    /// in both directions, and the link then becomes idle.
    #[test]
    fn everything_arrives_in_order(
        losses in prop::array::uniform2(0.0..0.8f64),
        bursts in any::<bool>(),
        packets in prop::array::uniform2(0u32..60),
        window in 1u64..=127,
        delay in 0u64..400,
        seed in any::<u64>(),
    ) {
        let loss = |probability: f64| match bursts {
            false => format!(r#"{{"packet": {{"probability": {probability}}}}}"#),
            true => format!(r#"{{"gilbert": {{"probability": {probability}, "burst": 5}}}}"#),
        };
        let links = [0, 1].map(|side: usize| config(64_000, Span::from_millis(delay), &loss(losses[side])));
        let config = Config { window: Count::new(window), timer: None };
        let (arq, arrived) = run(stage(&config, links, seed), packets, Time::MAX);
        for side in [0, 1] {
            let numbers: Vec<u32> = arrived[side].iter().map(|(number, _)| *number).collect();
            prop_assert_eq!(numbers, (0..packets[side]).collect::<Vec<_>>());
        }
        prop_assert_eq!(arq.held(), Held::default());
    }
}

/// Without losses, packets leave at the rate of their frames, and nothing is retransmitted: 1000
/// bit/ms for 125 bytes.
#[test]
fn a_frame_is_twelve_bytes_longer_than_its_packet() {
    let links = [0, 1].map(|_| config(1_000_000, Span::from_millis(30), NONE));
    let arq = stage(&Config::default(), links, 1);
    let (arq, arrived) = run(arq, [100, 0], Time::MAX);
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    let frames = Frames::of(&framing::Config::default());
    assert_eq!((frames.packet(PACKET), frames.report(), frames.longest()), (125, 14, 2043));
    let expected: Vec<_> = (0..100).map(|number| (number, at(31 + u64::from(number)))).collect();
    assert_eq!(arrived[0], expected);
    let mut report = Report::default();
    arq.report(at(200), &mut report);
    let value = |column| report.value("arq", "l", column).unwrap();
    assert_eq!([value("frames"), value("retransmissions"), value("timeouts")], [100.0, 0.0, 0.0]);
    assert_eq!([value("delivered"), value("reports")], [100.0, 100.0]);
}

/// A window shorter than the round trip of 60 ms plus frame and report sends exactly one window per
/// round trip (stop and wait with 1).
#[test]
fn a_window_limits_the_rate() {
    for window in [1, 10, 50] {
        let links = [0, 1].map(|_| config(1_000_000, Span::from_millis(30), NONE));
        let arq = stage(&Config { window: Count::new(window), timer: None }, links, 1);
        let (_, arrived) = run(arq, [1000, 0], Time::MAX);
        // A round trip: frame of 1 ms, report of 14 bytes.
        let round = 0.061 + 14.0 * 8e-6;
        let took = arrived[0][999].1.as_secs_f64();
        let expected = (1000.0 / window as f64 - 1.0) * round;
        assert!((took / expected - 1.0).abs() < 0.1, "window {window}: {took} s, {expected} s");
    }
}

/// The textbook efficiency of go-back-n: of every 1 + p R frames, 1 - p are delivered. R is the
/// number of frames sent between the end of a lost frame and its retransmission. More exactly, the
/// next frame that is not lost reveals the loss. A frame lost twice waits for the timer, which runs
/// from the last frame that the window allows.
#[test]
fn the_rate_is_that_of_go_back_n() {
    for (probability, delay) in [(0.01, 10), (0.01, 30), (0.003, 50), (0.05, 3)] {
        let loss = format!(r#"{{"packet": {{"probability": {probability}}}}}"#);
        let links = [
            config(1_000_000, Span::from_millis(delay), &loss),
            config(1_000_000, Span::from_millis(delay), NONE),
        ];
        // Frames in a round trip, with the report of 0.112 ms. The sender handles it at the end of
        // a frame.
        let round = (2.0 * delay as f64 + 0.112).ceil();
        let window = (round + 2.0).min(127.0);
        let arq = stage(&Config { window: Count::new(window as u64), timer: None }, links, 7);
        let packets = 60_000;
        let (_, arrived) = run(arq, [packets, 0], Time::MAX);
        let measured = f64::from(packets) / (arrived[0].last().unwrap().1.as_secs_f64() * 1000.0);
        // The first later frame that is not lost reveals a loss. Each loss costs the frames from
        // its own end to the retransmission, and itself.
        let p = probability;
        let seen = 1.0 + round + 1.0 / (1.0 - p);
        // Lost again: the rest of the window, and the timer.
        let timer = window + 2.0 * delay as f64 + 0.224;
        let expected = 1.0 / (1.0 + p * (seen + p / (1.0 - p) * timer));
        assert!((measured / expected - 1.0).abs() < 0.03, "p {p}, {delay} ms: {measured} and {expected}");
        let textbook = (1.0 - p) / (1.0 + p * (round + 1.0));
        assert!((measured / textbook - 1.0).abs() < 0.06, "p {p}, {delay} ms: {measured} and {textbook}");
    }
}

/// Proximity-1 with the convolutional code of rate 1/2, computed by hand: sync marker 3, header 5,
/// encapsulation 4, packet, CRC 4, all of it doubled. Frames are lost whenever the code fails, and
/// all packets arrive.
#[test]
fn coded_frames_are_lost_with_the_probability_of_decoding_failures() {
    let text = r#"{"rate": "1 Mbit/s", "delay": "5 ms", "queue": {"unlimited": {}},
        "framing": {"space": {"frame": "proximity-1", "code": {"convolutional": {}}}},
        "error": {"coded": {"eb_n0_db": 3.6, "code": {"convolutional": {}}}}}"#;
    let link: link::Config = serde_json::from_str(text).expect("a link");
    let frames = Frames::of(&link.framing);
    assert_eq!((frames.packet(PACKET), frames.report(), frames.longest()), (258, 28, 1106));
    let arq = stage(&Config { window: Count::new(10), timer: None }, [link.clone(), link], 3);
    let packets = 20_000;
    let (arq, arrived) = run(arq, [packets, 0], Time::MAX);
    let numbers: Vec<u32> = arrived[0].iter().map(|(number, _)| *number).collect();
    assert!(numbers.iter().copied().eq(0..packets), "{} packets", numbers.len());
    let mut report = Report::default();
    arq.report(arrived[0].last().unwrap().1, &mut report);
    let value = |column| report.value("arq", "l", column).unwrap();
    let sent = value("frames") + value("retransmissions");
    let received = value("delivered") + value("discarded") + value("duplicates");
    let expected = Code::Convolutional.frame_error(129, Channel::EbN0(3.6));
    let deviation = (expected * (1.0 - expected) / sent).sqrt();
    let lost = 1.0 - received / sent;
    assert!((0.01..0.2).contains(&expected), "{expected}");
    assert!((lost - expected).abs() < 4.0 * deviation, "{lost} of {sent} frames, expected {expected}");
}

/// Light time and contacts: a frame cut off by the end of a contact, and frames sent to a closed
/// link, arrive in the next contact.
#[test]
fn the_next_contact_continues() {
    let contacts: contacts::Config = serde_json::from_str(
        r#"{"when": {"windows": {"windows": [["0 s", "1005500 us"]], "repeat": "10 s"}}}"#,
    )
    .unwrap();
    let streams = Streams::new(1, 0);
    let config = config(1_000_000, Span::from_millis(300), NONE);
    let made = ["l", "l.return"].map(|name| {
        let link = Link::new(name, &below(&config), streams.stream(name), None);
        link.open_in(contacts.openings("a", "b", streams.stream("contacts")))
    });
    let queues = ["a", "b"].map(|name| streams.stream(name));
    let arq = Arq::new(&Config::default(), made, [&config, &config], ["l", "l.return"], queues);
    let (arq, arrived) = run(arq, [1000, 0], Time::ZERO + Span::from_secs(1000));
    let numbers: Vec<u32> = arrived[0].iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    let outside = |time: &Time| !(0..=1306).contains(&(time.as_nanos() / 1_000_000 % 10_000));
    assert!(!arrived[0].iter().any(|(_, time)| outside(time)));
    assert_eq!(arq.held(), Held::default());
}
