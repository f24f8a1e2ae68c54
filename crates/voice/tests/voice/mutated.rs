//! Tests of SIP, IAX2, RTP and RTCP with nearly valid input: messages of real calls in which pieces
//! are removed, duplicated and overwritten. The tests have the same bodies as the fuzz targets
//! `sip`, `iax2` and `rtp`. `PROPTEST_CASES` sets the number of inputs per test, 256 by default.

use bentpipe_core::{Span, Streams, Time};
use bentpipe_voice::codec::find;
use bentpipe_voice::iax2::frame::{Codec, Frame};
use bentpipe_voice::iax2::{self, Exchange, Trunk};
use bentpipe_voice::playout;
use bentpipe_voice::rtcp::{Block, Compound, SenderInfo};
use bentpipe_voice::rtp::Rtp;
use bentpipe_voice::sip::message::Message;
use bentpipe_voice::sip::registrar::Registrar;
use bentpipe_voice::sip::{self, Agent, Identity, Timers};
use bentpipe_voice::stream::{Clocks, Receiver};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::SocketAddr;

/// Generates mutations of the seeds: up to three pieces of up to 20 bytes are replaced by up to 20
/// others.
fn mutated(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let piece = (any::<prop::sample::Index>(), 0usize..20, vec(any::<u8>(), 0..20));
    (prop::sample::select(seeds), vec(piece, 0..4)).prop_map(|(mut bytes, pieces)| {
        for (place, length, with) in pieces {
            let from = place.index(bytes.len() + 1);
            let to = (from + length).min(bytes.len());
            bytes.splice(from..to, with);
        }
        bytes
    })
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], 5060))
}

fn agent(host: u8) -> Agent {
    let identity = Identity { user: "a".to_owned(), address: address(host), tcp: false };
    let mut agent = Agent::new(identity, Timers::default(), Streams::new(u64::from(host), 0).stream("agent"));
    agent.registrar = Some(Registrar::default());
    agent
}

const BODY: &str =
    "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n";

/// Handles the events of an agent like a telephone that is answered at once.
fn answer(agent: &mut Agent, now: Time, out: &mut sip::Out) {
    for event in std::mem::take(&mut out.events) {
        if let sip::Event::Incoming { call, .. } = event {
            agent.ring(now, call, out);
            agent.answer(now, call, BODY, out);
        }
    }
}

/// Returns the messages of a registration and of a call that is set up and ended.
fn messages() -> Vec<Vec<u8>> {
    let (mut ends, mut seeds) = ([agent(1), agent(2)], Vec::new());
    let mut out = sip::Out::default();
    ends[0].register(Time::ZERO, address(2), 60, &mut out);
    let call = ends[0].invite(Time::ZERO, "1", "sip:b@192.0.2.2", address(2), BODY, &mut out);
    let mut way: Vec<_> = out.send.drain(..).map(|(_, bytes)| (1, bytes)).collect();
    for round in 0..8 {
        for (end, bytes) in std::mem::take(&mut way) {
            let mut out = sip::Out::default();
            ends[end].receive(Time::ZERO, address(2 - end as u8), &bytes, &mut out);
            answer(&mut ends[end], Time::ZERO, &mut out);
            seeds.push(bytes);
            way.extend(out.send.drain(..).map(|(_, bytes)| (1 - end, bytes)));
        }
        if round == 4 {
            let mut out = sip::Out::default();
            ends[0].hang_up(Time::ZERO, call, &mut out);
            way.extend(out.send.drain(..).map(|(_, bytes)| (1, bytes)));
        }
    }
    assert!(seeds.len() >= 8, "REGISTER, INVITE, 200, 100, 180, 200, ACK, BYE, 200");
    seeds
}

/// Returns the datagrams of a call by IAX2 with speech in a full frame, mini frames and trunk
/// frames.
fn frames() -> Vec<Vec<u8>> {
    let trunk = Trunk { period: Span::from_millis(20), timestamps: true, largest: 1472 };
    let mut ends = [Exchange::new(Some(trunk)), Exchange::new(None)];
    let (mut seeds, mut out) = (Vec::new(), iax2::Out::default());
    let call = ends[0].call(Time::ZERO, address(2), "1", "2", Codec(4), &mut out).unwrap();
    let mut way: Vec<_> = out.send.drain(..).map(|sending| (1, sending.bytes)).collect();
    for step in 0..10 {
        let now = Time::ZERO + Span::from_millis(20 * step);
        for (end, bytes) in std::mem::take(&mut way) {
            let mut out = iax2::Out::default();
            ends[end].receive(now, address(2 - end as u8), &bytes, &mut out);
            pick_up(&mut ends[end], now, &mut out);
            seeds.push(bytes);
            way.extend(out.send.drain(..).map(|sending| (1 - end, sending.bytes)));
        }
        let mut out = iax2::Out::default();
        ends[0].wake(now, &mut out);
        ends[0].voice(now, call, &[0; 33], 0, &mut out);
        if step == 8 {
            ends[0].hang_up(now, call, &mut out);
        }
        way.extend(out.send.drain(..).map(|sending| (1, sending.bytes)));
    }
    assert!(seeds.iter().any(|bytes| matches!(Frame::read(bytes), Ok(Frame::Trunk(_)))));
    assert!(seeds.iter().any(|bytes| matches!(Frame::read(bytes), Ok(Frame::Mini(_)))));
    seeds
}

