//! The block sizes of NetPIPE and their numbers of repeats, as chosen by version 3.7.2.
//!
//! From the first size on, the sizes double in two steps, 2^k and 1.5 x 2^k. Once the step exceeds
//! the perturbation by more than one byte, each size is also measured minus and plus the
//! perturbation. A size is repeated for about a tenth of a second, estimated from the time of the
//! previous size: n = max(0.1 s / (b / (b - s + 1) x t), 3), where b is the previous size, t its
//! time and s the step.

/// Target duration of a trial of a block, in seconds.
const TRIAL: f64 = 0.1;
/// Minimum number of repeats, and number of trials of a block.
pub const TRIALS: u32 = 3;

/// The block sizes, in order.
#[derive(Clone, Debug)]
pub struct Schedule {
    perturbation: u64,
    last: u64,
    /// The unperturbed size, the step that led to it, and the number of sizes and steps so far.
    length: u64,
    step: u64,
    turn: u64,
    /// Offset of the next block, plus the perturbation: 0, one or two perturbations.
    shift: u64,
    /// Size in bytes of the previous block.
    before: u64,
}

impl Schedule {
    /// Creates the schedule of sizes from `first`, at least 1, to the last that is at most `last`.
    pub fn new(first: u64, last: u64, perturbation: u64) -> Schedule {
        let (step, turn) = if first > 1 { (first / 2, 1) } else { (1, 0) };
        let mut schedule =
            Schedule { perturbation, last, length: first, step, turn, shift: 0, before: first };
        schedule.shift = schedule.first_shift();
        schedule
    }

    fn perturbs(&self) -> bool {
        self.perturbation > 0 && self.step > self.perturbation + 1
    }

    fn first_shift(&self) -> u64 {
        if self.perturbs() {
            0
        } else {
            self.perturbation
        }
    }

    /// Returns the next block size; `None` after the last.
    pub fn block(&self) -> Option<u64> {
        (self.length <= self.last).then(|| self.length + self.shift - self.perturbation)
    }

    /// Returns the number of repeats of the block, if the previous one took `seconds`.
    pub fn repeats(&self, seconds: f64) -> u32 {
        let ratio = self.before as f64 / (self.before as f64 - self.step as f64 + 1.0);
        ((TRIAL / (ratio * seconds)).min(1e9) as u32).max(TRIALS)
    }

    /// Advances to the next block. Returns true if its unperturbed size differs, which is when
    /// NetPIPE checks for its end.
    pub fn advance(&mut self) -> bool {
        self.before = self.length + self.shift - self.perturbation;
        if self.perturbs() && self.shift < 2 * self.perturbation {
            self.shift += self.perturbation;
            return false;
        }
        self.turn += 1;
        if self.turn > 2 && self.turn % 2 == 1 {
            self.length = self.length.saturating_add(self.step);
            self.step *= 2;
        } else {
            self.length = self.length.saturating_add(self.step);
        }
        self.shift = self.first_shift();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(first: u64, last: u64, perturbation: u64) -> Vec<u64> {
        let mut schedule = Schedule::new(first, last, perturbation);
        let mut sizes = Vec::new();
        while let Some(block) = schedule.block() {
            sizes.push(block);
            schedule.advance();
        }
        sizes
    }

    #[test]
    fn sizes_are_those_of_the_real_program() {
        let table = include_str!("../../../../../tests/authorities/atm/netpipe_block_sizes.csv");
        for row in table.lines().skip(1) {
            let (perturbation, expected) = row.split_once(',').unwrap();
            let expected: Vec<u64> = expected.split(' ').map(|size| size.parse().unwrap()).collect();
            let last = *expected.last().unwrap();
            let perturbation: u64 = perturbation.parse().unwrap();
            assert_eq!(sizes(1, last - perturbation, perturbation), expected);
        }
        // `NPtcp -l 64 -u 96`.
        assert_eq!(sizes(64, 96, 3), [61, 64, 67, 93, 96, 99]);
    }

    /// Output `  3:       4 bytes   2041 times -->      0.91 Mbps in      33.38 usec`: the repeats
    /// follow from the previous line.
    #[test]
    fn repeats_are_those_of_the_real_program() {
        let screen = include_str!("../../../../../tests/authorities/atm/netpipe_screen_sample.txt");
        let mut schedule = Schedule::new(1, 8 << 20, 3);
        let (mut before, mut checked) = (None::<f64>, 0);
        for line in screen.lines().filter(|line| line.contains("-->")) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [block, repeats] = [1, 3].map(|at| fields[at].parse::<u64>().unwrap());
            assert_eq!(schedule.block(), Some(block), "{line}");
            if let Some(micros) = before {
                // The screen rounds the time to 0.01 us.
                let [max, min] = [-0.005, 0.005].map(|off| schedule.repeats((micros + off) * 1e-6));
                assert!((u64::from(min)..=u64::from(max)).contains(&repeats), "{line}: {min} to {max}");
                checked += 1;
            }
            before = fields.get(9).and_then(|micros| micros.parse().ok());
            schedule.advance();
        }
        assert_eq!(checked, 44);
        assert_eq!(schedule.repeats(0.2), TRIALS);
    }
}
