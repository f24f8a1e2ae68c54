//! Data that has content in a real agent, but only a length in a simulation.

use bytes::Bytes;
use std::ops::Range;

/// A piece of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// The length in bytes of data without content.
    Zeros(u64),
    /// Data with content.
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
    /// If the range exceeds the data.
    pub fn part(&self, range: Range<u64>) -> Chunk {
        match self {
            Chunk::Zeros(length) => {
                assert!(
                    range.start <= range.end && range.end <= *length,
                    "the range exceeds {length} B of data"
                );
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
