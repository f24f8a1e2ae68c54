//! A part of the stream to be sent as one segment.

use std::num::NonZeroU64;

/// A part of the stream in two words, so that `Option<Chunk>` is returned in registers. A structure
/// of four fields would be returned in memory. Reading it in one piece would wait for the writes of
/// its fields, about 5 ns per segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk {
    start: u64,
    /// Payload in the lower half, flags in the upper one.
    rest: NonZeroU64,
}

/// A bit that is always set, so that no chunk is zero.
const IS_CHUNK: NonZeroU64 = NonZeroU64::new(1 << 63).expect("a bit is set");
const FIN: u64 = 1 << 32;
const FRESH: u64 = 1 << 33;
const PUSHED: u64 = 1 << 34;

impl Chunk {
    /// Creates a chunk of `payload` bytes from position `start`, with or without the FIN after it;
    /// `fresh` if the bytes are sent for the first time.
    #[inline(always)]
    pub fn new(start: u64, payload: u32, fin: bool, fresh: bool) -> Chunk {
        let flags = if fin { FIN } else { 0 } | if fresh { FRESH } else { 0 };
        Chunk { start, rest: IS_CHUNK | flags | u64::from(payload) }
    }

    /// Returns the position of the first byte.
    #[inline(always)]
    pub fn start(self) -> u64 {
        self.start
    }

    /// Returns the number of payload bytes.
    #[inline(always)]
    pub fn payload(self) -> u32 {
        self.rest.get() as u32
    }

    /// Returns true if the FIN follows.
    #[inline(always)]
    pub fn fin(self) -> bool {
        self.rest.get() & FIN != 0
    }

    /// Returns true if the chunk is sent for the first time.
    #[inline(always)]
    pub fn fresh(self) -> bool {
        self.rest.get() & FRESH != 0
    }

    /// Returns the same chunk with PSH, if `pushed`.
    #[inline(always)]
    pub fn with_push(self, pushed: bool) -> Chunk {
        let flags = if pushed { PUSHED } else { 0 };
        Chunk { start: self.start, rest: self.rest | flags }
    }

    /// Returns true if it is sent with PSH.
    #[inline(always)]
    pub fn pushed(self) -> bool {
        self.rest.get() & PUSHED != 0
    }

    /// Joins the chunk with the one that follows it.
    #[inline]
    pub fn and(self, more: Chunk) -> Chunk {
        Chunk::new(self.start, self.payload() + more.payload(), more.fin(), self.fresh())
            .with_push(more.pushed())
    }
}
