//! A board on which terminals and the control centre exchange requests and plans without messages.
//!
//! A message that can neither be lost nor collide takes effect at the first superframe boundary
//! after its arrival. This boundary is known when the message is sent, so the message is posted
//! here instead of being transmitted. A terminal that is logged on for the whole run posts its
//! requests here, and the control centre collects them when it makes the next plan. When a
//! superframe starts, the terminal reads its slots here. A terminal with waiting data then needs
//! one event per superframe instead of three, and no memory for messages.
//!
//! A sleeping stage does not read the board. The control centre sleeps while nothing is pending,
//! and a terminal sleeps while it has nothing to send. A sleeping stage receives a message instead,
//! which wakes it.

use super::frame::Run;
use super::scheme::CapacityRequest;
use bentpipe_core::Time;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// A request on its way to the control centre.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostedRequest {
    /// Index of the terminal.
    pub terminal: u16,
    /// The superframe in which the request was made.
    pub superframe: u64,
    /// The capacity that the message requests.
    pub capacity: CapacityRequest,
    /// Time at which the message arrives at the control centre.
    pub arrival: Time,
}

/// The slots that one plan assigns to the terminals that read the board.
#[derive(Default)]
struct PostedPlan {
    superframe: u64,
    /// Time at which the last terminal starts the superframe.
    start: Time,
    /// Slots in ascending order of the terminals.
    runs: Vec<(u16, Run)>,
    /// Index in `runs` after the last entry that was read. Terminals mostly read in ascending
    /// order.
    read: usize,
}

/// Requests on their way to the control centre, and plans on their way to terminals.
#[derive(Default)]
pub struct Board {
    requests: Vec<PostedRequest>,
    /// True if the control centre collects requests at its next boundary.
    pub collects: bool,
    plans: VecDeque<PostedPlan>,
    /// For each terminal: true if it reads the board when its next superframe starts.
    awake: Vec<bool>,
    spare: Vec<Vec<(u16, Run)>>,
}

/// The board of a network, shared by its stages.
#[derive(Clone, Default)]
pub struct SharedBoard(Arc<Mutex<Board>>);

impl SharedBoard {
    /// Locks the board and returns its guard.
    #[inline]
    pub fn open(&self) -> MutexGuard<'_, Board> {
        self.0.lock().expect("no stage panics while it reads or posts")
    }
}

impl Board {
    /// Posts a request and returns true if the control centre will collect it.
    #[inline]
    pub fn request(&mut self, posted: PostedRequest) -> bool {
        if self.collects {
            self.requests.push(posted);
        }
        self.collects
    }

    /// Returns the requests that have not been collected.
    pub fn requests(&mut self) -> &mut Vec<PostedRequest> {
        &mut self.requests
    }

    /// Starts a plan at `now` for a superframe that the last terminal starts at `start`.
    pub fn begin_plan(&mut self, now: Time, superframe: u64, start: Time) {
        while self.plans.front().is_some_and(|plan| plan.start < now) {
            let PostedPlan { mut runs, .. } = self.plans.pop_front().expect("there is a front");
            runs.clear();
            self.spare.push(runs);
        }
        let runs = self.spare.pop().unwrap_or_default();
        self.plans.push_back(PostedPlan { superframe, start, runs, read: 0 });
    }

    /// Adds slots to the newest plan, in ascending order of the terminals.
    #[inline]
    pub fn assign(&mut self, terminal: u16, run: Run) {
        self.plans.back_mut().expect("a plan has been begun").runs.push((terminal, run));
    }

    /// Returns true if a terminal reads the board when its next superframe starts.
    #[inline]
    pub fn is_awake(&self, terminal: u16) -> bool {
        self.awake.get(usize::from(terminal)).copied().unwrap_or(false)
    }

