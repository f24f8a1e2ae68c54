//! Tests LTP sessions between two engines: numbers of segments, delivery with losses, and
//! cancellations.

use bentpipe_core::{Span, Time};
use bentpipe_dtn::chunk::Chunk;
use bentpipe_dtn::ltp::engine::{Engine, Event};
use bentpipe_dtn::ltp::segment::{Content, Segment};
use bentpipe_dtn::ltp::sender::End;
use bentpipe_dtn::ltp::{Config, ConstantDelay};
use proptest::prelude::*;
use std::collections::BTreeMap;

const DELAY: Span = Span::from_secs(480);
const NEAR: ConstantDelay = ConstantDelay { delay: DELAY, margin: Span::from_secs(1) };

/// Engines 1 and 2, separated by a light time, and the traffic between them.
struct Pair {
    engines: [Engine; 2],
    /// Segments in flight, by arrival time and then in the order of sending.
    flying: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    sent: [u64; 2],
    events: Vec<(usize, Event)>,
    now: Time,
    number: u64,
    config: Config,
    /// Called at each arrival at the second engine. If it returns true, this engine restarts
    /// without its state.
    restarts: Box<dyn FnMut() -> bool>,
}

impl Pair {
    fn new(config: &Config) -> Pair {
        let engines = [1, 2].map(|number| Engine::new(number, config.clone()));
        Pair {
            engines,
            flying: BTreeMap::new(),
            sent: [0; 2],
            events: Vec::new(),
            now: Time::ZERO,
            number: 0,
            config: config.clone(),
            restarts: Box::new(|| false),
        }
    }

    /// Runs both engines until they have no more segments and timers. `lost` returns true for each
    /// lost segment, given its sender, its number at the sender, and the segment.
    fn run(&mut self, mut lost: impl FnMut(usize, u64, &Segment) -> bool) {
        for _ in 0..1_000_000 {
            for side in [0, 1] {
                while let Some((_, segment)) = self.engines[side].next_segment(self.now, &NEAR) {
                    self.number += 1;
                    let number = self.sent[side];
                    self.sent[side] += 1;
                    let mut bytes = Vec::new();
                    segment.write(&mut bytes);
                    assert_eq!(bytes.len() as u64, segment.length());
                    if !lost(side, number, &segment) {
                        self.flying.insert((self.now + DELAY, self.number), (1 - side, bytes));
                    }
                }
                while let Some(event) = self.engines[side].next_event() {
                    self.events.push((side, event));
                }
            }
            let arrival = self.flying.first_key_value().map(|((time, _), _)| *time);
            let wakes = self.engines.iter().filter_map(Engine::next_wake);
            let Some(next) = wakes.chain(arrival).min() else { return };
            self.now = next.max(self.now);
            while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to, bytes) = entry.remove();
                let segment = Segment::read(&bytes).expect("a written segment can be read");
                self.engines[to].receive(2 - to as u64, &segment);
                if to == 1 && (self.restarts)() {
                    // The client receives complete blocks before a report is sent.
                    self.events
                        .extend(std::iter::from_fn(|| self.engines[1].next_event()).map(|event| (1, event)));
                    self.engines[1] =
                        Engine::with_first_number(2, self.now.as_nanos() + self.number, self.config.clone());
                }
            }
            for engine in &mut self.engines {
                engine.wake(self.now);
            }
        }
        panic!("the sessions do not end");
    }
}

/// Sends a block of 44 bytes in segments of one byte each. Loses the segments of the sender with
/// the numbers in `lost`, and returns the numbers of segments sent by both engines.
fn exchange(red: u64, lost: &[u64]) -> [u64; 2] {
    let config = Config { segment: 1, ..Config::default() };
    let mut pair = Pair::new(&config);
    pair.engines[0].send(2, 1, Chunk::Bytes(vec![7; 44].into()), red);
    pair.run(|side, number, _| side == 0 && lost.contains(&number));
    let red_parts = pair.events.iter().filter(|(_, event)| matches!(event, Event::Red { .. })).count();
    assert_eq!(red_parts, usize::from(red > 0));
    assert!(pair.events.iter().any(|(_, event)| matches!(event, Event::Sent { end: End::Complete, .. })));
    assert_eq!(pair.engines.map(|engine| engine.sessions()), [(0, 0); 2]);
    pair.sent
}

#[test]
fn segment_counts_match_hdtn() {
    let n = 44;
    let table = include_str!("../../../../tests/authorities/dtn/ltp_exchange_counts.csv");
    assert_eq!(table.lines().count(), 7);
    assert_eq!(exchange(n, &[]), [n + 1, 1]);
    assert_eq!(exchange(n, &[10]), [n + 3, 2]);
    assert_eq!(exchange(n, &[10, 20]), [n + 4, 2]);
    assert_eq!(exchange(n, &[10, 11]), [n + 4, 2]);
    assert_eq!(exchange(0, &[]), [n, 0]);
    assert_eq!(exchange(n / 2, &[]), [n + 1, 1]);
}

