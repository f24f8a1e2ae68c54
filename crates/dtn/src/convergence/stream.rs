//! Bundles one after the other in a stream of bytes, each behind a head with its length: the common
//! part of MTCP and STCP.

use bytes::Bytes;

/// Reads a head: its length and that of its bundle, or `None` if it is not whole. The error is a
/// byte that begins no head.
pub type Head = fn(&[u8]) -> Result<Option<(usize, u64)>, u8>;

/// Appends a bundle with its head; returns false and appends nothing if the bundle is too long for
/// a head.
pub type Write = fn(&[u8], &mut Vec<u8>) -> bool;

/// The format in which a convergence layer puts bundles into a stream.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Reads the head of a bundle.
    pub head: Head,
    /// Writes a bundle.
    pub write: Write,
}

/// An error after which a connection is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A byte that does not begin the head of a bundle, which for MTCP is a byte string of a
    /// definite length.
    NotAHead(u8),
    /// A bundle that is longer than the reader's limit.
    TooLong(u64),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::NotAHead(byte) => {
                write!(f, "0x{byte:02x} does not begin a CBOR byte string of a definite length")
            }
            Error::TooLong(length) => write!(f, "a bundle of {length} B is longer than allowed"),
        }
    }
}

/// Extracts the bundles from the bytes of a connection.
pub struct Reader {
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that have been taken.
    taken: usize,
    longest: u64,
    form: Form,
}

impl Reader {
    /// Creates a reader of bundles of at most `longest` bytes, in this format.
    pub fn new(longest: u64, form: Form) -> Reader {
        Reader { buffer: Vec::new(), taken: 0, longest, form }
    }

    /// Adds bytes of the connection.
    pub fn read(&mut self, bytes: &[u8]) {
        if self.taken > 0 && (self.taken == self.buffer.len() || self.taken > 1 << 20) {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next bundle, if it is complete.
    ///
    /// # Errors
    /// If the connection cannot be read any further.
    pub fn next_bundle(&mut self) -> Result<Option<Bytes>, Error> {
        let rest = &self.buffer[self.taken..];
        let Some((head, length)) = (self.form.head)(rest).map_err(Error::NotAHead)? else { return Ok(None) };
        if length > self.longest {
            return Err(Error::TooLong(length));
        }
        let length = length as usize;
        let Some(bundle) = rest.get(head..head + length) else { return Ok(None) };
        let bundle = Bytes::copy_from_slice(bundle);
        self.taken += head + length;
        Ok(Some(bundle))
    }
}
