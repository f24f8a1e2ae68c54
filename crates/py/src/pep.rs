//! The functions by which Python runs the performance-enhancing proxy, `bentpipe machine pep`.

use crate::error;
use bentpipe_pep::{Config, Error};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

fn raised(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Option { .. } => error::input(py, &error.to_string()),
        Error::Machine { .. } => PyOSError::new_err(error.to_string()),
    }
}

/// Runs a proxy until it is asked to end, without the GIL.
#[pyfunction]
pub fn run_pep(py: Python<'_>, config_json: &str) -> PyResult<()> {
    let config: Config = serde_json::from_str(config_json)
        .map_err(|error| PyValueError::new_err(format!("config: {error}")))?;
    py.detach(|| bentpipe_pep::run(&config)).map_err(|error| raised(py, &error))
}

/// Removes the rules of a proxy that was killed.
#[pyfunction]
pub fn remove_pep(py: Python<'_>) -> PyResult<bool> {
    bentpipe_pep::remove().map_err(|error| raised(py, &error))
}
