//! The time plan: the assignment of the slots of every carrier's frame to terminals.
//!
//! The constant slots of a terminal (CRA) keep the position that they got at logon, so that a
//! terminal needs no plan in which nothing changes for it. A logon takes the first gap that is wide
//! enough, on the carrier with the smallest share of constant slots. A logoff leaves a gap.
//!
//! Assigned slots fill the gaps, in each superframe again, carrier after carrier in the order of
//! the terminals. A share that does not fit into the rest of one carrier continues on the next. A
//! terminal has a single transmitter, so its slots on the next carrier must end before those on the
//! previous carrier start, and its share does not continue on a third carrier. This is McNaughton's
//! wrap-around rule (Management Science 6, 1959): a share no longer than a frame never overlaps
//! itself. If a terminal's constant slots on another carrier are in the way, other terminals are
//! served first. With several carriers each superframe starts with a different terminal, so that no
//! terminal is always the last one.

use super::frame::Run;

/// The assignment of the carriers' slots.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of slots in each carrier's frame.
    carriers: Vec<u16>,
    /// Constant slots, ordered by carrier and position.
    constant: Vec<Run>,
    /// Number of constant slots in each carrier's frame.
    constant_slots: Vec<u32>,
    /// The gaps between the constant slots, in the same order.
    gaps: Vec<Run>,
}

/// The slots to be laid out for one terminal.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// Number of the terminal.
    pub terminal: u16,
    /// Constant slots (CRA) of the terminal, which are laid out first.
    pub constant: Run,
    /// Number of slots to lay out.
    pub slots: u32,
    /// The ranges from the first to the last slot laid out on the last carrier and on the carrier
    /// before it.
    laid_out: [Run; 2],
}

impl Grant {
    /// Creates a grant of `slots` for a terminal with these constant slots.
    pub fn new(terminal: u16, constant: Run, slots: u32) -> Grant {
        Grant { terminal, constant, slots, laid_out: [Run::default(); 2] }
    }

    /// Returns the number of slots, counted from the start of `at`, that the terminal can use in
    /// addition to its present slots.
    fn fitting_slots(&self, at: Run) -> u32 {
        let mut count = self.slots.min(u32::from(at.count));
        let [last, earlier] = self.laid_out;
        if last.count > 0 && last.carrier != at.carrier && earlier.count > 0 {
            return 0;
        }
        for other in [last, earlier, self.constant] {
            let wanted = Run { count: count as u16, ..at };
            if other.carrier != at.carrier && wanted.overlaps(other) {
                // Number of complete slots that end before the other run starts.
                let before = u32::from(other.first) * u32::from(at.of) / u32::from(other.of);
                count = before.saturating_sub(u32::from(at.first)).min(count);
            }
        }
        count
    }

    fn add(&mut self, run: Run) {
        self.slots -= u32::from(run.count);
        let last = self.laid_out[0];
        if last.count > 0 && last.carrier == run.carrier {
            self.laid_out[0].count = (run.end() - u32::from(last.first)) as u16;
        } else {
            self.laid_out = [run, last];
        }
    }
}

impl Plan {
    /// Creates an empty plan for carriers with these numbers of slots.
    pub fn new(carriers: &[u32]) -> Plan {
        let carriers: Vec<u16> = carriers.iter().map(|slots| *slots as u16).collect();
        let constant_slots = vec![0; carriers.len()];
        let mut plan = Plan { carriers, constant: Vec::new(), constant_slots, gaps: Vec::new() };
        plan.find_gaps();
        plan
    }

    fn find_gaps(&mut self) {
        self.gaps.clear();
        let mut constant = self.constant.iter().peekable();
        for (carrier, &of) in (0u16..).zip(&self.carriers) {
            let mut first = 0;
            loop {
                let next = constant.next_if(|run| run.carrier == carrier);
                let end = next.map_or(of, |run| run.first);
                if end > first {
                    self.gaps.push(Run { carrier, of, first, count: end - first });
                }
                match next {
                    Some(run) => first = run.end() as u16,
                    None => break,
                }
            }
        }
    }

