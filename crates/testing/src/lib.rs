//! Tests that the machine cannot run: libtest has no word for them and counts them as passed. They report the reason here,
//! and `scripts/test` counts and prints the reasons at its end.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{stderr, Write};

/// The environment variable that names the file in which skipped tests are collected.
const COLLECTED: &str = "BENTPIPE_SKIPPED";

/// Reports that the calling test is skipped because of `reason`: one line to the file that `BENTPIPE_SKIPPED` names, or to
/// standard error if it is not set. libtest captures neither.
///
/// # Panics
/// If the line cannot be written: a skipped test must not pass unnoticed.
pub fn skipped(reason: impl Display) {
    let reason = reason.to_string();
    let test = std::thread::current().name().unwrap_or("unnamed").to_owned();
    let line = format!("{test}: {}\n", reason.trim().replace('\n', "; "));
    match std::env::var_os(COLLECTED) {
        Some(file) => {
            let mut file =
                OpenOptions::new().create(true).append(true).open(file).expect("the file can be opened");
            file.write_all(line.as_bytes()).expect("the file can be written");
        }
        None => write!(stderr(), "skipped: {line}").expect("standard error can be written"),
    }
}
