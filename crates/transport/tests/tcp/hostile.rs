//! Any pattern of loss, reordering, duplication, corruption and delay: the byte stream arrives
//! intact in both directions, or the connection ends with a named reason. No window is exceeded and
//! no timer lies in the past.

use super::common::site;
use super::reno::Reno;
use bentpipe_core::{Count, Size, Span, Stream, Streams, Time};
use bentpipe_link::channel::effect::WRONG_CHECKSUM;
use bentpipe_stage::packet::segment::{
    EcnBytes, EcnOrder, Segment, SegmentFlags, SegmentOptions, Timestamps,
};
use bentpipe_stage::Ecn as Field;
use bentpipe_stage::{Body, Corrupted, Packet, Port, Sent, Stage};
use bentpipe_testing::bench::{Bench, Dropped, Network, Wires};
use bentpipe_transport::app::{Actions, App, End, Event};
use bentpipe_transport::sending::saved_path::{Parameters, Saved};
use bentpipe_transport::tcp::config::{Config, Ecn, Profile, Recovery};
use bentpipe_transport::tcp::connection::{Connection, Phase};
use bentpipe_transport::tcp::endpoint::{Endpoint, Traces};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// An application that sends its bytes and closes; the destination closes at once, or after the
/// source.
pub struct Talker {
    pub bytes: u64,
    pub opens: bool,
    pub waits: bool,
}

impl App for Talker {
    fn on(&mut self, _now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = self.opens,
            Event::Connected => {
                actions.send = self.bytes;
                actions.close = !self.waits;
            }
            Event::PeerClosed => actions.close = true,
            _ => {}
        }
    }
}

/// The fate of a packet on the path.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    Arrives,
    Lost,
    Late(u16),
    Twice(u16),
    /// Delivered with a bit error in the payload, and a valid checksum or not.
    Corrupted(bool),
}

pub fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        2 => (1u16..3000).prop_map(Fate::Late),
        1 => (0u16..3000).prop_map(Fate::Twice),
        1 => any::<bool>().prop_map(Fate::Corrupted),
    ]
}

/// Adds a bit error to the payload.
pub fn corrupt(packet: Packet, valid: bool) -> Packet {
    Packet { body: Body::Corrupted(Box::new(Corrupted { body: packet.body, valid })), ..packet }
}

/// True if no packet was dropped except for a wrong checksum.
pub fn drops_become_corruption(dropped: &[Dropped]) -> bool {
    dropped.iter().all(|dropped| dropped.reason == WRONG_CHECKSUM)
}

pub fn config() -> impl Strategy<Value = Config> {
    let initial = prop_oneof![Just(0u64), Just(u64::from(u32::MAX) - 3000), Just(1 << 31)];
    let profile =
        prop_oneof![2 => Just(Profile::Linux), 1 => Just(Profile::Linux2632), 1 => Just(Profile::Classic)];
    let recovery = prop_oneof![
        1 => Just(Recovery::Tahoe),
        1 => Just(Recovery::Reno),
        1 => Just(Recovery::Newreno),
        1 => Just(Recovery::Sack),
        3 => Just(Recovery::Rack),
        1 => Just(Recovery::Snack),
    ];
    let window = prop_oneof![Just(None), (1000u64..20_000).prop_map(Some)];
    let tick = prop_oneof![3 => Just(0u64), 1 => Just(500)];
    (profile, recovery, any::<[bool; 6]>(), 1u64..20, window, initial, tick).prop_map(
        |(
            profile,
            recovery,
            [delayed_ack, timestamps, modern, pacing, nagle, idle],
            first,
            window,
            initial,
            tick,
        )| {
            let profile = profile.config();
            Config {
                segment_size: Count::new(1000),
                recovery,
                delayed_ack,
                timestamps,
                undo: modern,
                frto: modern,
                proportional_reduction: modern && recovery != Recovery::Tahoe,
                rate_halving: !modern && recovery != Recovery::Tahoe && profile.rate_halving,
                pacing,
                nagle,
                restart_after_idle: idle,
                window_validation: idle,
                initial_window: Count::new(first),
                receive_window: window.map(Size::from_bytes),
                receive_window_start: (first % 3 == 0).then(|| Size::from_bytes(1000)),
                send_buffer: (first % 4 == 0).then(|| Size::from_bytes(5000)),
                send_memory: (first % 4 == 1).then(|| Size::from_bytes(9000)),
                ecn: match (modern, first % 2) {
                    (false, _) => Ecn::Off,
                    (true, 0) => Ecn::Accurate,
                    (true, _) => Ecn::Classic,
                },
                careful_resume: (first % 5 == 2)
                    .then_some(Parameters::Given(Saved { cwnd: Count::new(100), rtt: DELAY * 2 })),
                initial_sequence: Some(Count::new(initial)),
                timer_tick: Span::from_millis(tick),
                ..profile
            }
        },
    )
}

