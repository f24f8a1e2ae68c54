//! QUIC connections over an ideal path, compared with RFC 9000 and RFC 9002.

use bentpipe_core::{Span, Time};
use bentpipe_stage::packet::datagram::Written;
use bentpipe_stage::Ecn;
use bentpipe_transport::app::{End, Event, Stamp};
use bentpipe_transport::quic::connection::{Connection, Outgoing};
use bentpipe_transport::quic::frames::{Datagram, Frame, Kind, Message};
use bentpipe_transport::quic::Config;
use std::collections::{BTreeMap, BTreeSet};

/// One-way delay of the path.
const DELAY: Span = Span::from_millis(100);

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

/// Returns the milliseconds of a time.
fn milliseconds(time: Time) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A datagram on the path: its sender, and its number at the sender.
struct InFlight {
    from: usize,
    outgoing: Outgoing,
}

/// A client and a server with a path between them, without a limit of the rate.
struct Pair {
    now: Time,
    ends: [Connection; 2],
    path: BTreeMap<(Time, u64), InFlight>,
    order: u64,
    /// Numbers of the datagrams of each end that the path loses.
    lost: [BTreeSet<usize>; 2],
    /// Times of departure, with sizes and kinds of packets.
    sent: [Vec<(Time, u32, Vec<Kind>)>; 2],
    datagrams: [Vec<std::sync::Arc<Datagram>>; 2],
    events: [Vec<(Time, u16, Event)>; 2],
}

impl Pair {
    fn new(config: &str) -> Pair {
        let config: Config = serde_json::from_str(config).unwrap();
        let end = |end: End| {
            let (name, parameters) = (config.congestion.clone(), config.parameters.clone());
            let congestion = move || bentpipe_congestion::create(&name, &parameters).unwrap();
            Connection::new(&config, end, Box::new(congestion), 7)
        };
        Pair {
            now: Time::ZERO,
            ends: [end(End::Source), end(End::Destination)],
            path: BTreeMap::new(),
            order: 0,
            lost: Default::default(),
            sent: Default::default(),
            datagrams: Default::default(),
            events: Default::default(),
        }
    }

    /// Takes events and datagrams of an end.
    fn settle(&mut self, end: usize) {
        loop {
            while let Some((id, event)) = self.ends[end].next_event() {
                self.events[end].push((self.now, id, event));
            }
            let Some(outgoing) = self.ends[end].next_datagram(self.now) else { break };
            let kinds = outgoing.datagram.packets().map(|packet| packet.kind).collect();
            let number = self.sent[end].len();
            self.sent[end].push((self.now, outgoing.size, kinds));
            self.datagrams[end].push(outgoing.datagram.clone());
            if !self.lost[end].contains(&number) {
                self.order += 1;
                self.path.insert((self.now + DELAY, self.order), InFlight { from: end, outgoing });
            }
        }
    }

    /// Runs both ends until `end`.
    fn run(&mut self, end: Time) {
        self.settle(0);
        self.settle(1);
        for _ in 0..1_000_000 {
            let arrival = self.path.first_key_value().map_or(Time::MAX, |((time, _), _)| *time);
            let wakes = [0, 1].map(|end| self.ends[end].next_wake());
            let next = arrival.min(wakes[0]).min(wakes[1]);
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if arrival == next {
                let (_, InFlight { from, outgoing }) = self.path.pop_first().unwrap();
                let to = 1 - from;
                self.ends[to].receive(self.now, &outgoing.datagram, outgoing.size, Ecn::NotEct);
                self.settle(to);
                continue;
            }
            for end in [0, 1] {
                if wakes[end] <= self.now {
                    self.ends[end].wake(self.now);
                    self.settle(end);
                }
            }
        }
        panic!("the connections send without end");
    }

    fn delivered(&self, end: usize) -> u64 {
        let bytes = self.events[end].iter().map(|(_, _, event)| match event {
            Event::Received { bytes } => *bytes,
            _ => 0,
        });
        bytes.sum()
    }

    fn time_of(&self, end: usize, event: Event) -> Option<f64> {
        let found = self.events[end].iter().find(|(_, _, seen)| *seen == event)?;
        Some(milliseconds(found.0))
    }

    fn upload(&mut self, bytes: u64) {
        self.ends[0].open(Time::ZERO, 0);
        self.ends[0].send(Time::ZERO, 0, bytes);
        self.ends[0].close(0);
    }
}

