//! Calls between two SIP agents.

use super::agent::{Agent, Call, Event, Identity, Out};
use super::message::Message;
use super::transaction::{Answer, Client, Server, TimerEffect, Timers};
use crate::pair::{address, at, operations, Pair, Peer};
use bentpipe_core::{Span, Stream, Streams, Time};
use std::net::SocketAddr;

/// Propagation delay in one direction. A round trip is shorter than T1.
const DELAY: Span = Span::from_millis(200);

impl Peer for Agent {
    type Event = Event;
    type Out = Out;
    const PORT: u16 = 5060;

    operations!();

    fn split(out: Out) -> (Vec<(SocketAddr, Vec<u8>)>, Vec<Event>, u64) {
        (out.send, out.events, 0)
    }
}

fn pair(tcp: bool, loss: f64) -> Pair<Agent> {
    let agent = |end: usize| {
        let identity = Identity { user: format!("user{end}"), address: address::<Agent>(end), tcp };
        Agent::new(identity, Timers::default(), Streams::new(3, end as u64).stream("agent"))
    };
    Pair::new([agent(0), agent(1)], DELAY, loss)
}

fn callee() -> SocketAddr {
    address::<Agent>(1)
}

impl Pair<Agent> {
    fn invite(&mut self, now: Time) -> Call {
        let mut call = None;
        self.act(now, 0, |one, out| {
            call = Some(one.invite(now, "7", "sip:100@198.18.0.2", callee(), "v=0\r\n", out))
        });
        call.unwrap()
    }

    /// Runs until `until`. `incoming` handles arriving calls.
    fn run_with(&mut self, until: Time, incoming: &mut dyn FnMut(&mut Agent, Time, Call, &mut Out)) {
        self.run(until, &mut |agent, now, event, out| {
            if let Event::Incoming { call, .. } = event {
                incoming(agent, now, *call, out);
            }
            None
        });
    }

    /// Returns the time, the sending end and the first line of each message.
    fn lines(&self) -> Vec<(f64, usize, &str)> {
        let lines = self.sent.iter().map(|(time, end, bytes)| {
            let text = std::str::from_utf8(bytes).unwrap();
            (time.as_secs_f64(), *end, text.lines().next().unwrap())
        });
        lines.collect()
    }
}

fn answer(agent: &mut Agent, now: Time, call: Call, out: &mut Out) {
    agent.ring(now, call, out);
    agent.answer(now, call, "v=0\r\n", out);
}

#[test]
fn a_call_is_set_up_in_a_round_trip_and_ended_by_bye() {
    for tcp in [false, true] {
        let mut pair = pair(tcp, 0.0);
        let call = pair.invite(Time::ZERO);
        pair.run_with(at(9_000), &mut answer);
        pair.act(at(9_000), 0, |one, out| one.hang_up(at(9_000), call, out));
        pair.run_with(at(60_000), &mut answer);
        let target = "sip:100@198.18.0.2";
        let transport = if tcp { ";transport=tcp" } else { "" };
        assert_eq!(
            pair.lines(),
            [
                (0.0, 0, &*format!("INVITE {target} SIP/2.0")),
                (0.2, 1, "SIP/2.0 100 Trying"),
                (0.2, 1, "SIP/2.0 180 Ringing"),
                (0.2, 1, "SIP/2.0 200 OK"),
                (0.4, 0, &*format!("ACK sip:user1@198.18.0.2:5060{transport} SIP/2.0")),
                (9.0, 0, &*format!("BYE sip:user1@198.18.0.2:5060{transport} SIP/2.0")),
                (9.2, 1, "SIP/2.0 200 OK"),
            ]
        );
        assert!(matches!(pair.events[0][..], [
            (_, Event::Progress { status: 100, .. }),
            (_, Event::Progress { status: 180, .. }),
            (answered, Event::Answered { .. }),
            (_, Event::Ended { by_other: false, .. }),
        ] if answered == at(400)));
        assert!(matches!(pair.events[1][..], [
            (_, Event::Incoming { .. }),
            (acknowledged, Event::Acknowledged { .. }),
            (ended, Event::Ended { by_other: true, .. }),
        ] if acknowledged == at(600) && ended == at(9_200)));
        assert_eq!(pair.ends.each_ref().map(Agent::calls), [0, 0]);
        assert_eq!(pair.ends.each_ref().map(Agent::next_wake), [Time::MAX; 2]);
    }
}

