//! The event queue of a stage in which many things are on their way for some milliseconds each.
//!
//! A calendar queue (R. Brown, "Calendar queues", Communications of the ACM 31(10), 1988) with fixed days: entries of the next
//! [`DAYS`] days of 2^[`DAY`] ns are in lists by day, and only those of the first day that has any are in order. Adding and removing an
//! entry then takes the same time however many there are. What is farther ahead waits in a heap. Equal times come out in the order of their
//! numbers.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time and number in one, so that two entries compare at once.
type Entry = u128;

/// Binary logarithm of a day in nanoseconds: 8.2 us.
const DAY: u32 = 13;
/// Number of days in the year: 34 ms, longer than light takes between two satellites in low orbits.
const DAYS: usize = 64 * 64;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// An entry of a day that has not come, and the next one of its day.
struct Node {
    entry: Entry,
    next: u32,
}

/// Times with numbers, of which the earliest is known.
pub struct Calendar {
    /// The entries of day `day`, the earliest one last. Empty only if all days are.
    today: Vec<Entry>,
    day: u64,
    /// The day of the last entry that was removed: the first of the year.
    first: u64,
    /// First node of each day's list, by the day modulo their number.
    lists: Vec<u32>,
    /// A bit for each day with a list, and one for each word of these.
    filled: [u64; 64],
    words: u64,
    nodes: Vec<Node>,
    /// First unused node.
    unused: u32,
    far: BinaryHeap<Reverse<Entry>>,
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar {
            today: Vec::new(),
            day: 0,
            first: 0,
            lists: vec![NONE; DAYS],
            filled: [0; 64],
            words: 0,
            nodes: Vec::new(),
            unused: NONE,
            far: BinaryHeap::new(),
        }
    }
}

fn day_of(entry: Entry) -> u64 {
    (entry >> (32 + DAY)) as u64
}

impl Calendar {
    /// The earliest time, and its number.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let entry = self.earliest()?;
        Some((Time::from_nanos((entry >> 32) as u64), entry as u32))
    }

    /// The number of the entry of the first day that comes out after `ahead` others of it, if there are as many; entries that are far
    /// ahead are not counted.
    #[inline]
    pub fn coming(&self, ahead: usize) -> Option<u32> {
        let at = self.today.len().checked_sub(ahead + 1)?;
        Some(self.today[at] as u32)
    }

    #[inline]
    fn earliest(&self) -> Option<Entry> {
        match (self.today.last(), self.far.peek()) {
            (Some(near), None) => Some(*near),
            (Some(near), Some(Reverse(far))) => Some(*near.min(far)),
            (None, far) => far.map(|Reverse(far)| *far),
        }
    }

    /// Adds an entry.
    #[inline]
    pub fn add(&mut self, time: Time, number: u32) {
        let entry = Entry::from(time.as_nanos()) << 32 | Entry::from(number);
        let day = day_of(entry);
        if day.wrapping_sub(self.first) >= DAYS as u64 {
            self.far.push(Reverse(entry));
        } else if self.today.is_empty() {
            self.day = day;
            self.today.push(entry);
        } else if day > self.day {
            self.list(day, entry);
        } else if day == self.day {
            let at = self.today.partition_point(|other| *other > entry);
            self.today.insert(at, entry);
        } else {
            while let Some(later) = self.today.pop() {
                self.list(self.day, later);
            }
            self.day = day;
            self.today.push(entry);
        }
    }

    /// Removes and returns the earliest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, u32)> {
        let entry = self.earliest()?;
        self.first = self.first.max(day_of(entry));
        if self.today.last() == Some(&entry) {
            self.today.pop();
            if self.today.is_empty() {
                self.turn();
            }
        } else {
            self.far.pop();
        }
        Some((Time::from_nanos((entry >> 32) as u64), entry as u32))
    }

    /// Adds an entry to the list of its day.
    #[inline]
    fn list(&mut self, day: u64, entry: Entry) {
        let at = day as usize % DAYS;
        let node = Node { entry, next: self.lists[at] };
        self.lists[at] = match self.unused {
            NONE => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
            unused => {
                self.unused = std::mem::replace(&mut self.nodes[unused as usize], node).next;
                unused
            }
        };
        self.filled[at / 64] |= 1 << (at % 64);
        self.words |= 1 << (at / 64);
    }

    /// Turns to the next day that has entries.
    #[inline]
    fn turn(&mut self) {
        let from = self.first as usize % DAYS;
        let Some(at) = self.filled_from(from) else { return };
        self.day = self.first + ((at + DAYS - from) % DAYS) as u64;
        self.filled[at / 64] &= !(1 << (at % 64));
        self.words &= !(u64::from(self.filled[at / 64] == 0) << (at / 64));
        let mut next = std::mem::replace(&mut self.lists[at], NONE);
        while next != NONE {
            let node = &mut self.nodes[next as usize];
            self.today.push(node.entry);
            let after = std::mem::replace(&mut node.next, self.unused);
            self.unused = std::mem::replace(&mut next, after);
        }
        if self.today.len() > 1 {
            self.today.sort_unstable_by_key(|entry| Reverse(*entry));
        }
    }

    /// The first day with a list, from this one on and around.
    #[inline]
    fn filled_from(&self, from: usize) -> Option<usize> {
        let word = from / 64;
        let here = self.filled[word] & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let behind = self.words & (u64::MAX << word) << 1;
        let word = match (behind, self.words) {
            (0, 0) => return None,
            (0, all) => all.trailing_zeros() as usize,
            (behind, _) => behind.trailing_zeros() as usize,
        };
        Some(word * 64 + self.filled[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Spans within a day, within a year, and beyond.
    fn ahead() -> impl Strategy<Value = u64> {
        prop_oneof![4 => 0u64..3 << DAY, 4 => 0..(DAYS as u64) << DAY, 1 => 0..(3 * DAYS as u64) << DAY]
    }

    proptest! {
        #[test]
        fn comes_out_in_order(
            actions in prop::collection::vec(
                prop_oneof![3 => (ahead(), 0u32..4).prop_map(Some), 2 => Just(None)], 1..600,
            ),
        ) {
            let (mut calendar, mut model, mut now) = (Calendar::default(), Vec::new(), 0);
            for action in actions {
                match action {
                    Some((ahead, number)) => {
                        calendar.add(Time::from_nanos(now + ahead), number);
                        model.push((Time::from_nanos(now + ahead), number));
                        model.sort_unstable();
                    }
                    None => {
                        let first = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(calendar.pop(), first);
                        now = first.map_or(now, |(time, _)| time.as_nanos());
                    }
                }
                prop_assert_eq!(calendar.first(), model.first().copied());
                for ahead in 0..3 {
                    if let (true, Some(coming)) = (calendar.far.is_empty(), calendar.coming(ahead)) {
                        prop_assert_eq!(Some(coming), model.get(ahead).map(|(_, number)| *number));
                    }
                }
            }
            for first in model {
                prop_assert_eq!(calendar.pop(), Some(first));
            }
            prop_assert_eq!(calendar.pop(), None);
        }
    }
}
