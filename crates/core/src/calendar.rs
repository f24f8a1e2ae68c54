//! The event queue of a stage with many events within the next milliseconds.
//!
//! A calendar queue (R. Brown, "Calendar queues", Communications of the ACM 31(10), 1988) with a
//! fixed length of its days and months. Entries of the next [`MONTHS`] months, called the year, are
//! in one list per month. Entries of the current month are in one list per day. Only the first day
//! with entries is sorted. Adding and removing an entry takes constant time, independent of the
//! number of entries. Lists grow at the end and are read sequentially, so the memory in use stays
//! in the nearest caches. Entries after the year wait in a heap. Entries of equal time leave in the
//! order of their numbers; entries of equal time and number leave in the order in which they were
//! added.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time, number and item packed into one integer. Time and number together are its [`key`].
type Entry = u128;

/// Binary logarithm of the length of a day in nanoseconds. A day has 8.2 us.
const DAY: u32 = 13;
/// Binary logarithm of the number of days in a month. A month has 0.5 ms.
const MONTH: u32 = 6;
/// Number of months in the year. The year has 34 ms, longer than the propagation delay between two
/// satellites in low orbits.
const MONTHS: u64 = 64;
/// Maximum number of entries of a month that becomes a single sorted day.
const SMALL_MONTH: usize = 8;
/// Maximum number of entries of the current day that are moved to insert another. If there would be
/// more, the day is shortened.
const MAX_MOVED: usize = 32;

/// An entry of a [`Calendar`]: an event at a certain time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    /// Time of the event, in the owner's time base.
    pub at: Time,
    /// Rank among entries of the same time: lower numbers leave first.
    pub number: u32,
    /// The owner's reference to the event, such as the index of a packet. It does not affect the
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

/// A queue of numbered events whose earliest event is always known.
pub struct Calendar {
    /// The entries up to the end of day `day`, the latest first. Empty only if the calendar's days
    /// are all empty.
    today: Vec<Entry>,
    /// Number of the current day.
    day: u64,
    /// True if the last removal emptied a day.
    turned: bool,
    /// The month of the last entry that was removed, which is the first month of the year.
    first: u64,
    /// The later entries of the month of `day`, by day modulo the number of days in a month.
    days: Vec<Vec<Entry>>,
    /// A bit for each day with entries.
    filled: u64,
    /// The entries of later months, by month modulo the number of months.
    months: Vec<Vec<Entry>>,
    /// A bit for each later month with entries.
    ahead: u64,
    /// Entries after the year: key, order of insertion, and item.
    far: BinaryHeap<Reverse<(u128, u64, u32)>>,
    /// Number of entries that were added after the year, which orders them.
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
    /// Returns the entry that leaves next, or `None` if the calendar is empty.
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

    /// Returns the entries of the first day with entries, from the latest to the earliest.
    #[inline]
    pub fn coming(&self) -> impl DoubleEndedIterator<Item = Due> + ExactSizeIterator + '_ {
        self.today.iter().copied().map(Due::of)
    }

    /// Returns true if the last removal emptied a day, so that the entries in
    /// [`coming`](Self::coming) have just been sorted.
    #[inline]
    pub fn has_turned(&self) -> bool {
        self.turned
    }

    /// Adds an entry. This takes constant time unless the entry is more than a year ahead.
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
            self.add_today(entry);
        }
    }

    /// Adds an entry to the current day.
    fn add_today(&mut self, entry: Entry) {
        let mut at = self.today.partition_point(|other| key(*other) > key(entry));
        let end = self.today.last().map_or(0, |first| day_of(*first));
        if self.today.len() - at > MAX_MOVED && end < self.day {
            self.shorten(end);
            if day_of(entry) > end {
                return self.put(day_of(entry), entry);
            }
            at = self.today.partition_point(|other| key(*other) > key(entry));
        }
        self.today.insert(at, entry);
    }

    /// Ends the current day earlier, at the end of day `end`.
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

    /// Removes and returns the entry that leaves next.
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

    /// Adds an entry to the list of a later day or month.
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

    /// Advances to the next day with entries.
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

    /// Advances to the next month with entries, and distributes its entries over its days. A month
    /// with few entries becomes a single day.
    fn turn_month(&mut self) {
        let from = (self.first % MONTHS) as u32;
        let after = self.ahead.rotate_right(from).trailing_zeros();
        let at = (from + after) as usize % MONTHS as usize;
        self.ahead &= !(1 << at);
        let month = self.first + u64::from(after);
        self.day = ((month + 1) << MONTH) - 1;
        if self.months[at].len() <= SMALL_MONTH {
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

    /// Generates spans within days, months, a year, and after the year. Some spans are frequent.
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
        fn entries_leave_in_order(
            actions in prop::collection::vec(
                prop_oneof![3 => (ahead(), 0u32..4, 1usize..60).prop_map(Some), 2 => Just(None)], 1..600,
            ),
        ) {
            let (mut calendar, mut model, mut now) = (Calendar::default(), Vec::new(), 0);
            for (item, action) in (0..).zip(actions) {
                match action {
                    Some((ahead, number, burst)) => {
                        // Some batches fall on almost the same time.
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
