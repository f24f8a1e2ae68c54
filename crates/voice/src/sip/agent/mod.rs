//! A SIP user agent (RFC 3261, sections 8 to 15) for any number of simultaneous calls, as caller
//! and as callee.
//!
//! The agent receives messages, the time and the decisions of its user, and returns messages to
//! send and events. A [`Call`] is a dialog, together with the messages before it. [`Agent::invite`]
//! begins a call, and [`Event::Incoming`] announces one. Every call ends with exactly one event:
//! [`Event::Ended`], or [`Event::Failed`] with a status that gives the reason (408: no answer).
//!
//! Responses are sent to the address from which the request arrived (as with RFC 3581). Requests
//! inside a dialog are sent to the first route, if any. Otherwise, they are sent to the other end's
//! Contact if it is a numeric address, and else to the source address of the other end's last
//! message.
//!
//! A callee that hangs up before the ACK has arrived sends its BYE when the ACK arrives or when the
//! wait for the ACK times out (section 15).

mod dialog;
mod events;
mod requests;
mod responses;

pub use events::{Call, Event, Out};

use super::message::{phrase, Message, Start};
use super::registrar::Registrar;
use super::transaction::{Client, Retransmission, Server, TimerEffect, Timers};
use bentpipe_core::{Stream, Time};
use dialog::{Dialog, State};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Name and address of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// User part of the agent's URI.
    pub user: String,
    /// Address and port at which the agent accepts requests.
    pub address: SocketAddr,
    /// True if messages are sent over TCP instead of UDP.
    pub tcp: bool,
}

impl Identity {
    fn uri(&self) -> String {
        format!("sip:{}@{}", self.user, self.address)
    }

    fn contact(&self) -> String {
        let transport = if self.tcp { ";transport=tcp" } else { "" };
        format!("<{}{transport}>", self.uri())
    }
}

/// The transaction of a request that this agent sent.
struct ClientTransaction {
    client: Client,
    /// The branch of the request, which identifies the responses to it (section 17.1.3).
    branch: String,
    to: SocketAddr,
    call: Option<Call>,
}

/// The transaction of a request that arrived.
struct ServerTransaction {
    server: Server,
    key: TransactionKey,
    from: SocketAddr,
    call: Option<Call>,
}

impl ServerTransaction {
    fn new(server: Server, from: SocketAddr, call: Option<Call>) -> ServerTransaction {
        ServerTransaction { key: transaction_key(&server.request), server, from, call }
    }
}

/// The branch and the sender of a request, which identify its transaction (section 17.2.3).
type TransactionKey = Option<(String, String)>;

/// Reads the branch and the sender of a request.
fn transaction_key(request: &Message) -> TransactionKey {
    request.via().map(|via| (via.branch().to_owned(), via.sent_by.to_owned()))
}

/// A user agent with its transactions and calls.
pub struct Agent {
    identity: Identity,
    timers: Timers,
    stream: Stream,
    client_transactions: Vec<ClientTransaction>,
    server_transactions: Vec<ServerTransaction>,
    dialogs: BTreeMap<Call, Dialog>,
    /// Number of the newest call.
    calls: u32,
    /// The registrar that answers registrations. If unset, they are refused with 405.
    pub registrar: Option<Registrar>,
    /// CSeq number and Call-ID of this agent's own registrations.
    registration: (u32, String),
    /// The earliest time at which a timer expires.
    next: Time,
}

impl Agent {
    /// Creates an agent without calls. Its tags and branches are drawn from `stream`.
    pub fn new(identity: Identity, timers: Timers, mut stream: Stream) -> Agent {
        let timers = Timers { reliable: identity.tcp, ..timers };
        let registration = (0, format!("{:016x}@{}", stream.bits(), identity.address.ip()));
        Agent {
            identity,
            timers,
            stream,
            client_transactions: Vec::new(),
            server_transactions: Vec::new(),
            dialogs: BTreeMap::new(),
            calls: 0,
            registrar: None,
            registration,
            next: Time::MAX,
        }
    }