/// RFC 9001, figure 1: the client sends data after one round trip. The client's datagram has at
/// least 1200 bytes (RFC 9000, section 14.1).
#[test]
fn a_handshake_takes_one_round_trip() {
    let mut pair = Pair::new(r#"{"certificate": 500}"#);
    pair.upload(500);
    pair.run(at(2000));
    assert_eq!(pair.time_of(0, Event::Connected), Some(200.0));
    assert_eq!(pair.time_of(1, Event::Received { bytes: 500 }), Some(300.0));
    assert_eq!(pair.time_of(0, Event::MaySend), Some(400.0));
    assert_eq!(pair.sent[0][0], (Time::ZERO, 1200, vec![Kind::Initial]));
    // The client acknowledges, finishes the handshake and sends data in one datagram.
    let second = &pair.sent[0][1];
    assert_eq!(second.2, [Kind::Initial, Kind::Handshake, Kind::OneRtt], "{second:?}");
    assert!(pair.ends.iter().all(|end| end.counters.timeouts == 0));
}

/// RFC 9001, section 4.6.1: with resumption, data leaves with the first packet.
#[test]
fn resumption_saves_a_round_trip() {
    let mut pair = Pair::new(r#"{"resumption": true}"#);
    pair.upload(500);
    pair.run(at(2000));
    assert_eq!(pair.time_of(1, Event::Received { bytes: 500 }), Some(100.0));
    assert_eq!(pair.sent[0][0].2, [Kind::Initial, Kind::ZeroRtt]);
    assert!(pair.ends.iter().all(|end| end.counters.timeouts == 0));
}

/// RFC 9000, section 8.1: the server sends at most three times the bytes that it has received until
/// the client's address is validated. A long chain of certificates costs a round trip.
#[test]
fn a_long_certificate_costs_a_round_trip() {
    let mut pair = Pair::new(r#"{"certificate": 6000}"#);
    pair.upload(500);
    pair.run(at(2000));
    assert_eq!(pair.time_of(0, Event::Connected), Some(400.0));
    let early =
        pair.sent[1].iter().filter(|(time, ..)| *time < at(300)).map(|(_, size, _)| size).sum::<u32>();
    assert!((3 * 1200 - 60..=3 * 1200).contains(&early), "{early} bytes");
}

/// RFC 9002, sections 6.2.1 and 6.2.2: without a sample, the probe time-out is 333 + 4 x 166.5 ms,
/// and doubles. Each expiry sends two packets of at least 1200 bytes.
#[test]
fn lost_first_packets_are_repeated_after_1_3_and_7_seconds() {
    let mut pair = Pair::new("{}");
    pair.lost[0].extend(0..5);
    pair.upload(500);
    pair.run(at(20_000));
    let first: Vec<_> =
        pair.sent[0].iter().take(7).map(|(time, size, _)| (milliseconds(*time), *size)).collect();
    let expected = [0.0, 999.0, 999.0, 2997.0, 2997.0, 6993.0, 6993.0];
    assert_eq!(first, expected.map(|time| (time, 1200)));
    assert_eq!(pair.time_of(1, Event::Received { bytes: 500 }), Some(7293.0));
}

/// The server cannot repeat its flight once it has sent three times the bytes received. The
/// client's probe unblocks it (RFC 9002, section 6.2.2.1).
#[test]
fn a_lost_flight_of_the_server_ends_in_no_deadlock() {
    for lost in [[0].as_slice(), &[1], &[0, 1, 2], &[0, 1, 2, 3, 4]] {
        let mut pair = Pair::new(r#"{"certificate": 3000}"#);
        pair.lost[1].extend(lost);
        pair.upload(500);
        pair.run(at(60_000));
        assert_eq!(pair.delivered(1), 500, "{lost:?}");
        assert!(pair.ends[0].counters.completed.is_some(), "{lost:?}");
    }
}

/// RFC 9002, section 6.1: the packet is repeated once a packet three later is acknowledged, in a
/// packet with another number.
#[test]
fn a_lost_packet_is_repeated_after_a_round_trip() {
    let mut pair = Pair::new(r#"{"mtu_discovery": false, "pacing": false}"#);
    pair.run(at(0));
    pair.ends[0].open(Time::ZERO, 0);
    pair.run(at(1000));
    let before = pair.sent[0].len();
    pair.lost[0].insert(before + 1);
    pair.ends[0].send(pair.now, 0, 8 * 1100);
    pair.run(at(3000));
    assert_eq!(pair.delivered(1), 8 * 1100);
    let holds = |datagram: &Datagram| datagram.streams().any(|data| data.offset > 1000 && data.offset < 2000);
    let times: Vec<_> = pair.datagrams[0]
        .iter()
        .zip(&pair.sent[0])
        .filter(|(datagram, _)| holds(datagram))
        .map(|(datagram, (time, ..))| (milliseconds(*time), datagram.first.number))
        .collect();
    assert_eq!(times.len(), 2, "{times:?}");
    assert_eq!([times[0].0, times[1].0], [1000.0, 1200.0]);
    assert!(times[1].1 >= times[0].1 + 3);
    assert_eq!(pair.ends[0].counters.retransmissions, 1);
    assert_eq!(pair.ends[0].counters.timeouts, 0);
    // One reduction to 0.7 of the window (CUBIC).
    let state = &pair.ends[0].controller.state;
    assert_eq!(state.snd_ssthresh, state.prior_cwnd * 7 / 10);
}

/// RFC 9002, section 7.6: packets lost over three probe time-outs reduce the window to two.
#[test]
fn persistent_congestion_reduces_the_window_to_two_packets() {
    let mut pair = Pair::new(r#"{"mtu_discovery": false, "initial_window": 40}"#);
    pair.ends[0].open(Time::ZERO, 0);
    pair.run(at(1000));
    let before = pair.sent[0].len();
    // All packets of some seconds, the probes included.
    pair.lost[0].extend(before..before + 36);
    pair.ends[0].send(pair.now, 0, 30 * 1100);
    let mut least = u32::MAX;
    for time in (1000..30_000).step_by(50) {
        pair.run(at(time));
        least = least.min(pair.ends[0].controller.state.snd_cwnd);
    }
    assert!(pair.ends[0].counters.timeouts >= 3);
    assert_eq!(least, 2);
    assert_eq!(pair.delivered(1), 30 * 1100);
}

/// RFC 9959: with the window of an earlier connection, a transfer saves round trips of slow start.
/// A loss of the jump leads to a window below that of the jump, and all data arrives.
#[test]
fn careful_resume_saves_round_trips() {
    let completed = |config: &str, lost: std::ops::Range<usize>| {
        let mut pair = Pair::new(config);
        pair.lost[0].extend(lost);
        pair.upload(400_000);
        pair.run(at(20_000));
        assert_eq!(pair.delivered(1), 400_000);
        (milliseconds(pair.ends[0].counters.completed.unwrap()), pair.ends[0].controller.state.snd_cwnd)
    };
    let resumed = r#"{"congestion": "reno", "careful_resume": {"cwnd": 600, "rtt": "200 ms"}}"#;
    let (usual, _) = completed(r#"{"congestion": "reno"}"#, 0..0);
    let (carefully, window) = completed(resumed, 0..0);
    assert!(carefully <= usual - 300.0, "{carefully} ms, {usual} ms without");
    assert!(window >= 200, "{window}");
    let (retreated, window) = completed(resumed, 60..61);
    assert!(retreated > carefully && window < 200, "{retreated} ms, {window}");
}

/// RFC 9000, section 4: no more data is sent than the receiver's limits permit. The limits grow.
#[test]
fn flow_control_limits_data_in_flight() {
    let config = r#"{"initial_window": 1000, "pacing": false, "stream_window": "20 kB", "max_stream_window": "20 kB"}"#;
    let mut pair = Pair::new(config);
    pair.upload(200_000);
    pair.run(at(299));
    let sent: u64 = pair.datagrams[0]
        .iter()
        .flat_map(|one| one.streams().collect::<Vec<_>>())
        .map(|data| u64::from(data.length))
        .sum();
    assert_eq!(sent, 20_000);
    pair.run(at(30_000));
    assert_eq!(pair.delivered(1), 200_000);
    let raises = pair.datagrams[1].iter().flat_map(|one| one.packets()).flat_map(|packet| &packet.frames);
    assert!(raises.filter(|frame| matches!(frame, Frame::MaxStreamData(..))).count() >= 9);
}

/// Path MTU discovery raises the size of packets to the largest one that arrives.
#[test]
fn packets_grow_after_a_probe_of_the_path_mtu() {
    let mut pair = Pair::new("{}");
    pair.upload(100_000);
    pair.run(at(5000));
    let sizes: BTreeSet<u32> = pair.sent[0].iter().map(|(_, size, _)| *size).collect();
    assert_eq!(sizes.last(), Some(&1452));
    assert_eq!(pair.ends[0].mtu(), 1452);
    let full = pair.sent[0].iter().filter(|(_, size, _)| *size == 1452).count();
    assert!(full > 40, "{full} of {}", pair.sent[0].len());
}

/// draft-ietf-quic-ack-frequency, section 6: more packets than the threshold cause an
/// acknowledgment. RFC 9000, section 13.2.2: every second packet does.
#[test]
fn acknowledgments_follow_the_requested_threshold() {
    let packets = |frequency: &str| {
        // The windows are so large that the receiver sends acknowledgments alone.
        let windows = r#""stream_window": "4 MB", "connection_window": "4 MB", "initial_window": 1000"#;
        let config = format!(r#"{{{windows}, "pacing": false, "mtu_discovery": false {frequency}}}"#);
        let mut pair = Pair::new(&config);
        pair.upload(400_000);
        pair.run(at(10_000));
        assert_eq!(pair.delivered(1), 400_000);
        let is_ack = |datagram: &&std::sync::Arc<Datagram>| {
            let first = &datagram.first;
            first.kind == Kind::OneRtt && first.frames.iter().any(|frame| matches!(frame, Frame::Ack(_)))
        };
        let data = pair.datagrams[0].iter().filter(|one| one.streams().next().is_some()).count();
        (data, pair.datagrams[1].iter().filter(is_ack).count())
    };
    for (frequency, every) in [("", 2), (r#", "ack_frequency": {"threshold": 9}"#, 10)] {
        let (data, acks) = packets(frequency);
        assert!((data / every..=data / every + 2).contains(&acks), "{frequency}: {acks} for {data} packets");
    }
}

/// draft-ietf-quic-ack-frequency, sections 4 to 6: a receiver delays the acknowledgment of a packet
/// by the requested time, and the sender's probe time-out includes this time. A probe requests an
/// acknowledgment at once.
#[test]
fn acknowledgments_are_delayed_as_requested() {
    let config =
        r#"{"mtu_discovery": false, "ack_frequency": {"threshold": 100, "max_ack_delay": "500 ms"}}"#;
    let mut pair = Pair::new(config);
    pair.ends[0].open(Time::ZERO, 0);
    for (send, done) in [(1000, 1225), (2000, 2700)] {
        // The packet with the request is acknowledged by the rule before it.
        pair.run(at(send));
        let before = pair.ends[0].acknowledged_bytes();
        pair.ends[0].send(pair.now, 0, 500);
        pair.run(at(done - 1));
        assert_eq!(pair.ends[0].acknowledged_bytes(), before);
        pair.run(at(done));
        assert_eq!(pair.ends[0].acknowledged_bytes(), before + 500);
    }
    assert_eq!(pair.ends[0].counters.timeouts, 0);
    pair.run(at(4000));
    let before = pair.sent[0].len();
    pair.lost[0].insert(before);
    pair.ends[0].send(pair.now, 0, 500);
    let timeout = pair.ends[0].probe_timeout();
    assert!(timeout >= Span::from_millis(700));
    pair.run(at(4000) + timeout + DELAY * 2);
    assert_eq!(pair.ends[0].acknowledged_bytes(), 1500);
    assert_eq!(pair.ends[0].counters.timeouts, 1);
}

/// RFC 9221, section 5: datagrams are acknowledged and lower the window when they are lost, but are
/// not repeated, and flow control does not limit them.
#[test]
fn datagrams_are_not_repeated() {
    let mut pair = Pair::new(
        r#"{"mtu_discovery": false, "max_datagram_frame_size": 1200, "connection_window": "1 kB", "max_connection_window": "1 kB"}"#,
    );
    pair.ends[0].open(Time::ZERO, 0);
    pair.run(at(1000));
    let before = pair.sent[0].len();
    pair.lost[0].insert(before + 1);
    for number in 0..8 {
        let stamp = Stamp { number, sent: pair.now };
        // The last one fits in no packet.
        let length = if number == 7 { 1200 } else { 1000 };
        pair.ends[0].send_datagram(pair.now, Message { length, stamp, written: Written::default() });
    }
    pair.run(at(3000));
    let arrived: Vec<_> =
        std::iter::from_fn(|| pair.ends[1].next_arrived()).map(|message| message.stamp.number).collect();
    assert_eq!(arrived, [0, 2, 3, 4, 5, 6]);
    // A frame of 1000 bytes has a type and a length of two bytes (section 4).
    let sizes: Vec<_> = pair.sent[0][before..before + 7].iter().map(|(_, size, _)| *size).collect();
    assert_eq!(sizes, [Kind::OneRtt.overhead(1) + 1 + 2 + 1000; 7]);
    let state = &pair.ends[0].controller.state;
    assert_eq!(state.snd_ssthresh, state.prior_cwnd * 7 / 10);
    assert_eq!(state.packets_out, 0);
    // Datagrams of one packet count as one packet, and those that fit in none are not sent.
    for number in 8..11 {
        let stamp = Stamp { number, sent: pair.now };
        pair.ends[0].send_datagram(pair.now, Message { length: 100, stamp, written: Written::default() });
    }
    pair.run(at(4000));
    let counters = &pair.ends[0].counters;
    assert_eq!((counters.sent_packets, counters.sent_bytes), (8, 7300));
}

/// Every byte arrives once and in order after any losses, and both ends agree on the end.
#[test]
fn all_data_arrives_under_any_loss() {
    for seed in 0..60_u64 {
        let mut pair = Pair::new(if seed % 3 == 0 { r#"{"resumption": true}"# } else { "{}" });
        let mut state = seed;
        for end in 0..2 {
            for number in 0..3000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if (state >> 33) % 10 < seed % 5 {
                    pair.lost[end].insert(number);
                }
            }
        }
        for id in 0..3 {
            pair.ends[0].open(Time::ZERO, id);
            pair.ends[0].send(Time::ZERO, id, 40_000);
            pair.ends[0].close(id);
        }
        pair.run(at(3_000_000));
        assert_eq!(pair.delivered(1), 120_000, "seed {seed}");
        let ended = pair.events[1].iter().filter(|(_, _, event)| *event == Event::PeerClosed).count();
        assert_eq!(ended, 3, "seed {seed}");
        assert!(pair.ends[0].counters.completed.is_some(), "seed {seed}");
    }
}

/// RFC 9000, sections 8.2, 9.3 and 9.4: after a migration both ends validate the path in datagrams
/// of 1200 bytes, the server sends at most three times what it has received from the new address
/// until then, and both reset the window and the round-trip time.
#[test]
fn a_migration_validates_the_path_and_resets_its_state() {
    for (congestion, lost) in [("reno", false), ("reno", true), ("bbr", false)] {
        let mut pair = Pair::new(&format!(r#"{{"congestion": "{congestion}"}}"#));
        pair.ends[0].open(Time::ZERO, 0);
        pair.ends[0].send(Time::ZERO, 0, 3_000_000);
        pair.run(at(350));
        pair.ends[1].send(pair.now, 0, 3_000_000);
        pair.run(at(1450));
        let before = [0, 1].map(|end| (pair.ends[end].controller.state.snd_cwnd, pair.sent[end].len()));
        assert!(before.iter().all(|(window, _)| *window > 100), "{before:?}");
        pair.ends[0].migrate();
        if lost {
            pair.lost[0].insert(before[0].1);
        }
        pair.run(at(1460));
        assert!(pair.ends[0].controller.state.snd_cwnd <= 12 && pair.ends[0].mtu() == 1200);
        pair.run(at(30_000));
        assert_eq!((pair.delivered(0), pair.delivered(1)), (3_000_000, 3_000_000));
        for end in [0, 1] {
            let validates = |place: &usize| {
                let packets = pair.datagrams[end][*place].packets();
                packets.flat_map(|packet| &packet.frames).any(Frame::validates_path)
            };
            let places: Vec<usize> = (before[end].1..pair.datagrams[end].len()).filter(validates).collect();
            assert!(!places.is_empty() && places.iter().all(|place| pair.sent[end][*place].1 >= 1200));
        }
        // Bytes to and from the new address until its first answer arrives at the server.
        let answered = pair.datagrams[0].iter().position(|datagram| {
            let frames = datagram.packets().flat_map(|packet| &packet.frames);
            frames.into_iter().any(|frame| matches!(frame, Frame::PathResponse(_)))
        });
        let answered = pair.sent[0][answered.unwrap()].0 + DELAY;
        let from = |end: usize, delay: Span| {
            let all = pair.sent[end].iter().zip(&pair.datagrams[end]).enumerate();
            let of_path = all.filter(|(place, ((time, ..), datagram))| {
                datagram.path == 1 && *time + delay < answered && !pair.lost[end].contains(place)
            });
            of_path.map(|(_, ((_, size, _), _))| u64::from(*size)).sum::<u64>()
        };
        assert!(from(1, Span::ZERO) <= 3 * from(0, DELAY), "{} {}", from(1, Span::ZERO), from(0, DELAY));
        assert!(pair.ends.iter().all(|end| end.mtu() == 1452));
    }
}

/// RFC 9000, section 9: a client does not migrate before the handshake is confirmed.
#[test]
fn a_migration_waits_for_the_end_of_the_handshake() {
    let mut pair = Pair::new("{}");
    pair.upload(100_000);
    pair.ends[0].migrate();
    pair.run(at(150));
    assert!(pair.datagrams[0].iter().all(|datagram| datagram.path == 0));
    pair.run(at(5000));
    assert_eq!(pair.delivered(1), 100_000);
    assert!(pair.datagrams[0].iter().any(|datagram| datagram.path == 1));
}
