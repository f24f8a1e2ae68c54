//! A wrapper for large values in queues, which avoids partial moves.

use std::cell::Cell;

/// A value that the compiler moves in one piece.
///
/// A queue returns a value inside an `Option`, and the compiler encodes its `None` in a spare value
/// of some field. It then moves that field separately, and at the next move the loads across both
/// wait for the stores: about 5 ns per packet and queue. This wrapper has no spare values.
pub struct Whole<T>(Cell<T>);

impl<T> Whole<T> {
    /// Creates a cell that holds a value.
    #[inline]
    pub fn new(value: T) -> Whole<T> {
        Whole(Cell::new(value))
    }

    /// Returns the value and consumes the cell.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }

    /// Calls `look` with the value.
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