    /// Returns the number of calls that have not ended.
    pub fn calls(&self) -> usize {
        self.dialogs.len()
    }

    /// Returns the identifier that the next call will get.
    pub fn following(&self) -> Call {
        Call(self.calls.wrapping_add(1))
    }

    /// Places a call: `user` calls `uri` and offers the session description `body`. The INVITE is
    /// sent to `address`.
    pub fn invite(
        &mut self,
        now: Time,
        user: &str,
        uri: &str,
        address: SocketAddr,
        body: &str,
        out: &mut Out,
    ) -> Call {
        let call = self.next_call();
        let local_tag = self.token();
        let dialog = Dialog {
            state: State::Inviting,
            call_id: format!("{}@{}", self.token(), self.identity.address.ip()),
            local: format!("<sip:{user}@{}>;tag={local_tag}", self.identity.address),
            remote: format!("<{uri}>"),
            local_tag,
            remote_tag: String::new(),
            number: 1,
            invite: 1,
            target: uri.to_owned(),
            routes: Vec::new(),
            peer: address,
            body: body.to_owned(),
            last: Vec::new(),
            unacknowledged: None,
        };
        let request = self.dialog_request(&dialog, "INVITE", 1).with("Contact", &self.identity.contact());
        self.dialogs.insert(call, dialog);
        self.send_request(now, request.with_body("application/sdp", body), address, Some(call), out);
        self.update_next_wake();
        call
    }

    /// Informs the caller that the telephone rings (180).
    pub fn ring(&mut self, now: Time, call: Call, out: &mut Out) {
        self.respond(now, call, 180, "", out);
    }

    /// Answers a call (200) with the session description `body`.
    pub fn answer(&mut self, now: Time, call: Call, body: &str, out: &mut Out) {
        let Some(dialog) = self.dialogs.get_mut(&call).filter(|dialog| dialog.state == State::Offered) else {
            return;
        };
        body.clone_into(&mut dialog.body);
        self.respond(now, call, 200, body, out);
        let (timers, sent) =
            (self.timers, self.server_transactions.iter().find(|transaction| transaction.call == Some(call)));
        let (Some(dialog), Some(sent)) = (self.dialogs.get_mut(&call), sent) else { return };
        dialog.last = sent.server.bytes.clone();
        dialog.state = State::Confirmed;
        dialog.unacknowledged =
            Some((Retransmission::new(now, timers.t1, timers.t2), now + timers.transaction_timeout()));
        self.update_next_wake();
    }

    /// Refuses a call that was not answered, with a status of 300 to 699.
    pub fn refuse(&mut self, now: Time, call: Call, status: u16, out: &mut Out) {
        if self.state(call) == Some(State::Offered) {
            self.respond(now, call, status, "", out);
            self.dialogs.remove(&call);
        }
    }

    /// Ends a call in any state: sends BYE or CANCEL, or refuses the call (603). A callee whose
    /// answer is not yet acknowledged sends its BYE later (section 15).
    pub fn hang_up(&mut self, now: Time, call: Call, out: &mut Out) {
        match self.state(call) {
            Some(State::Inviting) => {
                self.set(call, State::Cancelled);
                self.cancel(now, call, out);
            }
            Some(State::Offered) => self.refuse(now, call, 603, out),
            Some(State::Confirmed) => {
                let waits = self.dialogs.get(&call).is_some_and(|dialog| dialog.unacknowledged.is_some());
                match waits {
                    true => self.set(call, State::Leaving),
                    false => self.bye(now, call, out),
                }
                out.events.push(Event::Ended { call, by_other: false });
            }
            Some(State::Cancelled | State::Leaving | State::Ending) | None => {}
        }
        self.update_next_wake();
    }