/// The state of one direction, derived from all segments on the wires.
#[derive(Default)]
struct Observed {
    /// Positions that have arrived, by start.
    arrived: BTreeMap<u64, u64>,
    /// Right edge of the window, as far as its sender can know it.
    edge: u64,
    end: u64,
}

impl Observed {
    fn contiguous(&self) -> u64 {
        let mut next = 1;
        for (&start, &end) in &self.arrived {
            if start > next {
                break;
            }
            next = next.max(end);
        }
        next - 1
    }
}

/// Two endpoints with a wire between them.
struct World {
    ends: [Endpoint; 2],
    observed: [Observed; 2],
    fates: [std::vec::IntoIter<Fate>; 2],
    initial: u32,
    /// True for a packet with a wrong checksum, when it arrives.
    is_corrupted: bool,
}

pub const DELAY: Span = Span::from_millis(100);

pub fn endpoint(end: usize, config: &Config, app: Talker) -> Endpoint {
    let stream = Streams::new(1, end as u64).stream("test");
    let congestion = Box::new(|| Box::<Reno>::default() as _);
    let end = [End::Source, End::Destination][end];
    Endpoint::new(site(end), config, Box::new(app), congestion, stream, Traces::default())
}

/// Moves a packet to a stage according to its fate.
pub fn travel(packet: Packet, fate: Fate, place: usize, wires: &mut Wires<'_>) {
    let late = |milliseconds: u16| DELAY + Span::from_millis(u64::from(milliseconds));
    match fate {
        Fate::Arrives => wires.after(DELAY, place, Port(0), packet),
        Fate::Lost => wires.discard(packet),
        Fate::Late(by) => wires.after(late(by), place, Port(0), packet),
        Fate::Twice(by) => {
            let second = wires.copy(&packet);
            wires.after(DELAY, place, Port(0), packet);
            wires.after(late(by), place, Port(0), second);
        }
        Fate::Corrupted(valid) => wires.after(DELAY, place, Port(0), corrupt(packet, valid)),
    }
}

impl World {
    fn bench(config: &Config, bytes: [u64; 2], waits: bool, fates: [Vec<Fate>; 2]) -> Bench<World> {
        let build = |end: usize| {
            endpoint(end, config, Talker { bytes: bytes[end], opens: end == 0, waits: end == 1 && waits })
        };
        let mut bench = Bench::new(World {
            ends: [build(0), build(1)],
            observed: Default::default(),
            fates: fates.map(Vec::into_iter),
            initial: config.initial_sequence.unwrap().value() as u32,
            is_corrupted: false,
        });
        bench.most_calls = 200_000;
        bench
    }

    fn position(&self, number: u32) -> u64 {
        // No test sends so much that positions are ambiguous.
        u64::from(number.wrapping_sub(self.initial))
    }
}

impl Network for World {
    fn stages(&self) -> usize {
        2
    }

    fn stage(&mut self, end: usize) -> &mut dyn Stage {
        &mut self.ends[end]
    }

    fn arriving(&mut self, _now: Time, end: usize, packet: &Packet) {
        let segment = match &packet.body {
            Body::Segment(segment) => segment,
            Body::Corrupted(is_corrupted) => match &is_corrupted.body {
                Body::Segment(segment) if is_corrupted.valid => segment,
                _ => {
                    // The packet reaches no endpoint.
                    self.is_corrupted = true;
                    return;
                }
            },
            _ => panic!("not a segment"),
        };
        let start = self.position(segment.sequence);
        if segment.payload > 0 {
            let until = start + u64::from(segment.payload);
            let known = self.observed[1 - end].arrived.entry(start).or_default();
            *known = until.max(*known);
        }
        if segment.flags.contains(SegmentFlags::ACK) {
            let edge = self.position(segment.acknowledgment) + u64::from(segment.window);
            let observed = &mut self.observed[end];
            observed.edge = observed.edge.max(edge);
        }
        if segment.flags.contains(SegmentFlags::SYN) {
            let observed = &mut self.observed[end];
            observed.edge = observed.edge.max(1 + u64::from(segment.window));
        }
    }

