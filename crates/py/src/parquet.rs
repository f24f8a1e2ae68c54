//! Parquet files in scenarios, read by the Python package.

use bentpipe_scenario::PARQUET_BEGINS;
use pyo3::prelude::*;
use std::path::Path;

/// Returns the content of the file at `path`; of a Parquet file, its table as comma-separated text.
pub fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = bentpipe_scenario::read_file(path)?;
    if bytes.starts_with(PARQUET_BEGINS) {
        return text(path).map(String::into_bytes);
    }
    Ok(bytes)
}

fn text(path: &Path) -> Result<String, String> {
    Python::attach(|py| {
        let read = || py.import("bentpipe.series")?.call_method1("text_of_parquet", (path,))?.extract();
        read().map_err(|error: PyErr| error.value(py).to_string())
    })
}
