//! SIP transactions (RFC 3261, section 17): a request, its retransmissions, and the responses to
//! it.
//!
//! [`Client`] is the side that sends the request (17.1), [`Server`] the side that answers (17.2),
//! each for INVITE and for all other methods. They receive the time as an argument, and return
//! messages to send and results for their user. Timers have the names of the standard:
//!
//! | timer | over UDP | over TCP | |
//! | --- | --- | --- | --- |
//! | A | T1, doubling | - | retransmits an INVITE |
//! | B | 64 T1 | 64 T1 | gives up an unanswered INVITE |
//! | D | 32 s | 0 s | absorbs retransmitted final responses to an INVITE |
//! | E | T1, doubling up to T2 | - | retransmits another request |
//! | F | 64 T1 | 64 T1 | gives up another request |
//! | G | T1, doubling up to T2 | - | retransmits a final response of 300 to 699 to an INVITE |
//! | H | 64 T1 | 64 T1 | gives up waiting for the ACK |
//! | I | T4 | 0 s | absorbs retransmitted ACKs |
//! | J | 64 T1 | 0 s | absorbs retransmitted requests |
//! | K | T4 | 0 s | absorbs retransmitted responses |
//!
//! A 2xx to an INVITE ends the transaction on both sides. The user that sent the 2xx retransmits it
//! until the ACK arrives (13.3.1.4), with [`Retransmission`]. The other user sends the ACK. Timer C
//! is only for proxies and not implemented.
//!
//! Deviation: RFC 6026 keeps both sides of an INVITE for another 64 T1 after a 2xx. Here the dialog
//! does this, by handling retransmitted 2xx and INVITEs.

use super::message::Message;
use bentpipe_core::{Span, Time};

/// The base values of all timers (RFC 3261, table 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timers {
    /// T1, an estimate of the round-trip time: 500 ms.
    pub t1: Span,
    /// T2, the maximum interval between retransmissions of all messages except INVITE: 4 s.
    pub t2: Span,
    /// T4, the maximum time that a message stays in the network: 5 s.
    pub t4: Span,
    /// True if the transport protocol is reliable, such as TCP. SIP then does not retransmit
    /// messages.
    pub reliable: bool,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers { t1: Span::from_millis(500), t2: Span::from_secs(4), t4: Span::from_secs(5), reliable: false }
    }
}

impl Timers {
    /// Returns the value of timers B, F, H and J: 64 T1.
    pub fn transaction_timeout(&self) -> Span {
        self.t1 * 64
    }

    /// Returns the value of a timer that only waits for retransmissions: zero over TCP.
    fn zero_if_reliable(&self, span: Span) -> Span {
        if self.reliable {
            Span::ZERO
        } else {
            span
        }
    }
}

/// A message that is retransmitted at doubling intervals until the caller stops it.
#[derive(Clone, Debug)]
pub struct Retransmission {
    next: Time,
    interval: Span,
    longest: Span,
}

impl Retransmission {
    /// Creates a message that is sent now, after T1, and then at intervals that double up to
    /// `longest`.
    pub fn new(now: Time, t1: Span, longest: Span) -> Retransmission {
        Retransmission { next: now + t1, interval: t1, longest }
    }

    /// Returns the time of the next retransmission.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Returns true if a retransmission is due. If so, the next one is scheduled.
    pub fn due(&mut self, now: Time) -> bool {
        let due = self.next <= now;
        if due {
            self.interval = (self.interval * 2).min(self.longest);
            self.next += self.interval;
        }
        due
    }

    /// Uses the maximum interval from the next retransmission on (17.1.2.2, in state Proceeding).
    fn use_longest_interval(&mut self) {
        self.interval = self.longest;
    }
}

/// The effect of an expired timer of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerEffect {
    /// Retransmit the transaction's message.
    Retransmit,
    /// No answer arrived within 64 T1. The user is informed as after a response 408 (section
    /// 8.1.3.1).
    TimedOut,
    /// The transaction has ended and can be removed.
    Ended,
}

/// The state of a client transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClientState {
    /// The request was sent, and no response has arrived (Calling, or Trying).
    Sent,
    /// A provisional response has arrived.
    Proceeding,
    /// A final response has arrived.
    Completed,
}

/// The meaning of a response for a client transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The response is new and is passed to the user.
    New,
    /// The response is new and is passed to the user, and the transaction acknowledges it (section
    /// 17.1.1.3).
    Refused,
    /// The response was received before. If the transaction has sent an ACK, the ACK is
    /// retransmitted.
    Repeated,
}

