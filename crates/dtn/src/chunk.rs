//! Data that is bytes in a real agent, and only a length in a simulation.

use bytes::Bytes;
use std::ops::Range;

/// A piece of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// A number of bytes without content.
    Zeros(u64),
    /// Real bytes.
    Bytes(Bytes),
}

impl Chunk {
    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Chunk::Zeros(length) => *length,
            Chunk::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a part of the data.
    ///
    /// # Panics
    /// If the range is not within the data.
    pub fn part(&self, range: Range<u64>) -> Chunk {
        match self {
            Chunk::Zeros(length) => {
                assert!(range.start <= range.end && range.end <= *length, "the range lies within the data");
                Chunk::Zeros(range.end - range.start)
            }
            Chunk::Bytes(bytes) => Chunk::Bytes(bytes.slice(range.start as usize..range.end as usize)),
        }
    }

    /// Appends the data; data without content becomes zeros.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Chunk::Zeros(length) => out.resize(out.len() + *length as usize, 0),
            Chunk::Bytes(bytes) => out.extend_from_slice(bytes),
        }
    }
}
