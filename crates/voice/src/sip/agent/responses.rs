//! The agent as a client: handling of responses to its requests (RFC 3261, sections 8.1.3 and
//! 13.2.2).

use super::super::message::{Address, Message};
use super::super::transaction::Answer;
use super::dialog::State;
use super::events::{Call, Event, Out};
use super::{Agent, ClientTransaction};
use bentpipe_core::Time;

impl Agent {
    /// Handles a response that has arrived.
    pub(super) fn response(&mut self, now: Time, response: &Message, out: &mut Out) {
        let Some(branch) = response.via().map(|via| via.branch().to_owned()) else { return };
        let method = response.method().to_owned();
        let mine = |transaction: &&mut ClientTransaction| {
            transaction.branch == branch && transaction.client.request.method() == method
        };
        let status = response.status().unwrap_or(0);
        let Some(ClientTransaction { client, to, call, .. }) = self.client_transactions.iter_mut().find(mine)
        else {
            // The 2xx was retransmitted because the ACK was lost.
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

    /// Handles a 2xx to an INVITE: establishes the dialog and sends the ACK (section 13.2.2.4).
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
        let ack = self.dialog_request(&dialog, "ACK", dialog.invite);
        dialog.last = ack.bytes();
        out.send.push((dialog.next_hop(), dialog.last.clone()));
        self.dialogs.insert(call, dialog);
        if cancelled {
            // The answer crossed the CANCEL.
            self.bye(now, call, out);
            out.events.push(Event::Failed { call, status: 487 });
        } else {
            out.events.push(Event::Answered { call, answer: response.body.clone() });
        }
    }

    /// Handles the final response to a request, or its time-out.
    pub(super) fn finished(&mut self, method: &str, call: Option<Call>, status: u16, out: &mut Out) {
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
}
