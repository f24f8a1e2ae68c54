//! What a trace says about a Markov chain that may have produced it: the likelihood, and how often each transition
//! and each loss is expected to have happened. Fits of error processes maximise the one by the other.
//!
//! For outcomes o_1 ... o_T and a chain with the transitions P and the probability e_i(o) of an outcome in state
//! i, forwards the state is filtered, backwards it is smoothed, both scaled by c_t, the probability of an outcome
//! given those before it:
//!
//! ```text
//! f_t(i) = e_i(o_t) sum over j of f_t-1(j) P_ji / c_t             log L = sum of log c_t
//! b_t(i) = sum over j of P_ij e_j(o_t+1) b_t+1(j) / c_t+1
//! expected visits of i = sum of f_t(i) b_t(i)
//! expected transitions i to j = sum of f_t(i) P_ij e_j(o_t+1) b_t+1(j) / c_t+1
//! ```
//!
//! Source: L. R. Rabiner, "A Tutorial on Hidden Markov Models", Proceedings of the IEEE 77(2), 1989, section V.
//! The first state is any one with equal probability. Memory is that of one block, as the filter is computed again
//! from the beginning of each.

/// Maximum number of states.
pub const MOST: usize = 8;

/// Frames of a block.
const BLOCK: usize = 4096;

/// What is expected of a chain, given the outcomes.
#[derive(Debug, PartialEq)]
pub struct Expected {
    /// Natural logarithm of the probability of the outcomes.
    pub log_likelihood: f64,
    /// Transitions, by the state before and the state after.
    pub transitions: Vec<Vec<f64>>,
    /// Received and lost frames by state.
    pub frames: Vec<[f64; 2]>,
}

/// Computes what is expected of a chain with these transitions and losses per state, given outcomes that are 0
/// (received) or something else (lost). `None` for a chain that cannot have produced them, or has none or more
/// than [`MOST`] states.
pub fn expected(outcomes: &[u8], transitions: &[Vec<f64>], loss: &[f64]) -> Option<Expected> {
    match loss.len() {
        1 => of_states::<1>(outcomes, transitions, loss),
        2 => of_states::<2>(outcomes, transitions, loss),
        3 => of_states::<3>(outcomes, transitions, loss),
        4 => of_states::<4>(outcomes, transitions, loss),
        5 => of_states::<5>(outcomes, transitions, loss),
        6 => of_states::<6>(outcomes, transitions, loss),
        7 => of_states::<7>(outcomes, transitions, loss),
        MOST => of_states::<MOST>(outcomes, transitions, loss),
        _ => None,
    }
}

struct Chain<const N: usize> {
    transitions: [[f64; N]; N],
    /// Probabilities of both outcomes by state.
    emits: [[f64; N]; 2],
}

impl<const N: usize> Chain<N> {
    /// Filters the next state; returns the probability of the outcome.
    #[inline(always)]
    fn filter(&self, before: &mut [f64; N], outcome: u8) -> f64 {
        let emits = &self.emits[usize::from(outcome != 0)];
        let mut sum = 0.0;
        for (state, emits) in before.iter_mut().zip(emits) {
            *state *= emits;
            sum += *state;
        }
        let scale = 1.0 / sum;
        before.iter_mut().for_each(|state| *state *= scale);
        sum
    }

    #[inline(always)]
    fn predict(&self, filtered: &[f64; N]) -> [f64; N] {
        let mut next = [0.0; N];
        for (weight, row) in filtered.iter().zip(&self.transitions) {
            for (next, probability) in next.iter_mut().zip(row) {
                *next += weight * probability;
            }
        }
        next
    }
}

