//! Reads the file of a scenario. No other module of the crate accesses files.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Maximum size of a scenario in bytes, 4 MiB. The tree of a long list takes about a hundred times
/// as much memory.
pub const SIZE_LIMIT: u64 = 4 << 20;

/// A function that returns the content of the file at a path, or the reason for a failure. Loading
/// accesses files only through this function, so a program without a file system can pass its own.
pub type Files<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, String>;

/// Reads the file at `path` after checking its type, because opening a pipe would block, and a
/// device may be endless.
///
/// # Errors
/// Returns the reason, without the path, if the path is not a readable regular file of at most
/// [`SIZE_LIMIT`].
pub fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "reading it is not permitted".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err("is a directory, not a scenario file".to_owned());
    }
    if !metadata.is_file() {
        return Err("is not a regular file but a pipe, a socket or a device".to_owned());
    }
    if metadata.len() > SIZE_LIMIT {
        return Err(too_large(&format!("{:.1} MB", metadata.len() as f64 / 1e6)));
    }
    let mut bytes = Vec::new();
    // A file may grow after its size was read, and some special files report a size of zero.
    let file = File::open(path).map_err(unreadable)?;
    file.take(SIZE_LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Returns the message for a scenario of this size, which is too large.
pub(crate) fn too_large(size: &str) -> String {
    format!("is too large for a scenario: {size}; allowed: at most {} MiB", SIZE_LIMIT >> 20)
}
