//! Tests convergence layers over TCP, with streams that arrive in pieces of any size.

use bentpipe_core::{Span, Time};
use bentpipe_dtn::convergence::stream::Reader;
use bentpipe_dtn::convergence::tcpcl::{Config, Event, Reason, Session};
use bentpipe_dtn::convergence::{mtcp, stcp};
use bytes::Bytes;
use proptest::prelude::*;

fn session(node: &str, segment: u64, keepalive: u16) -> Session {
    Session::new(Config { node: node.to_owned(), keepalive, segment, transfer: 100_000 }, Time::ZERO)
}

/// RFC 9174, sections 4.2 and 4.6: the first bytes that a side sends.
#[test]
fn a_session_begins_with_the_contact_header_and_sess_init() {
    let mut session = session("dtn://a/", 0x1000, 30);
    let mut expected = b"dtn!\x04\x00\x07\x00\x1e".to_vec();
    expected.extend(0x1000_u64.to_be_bytes());
    expected.extend(100_000_u64.to_be_bytes());
    expected.extend(b"\x00\x08dtn://a/\x00\x00\x00\x00");
    assert_eq!(session.write(Time::ZERO, 1 << 16), expected);
}

/// RFC 9174, section 5.2.2: the first segment has the flag START and the length of the extension
/// items (0), and the last segment has the flag END.
#[test]
fn a_transfer_is_split_at_the_segment_limit_of_the_peer() {
    let (mut left, mut right) = (session("dtn://a/", 1 << 20, 0), session("dtn://b/", 3, 0));
    let hello = right.write(Time::ZERO, 1 << 16);
    left.write(Time::ZERO, 1 << 16);
    left.read(Time::ZERO, &hello);
    assert_eq!(left.next_event(), Some(Event::Established("dtn://b/".to_owned())));
    assert_eq!(left.send(Bytes::from("bundle!")), Some(0));
    let mut expected = [&[1, 2][..], &[0; 19], &[3]].concat();
    expected.extend([&b"bun"[..], &[1, 0], &[0; 15], &[3], b"dle"].concat());
    expected.extend([&[1, 1][..], &[0; 15], &[1], b"!"].concat());
    assert_eq!(left.write(Time::ZERO, 1 << 16), expected);
    assert_eq!(left.send(Bytes::from(vec![0; 100_001])), None, "longer than the other side accepts");
    // Some agents acknowledge a complete transfer without flags.
    left.read(Time::ZERO, &[&[2][..], &[0; 16], &[7]].concat());
    assert_eq!(left.next_event(), Some(Event::Sent(0)));
}

/// RFC 9174, section 5.2.3: the acknowledgment of a segment has the segment's flags and the length
/// received so far.
#[test]
fn an_acknowledgment_has_the_flags_of_its_segment() {
    let (mut left, mut right) = (session("dtn://a/", 1 << 20, 0), session("dtn://b/", 3, 0));
    let (hello, answer) = (left.write(Time::ZERO, 1 << 16), right.write(Time::ZERO, 1 << 16));
    left.read(Time::ZERO, &answer);
    right.read(Time::ZERO, &hello);
    let number = |number: u8| [&[0; 7][..], &[number]].concat();
    let acknowledgment =
        |flags: u8, transfer, length| [&[2, flags][..], &number(transfer), &number(length)].concat();
    for (transfer, bundle, flags) in [(0, "bundle!", &[(2, 3), (0, 6), (1, 7)][..]), (1, "one", &[(3, 3)])] {
        left.send(Bytes::from(bundle));
        right.read(Time::ZERO, &left.write(Time::ZERO, 1 << 16));
        right.accept(u64::from(transfer), bundle.len() as u64);
        let expected: Vec<u8> =
            flags.iter().flat_map(|(flags, length)| acknowledgment(*flags, transfer, *length)).collect();
        assert_eq!(right.write(Time::ZERO, 1 << 16), expected, "{bundle}");
    }
}

#[test]
fn a_silent_session_sends_keepalives_and_ends() {
    let (mut left, mut right) = (session("dtn://a/", 1 << 20, 30), session("dtn://b/", 1 << 20, 10));
    let at = |seconds: u64| Time::ZERO + Span::from_secs(seconds);
    let hello = right.write(at(0), 1 << 16);
    left.write(at(0), 1 << 16);
    left.read(at(0), &hello);
    left.next_event().unwrap();
    assert_eq!(left.next_wake(), Some(at(10)));
    left.wake(at(10));
    assert_eq!(left.write(at(10), 1 << 16), [4]);
    left.wake(at(20));
    assert_eq!(left.next_event(), Some(Event::Ended(Reason::TimedOut)));
    assert_eq!(left.next_wake(), None);
}