    /// Registers with the registrar at `address` for `seconds`. 0 s removes the registration.
    pub fn register(&mut self, now: Time, address: SocketAddr, seconds: u32, out: &mut Out) {
        self.registration.0 += 1;
        let (number, call_id) = self.registration.clone();
        let who = format!("<sip:{}@{address}>", self.identity.user);
        let tag = self.token();
        let request = Message::request("REGISTER", &format!("sip:{address}"))
            .with("Via", &self.via())
            .with("Max-Forwards", "70")
            .with("From", &format!("{who};tag={tag}"))
            .with("To", &who)
            .with("Call-ID", &call_id)
            .with("CSeq", &format!("{number} REGISTER"))
            .with("Contact", &self.identity.contact())
            .with("Expires", &seconds.to_string());
        self.send_request(now, request, address, None, out);
        self.update_next_wake();
    }

    /// Handles a message that arrived from `from`. Bytes that are not a SIP message are ignored.
    pub fn receive(&mut self, now: Time, from: SocketAddr, bytes: &[u8], out: &mut Out) {
        if let Ok(message) = Message::read(bytes) {
            match message.status() {
                None => self.request(now, from, message, out),
                Some(_) => self.response(now, &message, out),
            }
            self.clear(now);
            self.update_next_wake();
        }
    }

