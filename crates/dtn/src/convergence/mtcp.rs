//! Minimal TCP convergence layer (draft-ietf-dtn-mtcpcl-01): each bundle is a byte string of CBOR (RFC 8949, major type 2) with a definite length,
//! one after the other, in one direction. Nothing is acknowledged: the sender does not learn whether its bundles arrived.

use bytes::Bytes;

/// Appends a bundle as it is sent.
pub fn write(bundle: &[u8], out: &mut Vec<u8>) {
    let length = bundle.len() as u64;
    match length {
        0..=23 => out.push(0x40 | length as u8),
        24..=0xff => out.extend([0x58, length as u8]),
        0x100..=0xffff => {
            out.push(0x59);
            out.extend((length as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0x5a);
            out.extend((length as u32).to_be_bytes());
        }
        _ => {
            out.push(0x5b);
            out.extend(length.to_be_bytes());
        }
    }
    out.extend_from_slice(bundle);
}

/// What makes a connection unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A byte that does not begin a byte string of a definite length.
    NotAByteString(u8),
    /// A bundle that is longer than the reader takes.
    TooLong(u64),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::NotAByteString(byte) => {
                write!(f, "0x{byte:02x} does not begin a CBOR byte string of a definite length")
            }
            Error::TooLong(length) => write!(f, "a bundle of {length} B is longer than allowed"),
        }
    }
}

/// Takes the bundles out of the bytes of a connection.
pub struct Reader {
    buffer: Vec<u8>,
    /// What of the buffer has been taken.
    taken: usize,
    longest: u64,
}

impl Reader {
    /// A reader of bundles of `longest` bytes at most.
    pub fn new(longest: u64) -> Reader {
        Reader { buffer: Vec::new(), taken: 0, longest }
    }

    /// Adds bytes of the connection.
    pub fn read(&mut self, bytes: &[u8]) {
        if self.taken > 0 && (self.taken == self.buffer.len() || self.taken > 1 << 20) {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole bundle, if it is here.
    ///
    /// # Errors
    /// If the connection cannot be read any further.
    pub fn next_bundle(&mut self) -> Result<Option<Bytes>, Error> {
        let rest = &self.buffer[self.taken..];
        let Some(&first) = rest.first() else { return Ok(None) };
        let (head, length) = match first {
            0x40..=0x57 => (1, u64::from(first & 0x1f)),
            0x58..=0x5b => {
                let bytes = 1 << (first - 0x58);
                let Some(number) = rest.get(1..1 + bytes) else { return Ok(None) };
                (1 + bytes, number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
            }
            other => return Err(Error::NotAByteString(other)),
        };
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