    fn carry(&mut self, from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>) {
        if std::mem::take(&mut self.is_corrupted) {
            assert!(sent.is_empty(), "an answer to a wrong checksum");
        }
        let end = self.observed[from].end;
        let fresh = |sent: &&Sent| match &sent.packet.body {
            Body::Segment(segment) => segment.payload > 0 && self.position(segment.sequence) >= end,
            _ => false,
        };
        let fresh = sent.iter().filter(fresh).count();
        for Sent { packet, .. } in sent {
            let Body::Segment(segment) = &packet.body else { panic!("not a segment") };
            let state = &self.ends[from].connection().sender().state;
            assert!(state.sacked_out + state.lost_out <= state.packets_out);
            assert!(state.retrans_out <= state.packets_out);
            if segment.payload > 0 {
                let until = self.position(segment.sequence) + u64::from(segment.payload);
                assert!(until <= self.observed[from].edge, "beyond the receive window");
                let observed = &mut self.observed[from];
                if until > observed.end {
                    observed.end = until;
                    let flight = self.ends[from].connection().sender().in_flight();
                    // A tail loss probe is one segment, for any window (RFC 8985, section 7.3).
                    assert!(flight <= state.snd_cwnd || fresh == 1, "beyond the congestion window");
                }
            }
            let fate = self.fates[from].next().unwrap_or(Fate::Arrives);
            travel(packet, fate, 1 - from, wires);
        }
        let delivered = self.ends[from].delivered().delivered_bytes;
        assert!(delivered <= self.observed[1 - from].contiguous(), "delivered what has not arrived");
        if self.ends[from].connection().phase() != Phase::Listen {
            assert!(self.ends[from].next_wake().is_none_or(|wake| wake >= wires.now));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_stream_arrives_intact_or_the_connection_reports_a_failure(
        config in config(),
        there in 0u64..60_000,
        back_again in prop_oneof![Just(0u64), 0u64..20_000],
        waits in any::<bool>(),
        out in prop::collection::vec(fate(), 0..120),
        back in prop::collection::vec(fate(), 0..120),
    ) {
        let bytes = [there, back_again];
        let mut world = World::bench(&config, bytes, waits, [out, back]);
        world.run(Time::MAX);
        let failures = [0, 1].map(|end| world.ends[end].failure());
        if failures == [None, None] {
            for end in 0..2 {
                prop_assert_eq!(world.ends[end].delivered().delivered_bytes, bytes[1 - end]);
                let phase = world.ends[end].connection().phase();
                prop_assert!(matches!(phase, Phase::Closed | Phase::TimeWait), "{:?}", phase);
            }
        }
        prop_assert!(drops_become_corruption(&world.dropped));
    }

    /// For any segments, nothing panics, sending ends, and no more is acknowledged than has
    /// arrived.
    #[test]
    fn arbitrary_segments_cause_no_panic(
        config in config(),
        opens in any::<bool>(),
        segments in prop::collection::vec(
            (any::<u8>(), -3000i64..9000, -3000i64..9000, 0u16..3000, any::<u16>(),
             prop::collection::vec((-3000i64..9000, -3000i64..9000), 0..4), any::<(bool, u32, u32)>(), 0u64..3000),
            1..60
        ),
    ) {
        let initial = config.initial_sequence.unwrap().value() as u32;
        let mut connection = Connection::new(&config, Box::<Reno>::default(), initial, 1);
        let mut now = Time::ZERO;
        if opens { connection.open() } else { connection.listen() }
        connection.send(100_000);
        let number = |position: i64| initial.wrapping_add(position as u32);
        // A handshake, so that most cases test the following states.
        let flags = match (config.ecn, opens) {
            (Ecn::Accurate, true) => 0x92,
            (Ecn::Accurate, false) => 0xe2,
            (_, true) => 0x12,
            (_, false) => 0x02,
        };
        let mut incoming = vec![(Segment {
            sequence: initial, acknowledgment: number(1), window: 5000, flags: SegmentFlags(flags),
            options: Some(Box::new(SegmentOptions { sack_permitted: true, ..Default::default() })),
            ..Segment::default()
        }, 1)];
        for (flags, sequence, acknowledgment, payload, window, blocks, (stamped, value, echo), wait) in segments {
            let order = if stamped { EcnOrder::Ect0First } else { EcnOrder::Ect1First };
            let counters = EcnBytes::new(order, [value, echo, value ^ echo], usize::from(payload % 4));
            let ecn_bytes = (window % 2 == 0).then_some(counters);
            let mut options = SegmentOptions { ecn_bytes, ..SegmentOptions::default() };
            for (left, right) in blocks {
                options.sack.push(number(left), number(right));
            }
            // Resets and SYNs end most cases at once, so they are rare.
            let flags = if flags < 8 { flags } else { flags & !0x06 | 0x10 };
            incoming.push((Segment {
                sequence: number(sequence), acknowledgment: number(acknowledgment), window: window.into(), payload,
                flags: SegmentFlags(flags), timestamps: stamped.then_some(Timestamps::new(value, echo)),
                options: Some(Box::new(options)),
            }, wait));
        }
        for (segment, wait) in incoming {
            let until = now + Span::from_millis(wait);
            for _ in 0..1000 {
                if connection.next_wake() > until {
                    break;
                }
                prop_assert!(connection.next_wake() >= now);
                now = connection.next_wake();
                connection.wake(now);
                while connection.next_event().is_some() {}
                while connection.next_segment(now).is_some() {}
            }
            now = until;
            let field = [Field::NotEct, Field::Ect0, Field::Ect1, Field::Ce][(segment.sequence % 4) as usize];
            connection.receive_marked(now, &segment, field);
            while connection.next_event().is_some() {}
            let mut sent = 0;
            while connection.next_segment(now).is_some() {
                sent += 1;
                prop_assert!(sent < 1000, "sending does not end");
            }
            let state = &connection.sender().state;
            prop_assert!(state.sacked_out + state.lost_out <= state.packets_out);
        }
    }
}
