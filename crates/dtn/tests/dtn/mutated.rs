//! Tests parsers with nearly valid inputs: pieces of valid inputs are removed, repeated, exchanged
//! or overwritten. The tests do the same as the fuzz targets `contacts`, `ltp`, `tcpcl` and
//! `streams`. The environment variable `BENTPIPE_MUTATIONS` sets the number of inputs per test
//! (2000 by default).

use bentpipe_core::{Span, Time};
use bentpipe_dtn::contacts::{read, Node};
use bentpipe_dtn::convergence::stream::{Framing, Reader};
use bentpipe_dtn::convergence::tcpcl::{self, Event, Session};
use bentpipe_dtn::convergence::{mtcp, stcp};
use bentpipe_dtn::ltp::engine::Engine;
use bentpipe_dtn::ltp::segment::Segment;
use bentpipe_dtn::ltp::{Config, ConstantDelay};
use bentpipe_dtn::routing::contact_graph::{Bookings, Query, Search};
use bytes::Bytes;
use serde_json::Value;

/// A linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

fn inputs() -> u64 {
    std::env::var("BENTPIPE_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(2000)
}

/// Returns a random seed after one to three random changes.
fn mutated(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    const TOKENS: [&[u8]; 10] =
        [b"-1", b"0", b"18446744073709551616", b"1e400", b"\"", b",", b"\n", b"nan", b"\xff", b"9999-12-31"];
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(3) {
        let from = random.below(bytes.len() + 1);
        // Each change affects at most about an eighth of a short input, so that some inputs stay
        // valid.
        let to = (from + random.below((2 + bytes.len() / 8).min(20))).min(bytes.len());
        let piece: Vec<u8> = match random.below(6) {
            0 => Vec::new(),
            1 => vec![random.below(256) as u8],
            2 => TOKENS[random.below(TOKENS.len())].to_vec(),
            3 => bytes[from..to].repeat(2),
            4 => random.below(1000).to_string().into_bytes(),
            _ => {
                let other = &seeds[random.below(seeds.len())];
                let start = random.below(other.len() + 1);
                other[start..(start + random.below((2 + other.len() / 8).min(60))).min(other.len())].to_vec()
            }
        };
        bytes.splice(from..to, piece);
    }
    bytes
}

#[test]
fn contact_plans() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../../../tests/authorities/dtn/cgr_cases.json")).unwrap();
    let mut seeds: Vec<Vec<u8>> = cases.iter().map(|case| case.to_string().into_bytes()).collect();
    seeds.push(b"src,dst,start,end,rate_bps,owlt_s\na,b,0,10,8000,1\nb,c,5,40.5,9600,0.25\n".to_vec());
    seeds.push(b"a contact +0 +100 1 2 100000\na range +0 +100 1 2 10\na contact +50 +150 2 3 5000\na range +0 +200 2 3 1\n".to_vec());
    seeds.push(b"[[contact]]\nfrom = \"a\"\nto = \"b\"\nstart = \"1 s\"\nend = \"2 min\"\nrate = \"1 Mbit/s\"\ndelay = \"4 ms\"\n".to_vec());
    let (mut random, mut plans, mut routes) = (Random(1), 0, 0);
    for _ in 0..inputs() {
        let bytes = mutated(&mut random, &seeds);
        let Ok(plan) = read::plan(&String::from_utf8_lossy(&bytes)) else { continue };
        plans += 1;
        let query = Query::new(Node(0), Node(1), Time::ZERO, 1);
        let route = Search::default().best(&plan, &query, &Bookings::new(&plan));
        routes += u64::from(route.is_some());
        let mut at = query.at;
        for transmission in route.iter().flat_map(|route| &route.transmissions) {
            let contact = plan.contacts()[transmission.contact as usize];
            assert!(
                at <= transmission.first_bit
                    && contact.start <= transmission.first_bit
                    && transmission.last_bit <= contact.end
            );
            at = transmission.arrival;
        }
    }
    assert!(plans > inputs() / 20 && routes > 0, "{plans} plans and {routes} routes of {} inputs", inputs());
}

