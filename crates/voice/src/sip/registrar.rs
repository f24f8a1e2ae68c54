//! The registrar (RFC 3261, section 10.3): the telephones at which registered users can be called.

use super::message::{Address, Message};
use bentpipe_core::{Span, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Default duration of a registration in seconds, if the request has none (section 10.2.1.1).
const DEFAULT_DURATION: u32 = 3600;
/// Maximum number of users of a registrar.
const MAX_USERS: usize = 10_000;

/// The telephone at which a user has registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// The URI of the telephone.
    pub contact: String,
    /// The address from which the telephone registered.
    pub address: SocketAddr,
    until: Time,
}

/// The users and their telephones. Each user has one telephone: the one that registered last.
#[derive(Clone, Debug, Default)]
pub struct Registrar {
    bindings: BTreeMap<String, Binding>,
}

impl Registrar {
    /// Handles a REGISTER from `from` and returns the response.
    pub fn register(&mut self, now: Time, request: &Message, from: SocketAddr, tag: &str) -> Message {
        self.bindings.retain(|_, binding| binding.until > now);
        let refuse = |status| Message::response(request, status, tag);
        let user = request.field("To").and_then(Address::read).and_then(|to| to.user());
        let Some(user) = user else { return refuse(404) };
        let common: Option<u32> = request.field("Expires").and_then(|value| value.parse().ok());
        for contact in request.all("Contact") {
            if contact == "*" {
                self.bindings.remove(user);
                continue;
            }
            let Some(contact) = Address::read(contact) else { return refuse(400) };
            let own = contact.parameter("expires").and_then(|value| value.parse().ok());
            match own.or(common).unwrap_or(DEFAULT_DURATION) {
                0 => {
                    self.bindings.remove(user);
                }
                _ if self.bindings.len() >= MAX_USERS => return refuse(503),
                seconds => {
                    let until = now + Span::from_secs(u64::from(seconds));
                    let contact = contact.uri.to_owned();
                    self.bindings.insert(user.to_owned(), Binding { contact, address: from, until });
                }
            }
        }
        let mut response = refuse(200);
        if let Some(Binding { contact, until, .. }) = self.bindings.get(user) {
            let seconds = until.since(now).as_nanos() / 1_000_000_000;
            response.push("Contact", &format!("<{contact}>;expires={seconds}"));
        }
        response
    }

    /// Returns the telephone of a user, if one is registered.
    pub fn find(&self, now: Time, user: &str) -> Option<&Binding> {
        self.bindings.get(user).filter(|binding| binding.until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_lasts_until_it_expires_or_is_removed() {
        let mut registrar = Registrar::default();
        let address: SocketAddr = "192.0.2.4:5060".parse().unwrap();
        let request = |contact: &str| {
            Message::request("REGISTER", "sip:example.org")
                .with("Via", "SIP/2.0/UDP 192.0.2.4;branch=z9hG4bK1")
                .with("From", "<sip:bob@example.org>;tag=1")
                .with("To", "<sip:bob@example.org>")
                .with("Call-ID", "1")
                .with("CSeq", "1 REGISTER")
                .with("Contact", contact)
        };
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let response = registrar.register(at(0), &request("<sip:bob@192.0.2.4>;expires=60"), address, "x");
        assert_eq!(response.status(), Some(200));
        assert_eq!(response.field("Contact"), Some("<sip:bob@192.0.2.4>;expires=60"));
        assert_eq!(registrar.find(at(59), "bob").unwrap().address, address);
        assert_eq!(registrar.find(at(60), "bob"), None);
        assert_eq!(registrar.find(at(0), "eve"), None);
        registrar.register(at(0), &request("<sip:bob@192.0.2.4>"), address, "x");
        assert!(registrar.find(at(3599), "bob").is_some());
        registrar.register(at(1), &request("*"), address, "x");
        assert_eq!(registrar.find(at(2), "bob"), None);
    }
}
