//! A SIP user agent (RFC 3261, sections 8 to 15): any number of calls at a time, as caller and as callee.
//!
//! The agent is told of datagrams, times and its user's wishes, and returns datagrams to send and events. A [`Call`] is a
//! dialog and what precedes it: [`Agent::invite`] begins one, [`Event::Incoming`] announces one. Every call ends with exactly
//! one [`Event::Failed`], which says why by its status (408: nobody answered), or one [`Event::Ended`].
//!
//! Responses go to the address from which the request came (as with RFC 3581), requests inside a dialog to the first route, or
//! to the other side's Contact if that is a number, or else to where the other side was heard.

use super::message::{phrase, Address, Message};
use super::registrar::Registrar;
use super::transaction::{Answer, Client, Due, Repeat, Server, Timers};
use bentpipe_core::{Stream, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A call of an agent, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Call(pub u32);

/// Who an agent is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The user of its URI.
    pub user: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Over TCP instead of UDP.
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

/// What an agent tells its user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Somebody calls: [`Agent::ring`], [`Agent::answer`] or [`Agent::refuse`].
    Incoming {
        /// The call.
        call: Call,
        /// The user of the caller's URI.
        from: String,
        /// The user that was called.
        to: String,
        /// The offered session description; empty if there is none.
        offer: Vec<u8>,
    },
    /// A provisional response: 180 means that the telephone rings.
    Progress {
        /// The call.
        call: Call,
        /// 100 to 199.
        status: u16,
    },
    /// The other side has answered.
    Answered {
        /// The call.
        call: Call,
        /// Its session description.
        answer: Vec<u8>,
    },
    /// The caller has acknowledged our answer.
    Acknowledged {
        /// The call.
        call: Call,
    },
    /// The call could not be set up, or is given up.
    Failed {
        /// The call.
        call: Call,
        /// Status of the response; 408 if there was none, 487 if the caller gave up.
        status: u16,
    },
    /// A call that was set up is over.
    Ended {
        /// The call.
        call: Call,
        /// Whether the other side has hung up.
        by_other: bool,
    },
    /// A registration has been answered: 408 if it was not.
    Registered {
        /// Status of the response.
        status: u16,
    },
}

/// What an agent asks for.
#[derive(Clone, Default, Debug)]
pub struct Out {
    /// Messages to send, and where to.
    pub send: Vec<(SocketAddr, Vec<u8>)>,
    /// What the user is told, in order.
    pub events: Vec<Event>,
    /// Messages of `send` that had been sent before.
    pub retransmissions: u64,
}

impl Out {
    fn again(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.retransmissions += 1;
        self.send.push((to, bytes.to_vec()));
    }
}

/// How far a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Caller: invited, no final response.
    Inviting,
    /// Caller: cancelled, or about to be.
    Cancelled,
    /// Callee: not answered.
    Offered,
    /// Both sides talk.
    Confirmed,
    /// BYE was sent.
    Ending,
}

/// A call and its dialog (section 12).
struct Dialog {
    state: State,
    call_id: String,
    /// Values of From and To of requests that we send; the other's has a tag once it is known.
    local: String,
    remote: String,
    local_tag: String,
    /// Empty while it is not known.
    remote_tag: String,
    /// CSeq of our last request.
    number: u32,
    /// CSeq of the INVITE that began it.
    invite: u32,
    /// URI of the other side.
    target: String,
    routes: Vec<String>,
    peer: SocketAddr,
    /// Our session description.
    body: String,
    /// The last ACK or 2xx, which answers repetitions.
    last: Vec<u8>,
    /// Retransmission of the 2xx until the ACK comes, and when that is given up (13.3.1.4).
    unacknowledged: Option<(Repeat, Time)>,
}

/// The transaction of a request that we sent.
struct Asked {
    client: Client,
    to: SocketAddr,
    call: Option<Call>,
}

/// The transaction of a request that came.
struct Got {
    server: Server,
    from: SocketAddr,
    call: Option<Call>,
}

