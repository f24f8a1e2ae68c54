//! The agent as a server: handling of arriving requests (RFC 3261, sections 8.2, 9.2, 13.3 and
//! 15.1.2).

use super::super::message::{Address, Message, Start};
use super::super::transaction::Server;
use super::dialog::{Dialog, State};
use super::events::{Call, Event, Out};
use super::{transaction_key, Agent, ServerTransaction, TransactionKey};
use bentpipe_core::Time;
use std::net::SocketAddr;

/// Methods that the agent supports, for the header field Allow.
const ALLOWED: &str = "INVITE, ACK, BYE, CANCEL, OPTIONS, REGISTER";

impl Agent {
    /// Handles a request that has arrived.
    pub(super) fn request(&mut self, now: Time, from: SocketAddr, request: Message, out: &mut Out) {
        let key = transaction_key(&request);
        let method = request.method().to_owned();
        if method == "ACK" {
            let invite = |transaction: &&mut ServerTransaction| {
                transaction.key == key && transaction.server.request.method() == "INVITE"
            };
            if let Some(transaction) = self.server_transactions.iter_mut().find(invite) {
                transaction.server.acknowledged(now);
            }
            let dialog = self.find(&request);
            if let Some((call, dialog)) = dialog.filter(|(_, dialog)| dialog.unacknowledged.is_some()) {
                dialog.unacknowledged = None;
                match dialog.state {
                    State::Leaving => self.bye(now, call, out),
                    _ => out.events.push(Event::Acknowledged { call }),
                }
            }
            return;
        }
        let known = self
            .server_transactions
            .iter()
            .find(|transaction| transaction.key == key && transaction.server.request.method() == method);
        if let Some(ServerTransaction { server, from, .. }) = known {
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
                let invite = self.server_transactions.iter().find(|transaction| {
                    same_branch(&transaction.key, &key) && transaction.server.request.method() == "INVITE"
                });
                let call = invite.map(|transaction| transaction.call);
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
        self.server_transactions.push(ServerTransaction::new(server, from, None));
    }

    /// Handles a BYE. Returns the status of its response.
    fn ended(&mut self, request: &Message, out: &mut Out) -> u16 {
        let Some((call, dialog)) = self.find(request) else { return 481 };
        let ending = matches!(dialog.state, State::Leaving | State::Ending);
        self.dialogs.remove(&call);
        if !ending {
            out.events.push(Event::Ended { call, by_other: true });
        }
        200
    }

    /// Handles an INVITE: a new call, a change of a call's session, or a retransmission.
    fn invited(&mut self, now: Time, from: SocketAddr, mut server: Server, out: &mut Out) {
        let request = &server.request;
        if request.tag("To").is_some() {
            // The INVITE changes the session of a call. This end's session description remains
            // unchanged.
            let body = self.find(request).map(|(_, dialog)| dialog.body.clone());
            let response = match &body {
                Some(body) => Message::response(request, 200, "")
                    .with("Contact", &self.identity.contact())
                    .with_body("application/sdp", body),
                None => Message::response(request, 481, ""),
            };
            server.respond(now, &response);
            out.send.push((from, server.bytes.clone()));
            self.server_transactions.push(ServerTransaction::new(server, from, None));
            return;
        }
        // The INVITE is a retransmission after the 2xx, which ended the transaction.
        if let Some(dialog) = self.dialogs.values().find(|dialog| dialog.began_with(request)) {
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
            Start::Request { uri, .. } => Address::read(uri).and_then(|uri| uri.user()).map(str::to_owned),
            Start::Response { .. } => None,
        };
        let (caller, offer) = (user("From"), request.body.clone());
        let local_tag = format!("{:016x}", self.stream.bits());
        let dialog = Dialog {
            state: State::Offered,
            call_id: request.field("Call-ID").unwrap_or_default().to_owned(),
            local: format!("{};tag={local_tag}", request.field("To").unwrap_or_default()),
            remote: request.field("From").unwrap_or_default().to_owned(),
            local_tag,
            remote_tag: request.tag("From").unwrap_or_default().to_owned(),
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
        self.server_transactions.push(ServerTransaction::new(server, from, Some(call)));
        self.dialogs.insert(call, dialog);
        out.events.push(Event::Incoming { call, from: caller, to: to.unwrap_or_default(), offer });
    }

    /// Finds the dialog to which a request or a response of the other end belongs (section 12.2.2).
    pub(super) fn find(&mut self, message: &Message) -> Option<(Call, &mut Dialog)> {
        let (local, remote) = if message.status().is_none() { ("To", "From") } else { ("From", "To") };
        let call_id = message.field("Call-ID")?;
        let (local, remote) = (message.tag(local)?, message.tag(remote).unwrap_or_default());
        let mut dialogs = self.dialogs.iter_mut();
        let (call, dialog) = dialogs.find(|(_, dialog)| dialog.owns(call_id, local, remote))?;
        Some((*call, dialog))
    }
}

/// Returns true if a CANCEL refers to a request, that is, if both have the same branch (section
/// 9.1).
fn same_branch(request: &TransactionKey, cancel: &TransactionKey) -> bool {
    request.as_ref().map(|(branch, _)| branch) == cancel.as_ref().map(|(branch, _)| branch)
}
