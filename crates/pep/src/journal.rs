//! The log: one JSON object per line on standard error, as journald and log collectors expect.

use serde_json::{json, Value};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes an event. `fields` is an object.
pub fn log(level: &str, event: &str, fields: Value) {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let mut line = json!({"time": (time * 1e6).round() / 1e6, "level": level, "event": event});
    if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
        line.extend(fields);
    }
    // One write, so that lines of several threads do not mix. A failure is ignored, since there is
    // nowhere to report it.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Logs an event at the level "info".
pub fn info(event: &str, fields: Value) {
    log("info", event, fields);
}

/// Logs an event at the level "warning".
pub fn warn(event: &str, fields: Value) {
    log("warning", event, fields);
}
