//! The agenda of an exchange: the actions of its calls, by time.
//!
//! Almost every entry is the next packet of a talk spurt, one packet duration after the present
//! one. Such entries are added in order of time and stored in a queue. All others are in a tree.
//! The earlier of the two first entries is the next one, so no tree is searched for a packet of
//! speech.

use bentpipe_core::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// An action of a call at a certain time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Due {
    /// The called telephone is answered.
    Answer,
    /// The caller gives up waiting for an answer.
    GiveUp,
    /// The caller hangs up, because the holding time is over.
    HangUp,
    /// The next packet of speech is sent.
    Speech,
}

/// An entry: the time, the call and the action.
pub type Entry = (Time, u32, Due);

/// The entries of all calls, in order.
pub struct Agenda {
    /// Duration of a packet of speech: entries up to this far ahead may be queued.
    packet: Span,
    /// Entries that were added in their order.
    queue: VecDeque<Entry>,
    /// All other entries, by time.
    others: BTreeSet<Entry>,
}

impl Agenda {
    /// Creates an empty agenda of calls with packets of this duration.
    pub fn new(packet: Span) -> Agenda {
        Agenda { packet, queue: VecDeque::new(), others: BTreeSet::new() }
    }

    /// Adds an entry; `now` is the present time.
    pub fn add(&mut self, now: Time, entry: Entry) {
        // An entry further ahead would keep all entries after it out of the queue.
        let near = entry.2 == Due::Speech && entry.0 <= now + self.packet;
        if near && self.queue.back().is_none_or(|last| *last < entry) {
            self.queue.push_back(entry);
        } else {
            self.others.insert(entry);
        }
    }

    /// Removes and returns the first entry that is due at `now`.
    pub fn take(&mut self, now: Time) -> Option<Entry> {
        let (queued, other) = (self.queue.front().copied(), self.others.first().copied());
        let first = earlier(queued, other).filter(|(time, ..)| *time <= now)?;
        match queued == Some(first) {
            true => self.queue.pop_front(),
            false => self.others.pop_first(),
        }
    }

    /// Returns the time of the first entry; `Time::MAX` if there is none.
    pub fn next(&self) -> Time {
        let queued = self.queue.front().map_or(Time::MAX, |(time, ..)| *time);
        queued.min(self.others.first().map_or(Time::MAX, |(time, ..)| *time))
    }

    /// Removes an entry other than a packet of speech.
    pub fn remove(&mut self, entry: &Entry) {
        self.others.remove(entry);
    }

    /// Removes all entries of a call.
    pub fn remove_call(&mut self, call: u32) {
        self.queue.retain(|(_, other, _)| *other != call);
        self.others.retain(|(_, other, _)| *other != call);
    }
}

/// Returns the earlier of two entries; either may be missing.
fn earlier(one: Option<Entry>, other: Option<Entry>) -> Option<Entry> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    /// Entries are taken in the order of a single sorted set, while calls begin, pause and end at
    /// random.
    #[test]
    fn entries_are_taken_in_the_order_of_a_sorted_map() {
        let packet = Span::from_millis(20);
        let (mut agenda, mut tree) = (Agenda::new(packet), BTreeSet::new());
        let mut random = Streams::new(1, 0).stream("agenda");
        for call in 0..200u32 {
            let entry = (Time::ZERO + Span::from_millis(u64::from(call) / 3), call, Due::Speech);
            agenda.add(Time::ZERO, entry);
            tree.insert(entry);
        }
        let mut queued = 0;
        for _ in 0..20_000 {
            assert_eq!(agenda.next(), tree.first().map_or(Time::MAX, |entry| entry.0));
            let Some(first) = tree.pop_first() else { break };
            let now = first.0;
            assert_eq!(agenda.take(now), Some(first));
            if random.chance(0.001) {
                agenda.remove_call(first.1);
                tree.retain(|entry| entry.1 != first.1);
                continue;
            }
            let ahead = if random.chance(0.05) { packet * 40 } else { packet };
            let what = if random.chance(0.02) { Due::HangUp } else { Due::Speech };
            let entry = (now + ahead, first.1, what);
            agenda.add(now, entry);
            tree.insert(entry);
            queued = queued.max(agenda.queue.len());
        }
        assert!(queued > 100, "most entries are queued: {queued}");
        assert_eq!(agenda.take(Time::ZERO), None);
    }
}
