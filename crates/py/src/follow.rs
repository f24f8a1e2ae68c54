//! Runs in progress, for Python to follow.

use crate::congestion;
use bentpipe_core::Seen;
use bentpipe_runs::{Follow, Running};
use pyo3::prelude::*;
use serde_json::{json, Map, Value};
use std::ops::ControlFlow;

/// Calls Python with the progress of a run. An exception ends the run and is raised at its end.
pub struct Follower {
    progress: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
    /// Results of the changes that were requested at the last look.
    answers: Vec<Value>,
    failure: Option<PyErr>,
}

impl Follower {
    pub fn new(progress: Option<Py<PyAny>>, watch: Option<Py<PyAny>>) -> Follower {
        Follower { progress, watch, answers: Vec::new(), failure: None }
    }

    /// Reports the completed fraction of the run.
    pub fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        if congestion::failed() {
            return ControlFlow::Break(());
        }
        let Some(progress) = &self.progress else { return ControlFlow::Continue(()) };
        let answer = Python::attach(|py| {
            progress.call1(py, (fraction,)).and_then(|answer| answer.extract::<bool>(py))
        });
        self.judge(answer)
    }

    /// Raises the exception that Python raised in the meantime, if any.
    pub fn finish(self) -> PyResult<()> {
        congestion::take_failure().or(self.failure).map_or(Ok(()), Err)
    }

    fn judge(&mut self, answer: PyResult<bool>) -> ControlFlow<()> {
        match answer {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl Follow for Follower {
    fn at(&mut self, fraction: f64, run: &mut dyn Running) -> ControlFlow<()> {
        if let Some(watch) = &self.watch {
            let seen = shown(&run.look(), std::mem::take(&mut self.answers));
            let wanted = Python::attach(|py| {
                watch.call1(py, (seen,)).and_then(|answer| answer.extract::<Vec<(String, String)>>(py))
            });
            match wanted {
                Ok(changes) => {
                    for (key, value) in changes {
                        let done = run.change(&key, &value);
                        let at = done.as_ref().ok().map(|at| at.as_secs_f64());
                        self.answers
                            .push(json!({"key": key, "value": value, "time": at, "refused": done.err()}));
                    }
                }
                Err(error) => return self.judge(Err(error)),
            }
        }
        self.progress(fraction)
    }
}

/// Returns rows as JSON: by table and entity, each with its time in seconds and the values, null
/// for none.
fn shown(seen: &Seen, answers: Vec<Value>) -> String {
    let mut tables: Map<String, Value> = Map::new();
    for row in &seen.rows {
        let entities = tables.entry(row.table.name).or_insert_with(|| json!({}));
        let rows = &mut entities[&row.entity];
        if rows.is_null() {
            *rows = json!([]);
        }
        let mut values = vec![json!(row.time as f64 * 1e-9)];
        values.extend(row.values.iter().map(|value| json!(value)));
        rows.as_array_mut().expect("it was made as one").push(Value::Array(values));
    }
    json!({"rows": tables, "dropped": seen.dropped, "changes": answers}).to_string()
}