fn of_states<const N: usize>(outcomes: &[u8], transitions: &[Vec<f64>], loss: &[f64]) -> Option<Expected> {
    let chain = Chain::<N> {
        transitions: std::array::from_fn(|from| std::array::from_fn(|to| transitions[from][to])),
        emits: [std::array::from_fn(|state| 1.0 - loss[state]), std::array::from_fn(|state| loss[state])],
    };
    let mut log_likelihood = 0.0;
    let mut state = [1.0 / N as f64; N];
    // Predicted states at the beginning of each block.
    let mut begins = Vec::with_capacity(outcomes.len() / BLOCK + 1);
    for block in outcomes.chunks(BLOCK) {
        begins.push(state);
        // One logarithm for many frames.
        let mut product = 1.0f64;
        for outcome in block {
            product *= chain.filter(&mut state, *outcome);
            if product < 1e-200 {
                log_likelihood += product.ln();
                product = 1.0;
            }
            state = chain.predict(&state);
        }
        log_likelihood += product.ln();
    }
    // Not a number, or minus infinity, if something impossible has happened.
    if !log_likelihood.is_finite() {
        return None;
    }
    let mut pairs = [[0.0; N]; N];
    let mut frames = [[0.0; N]; 2];
    let mut smoothed = [1.0; N];
    let mut filtered = [([0.0; N], 0.0); BLOCK];
    // e(o) b / c of the frame after the present one; none after the last frame.
    let mut ahead: Option<[f64; N]> = None;
    for (block, begin) in outcomes.chunks(BLOCK).zip(begins).rev() {
        let mut state = begin;
        for (outcome, slot) in block.iter().zip(&mut filtered) {
            let scale = chain.filter(&mut state, *outcome);
            *slot = (state, 1.0 / scale);
            state = chain.predict(&state);
        }
        for (outcome, (state, scale)) in block.iter().zip(&filtered).rev() {
            if let Some(ahead) = &ahead {
                for (from, weight) in state.iter().enumerate() {
                    let mut sum = 0.0;
                    for to in 0..N {
                        pairs[from][to] += weight * ahead[to];
                        sum += chain.transitions[from][to] * ahead[to];
                    }
                    smoothed[from] = sum;
                }
            }
            let lost = usize::from(*outcome != 0);
            for at in 0..N {
                frames[lost][at] += state[at] * smoothed[at];
            }
            ahead = Some(std::array::from_fn(|at| chain.emits[lost][at] * smoothed[at] * scale));
        }
    }
    let row = |from: usize| (0..N).map(|to| pairs[from][to] * chain.transitions[from][to]).collect();
    Some(Expected {
        log_likelihood,
        transitions: (0..N).map(row).collect(),
        frames: (0..N).map(|at| [frames[0][at], frames[1][at]]).collect(),
    })
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
        Expected { log_likelihood: f64::ln(total), transitions: pairs, frames }
    }

    proptest! {
        #[test]
        fn expectations_are_those_over_all_sequences_of_states(
            outcomes in prop::collection::vec(0u8..2, 1..8),
            weights in prop::collection::vec(0.05f64..1.0, 9),
            loss in prop::collection::vec(0.01f64..0.99, 3),
        ) {
            let transitions: Vec<Vec<f64>> = weights
                .chunks(3)
                .map(|row| row.iter().map(|one| one / row.iter().sum::<f64>()).collect())
                .collect();
            let found = expected(&outcomes, &transitions, &loss).unwrap();
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
        // A chain whose states can be seen: every transition is counted.
        let outcomes: Vec<u8> = (0..3 * BLOCK + 17).map(|at| u8::from(at % 7 == 0 || at % 11 == 3)).collect();
        let counted = |from: u8, to: u8| {
            outcomes.windows(2).filter(|pair| pair[0] == from && pair[1] == to).count() as f64
        };
        let found = expected(&outcomes, &[vec![0.7, 0.3], vec![0.6, 0.4]], &[0.0, 1.0]).unwrap();
        for from in 0..2 {
            for to in 0..2 {
                let difference = found.transitions[from][to] - counted(from as u8, to as u8);
                assert!(difference.abs() < 1e-6, "{found:?}");
            }
        }
        assert_eq!(expected(&outcomes, &[vec![1.0, 0.0], vec![1.0, 0.0]], &[0.0, 1.0]), None);
        assert_eq!(expected(&outcomes, &[], &[]), None);
    }
}
