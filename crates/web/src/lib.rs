//! The exports of the WebAssembly module, which has no imports.
//!
//! A page writes a request as JSON to [`bp_input`], opens the run with [`bp_open`], calls
//! [`bp_advance`] until it returns 1, ends the run with [`bp_close`], and reads the JSON at
//! [`bp_answer`]. [`bp_check`] answers a request without a run. The answer of a run contains the
//! address and the length of each column of the traces. These columns are valid until the next call
//! of [`bp_input`].
//!
//! A panic traps. The page then reads the message at [`bp_panic`] and discards the instance.

use bentpipe_preview::{Answer, Check, Preview, Request, ScenarioError, Trace};
use serde_json::{json, Value};
use std::cell::RefCell;
use std::panic;

#[derive(Default)]
struct State {
    input: Vec<u8>,
    preview: Option<Preview>,
    answer: String,
    traces: Vec<Trace>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
    /// The message of a panic. It is separate from the state, which the panicking export may have
    /// borrowed.
    static PANIC: RefCell<String> = RefCell::default();
}

fn with<R>(run: impl FnOnce(&mut State) -> R) -> R {
    STATE.with(|state| run(&mut state.borrow_mut()))
}

/// Returns the address of `length` bytes to which a request is written. Discards the last run and
/// its answer.
#[no_mangle]
pub extern "C" fn bp_input(length: usize) -> *mut u8 {
    panic::set_hook(Box::new(|info| PANIC.with(|panic| *panic.borrow_mut() = info.to_string())));
    with(|state| {
        *state = State { input: vec![0; length], ..State::default() };
        state.input.as_mut_ptr()
    })
}

/// Reads the request and builds the network. Returns 1, or 0 with the problems as the answer:
/// `{"error": TEXT}` for an invalid request, or `{"problems": [...], "text": TEXT}` for an invalid
/// scenario.
#[no_mangle]
pub extern "C" fn bp_open() -> u32 {
    with(|state| match open(&std::mem::take(&mut state.input)) {
        Ok(preview) => {
            state.preview = Some(preview);
            1
        }
        Err(answer) => {
            state.answer = answer.to_string();
            0
        }
    })
}

/// Checks the scenario of the request. Returns 1 with the [`Check`] as the answer, or 0 with the
/// problems, as [`bp_open`] does.
#[no_mangle]
pub extern "C" fn bp_check() -> u32 {
    with(|state| {
        let checked = checked(&std::mem::take(&mut state.input));
        state.answer = checked.as_ref().map_or_else(Value::to_string, to_text);
        checked.is_ok().into()
    })
}

fn checked(input: &[u8]) -> Result<Check, Value> {
    Check::of(&request(input)?).map_err(|refused| problems(&refused))
}

fn to_text(checked: &Check) -> String {
    serde_json::to_string(checked).expect("a check is numbers, texts, lists and tables")
}

fn problems(refused: &ScenarioError) -> Value {
    json!({ "problems": refused.problems, "text": refused.to_string() })
}

fn request(input: &[u8]) -> Result<Request, Value> {
    serde_json::from_slice(input).map_err(|error| json!({ "error": error.to_string() }))
}

fn open(input: &[u8]) -> Result<Preview, Value> {
    Preview::open(&request(input)?).map_err(|refused| problems(&refused))
}

/// Processes at most `events` events. Returns the completed fraction of the duration, which is 1 at
/// the end. Returns 1 if there is no run.
#[no_mangle]
pub extern "C" fn bp_advance(events: u32) -> f64 {
    with(|state| state.preview.as_mut().map_or(1.0, |preview| preview.advance(events.into())))
}

/// Returns the number of events processed so far.
#[no_mangle]
pub extern "C" fn bp_events() -> f64 {
    with(|state| state.preview.as_ref().map_or(0.0, |preview| preview.events() as f64))
}

/// Ends the run at its present time. The answer is the outcome with the key `traces`: a list of
/// tables. Their columns are addresses of 64-bit floats in memory. The column `entity` has 32-bit
/// indices of the names in `entities`, and `time` is in nanoseconds.
#[no_mangle]
pub extern "C" fn bp_close() {
    with(|state| {
        let Some(preview) = state.preview.take() else { return };
        let mut answer = preview.close();
        state.traces = std::mem::take(&mut answer.traces);
        state.answer = with_traces(&answer, &state.traces).to_string();
    });
}

fn with_traces(answer: &Answer, traces: &[Trace]) -> Value {
    let mut all = serde_json::to_value(answer).expect("an outcome is numbers, texts, lists and tables");
    all["traces"] = traces
        .iter()
        .map(|trace| {
            let columns = trace.table.columns.iter().zip(&trace.columns).map(|(column, values)| {
                json!({
                    "name": column.name,
                    "unit": column.unit,
                    "about": column.about,
                    "at": values.as_ptr() as usize,
                })
            });
            json!({
                "table": trace.table.name,
                "noun": trace.table.entity,
                "rows": trace.time.len(),
                "dropped": trace.dropped,
                "entities": trace.entities,
                "time": trace.time.as_ptr() as usize,
                "entity": trace.entity.as_ptr() as usize,
                "columns": columns.collect::<Vec<_>>(),
            })
        })
        .collect();
    all
}

/// Returns the address of the answer, which is JSON in UTF-8.
#[no_mangle]
pub extern "C" fn bp_answer() -> *const u8 {
    with(|state| state.answer.as_ptr())
}

/// Returns the length of the answer in bytes.
#[no_mangle]
pub extern "C" fn bp_answer_length() -> usize {
    with(|state| state.answer.len())
}

/// Returns the address of the message of a panic, in UTF-8.
#[no_mangle]
pub extern "C" fn bp_panic() -> *const u8 {
    PANIC.with(|panic| panic.borrow().as_ptr())
}

/// Returns the length of the message of a panic in bytes.
#[no_mangle]
pub extern "C" fn bp_panic_length() -> usize {
    PANIC.with(|panic| panic.borrow().len())
}
