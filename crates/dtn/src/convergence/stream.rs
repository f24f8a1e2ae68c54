//! Streams of bundles, each after a header with its length: the common part of MTCP and STCP.

use bytes::Bytes;

/// Reads a header. Returns the lengths of the header and of the bundle, or `None` if the header is
/// incomplete. The error is a first byte that cannot begin a header.
pub type ReadHeader = fn(&[u8]) -> Result<Option<(usize, u64)>, u8>;

/// Appends a bundle with its header. Returns false and appends nothing if the bundle is too long
/// for a header.
pub type WriteBundle = fn(&[u8], &mut Vec<u8>) -> bool;

/// The format of bundles in the stream of a convergence layer.
#[derive(Clone, Copy, Debug)]
pub struct Framing {
    /// Reads the header of a bundle.
    pub header: ReadHeader,
    /// Writes a bundle with its header.
    pub write: WriteBundle,
}

/// An error in a stream. The rest of the stream cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// This byte cannot begin a header. Only MTCP has such bytes, since its headers must begin a
    /// CBOR byte string of definite length.
    InvalidHeader(u8),
    /// A bundle of this length in bytes exceeds the reader's limit.
    TooLong(u64),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::InvalidHeader(byte) => {
                write!(f, "0x{byte:02x} does not begin a CBOR byte string of a definite length")
            }
            Error::TooLong(length) => write!(f, "a bundle of {length} B is longer than allowed"),
        }
    }
}

/// Extracts the bundles from the bytes of a connection.
pub struct Reader {
    buffer: Vec<u8>,
    /// Number of bytes at the beginning of the buffer that were already returned.
    consumed: usize,
    longest: u64,
    framing: Framing,
}

impl Reader {
    /// Creates a reader for a format that accepts bundles of at most `longest` bytes.
    pub fn new(longest: u64, framing: Framing) -> Reader {
        Reader { buffer: Vec::new(), consumed: 0, longest, framing }
    }

    /// Adds received bytes.
    pub fn read(&mut self, bytes: &[u8]) {
        if self.consumed > 0 && (self.consumed == self.buffer.len() || self.consumed > 1 << 20) {
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next bundle, or `None` if it is incomplete.
    ///
    /// # Errors
    /// If the header is invalid or the bundle is too long. The rest of the stream cannot be read.
    pub fn next_bundle(&mut self) -> Result<Option<Bytes>, Error> {
        let rest = &self.buffer[self.consumed..];
        let Some((header, length)) = (self.framing.header)(rest).map_err(Error::InvalidHeader)? else {
            return Ok(None);
        };
        if length > self.longest {
            return Err(Error::TooLong(length));
        }
        let length = length as usize;
        let Some(bundle) = rest.get(header..header + length) else { return Ok(None) };
        let bundle = Bytes::copy_from_slice(bundle);
        self.consumed += header + length;
        Ok(Some(bundle))
    }
}
