//! Statistics of a trace under a hidden Markov chain: the likelihood of the trace, and the expected
//! number of each transition and loss. Fits of error processes maximise the likelihood with these
//! numbers.
//!
//! A chain has the transitions P and the probability e_i(o) of an outcome o in state i. Outcomes
//! form runs of equal outcomes, and over a run of L frames the matrix T_ij = e_i(o) P_ij acts L
//! times. From run to run, the state f is filtered forwards, and the likelihood b of the following
//! runs is carried backwards:
//!
//! ```text
//! f' = f T^L          log L = sum of the logarithms of the factors by which f' is scaled
//! b  = T^L b'
//! transitions i to j within a run =
//!     T_ij sum over k from 0 to L - 1 of (f T^k)_i (T^(L-1-k) b')_j / (f T^L b')
//! ```
//!
//! A power is computed once for each length that occurs, by squaring. The sum is linear in the
//! matrix X = b' f, so X is summed over all runs of one length. With S_L(X) as the sum over k of
//! T^(L-1-k) X T^k
//!
//! ```text
//! S_2m(X) = S_m(X T^m + T^m X)        S_2m+1(X) = X T^2m + S_2m(T X)
//! ```
//!
//! So the time grows with the number of runs and with the logarithm of their lengths, not with the
//! number of frames.
//!
//! Source: L. R. Rabiner, "A Tutorial on Hidden Markov Models", Proceedings of the IEEE 77(2),
//! 1989, section V, for the sums; the grouping by runs is ours. All first states have equal
//! probability. The memory is that of the runs' lengths and of one block, because the filter is
//! recomputed from the beginning of each block.

use bentpipe_core::math;
use std::collections::BTreeMap;

/// Maximum number of states of a chain.
pub const MAX_STATES: usize = 8;

/// Number of runs in a block.
const BLOCK: usize = 4096;

/// The expected counts of a chain, given the outcomes.
#[derive(Debug, PartialEq)]
pub struct Expected {
    /// Natural logarithm of the likelihood of the outcomes.
    pub log_likelihood: f64,
    /// Expected transitions, by the state before and the state after.
    pub transitions: Vec<Vec<f64>>,
    /// Expected received and lost frames by state.
    pub frames: Vec<[f64; 2]>,
}

/// Outcomes of frames as runs of equal outcomes. The last frame is separate, because no transition
/// follows it.
#[derive(Debug)]
pub struct Runs {
    /// The distinct pairs of outcome and length.
    kinds: Vec<(bool, u64)>,
    /// The runs before the last frame, as indices into `kinds`.
    runs: Vec<u32>,
    /// Outcome of the last frame, true for lost; `None` without frames.
    last: Option<bool>,
}

impl Runs {
    /// Creates the runs of outcomes: 0 is received, anything else is lost.
    pub fn new(outcomes: &[u8]) -> Runs {
        let mut places = BTreeMap::new();
        let mut runs = Runs { kinds: Vec::new(), runs: Vec::new(), last: None };
        let Some((last, before)) = outcomes.split_last() else { return runs };
        runs.last = Some(*last != 0);
        for run in before.chunk_by(|one, next| (*one != 0) == (*next != 0)) {
            let kind = (run[0] != 0, run.len() as u64);
            let place = *places.entry(kind).or_insert_with(|| {
                runs.kinds.push(kind);
                runs.kinds.len() as u32 - 1
            });
            runs.runs.push(place);
        }
        runs
    }

    /// Computes the expected counts for a chain with these transitions and losses per state. `None`
    /// for a chain that cannot have produced the outcomes, or that has no states or more than
    /// [`MAX_STATES`].
    pub fn expected(&self, transitions: &[Vec<f64>], loss: &[f64]) -> Option<Expected> {
        match loss.len() {
            1 => self.of_states::<1>(transitions, loss),
            2 => self.of_states::<2>(transitions, loss),
            3 => self.of_states::<3>(transitions, loss),
            4 => self.of_states::<4>(transitions, loss),
            5 => self.of_states::<5>(transitions, loss),
            6 => self.of_states::<6>(transitions, loss),
            7 => self.of_states::<7>(transitions, loss),
            MAX_STATES => self.of_states::<MAX_STATES>(transitions, loss),
            _ => None,
        }
    }

