//! Simulates a TCP connection whose segments are lost, duplicated, delayed and forged.
//!
//! The first bytes choose the configuration of both ends, and the following bytes the events. Each
//! event takes one byte. A forged segment takes further bytes for its fields, including the options
//! of SCPS-TP and Quick-Start. Some events signal handovers to the ends.
//!
//! Invariants: no panics (overflow checks are on), no timers in the past, no endless sending, and
//! consistent counters in the scoreboard.
#![no_main]

#[path = "../../crates/transport/tests/tcp/reno.rs"]
mod reno;

use bentpipe_core::{Count, Rate, Size, Span, Time};
use bentpipe_stage::packet::segment::{Segment, SegmentFlags, SegmentOptions, Snack, Timestamps};
use bentpipe_transport::tcp::config::{Config, Profile, Recovery};
use bentpipe_transport::tcp::connection::Connection;
use bentpipe_transport::tcp::handover::{Freeze, Path, Signal};
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;

/// The remaining bytes of the input.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }
}

fn config(bytes: &mut Bytes) -> Config {
    let (what, flags) = (bytes.byte(), bytes.byte());
    let flag = |bit: u8| flags & (1 << bit) != 0;
    let more = bytes.byte();
    let extra = |bit: u8| more & (1 << bit) != 0;
    let recoveries =
        [Recovery::Rack, Recovery::Sack, Recovery::Newreno, Recovery::Reno, Recovery::Tahoe, Recovery::Snack];
    let profile = if what & 0x80 == 0 { Profile::Linux } else { Profile::Classic };
    Config {
        recovery: recoveries[usize::from(what % 6)],
        segment_size: Count::new(1000),
        initial_window: Count::new(1 + u64::from(what / 6 % 20)),
        segmentation_offload: extra(0),
        receive_window_start: extra(1).then(|| Size::from_bytes(2000)),
        send_buffer: extra(2).then(|| Size::from_bytes(5000)),
        timer_tick: if extra(3) { Span::from_millis(500) } else { Span::ZERO },
        quick_start: extra(4).then(|| Rate::from_bits_per_second(1_000_000)),
        freeze: if extra(5) {
            vec![Freeze { at: Span::ZERO, until: Span::from_secs(1) }]
        } else {
            Vec::new()
        },
        ack_every: Count::new(if extra(6) { 4 } else { 2 }),
        timestamps: flag(0),
        delayed_ack: flag(1),
        pacing: flag(2),
        nagle: flag(3),
        ecn: flag(4),
        receive_window: flag(5).then(|| Size::from_bytes(8000)),
        undo: flag(6),
        initial_sequence: Some(Count::new(if flag(7) { 0xffff_f000 } else { 0 })),
        ..profile.config()
    }
}

struct World {
    now: Time,
    ends: [Connection; 2],
    /// Segments in transit to each end.
    flying: [VecDeque<Segment>; 2],
    initial: u32,
    closed: [bool; 2],
}

impl World {
    fn settle(&mut self, end: usize) {
        let connection = &mut self.ends[end];
        while connection.next_event().is_some() {}
        let mut sent = 0;
        while let Some(segment) = connection.next_segment(self.now) {
            sent += 1;
            assert!(sent < 5000, "an end sends without limit");
            self.flying[1 - end].push_back(segment);
        }
        self.flying[1 - end].truncate(2000);
        let state = &connection.sender().state;
        assert!(state.sacked_out + state.lost_out <= state.packets_out);
        assert!(state.retrans_out <= state.packets_out);
        assert!(connection.next_wake() >= self.now, "a timer of an end lies in the past");
    }

    fn advance(&mut self, span: Span) {
        let until = self.now + span;
        for _ in 0..10_000 {
            let (end, wake) = match (self.ends[0].next_wake(), self.ends[1].next_wake()) {
                (first, second) if first <= second => (0, first),
                (_, second) => (1, second),
            };
            if wake > until {
                self.now = until;
                return;
            }
            self.now = wake;
            self.ends[end].wake(wake);
            self.settle(end);
        }
        panic!("the timers of the ends expire without limit");
    }

    /// Returns a forged segment with sequence numbers near those of the connection.
    fn invent(&self, bytes: &mut Bytes) -> Segment {
        let number =
            |bytes: &mut Bytes| self.initial.wrapping_add(u32::from(bytes.word())).wrapping_sub(2000);
        let (flags, more) = (bytes.byte(), bytes.byte());
        let mut options = SegmentOptions {
            sack_permitted: more & 8 != 0,
            snack_permitted: more & 16 != 0,
            granted: (more & 32 != 0).then(|| bytes.byte() % 16),
            ..SegmentOptions::default()
        };
        if more & 64 != 0 {
            let (offset, size) = (bytes.byte().into(), bytes.byte().into());
            let vector = (0..8).fold(0, |sum, _| sum << 16 | u128::from(bytes.word()));
            options.snack = Some(Snack { offset, size, vector, bits: bytes.byte() % 129 });
        }
        for _ in 0..more & 3 {
            let (left, right) = (number(bytes), number(bytes));
            options.sack.push(left, right);
        }
        Segment {
            sequence: number(bytes),
            acknowledgment: number(bytes),
            window: u32::from(bytes.word()),
            payload: bytes.word() % 1500,
            flags: SegmentFlags(flags),
            timestamps: (more & 4 != 0).then(|| Timestamps::new(bytes.word().into(), bytes.word().into())),
            options: Some(Box::new(options)),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let config = config(&mut bytes);
    let initial = config.initial_sequence.map_or(0, |number| number.value() as u32);
    let new = || Connection::new(&config, Box::<reno::Reno>::default(), initial, 1);
    let mut world = World {
        now: Time::ZERO,
        ends: [new(), new()],
        flying: Default::default(),
        initial,
        closed: [false; 2],
    };
    world.ends[1].listen();
    world.ends[0].open();
    world.ends[0].send(30_000);
    world.settle(0);
    while let Some(step) = bytes.next() {
        let end = usize::from(step & 1);
        match step >> 1 & 7 {
            // Delivers segments in order.
            0 | 1 => {
                for _ in 0..=step >> 4 {
                    let Some(segment) = world.flying[end].pop_front() else { break };
                    world.ends[end].receive_marked(world.now, &segment, step >> 4 == 15);
                    world.settle(end);
                }
            }
            // Delivers a segment out of order.
            2 => {
                let place = usize::from(step >> 4);
                if let Some(segment) = world.flying[end].remove(place) {
                    world.ends[end].receive(world.now, &segment);
                    world.settle(end);
                }
            }
            3 => drop(world.flying[end].remove(usize::from(step >> 4))),
            4 => {
                if let Some(segment) = world.flying[end].get(usize::from(step >> 4)).cloned() {
                    world.flying[end].push_back(segment);
                }
            }
            5 => world.advance(Span::from_millis(1 << (step >> 4))),
            6 => {
                let segment = world.invent(&mut bytes);
                world.ends[end].receive(world.now, &segment);
                world.settle(end);
            }
            _ => {
                let path =
                    Path { rate: Rate::from_bits_per_second(512_000), round_trip: Span::from_millis(500) };
                let signal = [Signal::Freeze, Signal::Thaw, Signal::Adapt(path)];
                if step >> 4 == 15 {
                    world.ends[end].close();
                    world.closed[end] = true;
                } else if let Some(signal) = signal.get(14usize.wrapping_sub(usize::from(step >> 4))) {
                    world.ends[end].signal(world.now, signal);
                } else if !world.closed[end] {
                    world.ends[end].send(u64::from(step >> 4) * 700);
                }
                world.settle(end);
            }
        }
    }
});