/// The client transaction of a request that was sent.
#[derive(Clone, Debug)]
pub struct Client {
    invite: bool,
    state: ClientState,
    timers: Timers,
    retransmission: Option<Retransmission>,
    /// Expiry of timer B or F before the final response, and of timer D or K after it.
    ends: Time,
    /// The message to send: the request, or the ACK for a final response to an INVITE.
    pub bytes: Vec<u8>,
    /// The request that was sent.
    pub request: Message,
}

impl Client {
    /// Creates a transaction whose request is sent now.
    pub fn new(now: Time, request: Message, timers: Timers) -> Client {
        let invite = request.method() == "INVITE";
        let longest = if invite { Span::MAX } else { timers.t2 };
        Client {
            invite,
            state: ClientState::Sent,
            timers,
            retransmission: (!timers.reliable).then(|| Retransmission::new(now, timers.t1, longest)),
            ends: now + timers.transaction_timeout(),
            bytes: request.bytes(),
            request,
        }
    }

    /// Handles a response. A final response is passed to the user only once.
    pub fn receive(&mut self, now: Time, response: &Message) -> Answer {
        let status = response.status().unwrap_or(0);
        match (self.state, status) {
            (ClientState::Completed, _) => Answer::Repeated,
            (_, ..=199) => {
                if self.invite {
                    // Timers A and B run in state Calling only.
                    self.retransmission = None;
                    self.ends = Time::MAX;
                } else if let (ClientState::Sent, Some(retransmission)) =
                    (self.state, &mut self.retransmission)
                {
                    retransmission.use_longest_interval();
                }
                self.state = ClientState::Proceeding;
                Answer::New
            }
            (_, 200..=299) if self.invite => {
                self.complete(now);
                Answer::New
            }
            _ if self.invite => {
                self.bytes = acknowledgment(&self.request, response).bytes();
                self.complete(now + self.timers.zero_if_reliable(Span::from_secs(32)));
                Answer::Refused
            }
            _ => {
                self.complete(now + self.timers.zero_if_reliable(self.timers.t4));
                Answer::New
            }
        }
    }

    fn complete(&mut self, ends: Time) {
        (self.state, self.retransmission, self.ends) = (ClientState::Completed, None, ends);
    }

    /// Returns true if the transaction has ended at `now`: it has received its final response and
    /// no longer waits for repetitions.
    pub fn has_ended(&self, now: Time) -> bool {
        self.state == ClientState::Completed && (self.ends <= now || self.ends == Time::MAX)
    }

    /// Sets the time at which a cancelled INVITE is given up (section 9.1).
    pub fn give_up_at(&mut self, time: Time) {
        if self.state != ClientState::Completed {
            self.ends = time;
        }
    }

    /// Returns true if the transaction waits for a final response.
    pub fn is_waiting(&self) -> bool {
        self.state != ClientState::Completed
    }

    /// Returns true if a provisional response has arrived. Only then may the request be cancelled
    /// (section 9.1).
    pub fn is_proceeding(&self) -> bool {
        self.state == ClientState::Proceeding
    }

    /// Returns the time of the next call of [`Client::due`]; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        self.retransmission.as_ref().map_or(Time::MAX, Retransmission::next).min(self.ends)
    }

    /// Returns the effect of an expired timer, if any.
    pub fn due(&mut self, now: Time) -> Option<TimerEffect> {
        if self.ends <= now {
            let due =
                if self.state == ClientState::Completed { TimerEffect::Ended } else { TimerEffect::TimedOut };
            self.complete(Time::MAX);
            return Some(due);
        }
        self.retransmission.as_mut()?.due(now).then_some(TimerEffect::Retransmit)
    }
}

/// Returns the ACK of a transaction for a final response of 300 to 699 (17.1.1.3).
fn acknowledgment(request: &Message, response: &Message) -> Message {
    let super::message::Start::Request { uri, .. } = &request.start else {
        unreachable!("a client sends requests")
    };
    let mut ack = Message::request("ACK", uri);
    let field = |message: &Message, name| message.field(name).unwrap_or_default().to_owned();
    ack.push("Via", &field(request, "Via"));
    ack.push("Max-Forwards", "70");
    ack.push("From", &field(request, "From"));
    ack.push("To", &field(response, "To"));
    ack.push("Call-ID", &field(request, "Call-ID"));
    ack.push("CSeq", &format!("{} ACK", request.number()));
    for route in request.all("Route") {
        ack.push("Route", route);
    }
    ack
}

/// The state of a server transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ServerState {
    /// No final response has been sent (Trying, or Proceeding).
    Open,
    /// A final response has been sent.
    Completed,
    /// The ACK for the final response has arrived.
    Confirmed,
}