    fn of_states<const N: usize>(&self, transitions: &[Vec<f64>], loss: &[f64]) -> Option<Expected> {
        let last = self.last?;
        let emits = |lost: bool| -> [f64; N] {
            std::array::from_fn(|state| if lost { loss[state] } else { 1.0 - loss[state] })
        };
        let step = |lost: bool| -> Matrix<N> {
            let emits = emits(lost);
            std::array::from_fn(|from| std::array::from_fn(|to| emits[from] * transitions[from][to]))
        };
        let steps = [step(false), step(true)];
        let powers: Vec<Powers<N>> = self
            .kinds
            .iter()
            .map(|(lost, length)| Powers::new(&steps[usize::from(*lost)], *length))
            .collect();
        let whole: Vec<Scaled<N>> = powers.iter().map(Powers::whole).collect();
        let mut log_likelihood = 0.0;
        let mut state = [1.0 / N as f64; N];
        // States at the beginning of each block.
        let mut begins = Vec::with_capacity(self.runs.len() / BLOCK + 1);
        for block in self.runs.chunks(BLOCK) {
            begins.push(state);
            for kind in block {
                let power = &whole[*kind as usize];
                let scale = forwards(&mut state, &power.matrix);
                log_likelihood += math::ln(scale) + power.log;
            }
        }
        let ending = emits(last);
        let total: f64 = state.iter().zip(&ending).map(|(state, emits)| state * emits).sum();
        log_likelihood += math::ln(total);
        // The sum is NaN or minus infinity after an impossible outcome.
        if !log_likelihood.is_finite() {
            return None;
        }
        let mut frames = [[0.0; N]; 2];
        for at in 0..N {
            frames[usize::from(last)][at] += state[at] * ending[at] / total;
        }
        let mut sums = vec![[[0.0; N]; N]; self.kinds.len()];
        let mut follows = ending;
        let mut filtered = [[0.0; N]; BLOCK];
        for (block, begin) in self.runs.chunks(BLOCK).zip(begins).rev() {
            let mut state = begin;
            for (kind, slot) in block.iter().zip(&mut filtered) {
                *slot = state;
                forwards(&mut state, &whole[*kind as usize].matrix);
            }
            for (kind, state) in block.iter().zip(&filtered).rev() {
                let before = times(&whole[*kind as usize].matrix, &follows);
                let weight: f64 = state.iter().zip(&before).map(|(state, before)| state * before).sum();
                for (row, follows) in sums[*kind as usize].iter_mut().zip(&follows) {
                    for (sum, state) in row.iter_mut().zip(state) {
                        *sum += follows * state / weight;
                    }
                }
                let scale = 1.0 / before.iter().sum::<f64>();
                follows = before.map(|one| one * scale);
            }
        }
        let mut counted = [[0.0; N]; N];
        for (((lost, _), powers), sum) in self.kinds.iter().zip(&powers).zip(sums) {
            let (lost, sum) = (usize::from(*lost), powers.between(sum));
            for from in 0..N {
                for to in 0..N {
                    let count = steps[lost][from][to] * sum[to][from];
                    counted[from][to] += count;
                    frames[lost][from] += count;
                }
            }
        }
        if !counted.iter().flatten().all(|count| count.is_finite()) {
            return None;
        }
        Some(Expected {
            log_likelihood,
            transitions: counted.iter().map(|row| row.to_vec()).collect(),
            frames: (0..N).map(|at| [frames[0][at], frames[1][at]]).collect(),
        })
    }
}

type Matrix<const N: usize> = [[f64; N]; N];

/// A matrix multiplied by e to the power of `log`.
#[derive(Clone, Copy)]
struct Scaled<const N: usize> {
    matrix: Matrix<N>,
    log: f64,
}