/// Answers arriving calls and sends speech in answered calls.
fn pick_up(exchange: &mut Exchange, now: Time, out: &mut iax2::Out) {
    for event in std::mem::take(&mut out.events) {
        match event {
            iax2::Event::Incoming { call, .. } => {
                exchange.ring(now, call, out);
                exchange.answer(now, call, out);
                exchange.voice(now, call, &[0; 33], 0, out);
                exchange.voice(now + Span::from_millis(1), call, &[0; 33], 0, out);
            }
            iax2::Event::Answered { call } => exchange.voice(now, call, &[0; 33], 0, out),
            _ => {}
        }
    }
}

/// Returns the packets of RTP and RTCP.
fn datagrams() -> Vec<Vec<u8>> {
    let packet = |number: u16| {
        let rtp = Rtp {
            marker: number == 0,
            payload_type: 0,
            sequence: number,
            timestamp: u32::from(number) * 160,
            ssrc: 7,
        };
        let mut bytes = rtp.write().to_vec();
        bytes.extend([0xff; 20]);
        bytes
    };
    let sender = Some(SenderInfo { ntp: 1 << 40, rtp: 160, packets: 1, bytes: 160 });
    let block = Block { ssrc: 7, highest: 3, jitter: 5, ..Block::default() };
    let report =
        Compound { ssrc: 9, sender, blocks: vec![block], cname: "a@b".to_owned(), ..Compound::default() };
    let leaving = Compound { bye: true, ..report.clone() };
    (0..4).map(packet).chain([report.write(), leaving.write()]).collect()
}

proptest! {
    #[test]
    fn sip(pieces in vec(mutated(messages()), 1..8)) {
        let (mut agent, mut now, mut out) = (agent(2), Time::ZERO, sip::Out::default());
        agent.invite(now, "1", "sip:b@192.0.2.1", address(1), BODY, &mut out);
        for piece in pieces {
            if let Ok(message) = Message::read(&piece) {
                prop_assert_eq!(Message::read(&message.bytes()), Ok(message));
            }
            agent.receive(now, address(1), &piece, &mut out);
            answer(&mut agent, now, &mut out);
            for (_, bytes) in out.send.drain(..) {
                prop_assert!(Message::read(&bytes).is_ok(), "{}", String::from_utf8_lossy(&bytes));
            }
            if agent.next_wake() < Time::MAX {
                prop_assert!(agent.next_wake() >= now);
                now = agent.next_wake();
                agent.wake(now, &mut out);
            }
        }
    }

    #[test]
    fn iax2(pieces in vec(mutated(frames()), 1..12)) {
        let trunk = Trunk { period: Span::from_millis(20), timestamps: false, largest: 100 };
        let (mut exchange, mut now, mut out) = (Exchange::new(Some(trunk)), Time::ZERO, iax2::Out::default());
        exchange.call(now, address(1), "1", "2", Codec(4), &mut out);
        for piece in pieces {
            exchange.receive(now, address(1), &piece, &mut out);
            pick_up(&mut exchange, now, &mut out);
            for sending in out.send.drain(..) {
                prop_assert!(Frame::read(&sending.bytes).is_ok());
            }
            if exchange.next_wake() < Time::MAX {
                prop_assert!(exchange.next_wake() >= now);
                now = exchange.next_wake();
                exchange.wake(now, &mut out);
            }
        }
    }

    #[test]
    fn rtp(
        kind in prop::sample::select(vec!["none", "fixed", "ramjee-1", "ramjee-2", "ramjee-3", "ramjee-4", "moon"]),
        pieces in vec((mutated(datagrams()), 0u64..200), 1..40),
    ) {
        let playout: playout::Config = serde_json::from_str(&format!("{{\"{kind}\": {{}}}}")).unwrap();
        let mut receiver = Receiver::new(find("G.711u").unwrap(), 2, &playout, Clocks::default(), None);
        let mut now = Time::ZERO;
        for (piece, gap) in pieces {
            now += Span::from_millis(gap);
            if let Some(compound) = Compound::read(&piece) {
                let again = Compound::read(&compound.write()).unwrap();
                prop_assert_eq!((again.ssrc, again.blocks.len()), (compound.ssrc, compound.blocks.len()));
            }
            if let Ok((rtp, begin, payload)) = Rtp::read(&piece, piece.len()) {
                prop_assert!(begin + payload <= piece.len());
                receiver.receive(now, &rtp);
            }
        }
        let totals = receiver.totals();
        prop_assert!(totals.lost >= 0 && totals.played <= totals.arrived);
        prop_assert_eq!(totals.bursts.packets(), totals.expected);
    }
}