#[test]
fn malformed_messages_end_the_session() {
    for (text, what) in [
        (&b"GET / HTTP/1.1"[..], "it does not begin with the contact header of TCPCL"),
        (b"dtn!\x03\x00", "it speaks another version of TCPCL than 4"),
        (b"dtn!\x04\x00\x09", "no SESS_INIT follows its contact header"),
    ] {
        let mut session = session("dtn://a/", 1 << 20, 0);
        session.read(Time::ZERO, text);
        assert_eq!(session.next_event(), Some(Event::Ended(Reason::Malformed(what))));
    }
}

/// Moves all bytes from one side to the other in pieces of these sizes. Returns true if there were
/// any.
fn carry(from: &mut Session, to: &mut Session, pieces: &[usize], turn: &mut usize) -> bool {
    let bytes = from.write(Time::ZERO, 1 << 12);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(pieces[*turn % pieces.len()].min(rest.len()));
        *turn += 1;
        to.read(Time::ZERO, piece);
        rest = after;
    }
    !bytes.is_empty()
}

proptest! {
    #[test]
    fn bundles_arrive_complete_and_in_order_and_are_acknowledged(
        bundles in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5000), 0..20),
        segment in 1..3000_u64,
        pieces in prop::collection::vec(1..700_usize, 1..10),
    ) {
        let (mut left, mut right) = (session("dtn://a/", 1 << 20, 0), session("dtn://b/", segment, 0));
        let (mut turn, mut received, mut sent, mut given) = (0, Vec::new(), Vec::new(), false);
        loop {
            let moved = carry(&mut left, &mut right, &pieces, &mut turn);
            while let Some(event) = right.next_event() {
                if let Event::Received { transfer, bundle } = event {
                    right.accept(transfer, bundle.len() as u64);
                    received.push(bundle.to_vec());
                }
            }
            let back = carry(&mut right, &mut left, &pieces, &mut turn);
            while let Some(event) = left.next_event() {
                sent.extend(if let Event::Sent(transfer) = event { Some(transfer) } else { None });
            }
            if left.is_established() && !std::mem::replace(&mut given, true) {
                for bundle in &bundles {
                    left.send(Bytes::from(bundle.clone())).unwrap();
                }
            } else if !moved && !back {
                break;
            }
        }
        prop_assert_eq!(sent, (0..bundles.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(received, bundles);
        prop_assert_eq!(left.pending(), 0);
    }

    #[test]
    fn mtcp_and_stcp_read_bundles_from_any_chunks(
        simple: bool,
        bundles in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..70_000), 0..5),
        pieces in prop::collection::vec(1..9000_usize, 1..10),
    ) {
        let mut bytes = Vec::new();
        let framing = if simple { stcp::FRAMING } else { mtcp::FRAMING };
        prop_assert!(bundles.iter().all(|bundle| (framing.write)(bundle, &mut bytes)));
        let heads = bundles.iter().map(|bundle| bundle.len() + 4).sum::<usize>();
        prop_assert!(!simple || bytes.len() == heads);
        let (mut reader, mut received, mut rest, mut turn) = (Reader::new(100_000, framing), Vec::new(), &bytes[..], 0);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(pieces[turn % pieces.len()].min(rest.len()));
            (rest, turn) = (after, turn + 1);
            reader.read(piece);
            while let Some(bundle) = reader.next_bundle().unwrap() {
                received.push(bundle.to_vec());
            }
        }
        prop_assert_eq!(received, bundles);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20), begins in any::<bool>()) {
        let (mut session, mut reader) = (session("dtn://a/", 1 << 20, 0), Reader::new(1000, mtcp::FRAMING));
        if begins {
            let hello = Session::new(Config { node: "x".to_owned(), keepalive: 1, segment: 9, transfer: 9 }, Time::ZERO).write(Time::ZERO, 99);
            session.read(Time::ZERO, &hello);
        }
        for piece in pieces {
            session.read(Time::ZERO, &piece);
            reader.read(&piece);
            while let Ok(Some(_)) = reader.next_bundle() {}
            session.wake(Time::ZERO);
            session.write(Time::ZERO, 1 << 16);
        }
    }
}
