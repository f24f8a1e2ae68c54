//! Gentle RED (Floyd 2000): beyond `max` the probability rises on, from max_p to 1 at twice `max`, instead of jumping to 1.
//!
//! All else is [`super::red`]'s, with the same keys. Packets are marked instead of dropped up to twice `max`.
//!
//! ```toml
//! queue = { kind = "gentle-red", packets = 200, min = 20, max = 60 }
//! ```

use super::early::{self, Average, Curve, Packets};
use super::red::{config, Red};
use super::{Discipline, Queue};
use bentpipe_core::{Fraction, Problems, Rate, Size};

config! {
    /// Gentle RED.
    gentle = true
}