/// The server transaction of a request that has arrived.
#[derive(Clone, Debug)]
pub struct Server {
    invite: bool,
    state: ServerState,
    timers: Timers,
    retransmission: Option<Retransmission>,
    /// Expiry of timer H, I or J.
    ends: Time,
    /// The last response; empty if no response was sent.
    pub bytes: Vec<u8>,
    /// The request that began the transaction.
    pub request: Message,
}

impl Server {
    /// Creates a transaction for a request that has arrived.
    pub fn new(request: Message, timers: Timers) -> Server {
        let invite = request.method() == "INVITE";
        let (state, ends) = (ServerState::Open, Time::MAX);
        Server { invite, state, timers, retransmission: None, ends, bytes: Vec::new(), request }
    }

    /// Sends a response: stores it in [`Server::bytes`] and starts its timers.
    pub fn respond(&mut self, now: Time, response: &Message) {
        self.bytes = response.bytes();
        let timers = self.timers;
        match response.status().unwrap_or(0) {
            ..=199 => {}
            200..=299 if self.invite => self.end(ServerState::Completed, now),
            _ if self.invite => {
                self.end(ServerState::Completed, now + timers.transaction_timeout());
                self.retransmission =
                    (!timers.reliable).then(|| Retransmission::new(now, timers.t1, timers.t2));
            }
            _ => {
                self.end(ServerState::Completed, now + timers.zero_if_reliable(timers.transaction_timeout()))
            }
        }
    }

    fn end(&mut self, state: ServerState, ends: Time) {
        (self.state, self.retransmission, self.ends) = (state, None, ends);
    }

    /// Returns true if no final response has been sent.
    pub fn is_open(&self) -> bool {
        self.state == ServerState::Open
    }

    /// Returns true if the transaction has ended at `now`.
    pub fn has_ended(&self, now: Time) -> bool {
        self.state != ServerState::Open && self.ends <= now
    }

    /// Handles a repetition of the request. Returns true if the last response must be
    /// retransmitted.
    pub fn repeated(&self) -> bool {
        self.state != ServerState::Confirmed && !self.bytes.is_empty()
    }

    /// Handles the ACK for a response of 300 to 699.
    pub fn acknowledged(&mut self, now: Time) {
        if self.state == ServerState::Completed {
            self.end(ServerState::Confirmed, now + self.timers.zero_if_reliable(self.timers.t4));
        }
    }

