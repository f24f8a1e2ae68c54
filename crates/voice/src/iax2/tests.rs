//! Calls between two exchanges over a lossy path.

use super::events::{cause, Call, Event, Out, Trunk};
use super::exchange::Exchange;
use super::frame::{iax, Codec, Frame, Kind};
use super::leg::State;
use crate::pair::{address, at, operations, Pair, Peer};
use bentpipe_core::{Span, Time};
use std::collections::BTreeSet;
use std::net::SocketAddr;

impl Peer for Exchange {
    type Event = Event;
    type Out = Out;
    const PORT: u16 = 4569;

    operations!();

    fn split(out: Out) -> (Vec<(SocketAddr, Vec<u8>)>, Vec<Event>, u64) {
        let send = out.send.into_iter().map(|sending| (sending.to, sending.bytes)).collect();
        (send, out.events, out.retransmissions)
    }
}

fn pair(trunk: Option<Trunk>, loss: f64) -> Pair<Exchange> {
    Pair::new([Exchange::new(trunk), Exchange::new(trunk)], Span::from_millis(250), loss)
}

fn callee() -> SocketAddr {
    address::<Exchange>(1)
}

/// A trunk frame every 20 ms, with time stamps, in packets of at most 1500 bytes.
const TRUNK: Trunk = Trunk { period: Span::from_millis(20), timestamps: true, largest: 1472 };

/// A callee who lets the telephone ring for 1 s and then answers.
fn answers() -> impl FnMut(&mut Exchange, Time, &Event, &mut Out) -> Option<Span> {
    let mut ringing = BTreeSet::new();
    move |exchange, now, event, out| {
        let Event::Incoming { call, .. } = event else { return None };
        if ringing.insert(*call) {
            exchange.ring(now, *call, out);
            return Some(Span::from_secs(1));
        }
        ringing.remove(call);
        exchange.answer(now, *call, out);
        None
    }
}

#[test]
fn a_call_over_a_satellite_from_new_to_hangup() {
    let (mut pair, mut answer) = (pair(None, 0.0), answers());
    let pcmu = Codec::of("PCMU").unwrap();
    pair.act(Time::ZERO, 0, |one, out| {
        assert_eq!(one.call(Time::ZERO, callee(), "100", "7", pcmu, out), Some(Call(1)));
    });
    pair.run(at(12_000), &mut answer);
    let call = Call(1);
    assert_eq!(
        pair.events[0][..3],
        [
            (at(500), Event::Progress { call, ringing: false }),
            (at(500), Event::Progress { call, ringing: true }),
            (at(1500), Event::Answered { call }),
        ]
    );
    assert!(matches!(&pair.events[1][0], (time, Event::Incoming { from, to, codec, .. })
        if *time == at(250) && from == "7" && to == "100" && *codec == pcmu));
    // LAGRQ is sent 10 s after the answer. The round trip takes 0.5 s.
    assert_eq!(pair.events[0][3], (at(12_000), Event::Lag { call, lag: Span::from_millis(500) }));
    // The first speech is sent in a full frame, further speech in mini frames. The low 15 bits of
    // the time stamp wrap at 32.768 s.
    for step in 0..2000 {
        let now = at(12_010 + step * 20);
        pair.run(now, &mut answer);
        pair.act(now, 0, |one, out| one.voice(now, call, &[0; 160], 0, out));
    }
    let voice: Vec<_> = pair.sent.iter().filter(|(_, end, bytes)| *end == 0 && bytes.len() > 150).collect();
    let full: Vec<_> =
        voice.iter().filter(|(.., bytes)| bytes.len() == 172).map(|(time, ..)| *time).collect();
    assert_eq!(full, [at(12_010), at(32_770)]);
    assert!(voice.iter().all(|(.., bytes)| matches!(bytes.len(), 164 | 172)));
    pair.run(at(60_000), &mut answer);
    let heard: Vec<_> = pair.events[1]
        .iter()
        .filter_map(|(time, event)| match event {
            Event::Voice { timestamp, bytes: 160, .. } => Some((*time, u64::from(*timestamp))),
            _ => None,
        })
        .collect();
    assert_eq!(heard.len(), 2000);
    assert!(heard.iter().all(|(time, timestamp)| *time == at(timestamp + 250)));
    pair.act(at(60_000), 0, |one, out| one.hang_up(at(60_000), call, out));
    pair.run(at(70_000), &mut answer);
    assert!(
        matches!(pair.events[1].last(), Some((time, Event::Ended { by_other: true, .. })) if *time == at(60_250))
    );
    assert_eq!((pair.ends[0].calls(), pair.ends[1].calls(), pair.retransmissions), (0, 0, 0));
}

#[test]
fn an_unanswered_call_fails_after_four_retransmissions() {
    let (mut pair, mut answer) = (pair(None, 1.0), answers());
    pair.act(Time::ZERO, 0, |one, out| {
        one.call(Time::ZERO, callee(), "100", "7", Codec(4), out);
    });
    pair.run(at(60_000), &mut answer);
    let times: Vec<_> = pair.sent.iter().map(|(time, ..)| time.as_secs_f64()).collect();
    assert_eq!(times, [0.0, 1.0, 3.0, 7.0, 15.0]);
    assert_eq!(pair.events[0], [(at(25_000), Event::Failed { call: Call(1), cause: cause::TIMER })]);
    for (number, (.., bytes)) in pair.sent.iter().enumerate() {
        let Ok(Frame::Full(full, _)) = Frame::read(bytes) else { panic!() };
        assert_eq!((full.kind, full.oseqno, full.retransmitted), (Kind::Iax(iax::NEW), 0, number > 0));
    }
}

