//! The event queue of a stage in which many things are on their way for some milliseconds each.
//!
//! A calendar queue (R. Brown, "Calendar queues", Communications of the ACM 31(10), 1988) with
//! fixed days of two sizes: entries of the next [`MONTHS`] months are in lists by month, those of
//! the present month in lists by day, and only those of the first day that has any are in order.
//! Adding and removing an entry then takes the same time however many there are. Lists grow at
//! their ends and are read from one end to the other, so that what is used of them stays in near
//! caches. What is farther ahead waits in a heap. Equal times come out in the order of their
//! numbers, and those of one number in the order in which they were added.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time, number and item in one. Time and number together are its [`key`].
type Entry = u128;

/// Binary logarithm of a day in nanoseconds: 8.2 us.
const DAY: u32 = 13;
/// Binary logarithm of the number of days in a month, which takes 0.5 ms.
const MONTH: u32 = 6;
/// Number of months in the year: 34 ms, longer than light takes between two satellites in low
/// orbits.
const MONTHS: u64 = 64;
/// Number of entries up to which a month is put in order as a whole.
const FEW: usize = 8;
/// Number of entries of today that are moved at once to make room for another.
const MOVED: usize = 32;

/// An entry of a [`Calendar`]: something that happens at a certain time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    /// The time at which it happens.
    pub at: Time,
    /// Its place among entries of the same time: lower numbers come first.
    pub number: u32,
    /// What its owner needs to handle it, such as the place of a packet. It has no effect on the
    /// order.
    pub item: u32,
}

impl Due {
    #[inline]
    fn of(entry: Entry) -> Due {
        Due { at: Time::from_nanos((entry >> 64) as u64), number: (entry >> 32) as u32, item: entry as u32 }
    }

    #[inline]
    fn entry(self) -> Entry {
        Entry::from(self.at.as_nanos()) << 64 | Entry::from(self.number) << 32 | Entry::from(self.item)
    }
}

#[inline]
fn key(entry: Entry) -> u128 {
    entry >> 32
}

#[inline]
fn day_of(entry: Entry) -> u64 {
    (entry >> (64 + DAY)) as u64
}

/// Times with numbers, of which the earliest is known.
pub struct Calendar {
    /// The entries up to the end of day `day`, the earliest one last. Empty only if all days are.
    today: Vec<Entry>,
    day: u64,
    turned: bool,
    /// The month of the last entry that was removed: the first of the year.
    first: u64,
    /// The later entries of the month of `day`, by the day modulo their number, and a bit for each
    /// day that has any.
    days: Vec<Vec<Entry>>,
    filled: u64,
    /// The entries of later months, in the same way.
    months: Vec<Vec<Entry>>,
    ahead: u64,
    /// Keys, the count of entries that were here before, and items.
    far: BinaryHeap<Reverse<(u128, u64, u32)>>,
    count: u64,
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar {
            today: Vec::new(),
            day: 0,
            turned: false,
            first: 0,
            days: vec![Vec::new(); 1 << MONTH],
            filled: 0,
            months: vec![Vec::new(); MONTHS as usize],
            ahead: 0,
            far: BinaryHeap::new(),
            count: 0,
        }
    }
}

impl Calendar {
    /// Returns the entry that comes out next; `None` if the calendar is empty.
    #[inline]
    pub fn first(&self) -> Option<Due> {
        match (self.today.last(), self.far.peek()) {
            (Some(near), None) => Some(Due::of(*near)),
            (near, Some(Reverse((far, _, item)))) => match near {
                Some(near) if key(*near) < *far => Some(Due::of(*near)),
                _ => Some(Due::of(far << 32 | Entry::from(*item))),
            },
            (None, None) => None,
        }
    }