    /// Returns the time of the next call of [`Server::due`]; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        self.retransmission.as_ref().map_or(Time::MAX, Retransmission::next).min(self.ends)
    }

    /// Returns the effect of an expired timer, if any.
    pub fn due(&mut self, now: Time) -> Option<TimerEffect> {
        if self.ends <= now {
            self.retransmission = None;
            return Some(TimerEffect::Ended);
        }
        self.retransmission.as_mut()?.due(now).then_some(TimerEffect::Retransmit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str) -> Message {
        Message::request(method, "sip:b@example.org")
            .with("Via", "SIP/2.0/UDP a.example.org;branch=z9hG4bK1")
            .with("From", "<sip:a@example.org>;tag=1")
            .with("To", "<sip:b@example.org>")
            .with("Call-ID", "1@a.example.org")
            .with("CSeq", &format!("7 {method}"))
    }

    /// Returns the send times in seconds, the time of the end in seconds, and the timer effect that
    /// caused the end.
    fn course(
        now: Time,
        next: impl Fn() -> Time,
        mut due: impl FnMut(Time) -> Option<TimerEffect>,
    ) -> (Vec<f64>, f64, TimerEffect) {
        let mut sent = vec![now.as_secs_f64()];
        loop {
            let now = next();
            assert!(now < Time::MAX, "a transaction must end by itself");
            match due(now) {
                Some(TimerEffect::Retransmit) => sent.push(now.as_secs_f64()),
                Some(end) => return (sent, now.as_secs_f64(), end),
                None => {}
            }
        }
    }

    fn client(method: &str, reliable: bool) -> (Vec<f64>, f64, TimerEffect) {
        let timers = Timers { reliable, ..Timers::default() };
        let client = std::cell::RefCell::new(Client::new(Time::ZERO, request(method), timers));
        course(Time::ZERO, || client.borrow().next_wake(), |now| client.borrow_mut().due(now))
    }

    /// RFC 3261, 17.1.1.2 and 17.1.2.2: the table of send times.
    #[test]
    fn unanswered_requests_are_retransmitted_at_the_times_of_the_standard() {
        let invite = [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5];
        assert_eq!(client("INVITE", false), (invite.to_vec(), 32.0, TimerEffect::TimedOut));
        let other = [0.0, 0.5, 1.5, 3.5, 7.5, 11.5, 15.5, 19.5, 23.5, 27.5, 31.5];
        assert_eq!(client("BYE", false), (other.to_vec(), 32.0, TimerEffect::TimedOut));
        for method in ["INVITE", "BYE"] {
            assert_eq!(client(method, true), (vec![0.0], 32.0, TimerEffect::TimedOut));
        }
    }

    #[test]
    fn a_provisional_response_stops_retransmissions_of_an_invite_and_slows_down_other_requests() {
        let at = |seconds: f64| Time::ZERO + Span::from_secs_f64(seconds);
        let mut invite = Client::new(Time::ZERO, request("INVITE"), Timers::default());
        let ringing = Message::response(&request("INVITE"), 180, "2");
        assert_eq!(invite.receive(at(0.2), &ringing), Answer::New);
        assert_eq!((invite.next_wake(), invite.is_proceeding()), (Time::MAX, true));
        let busy = Message::response(&request("INVITE"), 486, "2");
        assert_eq!(invite.receive(at(9.0), &busy), Answer::Refused);
        let ack = Message::read(&invite.bytes).unwrap();
        assert_eq!((ack.method(), ack.number(), ack.tag("To")), ("ACK", 7, Some("2")));
        assert_eq!(ack.via().unwrap().branch(), "z9hG4bK1");
        assert_eq!(invite.receive(at(9.5), &busy), Answer::Repeated);
        assert_eq!((invite.next_wake(), invite.due(at(41.0))), (at(41.0), Some(TimerEffect::Ended)));

        // Timer E expires as it was set before the response, and then at intervals of T2. Timer F
        // still ends the transaction.
        let mut bye = Client::new(Time::ZERO, request("BYE"), Timers::default());
        bye.receive(at(0.2), &Message::response(&request("BYE"), 100, "2"));
        let mut sent = Vec::new();
        while bye.next_wake() < at(32.0) {
            let now = bye.next_wake();
            assert_eq!(bye.due(now), Some(TimerEffect::Retransmit));
            sent.push(now.as_secs_f64());
        }
        assert_eq!(sent, [0.5, 4.5, 8.5, 12.5, 16.5, 20.5, 24.5, 28.5]);
        assert_eq!(bye.due(at(32.0)), Some(TimerEffect::TimedOut));
        // K.
        let mut bye = Client::new(Time::ZERO, request("BYE"), Timers::default());
        assert_eq!(bye.receive(at(0.2), &Message::response(&request("BYE"), 200, "2")), Answer::New);
        assert_eq!((bye.next_wake(), bye.due(at(5.2))), (at(5.2), Some(TimerEffect::Ended)));
    }

    #[test]
    fn a_refusal_is_retransmitted_until_its_ack() {
        let busy = Message::response(&request("INVITE"), 486, "2");
        let timers = Timers::default();
        let server = std::cell::RefCell::new(Server::new(request("INVITE"), timers));
        server.borrow_mut().respond(Time::ZERO, &busy);
        let (sent, end, _) =
            course(Time::ZERO, || server.borrow().next_wake(), |now| server.borrow_mut().due(now));
        // Timer G doubles up to T2, and timer H ends the transaction.
        assert_eq!(sent, [0.0, 0.5, 1.5, 3.5, 7.5, 11.5, 15.5, 19.5, 23.5, 27.5, 31.5]);
        assert_eq!(end, 32.0);

        let mut server = Server::new(request("INVITE"), timers);
        assert!(!server.repeated(), "nothing has been sent yet");
        server.respond(Time::ZERO, &busy);
        let now = Time::ZERO + Span::from_millis(100);
        server.acknowledged(now);
        assert!(!server.repeated());
        assert_eq!(
            (server.next_wake(), server.due(now + timers.t4)),
            (now + timers.t4, Some(TimerEffect::Ended))
        );

        // Over TCP, no message is retransmitted, and a confirmed transaction ends at once.
        let mut server = Server::new(request("INVITE"), Timers { reliable: true, ..timers });
        server.respond(Time::ZERO, &busy);
        assert_eq!(server.next_wake(), Time::ZERO + Span::from_secs(32));
        server.acknowledged(now);
        assert_eq!(server.due(now), Some(TimerEffect::Ended));
        // Timer J, and the response to a retransmitted request.
        for (reliable, wait) in [(false, 32), (true, 0)] {
            let mut server = Server::new(request("BYE"), Timers { reliable, ..timers });
            server.respond(now, &Message::response(&request("BYE"), 200, "2"));
            assert!(server.repeated());
            assert_eq!(server.next_wake(), now + Span::from_secs(wait));
        }
    }
}