#[test]
fn a_call_ends_with_the_reason() {
    // The callee refuses.
    let mut busy = pair(false, 0.0);
    busy.invite(Time::ZERO);
    busy.run_with(at(60_000), &mut |agent, now, call, out| agent.refuse(now, call, 486, out));
    assert!(
        matches!(busy.events[0].last(), Some((time, Event::Failed { status: 486, .. })) if *time == at(400))
    );
    assert_eq!(busy.lines().last(), Some(&(0.4, 0, "ACK sip:100@198.18.0.2 SIP/2.0")));
    assert_eq!(busy.ends.each_ref().map(Agent::calls), [0, 0]);
    // The callee does not exist.
    let mut gone = pair(false, 1.0);
    gone.invite(Time::ZERO);
    gone.run_with(at(60_000), &mut answer);
    assert!(matches!(gone.events[0][..], [(time, Event::Failed { status: 408, .. })] if time == at(32_000)));
    let times: Vec<_> = gone.lines().iter().map(|(time, ..)| *time).collect();
    assert_eq!(times, times_of("INVITE over UDP"));
    // The caller gives up. Before any response, CANCEL waits for one (section 9.1).
    for when in [100, 5_000] {
        let mut given_up = pair(false, 0.0);
        let call = given_up.invite(Time::ZERO);
        given_up.run_with(at(when), &mut |agent, now, call, out| agent.ring(now, call, out));
        given_up.act(at(when), 0, |one, out| one.hang_up(at(when), call, out));
        given_up.run_with(at(60_000), &mut |agent, now, call, out| agent.ring(now, call, out));
        let cancel = given_up.lines().into_iter().find(|(.., line)| line.starts_with("CANCEL")).unwrap();
        assert_eq!(cancel.0, if when == 100 { 0.4 } else { 5.0 });
        for end in 0..2 {
            let last = &given_up.events[end].last().unwrap().1;
            assert!(matches!(last, Event::Failed { status: 487, .. }), "{last:?}");
        }
        assert_eq!(given_up.ends.each_ref().map(Agent::calls), [0, 0]);
    }
}

/// RFC 3261, section 15: a callee sends no BYE before the ACK for its 2xx has arrived, or until the
/// wait for it times out.
#[test]
fn a_callee_that_hangs_up_at_once_waits_for_the_ack() {
    let at_once = &mut |agent: &mut Agent, now, call, out: &mut Out| {
        answer(agent, now, call, out);
        agent.hang_up(now, call, out);
    };
    let bye = |pair: &Pair<Agent>| {
        pair.lines().iter().find(|(.., line)| line.starts_with("BYE")).map(|(time, end, _)| (*time, *end))
    };
    let mut pair = pair(false, 0.0);
    pair.invite(Time::ZERO);
    pair.run_with(at(60_000), at_once);
    // INVITE and 2xx take 400 ms. The ACK arrives 200 ms later.
    assert_eq!(bye(&pair), Some((0.6, 1)));
    assert!(matches!(pair.events[0].last(), Some((_, Event::Ended { by_other: true, .. }))));
    assert!(matches!(
        pair.events[1][..],
        [(_, Event::Incoming { .. }), (_, Event::Ended { by_other: false, .. })]
    ));
    assert_eq!(pair.ends.each_ref().map(Agent::calls), [0, 0]);
    // Without an ACK, the BYE is sent 64 T1 after the 2xx.
    let mut pair = self::pair(false, 0.0);
    pair.invite(Time::ZERO);
    pair.run_with(at(300), at_once);
    pair.loss = 1.0;
    pair.run_with(at(90_000), at_once);
    assert_eq!(bye(&pair), Some((32.2, 1)));
    assert_eq!(pair.events[1].len(), 2);
}

/// Every request that waits for its answer ends with 503 when the transport fails (section
/// 8.1.3.1).
#[test]
fn a_failed_transport_ends_pending_transactions() {
    let mut pair = pair(true, 1.0);
    pair.invite(Time::ZERO);
    pair.run_with(at(5_000), &mut answer);
    pair.act(at(5_000), 0, |one, out| one.disconnected(at(5_000), out));
    assert!(matches!(pair.events[0][..], [(_, Event::Failed { status: 503, .. })]));
    assert_eq!((pair.ends[0].calls(), pair.ends[0].next_wake()), (0, Time::MAX));
}