/// A user agent.
pub struct Agent {
    me: Identity,
    timers: Timers,
    stream: Stream,
    asked: Vec<Asked>,
    got: Vec<Got>,
    dialogs: BTreeMap<Call, Dialog>,
    calls: u32,
    /// The registrar of which it is the server, if it is one.
    pub registrar: Option<Registrar>,
    /// CSeq and Call-ID of registrations.
    registration: (u32, String),
    next: Time,
}

impl Agent {
    /// An agent without calls; `stream` gives its tags and branches.
    pub fn new(me: Identity, timers: Timers, mut stream: Stream) -> Agent {
        let timers = Timers { reliable: me.tcp, ..timers };
        let registration = (0, format!("{:016x}@{}", stream.bits(), me.address.ip()));
        Agent {
            me,
            timers,
            stream,
            asked: Vec::new(),
            got: Vec::new(),
            dialogs: BTreeMap::new(),
            calls: 0,
            registrar: None,
            registration,
            next: Time::MAX,
        }
    }

    /// The number of calls that are not over.
    pub fn calls(&self) -> usize {
        self.dialogs.len()
    }

    /// The number of the next call.
    pub fn following(&self) -> Call {
        Call(self.calls.wrapping_add(1))
    }

    /// `user` calls `uri` through `address` and offers the session `body`.
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
            call_id: format!("{}@{}", self.token(), self.me.address.ip()),
            local: format!("<sip:{user}@{}>;tag={local_tag}", self.me.address),
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
        let request = self.within(&dialog, "INVITE", 1).with("Contact", &self.me.contact());
        self.dialogs.insert(call, dialog);
        self.ask(now, request.with_body("application/sdp", body), address, Some(call), out);
        self.reckon();
        call
    }

    /// Tells the caller that the telephone rings.
    pub fn ring(&mut self, now: Time, call: Call, out: &mut Out) {
        self.respond(now, call, 180, "", out);
    }

    /// Answers a call with the session `body`.
    pub fn answer(&mut self, now: Time, call: Call, body: &str, out: &mut Out) {
        let Some(dialog) = self.dialogs.get_mut(&call).filter(|dialog| dialog.state == State::Offered) else {
            return;
        };
        body.clone_into(&mut dialog.body);
        self.respond(now, call, 200, body, out);
        let (timers, sent) = (self.timers, self.got.iter().find(|got| got.call == Some(call)));
        let (Some(dialog), Some(sent)) = (self.dialogs.get_mut(&call), sent) else { return };
        dialog.last = sent.server.bytes.clone();
        dialog.state = State::Confirmed;
        dialog.unacknowledged = Some((Repeat::new(now, timers.t1, timers.t2), now + timers.whole()));
        self.reckon();
    }

    /// Refuses a call with a status of 300 to 699.
    pub fn refuse(&mut self, now: Time, call: Call, status: u16, out: &mut Out) {
        if self.state(call) == Some(State::Offered) {
            self.respond(now, call, status, "", out);
            self.dialogs.remove(&call);
        }
    }

    /// Ends a call: hangs up, cancels or refuses it, whichever it takes.
    pub fn hang_up(&mut self, now: Time, call: Call, out: &mut Out) {
        match self.state(call) {
            Some(State::Inviting) => {
                self.set(call, State::Cancelled);
                self.cancel(now, call, out);
            }
            Some(State::Offered) => self.refuse(now, call, 603, out),
            Some(State::Confirmed) => {
                self.bye(now, call, out);
                out.events.push(Event::Ended { call, by_other: false });
            }
            Some(State::Cancelled | State::Ending) | None => {}
        }
        self.reckon();
    }

    /// Registers with the registrar at `address` for `seconds`; 0 removes the registration.
    pub fn register(&mut self, now: Time, address: SocketAddr, seconds: u32, out: &mut Out) {
        self.registration.0 += 1;
        let (number, call_id) = self.registration.clone();
        let who = format!("<sip:{}@{address}>", self.me.user);
        let tag = self.token();
        let request = Message::request("REGISTER", &format!("sip:{address}"))
            .with("Via", &self.via())
            .with("Max-Forwards", "70")
            .with("From", &format!("{who};tag={tag}"))
            .with("To", &who)
            .with("Call-ID", &call_id)
            .with("CSeq", &format!("{number} REGISTER"))
            .with("Contact", &self.me.contact())
            .with("Expires", &seconds.to_string());
        self.ask(now, request, address, None, out);
        self.reckon();
    }

    /// Handles a datagram from `from`; what is no SIP message is ignored.
    pub fn receive(&mut self, now: Time, from: SocketAddr, bytes: &[u8], out: &mut Out) {
        if let Ok(message) = Message::read(bytes) {
            match message.status() {
                None => self.request(now, from, message, out),
                Some(_) => self.response(now, &message, out),
            }
            self.clear(now);
            self.reckon();
        }
    }

    /// When to call [`Agent::wake`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.next
    }

    /// Acts on the timers that have come.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        let mut silent = Vec::new();
        for Asked { client, to, call } in &mut self.asked {
            match client.due(now) {
                Some(Due::Again) => out.again(*to, &client.bytes),
                Some(Due::TimedOut) => silent.push((client.request.method().to_owned(), *call)),
                _ => {}
            }
        }
        for (method, call) in silent {
            self.finished(&method, call, 408, out);
        }
        for Got { server, from, .. } in &mut self.got {
            if server.due(now) == Some(Due::Again) {
                out.again(*from, &server.bytes);
            }
        }
        let mut abandoned = Vec::new();
        for (call, dialog) in &mut self.dialogs {
            let Some((repeat, until)) = &mut dialog.unacknowledged else { continue };
            if *until <= now {
                dialog.unacknowledged = None;
                abandoned.push(*call);
            } else if repeat.due(now) {
                out.again(dialog.peer, &dialog.last);
            }
        }
        for call in abandoned {
            self.bye(now, call, out);
            out.events.push(Event::Failed { call, status: 408 });
        }
        self.clear(now);
        self.reckon();
    }

    fn next_call(&mut self) -> Call {
        let call = self.following();
        self.calls = call.0;
        call
    }

    fn token(&mut self) -> String {
        format!("{:016x}", self.stream.bits())
    }

    fn via(&mut self) -> String {
        let over = if self.me.tcp { "TCP" } else { "UDP" };
        let branch = self.token();
        format!("SIP/2.0/{over} {};rport;branch=z9hG4bK{branch}", self.me.address)
    }

    fn state(&self, call: Call) -> Option<State> {
        self.dialogs.get(&call).map(|dialog| dialog.state)
    }

    fn set(&mut self, call: Call, state: State) {
        if let Some(dialog) = self.dialogs.get_mut(&call) {
            dialog.state = state;
        }
    }

    /// A request inside a dialog (section 12.2.1.1).
    fn within(&mut self, dialog: &Dialog, method: &str, number: u32) -> Message {
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

    fn ask(&mut self, now: Time, request: Message, to: SocketAddr, call: Option<Call>, out: &mut Out) {
        let client = Client::new(now, request, self.timers);
        out.send.push((to, client.bytes.clone()));
        self.asked.push(Asked { client, to, call });
    }

    fn respond(&mut self, now: Time, call: Call, status: u16, body: &str, out: &mut Out) {
        let contact = self.me.contact();
        let Some(dialog) = self.dialogs.get(&call) else { return };
        let Some(got) = self.got.iter_mut().find(|got| got.call == Some(call)) else { return };
        let mut response = Message::response(&got.server.request, status, &dialog.local_tag);
        if status < 300 {
            response.push("Contact", &contact);
        }
        if !body.is_empty() {
            response = response.with_body("application/sdp", body);
        }
        got.server.respond(now, &response);
        out.send.push((got.from, got.server.bytes.clone()));
        self.reckon();
    }

    /// Sends CANCEL, once a provisional response has come (section 9.1).
    fn cancel(&mut self, now: Time, call: Call, out: &mut Out) {
        let until = now + self.timers.whole();
        let invite =
            self.asked.iter_mut().find(|asked| asked.call == Some(call) && asked.client.is_proceeding());
        let Some(Asked { client, to, .. }) = invite else { return };
        client.give_up_at(until);
        let super::message::Start::Request { uri, .. } = &client.request.start else { return };
        let mut cancel = Message::request("CANCEL", uri);
        for (name, value) in &client.request.fields {
            match name.as_str() {
                "Via" | "Max-Forwards" | "From" | "To" | "Call-ID" | "Route" => cancel.push(name, value),
                "CSeq" => cancel.push("CSeq", &format!("{} CANCEL", client.request.number())),
                _ => {}
            }
        }
        let to = *to;
        self.ask(now, cancel, to, None, out);
    }

    fn bye(&mut self, now: Time, call: Call, out: &mut Out) {
        let Some(mut dialog) = self.dialogs.remove(&call) else { return };
        (dialog.state, dialog.unacknowledged) = (State::Ending, None);
        dialog.number += 1;
        let request = self.within(&dialog, "BYE", dialog.number);
        let to = dialog.next_hop();
        self.dialogs.insert(call, dialog);
        self.ask(now, request, to, Some(call), out);
    }

    fn request(&mut self, now: Time, from: SocketAddr, request: Message, out: &mut Out) {
        let same = |server: &Server| {
            let (one, two) = (server.request.via(), request.via());
            let names = |via: super::message::Via<'_>| (via.branch().to_owned(), via.sent_by.to_owned());
            one.map(names) == two.map(names)
        };
        let method = request.method().to_owned();
        if method == "ACK" {
            let invite = |got: &&mut Got| got.server.request.method() == "INVITE" && same(&got.server);
            if let Some(got) = self.got.iter_mut().find(invite) {
                got.server.acknowledged(now);
            }
            let dialog = self.find(&request);
            if let Some((call, dialog)) = dialog.filter(|(_, dialog)| dialog.unacknowledged.is_some()) {
                dialog.unacknowledged = None;
                out.events.push(Event::Acknowledged { call });
            }
            return;
        }
        let known = self.got.iter().find(|got| got.server.request.method() == method && same(&got.server));
        if let Some(Got { server, from, .. }) = known {
            if server.repeated() {
                out.again(*from, &server.bytes);
            }
            return;
        }
        let mut server = Server::new(request, self.timers);
        let request = &server.request;
        let status = match method.as_str() {
            "INVITE" => return self.invited(now, from, server, out),
            "BYE" => self.ended(request, out),
            "CANCEL" => {
                let invite = self
                    .got
                    .iter()
                    .find(|got| got.server.request.method() == "INVITE" && same_as(got, request));
                let call = invite.map(|got| got.call);
                if let Some(Some(call)) =
                    call.filter(|call| call.is_some_and(|call| self.state(call) == Some(State::Offered)))
                {
                    self.respond(now, call, 487, "", out);
                    self.dialogs.remove(&call);
                    out.events.push(Event::Failed { call, status: 487 });
                }
                if call.is_some() {
                    200
                } else {
                    481
                }
            }
            "OPTIONS" => 200,
            "REGISTER" if self.registrar.is_some() => 200,
            "REGISTER" => 405,
            _ => 501,
        };
        let tag = self.token();
        let response = match (&mut self.registrar, method.as_str()) {
            (Some(registrar), "REGISTER") => registrar.register(now, &server.request, from, &tag),
            _ => Message::response(&server.request, status, &tag).with("Allow", ALLOWED),
        };
        server.respond(now, &response);
        out.send.push((from, server.bytes.clone()));
        self.got.push(Got { server, from, call: None });
    }

    /// A BYE: the status of its response.
    fn ended(&mut self, request: &Message, out: &mut Out) -> u16 {
        let Some((call, dialog)) = self.find(request) else { return 481 };
        let ending = dialog.state == State::Ending;
        self.dialogs.remove(&call);
        if !ending {
            out.events.push(Event::Ended { call, by_other: true });
        }
        200
    }

    fn invited(&mut self, now: Time, from: SocketAddr, mut server: Server, out: &mut Out) {
        let request = &server.request;
        if request.tag("To").is_some() {
            // A change of the session: ours stays as it is.
            let body = self.find(request).map(|(_, dialog)| dialog.body.clone());
            let response = match &body {
                Some(body) => Message::response(request, 200, "")
                    .with("Contact", &self.me.contact())
                    .with_body("application/sdp", body),
                None => Message::response(request, 481, ""),
            };
            server.respond(now, &response);
            out.send.push((from, server.bytes.clone()));
            self.got.push(Got { server, from, call: None });
            return;
        }
        // Repeated after our 2xx, with which its transaction ended.
        let (call_id, tag) =
            (request.field("Call-ID").unwrap_or_default(), request.tag("From").unwrap_or_default());
        let repeated = |dialog: &&Dialog| {
            dialog.call_id == call_id && dialog.remote_tag == tag && dialog.invite == request.number()
        };
        if let Some(dialog) = self.dialogs.values().find(repeated) {
            if !dialog.last.is_empty() {
                out.again(from, &dialog.last);
            }
            return;
        }
        let user = |name| {
            let address = request.field(name).and_then(Address::read);
            address.and_then(|address| address.user()).unwrap_or_default().to_owned()
        };
        let contact = request.field("Contact").and_then(Address::read).map(|contact| contact.uri.to_owned());
        let to = match &request.start {
            super::message::Start::Request { uri, .. } => {
                Address::read(uri).and_then(|uri| uri.user()).map(str::to_owned)
            }
            super::message::Start::Response { .. } => None,
        };
        let (caller, offer) = (user("From"), request.body.clone());
        let local_tag = format!("{:016x}", self.stream.bits());
        let dialog = Dialog {
            state: State::Offered,
            call_id: call_id.to_owned(),
            local: format!("{};tag={local_tag}", request.field("To").unwrap_or_default()),
            remote: request.field("From").unwrap_or_default().to_owned(),
            local_tag,
            remote_tag: tag.to_owned(),
            number: 0,
            invite: request.number(),
            target: contact.unwrap_or_else(|| format!("sip:{from}")),
            routes: request.all("Record-Route").map(str::to_owned).collect(),
            peer: from,
            body: String::new(),
            last: Vec::new(),
            unacknowledged: None,
        };
        let call = self.next_call();
        server.respond(now, &Message::response(request, 100, ""));
        out.send.push((from, server.bytes.clone()));
        self.got.push(Got { server, from, call: Some(call) });
        self.dialogs.insert(call, dialog);
        out.events.push(Event::Incoming { call, from: caller, to: to.unwrap_or_default(), offer });
    }

    /// The dialog to which a request or response of the other side belongs (section 12.2.2).
    fn find(&mut self, message: &Message) -> Option<(Call, &mut Dialog)> {
        let (local, remote) = if message.status().is_none() { ("To", "From") } else { ("From", "To") };
        let call_id = message.field("Call-ID")?;
        let (local, remote) = (message.tag(local)?, message.tag(remote).unwrap_or_default());
        let mut dialogs = self.dialogs.iter_mut();
        let (call, dialog) = dialogs.find(|(_, dialog)| {
            dialog.call_id == call_id && dialog.local_tag == local && dialog.remote_tag == remote
        })?;
        Some((*call, dialog))
    }

    fn response(&mut self, now: Time, response: &Message, out: &mut Out) {
        let Some(branch) = response.via().map(|via| via.branch().to_owned()) else { return };
        let method = response.method().to_owned();
        let mine = |asked: &&mut Asked| {
            asked.client.request.method() == method
                && asked.client.request.via().is_some_and(|via| via.branch() == branch)
        };
        let status = response.status().unwrap_or(0);
        let Some(Asked { client, to, call }) = self.asked.iter_mut().find(mine) else {
            // A repeated 2xx: the ACK was lost.
            if let Some((_, dialog)) = self.find(response).filter(|(_, dialog)| !dialog.last.is_empty()) {
                if method == "INVITE" && (200..300).contains(&status) {
                    let (to, ack) = (dialog.next_hop(), dialog.last.clone());
                    out.again(to, &ack);
                }
            }
            return;
        };
        let (to, call) = (*to, *call);
        match client.receive(now, response) {
            Answer::Repeated if method == "INVITE" && !(200..300).contains(&status) && status >= 300 => {
                out.again(to, &client.bytes);
                return;
            }
            Answer::Repeated => return,
            Answer::Refused => out.send.push((to, client.bytes.clone())),
            Answer::New => {}
        }
        match (method.as_str(), call) {
            ("INVITE", Some(call)) if status < 200 => {
                out.events.push(Event::Progress { call, status });
                if self.state(call) == Some(State::Cancelled) {
                    self.cancel(now, call, out);
                }
            }
            ("INVITE", Some(call)) if status < 300 => self.answered(now, call, response, out),
            (_, _) if status < 200 => {}
            _ => self.finished(&method, call, status, out),
        }
    }

    /// A 2xx to our INVITE: the dialog is set up, and the ACK sent (13.2.2.4).
    fn answered(&mut self, now: Time, call: Call, response: &Message, out: &mut Out) {
        let Some(mut dialog) = self.dialogs.remove(&call) else { return };
        let cancelled = dialog.state == State::Cancelled;
        dialog.state = State::Confirmed;
        response.tag("To").unwrap_or_default().clone_into(&mut dialog.remote_tag);
        response.field("To").unwrap_or_default().clone_into(&mut dialog.remote);
        if let Some(contact) = response.field("Contact").and_then(Address::read) {
            contact.uri.clone_into(&mut dialog.target);
        }
        dialog.routes = response.all("Record-Route").rev().map(str::to_owned).collect();
        let ack = self.within(&dialog, "ACK", dialog.invite);
        dialog.last = ack.bytes();
        out.send.push((dialog.next_hop(), dialog.last.clone()));
        self.dialogs.insert(call, dialog);
        if cancelled {
            // The answer crossed our CANCEL.
            self.bye(now, call, out);
            out.events.push(Event::Failed { call, status: 487 });
        } else {
            out.events.push(Event::Answered { call, answer: response.body.clone() });
        }
    }

    /// A request of ours has had its final response, or none.
    fn finished(&mut self, method: &str, call: Option<Call>, status: u16, out: &mut Out) {
        match (method, call) {
            ("INVITE", Some(call)) => {
                self.dialogs.remove(&call);
                out.events.push(Event::Failed { call, status });
            }
            ("BYE", Some(call)) => {
                self.dialogs.remove(&call);
            }
            ("REGISTER", None) => out.events.push(Event::Registered { status }),
            _ => {}
        }
    }

    /// Removes transactions that are over.
    fn clear(&mut self, now: Time) {
        self.asked.retain(|asked| !asked.client.is_over(now));
        self.got.retain(|got| !got.server.is_over(now));
    }

    fn reckon(&mut self) {
        let asked = self.asked.iter().map(|asked| asked.client.next_wake());
        let got = self.got.iter().map(|got| got.server.next_wake());
        let waiting = self.dialogs.values().filter_map(|dialog| dialog.unacknowledged.as_ref());
        let waiting = waiting.map(|(repeat, until)| repeat.next().min(*until));
        self.next = asked.chain(got).chain(waiting).min().unwrap_or(Time::MAX);
    }
}

impl Dialog {
    /// Where its requests go.
    fn next_hop(&self) -> SocketAddr {
        let host = |uri: &str| Address::read(uri).and_then(|uri| address(uri.host()));
        let route = self.routes.first().and_then(|route| host(route));
        route.or_else(|| host(&self.target)).unwrap_or(self.peer)
    }
}

/// Host and port as numbers; the port is 5060 if not given.
fn address(host: &str) -> Option<SocketAddr> {
    host.parse().ok().or_else(|| Some(SocketAddr::new(host.parse().ok()?, 5060)))
}

fn same_as(got: &Got, cancel: &Message) -> bool {
    let branch = |message: &Message| message.via().map(|via| via.branch().to_owned());
    branch(&got.server.request) == branch(cancel)
}

/// Why a call failed, in words: the phrase of a status.
pub fn reason(status: u16) -> &'static str {
    phrase(status)
}

const ALLOWED: &str = "INVITE, ACK, BYE, CANCEL, OPTIONS, REGISTER";
