//! Gentle RED (Floyd 2000): above `max` the drop probability rises linearly from max_p to 1 at
//! twice `max`, instead of jumping to 1.
//!
//! Everything else, including the keys, is as in [`super::red`]. Packets are marked instead of
//! dropped up to twice `max`.
//!
//! ```toml
//! queue = { kind = "gentle-red", packets = 200, min = 20, max = 60 }
//! ```

use super::early::{self, Average, Curve, Packets};
use super::red::{config, Red};
use super::{Discipline, Queue};
use bentpipe_core::{Fraction, Problems, Rate, Size};

config! {
    /// RED whose drop probability rises linearly from max_p at `max` to 1 at twice `max`, instead
    /// of jumping to 1 (Floyd 2000).
    gentle = true
}