#[test]
fn ltp_segments() {
    let segments: Vec<Value> =
        serde_json::from_str(include_str!("../../../../tests/authorities/dtn/ltp_segments.json")).unwrap();
    let hex = |segment: &Value| {
        let text = segment["hex"].as_str().unwrap();
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(byte).collect::<Vec<u8>>()
    };
    let seeds: Vec<Vec<u8>> = segments.iter().map(hex).collect();
    let near = ConstantDelay { delay: Span::from_millis(1), margin: Span::from_millis(1) };
    let (mut random, mut read) = (Random(2), 0);
    let mut engine = Engine::new(1, Config::default());
    for input in 0..inputs() {
        if input % 50 == 0 {
            engine = Engine::new(1, Config::default());
        }
        let Some(segment) = Segment::read(&mutated(&mut random, &seeds)) else { continue };
        read += 1;
        let mut written = Vec::new();
        segment.write(&mut written);
        assert_eq!(written.len() as u64, segment.length());
        assert_eq!(Segment::read(&written), Some(segment.clone()));
        engine.receive(2, &segment);
        while engine.next_segment(Time::ZERO, &near).is_some() {}
        while engine.next_event().is_some() {}
    }
    assert!(read > inputs() / 20, "{read} segments of {} inputs", inputs());
}

/// Processes all events of a session. Returns the bytes that the session writes, and the numbers of
/// received bundles and of ends.
fn act(session: &mut Session, now: Time) -> (Vec<u8>, [u64; 2]) {
    let mut counts = [0; 2];
    while let Some(event) = session.next_event() {
        match event {
            Event::Received { transfer, bundle } => {
                assert!(bundle.len() <= 1000);
                session.accept(transfer, bundle.len() as u64);
                counts[0] += 1;
            }
            Event::Ended(_) => counts[1] += 1,
            _ => {}
        }
    }
    (session.write(now, 1 << 16), counts)
}

#[test]
fn tcpcl_sessions() {
    let config =
        |node: &str| tcpcl::Config { node: node.to_owned(), keepalive: 10, segment: 300, transfer: 1000 };
    // The seed contains the bytes that one side writes to the other in a session with five bundles.
    let (mut left, mut right) =
        (Session::new(config("dtn://a/"), Time::ZERO), Session::new(config("dtn://b/"), Time::ZERO));
    let mut seed = Vec::new();
    for turn in 0..20 {
        let (written, answer) = (act(&mut left, Time::ZERO).0, act(&mut right, Time::ZERO).0);
        seed.extend_from_slice(&written);
        right.read(Time::ZERO, &written);
        left.read(Time::ZERO, &answer);
        if turn % 4 == 2 {
            left.send(Bytes::from(vec![7; 20 + 200 * turn / 4]));
        }
    }
    left.close();
    seed.extend(act(&mut left, Time::ZERO).0);
    let (mut random, mut received) = (Random(3), 0);
    for _ in 0..inputs() {
        let input = mutated(&mut random, &[seed.clone()]);
        let mut session = Session::new(config("dtn://c/"), Time::ZERO);
        session.send(Bytes::from(vec![9; 500]));
        let (mut now, mut ended) = (Time::ZERO, 0);
        for piece in input.chunks(1 + random.below(700)) {
            session.read(now, piece);
            let [bundles, ends] = act(&mut session, now).1;
            (received, ended) = (received + bundles, ended + ends);
            now += Span::from_secs(1);
            if session.next_wake().is_some_and(|at| at <= now) {
                session.wake(now);
            }
        }
        session.disconnected();
        ended += act(&mut session, now).1[1];
        assert_eq!(ended, 1, "{input:?}");
    }
    assert!(received > inputs() / 5, "{received} bundles of {} inputs", inputs());
}

#[test]
fn streams_of_bundles() {
    /// Returns the bundles of a stream, and true if the complete stream was read without an error.
    fn bundles<'a>(pieces: impl Iterator<Item = &'a [u8]>, framing: Framing) -> (Vec<Vec<u8>>, bool) {
        let (mut reader, mut found) = (Reader::new(4096, framing), Vec::new());
        for piece in pieces {
            reader.read(piece);
            loop {
                match reader.next_bundle() {
                    Ok(Some(bundle)) => found.push(bundle.to_vec()),
                    Ok(None) => break,
                    Err(_) => return (found, false),
                }
            }
        }
        (found, true)
    }
    for framing in [mtcp::FRAMING, stcp::FRAMING] {
        let mut seed = Vec::new();
        for length in [0, 1, 23, 24, 300, 4000] {
            assert!((framing.write)(&vec![b'x'; length], &mut seed));
        }
        let (mut random, mut readable) = (Random(4), 0);
        for _ in 0..inputs() / 4 {
            let input = mutated(&mut random, &[seed.clone()]);
            let once = bundles([&input[..]].into_iter(), framing);
            assert_eq!(once, bundles(input.chunks(1 + random.below(50)), framing));
            readable += u64::from(once.1);
        }
        assert!(readable > inputs() / 40, "{readable} of {} inputs", inputs() / 4);
    }
}
