//! Parses arbitrary bytes as SIP. The parser must not panic. A parsed message that is written and
//! parsed again must be the same. An agent that receives the bytes in pieces during a call must
//! never request a wake in the past.
#![no_main]

use bentpipe_core::{Streams, Time};
use bentpipe_voice::sip::message::Message;
use bentpipe_voice::sip::registrar::Registrar;
use bentpipe_voice::sip::sdp::Session;
use bentpipe_voice::sip::{Agent, Event, Identity, Out, Timers};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = Message::read(bytes) {
        assert_eq!(Message::read(&message.bytes()).as_ref(), Ok(&message));
    }
    if let Ok((_, length)) = Message::read_stream(bytes) {
        assert!(length <= bytes.len());
    }
    if let Some(session) = Session::read(bytes) {
        assert_eq!(Session::read(session.text(1).as_bytes()), Some(session));
    }

    let address = |host: u8| SocketAddr::from(([192, 0, 2, host], 5060));
    let me = Identity { user: "a".to_owned(), address: address(1), tcp: false };
    let mut agent = Agent::new(me, Timers::default(), Streams::new(1, 0).stream("agent"));
    agent.registrar = Some(Registrar::default());
    let (mut now, mut out) = (Time::ZERO, Out::default());
    agent.invite(now, "1", "sip:b@192.0.2.2", address(2), "v=0\r\n", &mut out);
    for piece in bytes.split(|byte| *byte == 0) {
        agent.receive(now, address(2), piece, &mut out);
        for event in std::mem::take(&mut out.events) {
            if let Event::Incoming { call, .. } = event {
                agent.ring(now, call, &mut out);
                agent.answer(now, call, "v=0\r\n", &mut out);
            }
        }
        // Every message that the agent sends must be valid SIP.
        for (_, bytes) in out.send.drain(..) {
            Message::read(&bytes).expect("a message that the agent sends can be parsed");
        }
        if agent.next_wake() < Time::MAX {
            assert!(agent.next_wake() >= now);
            now = agent.next_wake();
            agent.wake(now, &mut out);
        }
    }
});
