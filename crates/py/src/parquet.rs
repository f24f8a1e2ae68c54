//! Parquet files in scenarios, read by the Python package.

use pyo3::prelude::*;
use std::path::Path;

/// Returns the table in a Parquet file as comma-separated text.
pub fn text(path: &Path) -> Result<String, String> {
    Python::attach(|py| {
        let read = || py.import("bentpipe.series")?.call_method1("text_of_parquet", (path,))?.extract();
        read().map_err(|error: PyErr| error.value(py).to_string())
    })
}