    /// Returns the time of the next call of [`Agent::wake`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.next
    }

    /// Handles all timers that have expired.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        let mut silent = Vec::new();
        for ClientTransaction { client, to, call, .. } in &mut self.client_transactions {
            match client.due(now) {
                Some(TimerEffect::Retransmit) => out.again(*to, &client.bytes),
                Some(TimerEffect::TimedOut) => silent.push((client.request.method().to_owned(), *call)),
                _ => {}
            }
        }
        for (method, call) in silent {
            self.finished(&method, call, 408, out);
        }
        for ServerTransaction { server, from, .. } in &mut self.server_transactions {
            if server.due(now) == Some(TimerEffect::Retransmit) {
                out.again(*from, &server.bytes);
            }
        }
        let mut abandoned = Vec::new();
        for (call, dialog) in &mut self.dialogs {
            let Some((retransmission, until)) = &mut dialog.unacknowledged else { continue };
            if *until <= now {
                dialog.unacknowledged = None;
                abandoned.push(*call);
            } else if retransmission.due(now) {
                out.again(dialog.peer, &dialog.last);
            }
        }
        for call in abandoned {
            let left = self.state(call) == Some(State::Leaving);
            self.bye(now, call, out);
            if !left {
                out.events.push(Event::Failed { call, status: 408 });
            }
        }
        self.clear(now);
        self.update_next_wake();
    }

    /// Handles a failure of the transport: ends all transactions that wait for a response, as after
    /// a response 503 (section 8.1.3.1).
    pub fn disconnected(&mut self, now: Time, out: &mut Out) {
        for ClientTransaction { client, call, .. } in std::mem::take(&mut self.client_transactions) {
            if client.is_waiting() {
                self.finished(client.request.method(), call, 503, out);
            }
        }
        self.clear(now);
        self.update_next_wake();
    }

    /// Returns the number of a new call.
    fn next_call(&mut self) -> Call {
        let call = self.following();
        self.calls = call.0;
        call
    }

    /// Draws a tag, a branch or a part of a Call-ID.
    fn token(&mut self) -> String {
        format!("{:016x}", self.stream.bits())
    }

    /// Returns the Via of a new request, with a new branch.
    fn via(&mut self) -> String {
        let over = if self.identity.tcp { "TCP" } else { "UDP" };
        let branch = self.token();
        format!("SIP/2.0/{over} {};rport;branch=z9hG4bK{branch}", self.identity.address)
    }

    fn state(&self, call: Call) -> Option<State> {
        self.dialogs.get(&call).map(|dialog| dialog.state)
    }

    fn set(&mut self, call: Call, state: State) {
        if let Some(dialog) = self.dialogs.get_mut(&call) {
            dialog.state = state;
        }
    }

    /// Creates a request inside a dialog (section 12.2.1.1).
    fn dialog_request(&mut self, dialog: &Dialog, method: &str, number: u32) -> Message {
        let mut request = Message::request(method, &dialog.target)
            .with("Via", &self.via())
            .with("Max-Forwards", "70")
            .with("From", &dialog.local)
            .with("To", &dialog.remote)
            .with("Call-ID", &dialog.call_id)
            .with("CSeq", &format!("{number} {method}"));
        dialog.routes.iter().for_each(|route| request.push("Route", route));
        request
    }

    /// Sends a request and begins its transaction.
    fn send_request(
        &mut self,
        now: Time,
        request: Message,
        to: SocketAddr,
        call: Option<Call>,
        out: &mut Out,
    ) {
        let client = Client::new(now, request, self.timers);
        out.send.push((to, client.bytes.clone()));
        let branch = client.request.via().map(|via| via.branch().to_owned()).unwrap_or_default();
        self.client_transactions.push(ClientTransaction { client, branch, to, call });
    }

    /// Responds to the INVITE of a call.
    fn respond(&mut self, now: Time, call: Call, status: u16, body: &str, out: &mut Out) {
        let contact = self.identity.contact();
        let Some(dialog) = self.dialogs.get(&call) else { return };
        let Some(transaction) =
            self.server_transactions.iter_mut().find(|transaction| transaction.call == Some(call))
        else {
            return;
        };
        let mut response = Message::response(&transaction.server.request, status, &dialog.local_tag);
        if status < 300 {
            response.push("Contact", &contact);
        }
        if !body.is_empty() {
            response = response.with_body("application/sdp", body);
        }
        transaction.server.respond(now, &response);
        out.send.push((transaction.from, transaction.server.bytes.clone()));
        self.update_next_wake();
    }

    /// Sends CANCEL if a provisional response to the INVITE has arrived (section 9.1).
    fn cancel(&mut self, now: Time, call: Call, out: &mut Out) {
        let until = now + self.timers.transaction_timeout();
        let invite = self
            .client_transactions
            .iter_mut()
            .find(|transaction| transaction.call == Some(call) && transaction.client.is_proceeding());
        let Some(ClientTransaction { client, to, .. }) = invite else { return };
        client.give_up_at(until);
        let Start::Request { uri, .. } = &client.request.start else { return };
        let mut cancel = Message::request("CANCEL", uri);
        for (name, value) in &client.request.fields {
            match name.as_str() {
                "Via" | "Max-Forwards" | "From" | "To" | "Call-ID" | "Route" => cancel.push(name, value),
                "CSeq" => cancel.push("CSeq", &format!("{} CANCEL", client.request.number())),
                _ => {}
            }
        }
        let to = *to;
        self.send_request(now, cancel, to, None, out);
    }

    /// Sends BYE, which ends the dialog of a call.
    fn bye(&mut self, now: Time, call: Call, out: &mut Out) {
        let Some(mut dialog) = self.dialogs.remove(&call) else { return };
        (dialog.state, dialog.unacknowledged) = (State::Ending, None);
        dialog.number += 1;
        let request = self.dialog_request(&dialog, "BYE", dialog.number);
        let to = dialog.next_hop();
        self.dialogs.insert(call, dialog);
        self.send_request(now, request, to, Some(call), out);
    }

    /// Removes transactions that have ended.
    fn clear(&mut self, now: Time) {
        self.client_transactions.retain(|transaction| !transaction.client.has_ended(now));
        self.server_transactions.retain(|transaction| !transaction.server.has_ended(now));
    }

    /// Recomputes the earliest time at which a timer expires.
    fn update_next_wake(&mut self) {
        let clients = self.client_transactions.iter().map(|transaction| transaction.client.next_wake());
        let servers = self.server_transactions.iter().map(|transaction| transaction.server.next_wake());
        let waiting = self.dialogs.values().filter_map(|dialog| dialog.unacknowledged.as_ref());
        let waiting = waiting.map(|(retransmission, until)| retransmission.next().min(*until));
        self.next = clients.chain(servers).chain(waiting).min().unwrap_or(Time::MAX);
    }
}

/// Returns the reason phrase of a status, such as "Busy Here" for 486.
pub fn reason(status: u16) -> &'static str {
    phrase(status)
}
