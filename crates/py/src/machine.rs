//! The abilities of this machine for an emulation.

use bentpipe_emu::host::user;
use bentpipe_emu::report::doctor;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Examines the machine's abilities for emulation. Returns the findings as JSON.
#[pyfunction]
pub fn examine() -> String {
    serde_json::to_string(&doctor::examine()).expect("an examination is plain data")
}

/// Measures the limits of the machine. Returns them as JSON.
#[pyfunction]
pub fn calibrate(py: Python<'_>) -> PyResult<String> {
    user::enter()?;
    let measured = py.detach(bentpipe_emu::calibrate::calibrate);
    let calibration = measured.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(serde_json::to_string(&calibration).expect("a calibration is plain data"))
}
