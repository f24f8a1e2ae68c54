//! The log of the kernel's connections, for Python.

use bentpipe_bpf::{Event, Log, LogError, Namespace, Row, Rows};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time by CLOCK_MONOTONIC in nanoseconds, the socket's cookie, and the values of the trace `tcp`.
type Logged = (u64, u64, [f64; 12]);

fn refused(error: &LogError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// A running log of the connections of one network namespace.
#[pyclass]
pub struct TcpLog {
    running: Mutex<(Log, Rows)>,
}

#[pymethods]
impl TcpLog {
    #[new]
    fn new(py: Python<'_>, namespace: u64) -> PyResult<TcpLog> {
        let seen = [Namespace { inode: namespace as u32, tag: 0 }];
        let log = py.detach(|| {
            bentpipe_bpf::available().map_err(LogError::from)?;
            Log::start(&seen)
        });
        let log = log.map_err(|error| refused(&error))?;
        Ok(TcpLog { running: Mutex::new((log, Rows::new())) })
    }

    /// Returns the rows since the last call, after at most `timeout` seconds.
    fn poll(&self, py: Python<'_>, timeout: f64) -> PyResult<Vec<Logged>> {
        let rows = py.detach(|| {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let (log, rows) = &mut *running;
            let mut found = Vec::new();
            let mut each = |event: &Event| {
                let row: Option<Row> = rows.add(event);
                found.extend(row.map(|row| (row.time, row.socket, row.values())));
            };
            log.poll(Duration::from_secs_f64(timeout.clamp(0.0, 1.0)), &mut each).map(|_| found)
        });
        rows.map_err(|error| refused(&error))
    }

    /// Returns the number of events that were lost because the log was not read often enough.
    fn lost(&self) -> PyResult<u64> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.0.lost().map_err(|error| refused(&error))
    }
}
