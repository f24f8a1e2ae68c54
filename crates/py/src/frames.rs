//! Error processes: outcomes drawn from them, and estimates of a Markov chain from outcomes.

use crate::scenario::Scenario;
use bentpipe_core::{Span, Streams, Time};
use bentpipe_link::channel::{hidden, Config};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The transitions by state before and after, and the received and lost frames by state.
type Counts = (f64, Vec<Vec<f64>>, Vec<[f64; 2]>);

/// Draws outcomes from the error process of a scenario's first link, for frames of `size` bytes
/// every `interval` seconds: a byte per frame, 1 if it is lost.
#[pyfunction]
pub fn draw_outcomes(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    frames: usize,
    interval: f64,
    size: u32,
    seed: u64,
) -> PyResult<Py<PyBytes>> {
    let model = &scenario.loaded.value;
    scenario.refused(py, model.check_simulated())?;
    let config = model.link.first().map(|link| &link.error);
    let process = config.and_then(|config: &Config| config.build());
    let mut process = process.ok_or_else(|| PyValueError::new_err("the first link has no error process"))?;
    let drawn = py.detach(|| {
        let mut stream = Streams::new(seed, 0).stream("outcomes");
        let at = |number: usize| Time::ZERO + Span::from_secs_f64(interval * number as f64);
        (0..frames)
            .map(|number| u8::from(process.corrupts(at(number), size, &mut stream)))
            .collect::<Vec<_>>()
    });
    Ok(PyBytes::new(py, &drawn).unbind())
}

/// Outcomes of frames, a byte per frame (0 is received, anything else lost), as runs of the same
/// outcome.
#[pyclass(frozen)]
pub struct FrameRuns(hidden::Runs);

#[pymethods]
impl FrameRuns {
    #[new]
    fn new(py: Python<'_>, outcomes: &[u8]) -> FrameRuns {
        FrameRuns(py.detach(|| hidden::Runs::new(outcomes)))
    }

    /// Returns the expected counts of a Markov chain with hidden states, given the outcomes; `None`
    /// if the chain cannot have produced them.
    fn expected(
        &self,
        py: Python<'_>,
        transitions: Vec<Vec<f64>>,
        loss: Vec<f64>,
    ) -> PyResult<Option<Counts>> {
        let states = loss.len();
        if !(1..=hidden::MAX_STATES).contains(&states) || transitions.len() != states {
            return Err(PyValueError::new_err(format!(
                "allowed: 1 to {} states, a row each",
                hidden::MAX_STATES
            )));
        }
        if transitions.iter().any(|row| row.len() != states) {
            return Err(PyValueError::new_err("allowed: a probability per state in each row"));
        }
        let found = py.detach(|| self.0.expected(&transitions, &loss));
        Ok(found.map(|found| (found.log_likelihood, found.transitions, found.frames)))
    }
}
