//! Parses arbitrary bytes as an LTP segment. The parser must not panic, a parsed segment must
//! serialize to the same bytes, and an LTP engine must accept it.
#![no_main]

use bentpipe_core::{Span, Time};
use bentpipe_dtn::ltp::engine::Engine;
use bentpipe_dtn::ltp::segment::Segment;
use bentpipe_dtn::ltp::{Config, ConstantDelay};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let near = ConstantDelay { delay: Span::from_millis(1), margin: Span::from_millis(1) };
    let mut engine = Engine::new(1, Config::default());
    for piece in bytes.chunks(32) {
        let Some(segment) = Segment::read(piece) else { continue };
        let mut written = Vec::new();
        segment.write(&mut written);
        assert_eq!(written.len() as u64, segment.length());
        assert_eq!(Segment::read(&written), Some(segment.clone()));
        engine.receive(2, &segment);
        while engine.next_segment(Time::ZERO, &near).is_some() {}
        while engine.next_event().is_some() {}
    }
});