/// With any loss of messages, the call finally ends at both ends.
#[test]
fn calls_under_loss_end_at_both_ends() {
    let mut pair = pair(false, 0.4);
    let (mut answered, mut failed) = (0, 0);
    for number in 0..200u64 {
        let begin = number * 300_000;
        pair.run_with(at(begin), &mut answer);
        let call = pair.invite(at(begin));
        pair.run_with(at(begin + 100_000), &mut answer);
        pair.act(at(begin + 100_000), 0, |one, out| one.hang_up(at(begin + 100_000), call, out));
        pair.run_with(at(begin + 299_000), &mut answer);
        let events = std::mem::take(&mut pair.events[0]);
        answered += events.iter().filter(|(_, event)| matches!(event, Event::Answered { .. })).count();
        failed += events.iter().filter(|(_, event)| matches!(event, Event::Failed { .. })).count();
        let over =
            events.iter().filter(|(_, event)| matches!(event, Event::Failed { .. } | Event::Ended { .. }));
        assert_eq!(over.count(), 1, "{events:?}");
        assert_eq!(pair.ends[0].calls(), 0, "call {number}");
    }
    // A callee whose ACKs and BYE are all lost also ends: it hangs up 64 T1 after its 2xx.
    assert!(pair.ends[1].calls() <= 2, "{}", pair.ends[1].calls());
    assert!(answered > 150 && failed < 50, "{answered} {failed}");
}

#[test]
fn a_registration_is_kept_by_the_registrar() {
    let mut pair = pair(false, 0.0);
    pair.ends[1].registrar = Some(super::registrar::Registrar::default());
    pair.act(Time::ZERO, 0, |one, out| one.register(Time::ZERO, callee(), 60, out));
    pair.run_with(at(10_000), &mut answer);
    assert_eq!(pair.events[0], [(at(400), Event::Registered { status: 200 })]);
    let registrar = pair.ends[1].registrar.as_ref().unwrap();
    assert_eq!(registrar.find(at(1_000), "user0").unwrap().contact, "sip:user0@198.18.0.1:5060");
}

/// Returns the send times of a row of the reference, in seconds.
fn times_of(kind: &str) -> Vec<f64> {
    let rows = include_str!("../../../../tests/authorities/voip/sip_retransmits.csv").lines();
    let row = rows.skip(1).find(|row| row.contains(&format!("\"{kind}"))).unwrap();
    row.rsplit(',').next().unwrap().split(' ').map(|time| time.parse().unwrap()).collect()
}

/// Returns true if a request is answered over a path with the propagation delay [`DELAY`] that
/// loses each message with probability `loss`.
fn succeeds(method: &str, provisional: bool, loss: f64, stream: &mut Stream) -> bool {
    let request = Message::request(method, "sip:b@example.org")
        .with("Via", "SIP/2.0/UDP a.example.org;branch=z9hG4bK1")
        .with("From", "<sip:a@example.org>;tag=1")
        .with("To", "<sip:b@example.org>")
        .with("Call-ID", "1")
        .with("CSeq", &format!("1 {method}"));
    let timers = Timers::default();
    let mut client = Client::new(Time::ZERO, request.clone(), timers);
    let status = if provisional { 180 } else { 200 };
    let response = Message::response(&request, status, "2");
    let mut server: Option<Server> = None;
    let (mut now, mut arrivals) = (Time::ZERO, Vec::new());
    loop {
        // The request is sent now; its response arrives two delays later.
        if !stream.chance(loss) {
            let server = server.get_or_insert_with(|| Server::new(request.clone(), timers));
            if server.bytes.is_empty() {
                server.respond(now + DELAY, &response);
            }
            assert!(server.repeated());
            if !stream.chance(loss) {
                arrivals.push(now + DELAY * 2);
            }
        }
        loop {
            let next = client.next_wake();
            if let Some(place) = arrivals.iter().position(|time| *time <= next) {
                return client.receive(arrivals.remove(place), &response) == Answer::New;
            }
            match client.due(next) {
                Some(TimerEffect::Retransmit) => {
                    now = next;
                    break;
                }
                Some(_) => return false,
                None => {}
            }
        }
    }
}

/// With n transmissions, each answered with probability q = (1 - loss)^2, a transaction succeeds
/// with probability 1 - (1 - q)^n. The answer to the last transmission arrives in time, because the
/// round-trip time is not longer than T1.
#[test]
fn the_success_of_a_transaction_under_loss_matches_the_closed_form() {
    let mut stream = Streams::new(5, 0).stream("loss");
    for (method, provisional, kind) in
        [("INVITE", true, "INVITE over UDP"), ("OPTIONS", false, "non-INVITE over UDP")]
    {
        let sends = times_of(kind).len() as i32;
        for loss in [0.3, 0.5, 0.7] {
            let trials = 20_000;
            let hits = (0..trials).filter(|_| succeeds(method, provisional, loss, &mut stream)).count();
            let q = (1.0f64 - loss).powi(2);
            let expected = 1.0 - (1.0 - q).powi(sends);
            let (share, error) =
                (hits as f64 / f64::from(trials), (expected * (1.0 - expected) / f64::from(trials)).sqrt());
            assert!((share - expected).abs() < 4.0 * error, "{method} {loss}: {share}, expected {expected}");
        }
    }
}