    /// Assigns `count` constant slots, or returns `None` if no carrier has that many free slots in
    /// a row.
    pub fn add_constant(&mut self, count: u32) -> Option<Run> {
        if count == 0 {
            return Some(Run::default());
        }
        // Constant slots obstruct other terminals least if they start the frames of all carriers
        // and end at the same time.
        let share =
            |gap: &Run| (u64::from(self.constant_slots[usize::from(gap.carrier)]) << 32) / u64::from(gap.of);
        let wide = self.gaps.iter().enumerate().filter(|(_, gap)| u32::from(gap.count) >= count);
        let (index, gap) = wide.min_by_key(|(_, gap)| share(gap))?;
        let run = Run { count: count as u16, ..*gap };
        let order = |run: &Run| (run.carrier, run.first);
        let at = self.constant.partition_point(|other| order(other) < order(&run));
        self.constant.insert(at, run);
        self.constant_slots[usize::from(run.carrier)] += count;
        let gap = &mut self.gaps[index];
        (gap.first, gap.count) = (gap.first + run.count, gap.count - run.count);
        if gap.count == 0 {
            self.gaps.remove(index);
        }
        Some(run)
    }

    /// Releases the constant slots of a terminal that has logged off.
    pub fn remove_constant(&mut self, run: Run) {
        let before = self.constant.len();
        self.constant.retain(|other| *other != run);
        if self.constant.len() < before {
            self.constant_slots[usize::from(run.carrier)] -= u32::from(run.count);
        }
        self.find_gaps();
    }

    /// Returns the number of slots that are not constant.
    pub fn free(&self) -> u32 {
        self.gaps.iter().map(|gap| u32::from(gap.count)).sum()
    }