    /// Returns the entries of the first day that has any, from the latest to the earliest.
    #[inline]
    pub fn coming(&self) -> impl DoubleEndedIterator<Item = Due> + ExactSizeIterator + '_ {
        self.today.iter().copied().map(Due::of)
    }

    /// Returns true if the last removal emptied a day, so that the entries that are
    /// [`coming`](Self::coming) now were put in order.
    #[inline]
    pub fn has_turned(&self) -> bool {
        self.turned
    }

    /// Adds an entry, in constant time unless it is farther ahead than a year.
    #[inline]
    pub fn add(&mut self, due: Due) {
        let entry = due.entry();
        let day = day_of(entry);
        if (day >> MONTH).wrapping_sub(self.first) >= MONTHS {
            self.far.push(Reverse((key(entry), self.count, due.item)));
            self.count += 1;
        } else if self.today.is_empty() {
            self.day = day;
            self.today.push(entry);
        } else if day > self.day {
            self.put(day, entry);
        } else {
            self.join(entry);
        }
    }

    /// Adds an entry to those of today.
    fn join(&mut self, entry: Entry) {
        let mut at = self.today.partition_point(|other| key(*other) > key(entry));
        let end = self.today.last().map_or(0, |first| day_of(*first));
        if self.today.len() - at > MOVED && end < self.day {
            self.shorten(end);
            if day_of(entry) > end {
                return self.put(day_of(entry), entry);
            }
            at = self.today.partition_point(|other| key(*other) > key(entry));
        }
        self.today.insert(at, entry);
    }

    /// Makes today end with an earlier day.
    #[cold]
    fn shorten(&mut self, end: u64) {
        let before = std::mem::replace(&mut self.day, end) >> MONTH;
        if before != end >> MONTH {
            while self.filled != 0 {
                let at = self.filled.trailing_zeros() as usize;
                self.filled &= self.filled - 1;
                let mut list = std::mem::take(&mut self.days[at]);
                list.drain(..).for_each(|entry| self.put(day_of(entry), entry));
                self.days[at] = list;
            }
        }
        let later = self.today.partition_point(|entry| day_of(*entry) > end);
        for at in (0..later).rev() {
            let entry = self.today[at];
            self.put(day_of(entry), entry);
        }
        self.today.drain(..later);
    }

    /// Removes the entry that comes out next, and returns it.
    #[inline]
    pub fn pop(&mut self) -> Option<Due> {
        let first = self.first()?;
        let entry = first.entry();
        self.first = self.first.max(day_of(entry) >> MONTH);
        self.turned = false;
        if self.today.last() == Some(&entry) {
            self.today.pop();
            self.turned = self.today.is_empty();
            if self.turned {
                self.turn();
            }
        } else {
            self.far.pop();
        }
        Some(first)
    }

    /// Adds an entry of a later day to the list of its day or month.
    #[inline]
    fn put(&mut self, day: u64, entry: Entry) {
        let month = day >> MONTH;
        if month == self.day >> MONTH {
            let at = day % (1 << MONTH);
            self.days[at as usize].push(entry);
            self.filled |= 1 << at;
        } else {
            let at = month % MONTHS;
            self.months[at as usize].push(entry);
            self.ahead |= 1 << at;
        }
    }

    /// Turns to the next day that has entries.
    #[inline]
    fn turn(&mut self) {
        if self.filled == 0 {
            if self.ahead == 0 {
                return;
            }
            self.turn_month();
        }
        if self.filled != 0 {
            let at = self.filled.trailing_zeros();
            self.filled &= self.filled - 1;
            self.day = self.day >> MONTH << MONTH | u64::from(at);
            std::mem::swap(&mut self.today, &mut self.days[at as usize]);
        }
        if self.today.len() > 1 {
            self.today.reverse();
            self.today.sort_by_key(|entry| Reverse(key(*entry)));
        }
    }

    /// Turns to the next month that has entries, and distributes them among its days; a few are all
    /// of today.
    fn turn_month(&mut self) {
        let from = (self.first % MONTHS) as u32;
        let after = self.ahead.rotate_right(from).trailing_zeros();
        let at = (from + after) as usize % MONTHS as usize;
        self.ahead &= !(1 << at);
        let month = self.first + u64::from(after);
        self.day = ((month + 1) << MONTH) - 1;
        if self.months[at].len() <= FEW {
            return std::mem::swap(&mut self.today, &mut self.months[at]);
        }
        let mut list = std::mem::take(&mut self.months[at]);
        for entry in list.drain(..) {
            let at = day_of(entry) % (1 << MONTH);
            self.days[at as usize].push(entry);
            self.filled |= 1 << at;
        }
        self.months[at] = list;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Spans within days, months, a year, and beyond, of which some are often the same.
    fn ahead() -> impl Strategy<Value = u64> {
        prop_oneof![
            1 => Just(0),
            4 => 0u64..3 << DAY,
            4 => 0u64..3 << (DAY + MONTH),
            4 => (0..MONTHS << MONTH).prop_map(|day| day << DAY),
            4 => 0..MONTHS << (DAY + MONTH),
            1 => (0..(3 * MONTHS) << MONTH).prop_map(|day| day << DAY),
        ]
    }

    proptest! {
        #[test]
        fn comes_out_in_order(
            actions in prop::collection::vec(
                prop_oneof![3 => (ahead(), 0u32..4, 1usize..60).prop_map(Some), 2 => Just(None)], 1..600,
            ),
        ) {
            let (mut calendar, mut model, mut now) = (Calendar::default(), Vec::new(), 0);
            for (item, action) in (0..).zip(actions) {
                match action {
                    Some((ahead, number, burst)) => {
                        // Now and then there are many at about the same time.
                        for more in 0..if burst > 55 { burst as u64 } else { 1 } {
                            let due = Due { at: Time::from_nanos(now + ahead + more * 100), number, item };
                            calendar.add(due);
                            model.push(due);
                        }
                        model.sort_by_key(|due| (due.at, due.number));
                    }
                    None => {
                        let first = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(calendar.pop(), first);
                        now = first.map_or(now, |due| due.at.as_nanos());
                    }
                }
                prop_assert_eq!(calendar.first(), model.first().copied());
                if calendar.far.is_empty() {
                    let coming: Vec<Due> = calendar.coming().collect();
                    prop_assert!(coming.iter().rev().eq(&model[..coming.len()]));
                }
            }
            for first in model {
                prop_assert_eq!(calendar.pop(), Some(first));
            }
            prop_assert_eq!(calendar.pop(), None);
        }
    }
}