impl<const N: usize> Scaled<N> {
    /// Returns the product with another, scaled so that its largest element is 1.
    fn product(&self, other: &Scaled<N>) -> Scaled<N> {
        let mut matrix = product(&self.matrix, &other.matrix);
        let max = matrix.iter().flatten().copied().fold(0.0, f64::max);
        if max > 0.0 {
            matrix.iter_mut().flatten().for_each(|one| *one /= max);
        }
        Scaled { matrix, log: self.log + other.log + math::ln(max) }
    }
}

/// Powers of a matrix T, whose exponents are the leading binary digits of a length.
struct Powers<const N: usize> {
    length: u64,
    powers: Vec<Scaled<N>>,
}

impl<const N: usize> Powers<N> {
    fn new(step: &Matrix<N>, length: u64) -> Powers<N> {
        let first = Scaled { matrix: *step, log: 0.0 };
        let mut powers = vec![first];
        for digit in (0..length.ilog2()).rev() {
            let last = powers[powers.len() - 1];
            let double = last.product(&last);
            powers.push(if length >> digit & 1 == 1 { double.product(&first) } else { double });
        }
        Powers { length, powers }
    }

    /// Returns T to the power of the length.
    fn whole(&self) -> Scaled<N> {
        self.powers[self.powers.len() - 1]
    }

    /// Returns S(X) divided by the scale of the whole power.
    fn between(&self, mut x: Matrix<N>) -> Matrix<N> {
        let mut log = -self.whole().log;
        let mut sum = [[0.0; N]; N];
        let mut add = |x: &Matrix<N>, log: f64| {
            let factor = math::exp(log);
            for (sum, x) in sum.iter_mut().flatten().zip(x.iter().flatten()) {
                *sum += x * factor;
            }
        };
        for (digit, half) in self.powers[..self.powers.len() - 1].iter().rev().enumerate() {
            if self.length >> digit & 1 == 1 {
                add(&product(&product(&x, &half.matrix), &half.matrix), log + 2.0 * half.log);
                x = product(&self.powers[0].matrix, &x);
            }
            let (right, left) = (product(&x, &half.matrix), product(&half.matrix, &x));
            x = std::array::from_fn(|row| std::array::from_fn(|at| right[row][at] + left[row][at]));
            log += half.log;
        }
        add(&x, log);
        sum
    }
}

fn product<const N: usize>(one: &Matrix<N>, other: &Matrix<N>) -> Matrix<N> {
    let mut product = [[0.0; N]; N];
    for (product, one) in product.iter_mut().zip(one) {
        for (weight, row) in one.iter().zip(other) {
            for (product, element) in product.iter_mut().zip(row) {
                *product += weight * element;
            }
        }
    }
    product
}

/// Filters the state over a run. Returns the scale factor.
#[inline(always)]
fn forwards<const N: usize>(state: &mut [f64; N], power: &Matrix<N>) -> f64 {
    let mut next = [0.0; N];
    for (weight, row) in state.iter().zip(power) {
        for (next, probability) in next.iter_mut().zip(row) {
            *next += weight * probability;
        }
    }
    let sum: f64 = next.iter().sum();
    let scale = 1.0 / sum;
    *state = next.map(|one| one * scale);
    sum
}

