//! Passes arbitrary bytes to a TCPCL session, before or after its establishment. The session must
//! not panic, and received bundles must not exceed the maximum size.
#![no_main]

use bentpipe_core::{Span, Time};
use bentpipe_dtn::convergence::tcpcl::{Config, Event, Session};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

/// Maximum size of a received bundle in bytes.
const MAX_BUNDLE: u64 = 1000;

fn config(node: &str) -> Config {
    Config { node: node.to_owned(), keepalive: 10, segment: 300, transfer: MAX_BUNDLE }
}

/// Processes all pending events of a session and accepts received bundles. Returns the bytes that
/// the session writes.
fn act(session: &mut Session, now: Time) -> Vec<u8> {
    while let Some(event) = session.next_event() {
        if let Event::Received { transfer, bundle } = event {
            assert!(bundle.len() as u64 <= MAX_BUNDLE);
            session.accept(transfer, bundle.len() as u64);
        }
    }
    session.write(now, 1 << 16)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let mut now = Time::ZERO;
    let [mut one, mut other] = [Session::new(config("dtn://a/"), now), Session::new(config("dtn://b/"), now)];
    if first & 1 == 1 {
        // Completes the handshake and starts to send a bundle.
        for _ in 0..3 {
            let written = [act(&mut one, now), act(&mut other, now)];
            other.read(now, &written[0]);
            one.read(now, &written[1]);
        }
        assert!(one.is_established() && other.is_established());
        one.send(Bytes::from(vec![7; 100]));
    }
    for piece in rest.chunks(1 + usize::from(first >> 1)) {
        one.read(now, piece);
        act(&mut one, now);
        now += Span::from_secs(1);
        if one.next_wake().is_some_and(|at| at <= now) {
            one.wake(now);
        }
    }
    one.disconnected();
    act(&mut one, now);
});