    /// Returns the lengths of the gaps.
    pub fn gaps(&self) -> impl Iterator<Item = u32> + '_ {
        self.gaps.iter().map(|gap| u32::from(gap.count))
    }

    /// Returns the maximum number of slots of one terminal, the number of slots of the fastest
    /// carrier.
    pub fn longest(&self) -> u32 {
        self.carriers.iter().copied().max().map_or(0, u32::from)
    }

    /// Returns the limit to which demands may be truncated without a disadvantage for any terminal.
    /// A single carrier has no limit, because a demand that cannot be met still affects the
    /// proportions.
    pub fn demand_limit(&self) -> u32 {
        if self.carriers.len() > 1 {
            self.longest()
        } else {
            u32::MAX
        }
    }

    /// Lays out the slots of a single carrier, on which a terminal cannot obstruct itself.
    fn lay_out_single_carrier(&self, of: u16, grants: &mut [Grant], runs: &mut Vec<(u16, Run)>) {
        let mut gaps = self.gaps.iter();
        let mut gap = Run { of, ..Run::default() };
        for grant in grants {
            while grant.slots > 0 {
                if gap.count == 0 {
                    let Some(next) = gaps.next() else { return };
                    gap = *next;
                }
                let count = grant.slots.min(u32::from(gap.count)) as u16;
                runs.push((grant.terminal, Run { count, ..gap }));
                gap.first += count;
                gap.count -= count;
                grant.slots -= u32::from(count);
            }
        }
    }

    /// Lays out the slots of superframe number `superframe`. Appends the runs in ascending order of
    /// the terminals and deducts the slots that were laid out from each grant. On a single carrier
    /// the grants are always laid out completely.
    pub fn lay_out(&self, superframe: u64, grants: &mut [Grant], runs: &mut Vec<(u16, Run)>) {
        if let [carrier] = self.carriers[..] {
            return self.lay_out_single_carrier(carrier, grants, runs);
        }
        let begin = runs.len();
        let turn = if self.carriers.len() > 1 { superframe as usize % grants.len().max(1) } else { 0 };
        grants.rotate_left(turn);
        // Grants before this index have been laid out.
        let mut first = 0;
        for gap in &self.gaps {
            let mut slot = gap.first;
            while u32::from(slot) < gap.end() && first < grants.len() {
                let at = Run { first: slot, count: (gap.end() - u32::from(slot)) as u16, ..*gap };
                // A grant that fits undivided is preferred to the next grant in pieces.
                let whole = |grant: &Grant| {
                    grant.slots > 0 && grant.fitting_slots(at) == grant.slots.min(u32::from(at.count))
                };
                let fitting = grants[first..].iter().position(whole);
                let fitting =
                    fitting.or_else(|| grants[first..].iter().position(|grant| grant.fitting_slots(at) > 0));
                let Some(offset) = fitting else {
                    slot += 1;
                    continue;
                };
                let grant = &mut grants[first + offset];
                let run = Run { count: grant.fitting_slots(at) as u16, ..at };
                grant.add(run);
                runs.push((grant.terminal, run));
                slot += run.count;
                while grants.get(first).is_some_and(|grant| grant.slots == 0) {
                    first += 1;
                }
            }
        }
        grants.rotate_right(turn);
        runs[begin..].sort_by_key(|(terminal, _)| *terminal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(first: u16, count: u16) -> Run {
        Run { carrier: 0, of: 32, first, count }
    }

    fn lay_out(plan: &Plan, superframe: u64, slots: &[u32]) -> (Vec<(u16, Run)>, u32) {
        let grant = |(terminal, slots): (u16, &u32)| Grant::new(terminal, Run::default(), *slots);
        let mut grants: Vec<_> = (0..).zip(slots).map(grant).collect();
        let mut runs = Vec::new();
        plan.lay_out(superframe, &mut grants, &mut runs);
        (runs, grants.iter().map(|grant| grant.slots).sum())
    }

    #[test]
    fn assigned_slots_follow_constant_slots() {
        let mut plan = Plan::new(&[32]);
        assert_eq!(plan.add_constant(2), Some(run(0, 2)));
        assert_eq!(plan.add_constant(1), Some(run(2, 1)));
        assert_eq!(plan.free(), 29);
        assert_eq!(lay_out(&plan, 7, &[20, 9]), (vec![(0, run(3, 20)), (1, run(23, 9))], 0));
        assert_eq!(plan.add_constant(30), None);
    }

    #[test]
    fn slots_of_a_logoff_are_reused() {
        let mut plan = Plan::new(&[32]);
        let first = plan.add_constant(2).unwrap();
        plan.add_constant(3);
        plan.remove_constant(first);
        assert_eq!(plan.free(), 29);
        assert_eq!(lay_out(&plan, 0, &[4, 1]), (vec![(0, run(0, 2)), (0, run(5, 2)), (1, run(7, 1))], 0));
        assert_eq!(plan.add_constant(2), Some(first));
    }

    #[test]
    fn constant_slots_spread_over_the_carriers() {
        let mut plan = Plan::new(&[32, 64]);
        let carriers: Vec<_> = (0..7).map(|_| plan.add_constant(8).unwrap().carrier).collect();
        assert_eq!(carriers, [0, 1, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn share_wraps_around_to_the_next_carrier_without_overlap() {
        let plan = Plan::new(&[32, 32]);
        let (runs, left) = lay_out(&plan, 0, &[20, 32, 12]);
        let at = |carrier, first, count| Run { carrier, of: 32, first, count };
        assert_eq!(left, 0);
        assert_eq!(runs, [(0, at(0, 0, 20)), (1, at(0, 20, 12)), (1, at(1, 0, 20)), (2, at(1, 20, 12))]);
    }

    proptest! {
        #[test]
        fn assigned_runs_never_overlap_on_a_carrier_or_for_a_terminal(
            carriers in prop::collection::vec(1u32..40, 1..6),
            constants in prop::collection::vec(0u32..6, 1..12),
            gone in prop::collection::vec(any::<bool>(), 12),
            slots in prop::collection::vec(0u32..40, 12),
            superframe in 0u64..20,
        ) {
            let mut plan = Plan::new(&carriers);
            let mut held: Vec<_> = constants.iter().map(|count| plan.add_constant(*count)).collect();
            for (run, gone) in held.iter_mut().zip(gone) {
                if let (Some(constant_slots), true) = (*run, gone) {
                    plan.remove_constant(constant_slots);
                    *run = None;
                }
            }
            let mut capacity = plan.free();
            let mut grants = Vec::new();
            for ((terminal, constant), slots) in (0u16..).zip(&held).zip(slots) {
                let constant = constant.unwrap_or_default();
                let slots = slots.min(capacity).min(plan.longest());
                capacity -= slots;
                grants.push(Grant::new(terminal, constant, slots));
            }
            let granted: Vec<_> = grants.iter().map(|grant| grant.slots).collect();
            let mut runs = Vec::new();
            plan.lay_out(superframe, &mut grants, &mut runs);
            let own = held.iter().zip(0u16..).filter_map(|(run, terminal)| run.map(|run| (terminal, run)));
            let all: Vec<_> = own.chain(runs.iter().copied()).filter(|(_, run)| run.count > 0).collect();
            for (index, (terminal, run)) in all.iter().enumerate() {
                prop_assert!(run.end() <= carriers[run.carrier as usize]);
                for (other, earlier) in &all[..index] {
                    if run.carrier == earlier.carrier || other == terminal {
                        prop_assert!(!run.overlaps(*earlier), "{run:?} of {terminal} and {earlier:?} of {other}");
                    }
                }
            }
            for (grant, before) in grants.iter().zip(granted) {
                let got: u32 = runs.iter().filter(|(t, _)| *t == grant.terminal).map(|(_, run)| u32::from(run.count)).sum();
                prop_assert_eq!(got + grant.slots, before);
                prop_assert!(carriers.len() > 1 || grant.slots == 0);
            }
            prop_assert!(runs.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        }
    }
}
