//! Deadlines of answers if both directions are open only during contacts.

use super::AnswerDeadlines;
use crate::contacts::{Node, Plan};
use bentpipe_core::{Span, Time};

/// Deadlines of an engine at one node for answers of its peer at another, by the contacts between
/// them.
pub struct ContactDeadlines<'a> {
    /// The contact plan.
    pub plan: &'a Plan,
    /// The node of the engine.
    pub from: Node,
    /// The node of its peer.
    pub to: Node,
    /// Light time of segments that leave now.
    pub delay: Span,
    /// Time that an answer may take beyond light times and closed contacts: transmission, queues,
    /// processing.
    pub margin: Span,
}

impl AnswerDeadlines for ContactDeadlines<'_> {
    fn deadline(&self, _peer: u64, sent: Time) -> Time {
        let there = sent + self.delay;
        let contacts =
            self.plan.outgoing(self.to, there).iter().map(|index| &self.plan.contacts()[*index as usize]);
        let back = contacts.filter(|contact| contact.to == self.from);
        let answers = back.map(|contact| there.max(contact.start) + contact.delay);
        answers.min().map_or(Time::MAX, |answer| answer + self.margin)
    }
}
