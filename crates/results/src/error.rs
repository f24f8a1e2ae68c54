//! Errors of a run folder, with messages for users.

use std::io;
use std::path::PathBuf;

/// The reason why a run folder cannot be created or written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The folder contains an earlier run that may not be replaced.
    #[error("{} already holds a run: choose another folder, or ask for it to be replaced", .0.display())]
    Exists(PathBuf),
    /// The folder contains something other than a run; it is never replaced.
    #[error("{} is not empty and not a bentpipe run: nothing was written", .0.display())]
    NotARun(PathBuf),
    /// The path leads to a file.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The file system returned an error.
    #[error("{} while writing {file}: {source}", problem(.source))]
    Write {
        /// The file, relative to the run folder, or the folder itself.
        file: String,
        /// The error that the operating system returned.
        source: io::Error,
    },
    /// A table outgrew its file format.
    #[error("{file} cannot take more rows: {problem}")]
    Format {
        /// The file, relative to the run folder.
        file: String,
        /// The error of the format's library.
        problem: String,
    },
}

impl ResultsError {
    pub(crate) fn write(file: impl Into<String>, source: io::Error) -> ResultsError {
        ResultsError::Write { file: file.into(), source }
    }

    /// Returns true if the file system is full, or the quota of the user is exhausted.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, ResultsError::Write { source, .. } if is_full(source))
    }

    /// Returns a copy of the error, to report it again.
    pub(crate) fn again(&self) -> ResultsError {
        match self {
            ResultsError::Exists(path) => ResultsError::Exists(path.clone()),
            ResultsError::NotARun(path) => ResultsError::NotARun(path.clone()),
            ResultsError::NotAFolder(path) => ResultsError::NotAFolder(path.clone()),
            ResultsError::Write { file, source } => {
                let source = match source.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                ResultsError::Write { file: file.clone(), source }
            }
            ResultsError::Format { file, problem } => {
                ResultsError::Format { file: file.clone(), problem: problem.clone() }
            }
        }
    }
}

fn problem(source: &io::Error) -> &'static str {
    if is_full(source) {
        "disk full"
    } else {
        "failure"
    }
}

fn is_full(source: &io::Error) -> bool {
    matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_reported_as_disk_full() {
        let error = ResultsError::write("traces/tcp.parquet", io::ErrorKind::StorageFull.into());
        assert!(error.is_disk_full() && error.again().is_disk_full());
        assert!(error.to_string().starts_with("disk full while writing traces/tcp.parquet: "), "{error}");
    }
}
