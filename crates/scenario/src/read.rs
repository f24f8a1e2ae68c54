//! Reads a scenario's file. No other module of the crate accesses files.

use crate::error::{Problem, ScenarioError};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Maximum size of a scenario in bytes, 4 MiB. The tree of one long list takes about a hundred
/// times as much memory.
pub const SIZE_LIMIT: u64 = 4 << 20;

/// Reads the file at `path` after checking its type: opening a pipe would block, and a device may
/// never end.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ScenarioError> {
    let problem =
        |message: String| ScenarioError::from(Problem::of_file(&path.display().to_string(), message));
    let unreadable = |error: std::io::Error| {
        problem(match error.kind() {
            ErrorKind::NotFound => "there is no such file".to_owned(),
            ErrorKind::PermissionDenied => "reading it is not permitted".to_owned(),
            _ => format!("cannot be read: {error}"),
        })
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(problem("is a directory, not a scenario file".to_owned()));
    }
    if !metadata.is_file() {
        return Err(problem("is not a regular file but a pipe, a socket or a device".to_owned()));
    }
    if metadata.len() > SIZE_LIMIT {
        return Err(problem(too_large(&format!("{:.1} MB", metadata.len() as f64 / 1e6))));
    }
    let mut bytes = Vec::new();
    // A file may grow after its size was read, and some special files report a size of zero.
    let file = File::open(path).map_err(unreadable)?;
    file.take(SIZE_LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Returns the message for a scenario of `size`.
pub(crate) fn too_large(size: &str) -> String {
    format!("is too large for a scenario: {size}; allowed: at most {} MiB", SIZE_LIMIT >> 20)
}
