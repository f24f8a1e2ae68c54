//! Keeps a guest on one processor at a time. The kernel and the programs of a guest are processes
//! of this machine that run in turns, one turn per system call of a program. On two processors
//! every turn wakes the other processor, which takes several times as long as a switch between
//! processes. Nevertheless, a scheduler that finds an idle processor would distribute them.
//!
//! The guests of this process are distributed over the processors. A guest that waits too long for
//! its processor moves to another one.

use super::outside::below;
use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use std::collections::hash_map::RandomState;
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of the checks of a guest's waiting time.
const LOOK: Duration = Duration::from_secs(2);
/// Fraction of its time that a guest waits for its processor before it moves. The threshold is more
/// than an occasional thread causes, and less than another guest would cause.
const WAITS: f64 = 0.25;

/// Number of guests of this process on each processor.
static GUESTS: Mutex<BTreeMap<usize, u32>> = Mutex::new(BTreeMap::new());

/// The processor of a guest, until this value is dropped.
pub struct Hold {
    /// The processors that this process may use.
    allowed: Vec<usize>,
    processor: usize,
    /// Process whose descendants are the guest.
    guest: u32,
    looked: Instant,
    /// Seconds that the guest had run and waited at the last check.
    used: (f64, f64),
}

#[allow(clippy::disallowed_methods, reason = "how long a guest waits for a processor is real time")]
impl Hold {
    /// Chooses a processor for a guest; `None` if this process may use only one.
    pub fn new() -> Option<Hold> {
        let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let allowed: Vec<usize> =
            (0..CpuSet::count()).filter(|number| set.is_set(*number) == Ok(true)).collect();
        if allowed.len() < 2 {
            return None;
        }
        let processor = with_guests(|guests| {
            let processor = least(guests, &allowed, chance());
            *guests.entry(processor).or_default() += 1;
            processor
        });
        Some(Hold { allowed, processor, guest: 0, looked: Instant::now(), used: (0.0, 0.0) })
    }

    /// Returns the processor, for a process that will become the guest.
    pub fn processor(&self) -> CpuSet {
        let mut set = CpuSet::new();
        let _ = set.set(self.processor);
        set
    }

    /// Records the start of the guest: the descendants of process `guest`.
    pub fn begin(&mut self, guest: u32) {
        self.guest = guest;
    }

    /// Moves the guest if it waits too long for its processor. Call it regularly.
    pub fn look(&mut self) {
        if self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        let used = used(self.guest);
        let before = std::mem::replace(&mut self.used, used);
        if !waits(before, used) || chance().is_multiple_of(2) {
            // The choice is random, so that two guests of different processes do not move together.
            return;
        }
        let moved = with_guests(|guests| {
            let processor = least(guests, &self.allowed, chance());
            // Moves only to a processor with fewer guests.
            let pays = number(guests, processor) < number(guests, self.processor);
            if pays {
                *guests.entry(self.processor).or_default() -= 1;
                *guests.entry(processor).or_default() += 1;
            }
            pays.then_some(processor)
        });
        if let Some(processor) = moved {
            self.processor = processor;
            let set = self.processor();
            // Programs that start in the meantime are on the old processor; the second pass finds
            // them.
            for _ in 0..2 {
                for process in below(self.guest) {
                    let _ = sched_setaffinity(Pid::from_raw(process.id as i32), &set);
                }
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        with_guests(|guests| *guests.entry(self.processor).or_default() -= 1);
    }
}

fn with_guests<R>(task: impl FnOnce(&mut BTreeMap<usize, u32>) -> R) -> R {
    task(&mut GUESTS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn number(guests: &BTreeMap<usize, u32>, processor: usize) -> u32 {
    guests.get(&processor).copied().unwrap_or(0)
}

/// Returns one of the processors with the fewest guests, selected by `chance`.
fn least(guests: &BTreeMap<usize, u32>, allowed: &[usize], chance: u64) -> usize {
    let fewest = allowed.iter().map(|processor| number(guests, *processor)).min().unwrap_or(0);
    let best: Vec<usize> =
        allowed.iter().copied().filter(|processor| number(guests, *processor) == fewest).collect();
    best[chance as usize % best.len()]
}

/// Returns a random number. The results of guests do not depend on it.
fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns true if a guest has waited too long between two values of [`used`].
fn waits((ran_before, waited_before): (f64, f64), (ran, waited): (f64, f64)) -> bool {
    let (ran, waited) = ((ran - ran_before).max(0.0), (waited - waited_before).max(0.0));
    waited > WAITS * (ran + waited)
}

/// Returns the seconds that the processes of a guest have run, and waited for a processor while
/// ready.
fn used(guest: u32) -> (f64, f64) {
    let seconds = |word: Option<&str>| word.and_then(|word| word.parse().ok()).unwrap_or(0.0) / 1e9;
    below(guest).iter().fold((0.0, 0.0), |(ran, waited), process| {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", process.id)).unwrap_or_default();
        let mut words = text.split_whitespace();
        (ran + seconds(words.next()), waited + seconds(words.next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_chooses_the_processor_with_the_fewest_guests() {
        let guests = BTreeMap::from([(0, 2), (1, 1), (3, 1)]);
        for chance in 0..8 {
            assert_eq!(least(&guests, &[0, 1, 2, 3], chance), 2);
            assert!([1, 3].contains(&least(&guests, &[0, 1, 3], chance)));
        }
        assert_ne!(least(&guests, &[0, 1, 3], 0), least(&guests, &[0, 1, 3], 1));
    }

    #[test]
    fn a_guest_moves_when_another_one_has_half_of_the_processor() {
        assert!(waits((1.0, 1.0), (2.0, 2.0)));
        assert!(!waits((1.0, 1.0), (2.8, 1.2)));
        // No time has passed, or a program has ended and its times are missing.
        assert!(!waits((1.0, 1.0), (1.0, 1.0)));
        assert!(!waits((1.0, 1.0), (0.5, 0.5)));
    }

    #[test]
    fn the_guests_of_a_process_are_on_different_processors() {
        let Some(first) = Hold::new() else {
            return bentpipe_testing::skipped("this machine has one processor");
        };
        let second = Hold::new().unwrap();
        assert_ne!(first.processor, second.processor);
        assert_eq!(first.processor().is_set(first.processor), Ok(true));
        drop((first, second));
        assert!(with_guests(|guests| guests.values().all(|number| *number == 0)));
    }
}