#[inline(always)]
fn times<const N: usize>(power: &Matrix<N>, follows: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|at| power[at].iter().zip(follows).map(|(one, other)| one * other).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sums over all sequences of states.
    fn by_enumeration(outcomes: &[u8], transitions: &[Vec<f64>], loss: &[f64]) -> Expected {
        let n = loss.len();
        let (mut total, mut pairs, mut frames) = (0.0, vec![vec![0.0; n]; n], vec![[0.0; 2]; n]);
        for number in 0..n.pow(outcomes.len() as u32) {
            let states: Vec<usize> = (0..outcomes.len()).map(|at| number / n.pow(at as u32) % n).collect();
            let mut weight = 1.0 / n as f64;
            states.windows(2).for_each(|pair| weight *= transitions[pair[0]][pair[1]]);
            for (state, outcome) in states.iter().zip(outcomes) {
                weight *= if *outcome == 0 { 1.0 - loss[*state] } else { loss[*state] };
            }
            total += weight;
            states.windows(2).for_each(|pair| pairs[pair[0]][pair[1]] += weight);
            states
                .iter()
                .zip(outcomes)
                .for_each(|(state, outcome)| frames[*state][*outcome as usize] += weight);
        }
        pairs.iter_mut().flatten().for_each(|one| *one /= total);
        frames.iter_mut().flatten().for_each(|one| *one /= total);
        Expected { log_likelihood: math::ln(total), transitions: pairs, frames }
    }

    proptest! {
        #[test]
        fn expectations_equal_those_over_all_sequences_of_states(
            outcomes in prop::collection::vec(0u8..2, 1..8),
            weights in prop::collection::vec(0.05f64..1.0, 9),
            loss in prop::collection::vec(0.01f64..0.99, 3),
        ) {
            let transitions: Vec<Vec<f64>> = weights
                .chunks(3)
                .map(|row| row.iter().map(|one| one / row.iter().sum::<f64>()).collect())
                .collect();
            let found = Runs::new(&outcomes).expected(&transitions, &loss).unwrap();
            let true_one = by_enumeration(&outcomes, &transitions, &loss);
            prop_assert!((found.log_likelihood - true_one.log_likelihood).abs() < 1e-9);
            let numbers = |one: &Expected| {
                one.transitions.iter().flatten().chain(one.frames.iter().flatten()).copied().collect::<Vec<_>>()
            };
            for (one, other) in numbers(&found).iter().zip(numbers(&true_one)) {
                prop_assert!((one - other).abs() < 1e-9, "{found:?} {true_one:?}");
            }
        }
    }

    #[test]
    fn blocks_are_joined_without_a_seam() {
        // A chain with visible states: every transition is counted.
        let outcomes: Vec<u8> =
            (0..15 * BLOCK + 17).map(|at| u8::from(at % 7 == 0 || at % 11 == 3)).collect();
        assert!(Runs::new(&outcomes).runs.len() > 2 * BLOCK);
        let counted = |from: u8, to: u8| {
            outcomes.windows(2).filter(|pair| pair[0] == from && pair[1] == to).count() as f64
        };
        let runs = Runs::new(&outcomes);
        let found = runs.expected(&[vec![0.7, 0.3], vec![0.6, 0.4]], &[0.0, 1.0]).unwrap();
        for from in 0..2 {
            for to in 0..2 {
                let difference = found.transitions[from][to] - counted(from as u8, to as u8);
                assert!(difference.abs() < 1e-6, "{found:?}");
            }
        }
        assert_eq!(runs.expected(&[vec![1.0, 0.0], vec![1.0, 0.0]], &[0.0, 1.0]), None);
        assert_eq!(runs.expected(&[], &[]), None);
        assert_eq!(Runs::new(&[]).expected(&[vec![1.0]], &[0.5]), None);
    }

    #[test]
    fn runs_of_millions_of_frames_neither_vanish_nor_overflow() {
        // A million lost frames with probability 1/2 each, then as many received: only the number
        // of frames is known.
        let mut outcomes = vec![1; 1_000_000];
        outcomes.extend(vec![0; 1_000_000]);
        let half = vec![vec![0.5, 0.5], vec![0.5, 0.5]];
        let found = Runs::new(&outcomes).expected(&half, &[0.5, 0.5]).unwrap();
        assert!((found.log_likelihood + 2e6 * std::f64::consts::LN_2).abs() < 1e-3, "{found:?}");
        for count in found.transitions.iter().flatten() {
            assert!((count - 1_999_999.0 / 4.0).abs() < 1e-3, "{found:?}");
        }
        for count in found.frames.iter().flatten() {
            assert!((count - 500_000.0).abs() < 1e-3, "{found:?}");
        }
    }
}
