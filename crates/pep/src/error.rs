//! Errors while a proxy is set up.

use std::io;

/// The reason why the proxy cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option has a value that is not allowed.
    #[error("{option} {value}: {reason}")]
    Option {
        /// Its name on the command line.
        option: &'static str,
        /// The value that was given.
        value: String,
        /// The reason, and the allowed values.
        reason: String,
    },
    /// A call to the system failed.
    #[error("{action}: {source}")]
    Machine {
        /// The attempted action, as words for the message.
        action: String,
        /// The error that the operating system returned.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn option(option: &'static str, value: impl ToString, reason: impl Into<String>) -> Error {
        Error::Option { option, value: value.to_string(), reason: reason.into() }
    }
}

/// Adds the attempted action to an error of the system.
pub(crate) trait Context<T> {
    fn context(self, action: impl Into<String>) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, action: impl Into<String>) -> Result<T, Error> {
        self.map_err(|error| Error::Machine { action: action.into(), source: error.into() })
    }
}
