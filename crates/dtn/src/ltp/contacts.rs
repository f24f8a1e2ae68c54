//! Deadlines of answers between nodes that can communicate only during contacts.

use super::AnswerDeadlines;
use crate::contacts::{Node, Plan};
use bentpipe_core::{Span, Time};

/// Deadlines for answers from a peer. An answer can leave only during a contact from the peer's
/// node.
pub struct ContactDeadlines<'a> {
    /// The contact plan.
    pub plan: &'a Plan,
    /// The node of the engine.
    pub from: Node,
    /// The node of the engine's peer.
    pub to: Node,
    /// One-way light time of segments that leave now.
    pub delay: Span,
    /// Time allowed for an answer in addition to light times and closed contacts. It covers
    /// transmission, queues and processing.
    pub margin: Span,
}

impl AnswerDeadlines for ContactDeadlines<'_> {
    fn deadline(&self, _peer: u64, sent: Time) -> Time {
        let received = sent + self.delay;
        let contacts =
            self.plan.outgoing(self.to, received).iter().map(|index| &self.plan.contacts()[*index as usize]);
        let return_contacts = contacts.filter(|contact| contact.to == self.from);
        let answers = return_contacts.map(|contact| received.max(contact.start) + contact.delay);
        answers.min().map_or(Time::MAX, |answer| answer + self.margin)
    }
}
