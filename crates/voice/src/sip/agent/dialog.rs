//! A dialog (RFC 3261, section 12): the shared state of a call between its two parties.

use super::super::message::{Address, Message};
use super::super::transaction::Retransmission;
use bentpipe_core::Time;
use std::net::SocketAddr;

/// State of a call at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// The caller has sent an INVITE and has no final response.
    Inviting,
    /// The caller has given up: CANCEL was sent, or will be once a provisional response arrives.
    Cancelled,
    /// The callee has not answered yet.
    Offered,
    /// The call was answered: both parties can talk.
    Confirmed,
    /// The callee has hung up before the ACK arrived, and may not send BYE yet (section 15).
    Leaving,
    /// This end has sent BYE (section 15).
    Ending,
}

/// A call and its dialog (section 12).
pub(super) struct Dialog {
    pub state: State,
    pub call_id: String,
    /// Value of From in requests that this end sends.
    pub local: String,
    /// Value of To in requests that this end sends; it has a tag once the other end has sent one.
    pub remote: String,
    pub local_tag: String,
    /// Tag of the other end; empty until it is known.
    pub remote_tag: String,
    /// CSeq number of the last request that this end sent.
    pub number: u32,
    /// CSeq number of the INVITE that began the call.
    pub invite: u32,
    /// URI at which the other end accepts requests (the remote target).
    pub target: String,
    /// Proxies that requests inside the dialog pass (the route set).
    pub routes: Vec<String>,
    /// Source address of the other end's last message, or the address to which the INVITE was sent.
    pub peer: SocketAddr,
    /// Session description of this end.
    pub body: String,
    /// The last ACK (caller) or 2xx (callee). This end retransmits it when the other end
    /// retransmits its message.
    pub last: Vec<u8>,
    /// Retransmission of the 2xx until the ACK arrives, and the time at which the callee gives up
    /// (section 13.3.1.4).
    pub unacknowledged: Option<(Retransmission, Time)>,
}

impl Dialog {
    /// Returns the address for requests inside the dialog: the first proxy, otherwise the remote
    /// target, otherwise the address of the other end's last message.
    pub fn next_hop(&self) -> SocketAddr {
        let host = |uri: &str| Address::read(uri).and_then(|uri| address(uri.host()));
        let route = self.routes.first().and_then(|route| host(route));
        route.or_else(|| host(&self.target)).unwrap_or(self.peer)
    }

    /// Returns true if a message with this Call-ID, this end's tag `local` and the other end's tag
    /// `remote` belongs to the dialog (section 12.2.2).
    pub fn owns(&self, call_id: &str, local: &str, remote: &str) -> bool {
        self.call_id == call_id && self.local_tag == local && self.remote_tag == remote
    }

    /// Returns true if an INVITE is the one that began this call.
    pub fn began_with(&self, invite: &Message) -> bool {
        self.call_id == invite.field("Call-ID").unwrap_or_default()
            && self.remote_tag == invite.tag("From").unwrap_or_default()
            && self.invite == invite.number()
    }
}

/// Returns address and port of a numeric host; the port is 5060 if missing.
fn address(host: &str) -> Option<SocketAddr> {
    host.parse().ok().or_else(|| Some(SocketAddr::new(host.parse().ok()?, 5060)))
}
