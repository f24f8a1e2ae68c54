//! A refused scenario as a Python exception.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::IntoPyObjectExt;
use serde_json::Value;

pyo3::create_exception!(_native, ScenarioError, PyValueError, "A scenario that is refused.");

/// Returns the exception, with the problems as a list of dicts in its attribute `problems`.
pub fn refused(py: Python<'_>, error: &bentpipe_scenario::ScenarioError) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let problems = serde_json::to_value(&error.problems).expect("problems are plain data");
    let attached = to_python(py, &problems).and_then(|list| exception.value(py).setattr("problems", list));
    attached.err().unwrap_or(exception)
}

/// Returns the package's own exception for errors that the caller can correct.
pub fn input(py: Python<'_>, message: &str) -> PyErr {
    let made =
        py.import("bentpipe.errors").and_then(|errors| errors.getattr("InputError")?.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(value) => match value.as_i64() {
            Some(value) => value.into_bound_py_any(py),
            None => value.as_f64().into_bound_py_any(py),
        },
        Value::String(value) => value.into_bound_py_any(py),
        Value::Array(values) => {
            let values = values.iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, values)?.into_any())
        }
        Value::Object(values) => {
            let dict = PyDict::new(py);
            for (key, value) in values {
                dict.set_item(key, to_python(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}