/// With any loss of frames, calls end at both ends, and an answered call was answered at both ends.
#[test]
fn calls_under_loss_end_at_both_ends() {
    let (mut pair, mut answer) = (pair(Some(TRUNK), 0.6), answers());
    let (mut answered, mut failed) = (0, 0);
    for number in 0..200u64 {
        let now = at(number * 100_000);
        pair.run(now, &mut answer);
        let mut call = None;
        pair.act(now, 0, |one, out| call = one.call(now, callee(), "1", "2", Codec(2), out));
        let call = call.unwrap();
        let until = at(number * 100_000 + 40_000);
        pair.run(until, &mut answer);
        pair.act(until, 0, |one, out| one.voice(until, call, &[0; 33], 0, out));
        pair.act(until, 0, |one, out| one.hang_up(until, call, out));
        pair.run(at(number * 100_000 + 99_000), &mut answer);
        assert_eq!((pair.ends[0].calls(), pair.ends[1].calls()), (0, 0), "call {number}");
        let events = std::mem::take(&mut pair.events[0]);
        answered += events.iter().filter(|(_, event)| matches!(event, Event::Answered { .. })).count();
        failed += events.iter().filter(|(_, event)| matches!(event, Event::Failed { .. })).count();
        let over =
            events.iter().filter(|(_, event)| matches!(event, Event::Failed { .. } | Event::Ended { .. }));
        assert_eq!(over.count(), 1, "{events:?}");
    }
    assert!(answered > 20 && failed > 20 && pair.retransmissions > 100, "{answered} {failed}");
}

#[test]
fn the_voice_of_several_calls_is_sent_in_one_trunk() {
    let (mut pair, mut answer) = (pair(Some(TRUNK), 0.0), answers());
    for _ in 0..3 {
        pair.act(Time::ZERO, 0, |one, out| {
            one.call(Time::ZERO, callee(), "1", "2", Codec(2), out);
        });
    }
    pair.run(at(2_000), &mut answer);
    let mut calls: Vec<_> = pair.ends[0].legs.keys().copied().collect();
    calls.sort_unstable();
    for step in 0..2 {
        for (offset, call) in calls.iter().enumerate() {
            let now = at(2_001 + offset as u64 + step * 20);
            pair.run(now, &mut answer);
            pair.act(now, 0, |one, out| one.voice(now, Call(*call), &[0; 33], 0, out));
        }
    }
    pair.run(at(2_400), &mut answer);
    let trunks: Vec<_> = pair.sent.iter().filter(|(.., bytes)| bytes[..2] == [0, 0]).collect();
    assert_eq!(trunks.len(), 1);
    // A trunk with n calls has 36 + n (6 + 33) bytes, including 28 bytes of IP and UDP headers: 114
    // bytes for two calls and 231 bytes for five.
    assert_eq!((trunks[0].0, trunks[0].2.len()), (at(2_040), 8 + 3 * 39));
    let minis = pair.events[1].iter().filter_map(|(_, event)| match event {
        Event::Voice { timestamp, .. } => Some(*timestamp),
        _ => None,
    });
    assert_eq!(minis.collect::<Vec<_>>(), [2001, 2002, 2003, 2021, 2022, 2023]);
}

/// With 50 calls in GSM, 37 entries of 6 + 33 bytes fit into 1472 bytes after the header of 8
/// bytes.
#[test]
fn no_trunk_frame_exceeds_the_maximum_size() {
    let (mut pair, mut answer) = (pair(Some(TRUNK), 0.0), answers());
    for _ in 0..50 {
        pair.act(Time::ZERO, 0, |one, out| {
            one.call(Time::ZERO, callee(), "1", "2", Codec(2), out);
        });
    }
    pair.run(at(2_000), &mut answer);
    let calls: Vec<_> = pair.ends[0].legs.keys().copied().collect();
    // The first speech of each call leaves in a full frame.
    for now in [at(2_001), at(2_021)] {
        pair.run(now, &mut answer);
        for call in &calls {
            pair.act(now, 0, |one, out| one.voice(now, Call(*call), &[0; 33], 0, out));
        }
    }
    pair.run(at(2_400), &mut answer);
    let trunks = pair.sent.iter().filter(|(.., bytes)| bytes[..2] == [0, 0]);
    let sizes: Vec<_> = trunks.map(|(time, _, bytes)| (*time, bytes.len())).collect();
    assert_eq!(sizes, [(at(2_040), 8 + 37 * 39), (at(2_040), 8 + 13 * 39)]);
    let heard: BTreeSet<_> = pair.events[1]
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Voice { call, timestamp: 2021, .. } => Some(*call),
            _ => None,
        })
        .collect();
    assert_eq!(heard.len(), 50);

    // A single frame of speech that exceeds the maximum size is not lost.
    let mut exchange = Exchange::new(Some(Trunk { largest: 20, ..TRUNK }));
    let mut out = Out::default();
    let call = exchange.call(Time::ZERO, callee(), "1", "2", Codec(2), &mut out).unwrap();
    exchange.legs.get_mut(&call.0).unwrap().state = State::Up;
    for now in [at(1), at(21), at(22)] {
        exchange.voice(now, call, &[0; 33], 0, &mut out);
    }
    out.send.clear();
    exchange.wake(at(40), &mut out);
    assert_eq!(out.send.iter().map(|sending| sending.bytes.len()).collect::<Vec<_>>(), [8 + 39, 8 + 39]);
}
