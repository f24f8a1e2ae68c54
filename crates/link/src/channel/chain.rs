//! Markov chains of the error processes: matrix of transition probabilities, stationary
//! distribution, and walk through the states.
//!
//! A row of the matrix contains the probabilities of the next state, given the present one. Printed
//! rows rarely add to exactly 1: each is divided by its sum, which may differ from 1 by
//! [`ROUNDING`]. The first state is drawn from the stationary distribution. That is the limit of
//! the mean of all distributions, starting from equal probabilities; it exists for every chain.

use bentpipe_core::{Fraction, Problems, Stream};

/// Maximum difference of a row's sum from 1, as results from adding numbers of four digits.
pub const ROUNDING: f64 = 1e-3;

/// Maximum number of states of a chain.
pub const MAX_STATES: usize = 64;

/// A walk through the states of a chain.
pub struct Walk {
    /// Cumulative probabilities of the next state, by the present one.
    rows: Vec<Vec<f64>>,
    /// Cumulative probabilities of the first state.
    first: Vec<f64>,
    state: Option<usize>,
}

impl Walk {
    /// Creates a walk before its first step.
    pub fn new(transitions: &[Vec<Fraction>]) -> Walk {
        let matrix = normalised(transitions);
        let first = cumulative(&stationary(&matrix));
        Walk { rows: matrix.iter().map(|row| cumulative(row)).collect(), first, state: None }
    }

    /// Takes a step and returns the state; the first call returns the first state.
    pub fn step(&mut self, stream: &mut Stream) -> usize {
        let row = self.state.map_or(&self.first, |state| &self.rows[state]);
        let drawn = stream.uniform();
        let state = row.iter().position(|sum| drawn < *sum).unwrap_or(row.len() - 1);
        self.state = Some(state);
        state
    }
}

/// Returns the stationary distribution of a chain with these transitions.
pub fn distribution(transitions: &[Vec<Fraction>]) -> Vec<f64> {
    stationary(&normalised(transitions))
}

fn normalised(transitions: &[Vec<Fraction>]) -> Vec<Vec<f64>> {
    let sum = |row: &[Fraction]| row.iter().map(|one| one.value()).sum::<f64>();
    transitions.iter().map(|row| row.iter().map(|one| one.value() / sum(row)).collect()).collect()
}

/// Returns the partial sums, without a rounding error in the last one, which is 1.
fn cumulative(row: &[f64]) -> Vec<f64> {
    let last = row.iter().rposition(|one| *one > 0.0).unwrap_or(0);
    let mut sum = 0.0;
    let add = |(place, one): (usize, &f64)| {
        sum += one;
        if place >= last {
            1.0
        } else {
            sum
        }
    };
    row.iter().enumerate().map(add).collect()
}

/// Returns the stationary distribution. The lazy chain, which stays in its state every second time,
/// has the same distribution and no periods; its matrix is squared until 2^60 steps have been
/// taken.
fn stationary(matrix: &[Vec<f64>]) -> Vec<f64> {
    let states = matrix.len();
    let mut power: Vec<Vec<f64>> = matrix
        .iter()
        .enumerate()
        .map(|(at, row)| row.iter().enumerate().map(|(to, p)| 0.5 * p + 0.5 * f64::from(at == to)).collect())
        .collect();
    for _ in 0..60 {
        let squared = |row: &Vec<f64>| -> Vec<f64> {
            let entry = |to: usize| (0..states).map(|via| row[via] * power[via][to]).sum::<f64>();
            let entries: Vec<f64> = (0..states).map(entry).collect();
            let sum: f64 = entries.iter().sum();
            entries.into_iter().map(|one| one / sum).collect()
        };
        power = power.iter().map(squared).collect();
    }
    (0..states).map(|to| power.iter().map(|row| row[to]).sum::<f64>() / states as f64).collect()
}

/// Adds the problems of the key `transitions` of a chain with `states` states, described by `of`.
pub fn check(transitions: &[Vec<Fraction>], states: usize, of: &str, problems: &mut Problems) {
    if !(1..=MAX_STATES).contains(&states) {
        problems.add(of, format!("has {states} states; allowed: 1 to {MAX_STATES}"));
        return;
    }
    if transitions.len() != states {
        let rows = transitions.len();
        return problems
            .add("transitions", format!("has {rows} rows; allowed: {states}, one per state in `{of}`"));
    }
    for (place, row) in transitions.iter().enumerate() {
        let (number, columns) = (place + 1, row.len());
        let sum: f64 = row.iter().map(|one| one.value()).sum();
        if columns != states {
            let allowed = format!("allowed: {states}, one per state in `{of}`");
            return problems
                .add("transitions", format!("row {number} has {columns} probabilities; {allowed}"));
        }
        if (sum - 1.0).abs() > ROUNDING {
            let allowed = format!("allowed: a sum of 1, to {ROUNDING}");
            return problems.add("transitions", format!("row {number} adds to {sum:.6}; {allowed}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    fn matrix(rows: &[&[f64]]) -> Vec<Vec<Fraction>> {
        let fraction = |p: &f64| Fraction::new(*p).unwrap();
        rows.iter().map(|row| row.iter().map(fraction).collect()).collect()
    }

    #[test]
    fn a_step_does_not_change_the_stationary_distribution() {
        let cases: [(&[&[f64]], &[f64]); 4] = [
            (&[&[0.9, 0.1], &[0.3, 0.7]], &[0.75, 0.25]),
            // A chain with a period of two.
            (&[&[0.0, 1.0], &[1.0, 0.0]], &[0.5, 0.5]),
            // Two closed classes, from equal probabilities.
            (&[&[1.0, 0.0], &[0.0, 1.0]], &[0.5, 0.5]),
            // EP4 of `markov_loss_fits.csv`.
            (
                &[&[0.9363, 0.0637, 0.0], &[0.3631, 0.4072, 0.2297], &[0.0, 0.4338, 0.5662]],
                &[0.788_442, 0.138_319, 0.073_239],
            ),
        ];
        for (rows, expected) in cases {
            let found = distribution(&matrix(rows));
            let near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 2e-5);
            assert!(near, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn transitions_have_the_frequency_of_their_probability() {
        let rows: &[&[f64]] = &[&[0.9, 0.1, 0.0], &[0.2, 0.3, 0.5], &[0.0, 0.6, 0.4]];
        let (mut walk, mut stream) = (Walk::new(&matrix(rows)), Streams::new(2, 0).stream("walk"));
        let mut counts = [[0.0; 3]; 3];
        let mut state = walk.step(&mut stream);
        for _ in 0..300_000 {
            let next = walk.step(&mut stream);
            counts[state][next] += 1.0;
            state = next;
        }
        for (row, counts) in rows.iter().zip(counts) {
            let sum: f64 = counts.iter().sum();
            for (p, count) in row.iter().zip(counts) {
                // Five standard errors of a binomial share.
                assert!((count / sum - p).abs() <= 5.0 * (p * (1.0 - p) / sum).sqrt(), "{p} {}", count / sum);
            }
        }
    }
}