#[test]
fn a_session_without_answers_is_cancelled() {
    let config = Config { attempts: 3, ..Config::default() };
    let mut pair = Pair::new(&config);
    let session = pair.engines[0].send(2, 1, Chunk::Zeros(3000), 3000);
    pair.run(|side, _, _| side == 1);
    assert!(pair.events.contains(&(0, Event::Sent { session, end: End::Cancelled(2) })));
    // The receiver has received all data, but its reports are lost.
    assert!(pair.events.iter().any(|(side, event)| *side == 1 && matches!(event, Event::Red { .. })));
}

#[test]
fn miscoloured_data_ends_a_session() {
    let mut pair = Pair::new(&Config { segment: 20, ..Config::default() });
    let session = pair.engines[0].send(2, 1, Chunk::Zeros(100), 50);
    let mut turned = false;
    let mut wrong = None;
    pair.run(|side, _, segment| {
        if let (Content::Data(data), false, 0) = (&segment.content, turned, side) {
            if data.offset >= 50 {
                turned = true;
                let mut data = data.clone();
                (data.red, data.offset) = (true, 60);
                wrong = Some(Segment::new(segment.session, Content::Data(data)));
            }
        }
        false
    });
    // The receiver gets red data, and then green data at a lower offset.
    pair.engines[1].receive(
        1,
        &Segment {
            session: bentpipe_dtn::ltp::segment::Session { engine: 1, number: 9 },
            ..wrong.clone().unwrap()
        },
    );
    let mut green = wrong.unwrap();
    green.session.number = 9;
    if let Content::Data(data) = &mut green.content {
        (data.red, data.offset) = (false, 0);
    }
    pair.engines[1].receive(1, &green);
    pair.run(|_, _, _| false);
    assert!(pair.events.iter().any(
        |(_, event)| matches!(event, Event::Sent { session: one, end: End::Complete } if *one == session)
    ));
    assert!(pair
        .events
        .iter()
        .any(|(side, event)| *side == 1
            && matches!(event, Event::Abandoned { session } if session.number == 9)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn red_data_arrives_completely_with_any_losses_and_the_session_ends(
        size in 1..6000_u64, green in 0..500_u64, segment in 30..400_u64, claims in 1..6_usize,
        losses in prop::collection::vec(any::<bool>(), 0..200), percent in 0..60_u64,
    ) {
        let config = Config { segment, claims, attempts: 1000 };
        let mut pair = Pair::new(&config);
        let data: Vec<u8> = (0..size + green).map(|index| (index * 31 % 251) as u8).collect();
        pair.engines[0].send(2, 1, Chunk::Bytes(data.clone().into()), size);
        let (mut step, mut random) = (0, 12345_u64);
        pair.run(|_, _, _| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let lost = losses.get(step).copied().unwrap_or((random >> 33) % 100 < percent);
            step += 1;
            lost
        });
        let red: Vec<&Chunk> = pair.events.iter().filter_map(|(_, event)| match event {
            Event::Red { data, .. } => Some(data),
            _ => None,
        }).collect();
        prop_assert_eq!(red, [&Chunk::Bytes(data[..size as usize].to_vec().into())]);
        let complete = pair.events.iter().any(|(side, event)| *side == 0 && matches!(event, Event::Sent { end: End::Complete, .. }));
        prop_assert!(complete);
        prop_assert_eq!(pair.engines[0].sessions(), (0, 0));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Some(segment) = Segment::read(&bytes) {
            let mut engine = Engine::new(1, Config::default());
            engine.receive(2, &segment);
            let mut again = Vec::new();
            segment.write(&mut again);
            prop_assert_eq!(Segment::read(&again), Some(segment));
        }
    }
}

proptest! {
    /// A restarted receiver has lost incomplete blocks, including parts that it has reported. The
    /// sender must not consider such a block as delivered.
    #[test]
    fn blocks_to_a_restarted_receiver_arrive_completely_or_are_cancelled(
        length in 1..24_usize, loss in 0..40_u64, restarts in 0..40_u64, seed in any::<u64>()
    ) {
        let config = Config { segment: 1, claims: 3, attempts: 6 };
        let mut pair = Pair::new(&config);
        let draws = move |seed: u64| {
            let mut state = seed | 1;
            move || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) % 100
            }
        };
        let (mut restarting, mut losing) = (draws(seed), draws(!seed));
        pair.restarts = Box::new(move || restarting() < restarts);
        let block: Vec<u8> = (0..length as u8).collect();
        pair.engines[0].send(2, 1, Chunk::Bytes(block.clone().into()), length as u64);
        pair.run(|_, _, _| losing() < loss);
        let complete = pair.events.iter().any(|(side, event)| {
            *side == 0 && matches!(event, Event::Sent { end: End::Complete, .. })
        });
        let arrived = pair.events.iter().any(|(side, event)| {
            *side == 1 && matches!(event, Event::Red { data, .. } if *data == Chunk::Bytes(block.clone().into()))
        });
        prop_assert!(arrived || !complete, "the sender reports a lost block as delivered");
    }
}