    /// Sets whether a terminal reads the board when its next superframe starts. Returns true if the
    /// setting changed.
    #[inline]
    pub fn set_awake(&mut self, terminal: u16, awake: bool) -> bool {
        let terminal = usize::from(terminal);
        if self.awake.len() <= terminal {
            self.awake.resize(terminal + 1, false);
        }
        std::mem::replace(&mut self.awake[terminal], awake) != awake
    }

    /// Returns the slots of a terminal in a superframe.
    #[inline]
    pub fn runs(&mut self, superframe: u64, terminal: u16) -> impl Iterator<Item = Run> + '_ {
        let plan = self.plans.iter_mut().find(|plan| plan.superframe == superframe);
        let runs = plan.map_or(&[][..], |plan| plan.read(terminal));
        runs.iter().map(|(_, run)| *run)
    }

    /// Returns the slots of a terminal in later superframes.
    pub fn later(&self, superframe: u64, terminal: u16) -> impl Iterator<Item = (u64, Run)> + '_ {
        let plans = self.plans.iter().filter(move |plan| plan.superframe > superframe);
        plans.flat_map(move |plan| plan.of(terminal).iter().map(|(_, run)| (plan.superframe, *run)))
    }

    /// Returns the superframe of the newest plan.
    pub fn last(&self) -> Option<u64> {
        self.plans.back().map(|plan| plan.superframe)
    }
}

impl PostedPlan {
    fn of(&self, terminal: u16) -> &[(u16, Run)] {
        let from = self.runs.partition_point(|(other, _)| *other < terminal);
        let count = self.runs[from..].iter().take_while(|(other, _)| *other == terminal).count();
        &self.runs[from..from + count]
    }

    #[inline]
    fn read(&mut self, terminal: u16) -> &[(u16, Run)] {
        let begins = |at: usize| self.runs.get(at).is_none_or(|(other, _)| *other >= terminal);
        let follows = |at: usize| at == 0 || self.runs[at - 1].0 < terminal;
        let from = match self.read {
            at if follows(at) && begins(at) => at,
            _ => self.runs.partition_point(|(other, _)| *other < terminal),
        };
        let count = self.runs[from..].iter().take_while(|(other, _)| *other == terminal).count();
        self.read = from + count;
        &self.runs[from..from + count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u16) -> Run {
        Run { carrier: 0, of: 32, first, count: 1 }
    }

    #[test]
    fn terminals_may_read_their_slots_in_any_order() {
        let shared = SharedBoard::default();
        let mut board = shared.open();
        board.begin_plan(Time::ZERO, 7, Time::from_nanos(70));
        board.begin_plan(Time::ZERO, 8, Time::from_nanos(80));
        for (terminal, first) in [(1, 0), (1, 5), (4, 6), (9, 7)] {
            board.assign(terminal, run(first));
        }
        for terminal in [1, 4, 9, 4, 1, 0, 2, 9, 12] {
            let expected: &[u16] = match terminal {
                1 => &[0, 5],
                4 => &[6],
                9 => &[7],
                _ => &[],
            };
            let found: Vec<u16> = board.runs(8, terminal).map(|run| run.first).collect();
            assert_eq!(found, expected, "terminal {terminal}");
            let later: Vec<u16> = board.later(7, terminal).map(|(_, run)| run.first).collect();
            assert_eq!(later, expected, "terminal {terminal}");
            assert_eq!(board.runs(7, terminal).count() + board.later(8, terminal).count(), 0);
        }
    }

    #[test]
    fn plans_are_removed_after_their_start_everywhere() {
        let mut board = Board::default();
        for superframe in 0..100 {
            let at = |number: u64| Time::from_nanos(10 * number);
            board.begin_plan(at(superframe), superframe + 4, at(superframe + 4));
            board.assign(0, run(0));
            assert!(
                board.plans.len() <= 6 && board.runs(superframe, 0).count() == usize::from(superframe > 3)
            );
        }
        assert_eq!(board.last(), Some(103));
    }
}
