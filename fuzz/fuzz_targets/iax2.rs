//! Parses arbitrary bytes as IAX2 frames. The parser must not panic, and parsed full and mini
//! frames must serialize to the same bytes. An exchange that receives the bytes as frames during a
//! call must never request a wake in the past.
#![no_main]

use bentpipe_core::{Span, Time};
use bentpipe_voice::iax2::frame::{find, mini, Codec, Frame, TRUNK};
use bentpipe_voice::iax2::{Event, Exchange, Out, Trunk};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

fuzz_target!(|bytes: &[u8]| {
    match Frame::read(bytes) {
        Ok(Frame::Full(full, data)) => {
            // The subclass of a voice frame is one byte. A power of 2 from 1 to 64 has two
            // encodings: the number itself, or its exponent with the top bit set. The writer always
            // writes the number itself.
            let mut canonical = bytes.to_vec();
            if bytes[10] == 2 && (0x80..0x87).contains(&bytes[11]) {
                canonical[11] = 1 << (bytes[11] & 0x7f);
            }
            assert_eq!(full.bytes(data), canonical);
            assert!((0..=255).filter_map(|kind| find(data, kind)).all(|value| value.len() <= data.len()));
        }
        Ok(Frame::Mini(voice)) => assert_eq!(mini(voice.call, voice.timestamp, voice.payload), bytes),
        Ok(Frame::Trunk(entries)) => {
            let size: usize = entries.iter().map(|voice| voice.payload.len() + 4).sum();
            assert!(size + TRUNK <= bytes.len());
        }
        Err(_) => {}
    }

    let address = |host: u8| SocketAddr::from(([192, 0, 2, host], 4569));
    let trunk = Trunk { period: Span::from_millis(20), timestamps: bytes.len() % 2 == 0, largest: 1472 };
    let mut exchange = Exchange::new(Some(trunk));
    let (mut now, mut out) = (Time::ZERO, Out::default());
    exchange.call(now, address(2), "1", "2", Codec(4), &mut out);
    let mut input = bytes;
    while let [length, tail @ ..] = input {
        let (frame, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        input = tail;
        exchange.receive(now, address(2), frame, &mut out);
        for event in std::mem::take(&mut out.events) {
            match event {
                Event::Incoming { call, .. } => {
                    exchange.ring(now, call, &mut out);
                    exchange.answer(now, call, &mut out);
                }
                Event::Answered { call } => exchange.voice(now, call, &[0; 33], 0, &mut out),
                _ => {}
            }
        }
        for sending in out.send.drain(..) {
            Frame::read(&sending.bytes).expect("a frame that the exchange sends can be parsed");
        }
        if exchange.next_wake() < Time::MAX {
            assert!(exchange.next_wake() >= now);
            now = exchange.next_wake();
            exchange.wake(now, &mut out);
        }
    }
});
