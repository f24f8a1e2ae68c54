//! The measures of motes, and their length in messages.
//!
//! A measure has 25 bytes, as in the platform study: the number of its mote (1 byte), its time in
//! milliseconds (4 bytes), and a value of 4 bytes for each of the five quantities. A row with fewer
//! quantities is 4 bytes shorter for each missing one.

use bentpipe_core::Time;
use std::fmt;

/// A quantity that a mote samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Illuminance in lux.
    Light,
    /// Temperature in degrees Celsius.
    Temperature,
    /// Acceleration in m/s2.
    Acceleration,
    /// Magnetic flux density in microtesla.
    Magnetism,
    /// Sound level in decibels.
    Audio,
}

impl Quantity {
    /// All quantities, in the order of a measure's values.
    pub const ALL: [Quantity; 5] = [
        Quantity::Light,
        Quantity::Temperature,
        Quantity::Acceleration,
        Quantity::Magnetism,
        Quantity::Audio,
    ];

    /// Returns the name of the quantity's column.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Light => "light",
            Quantity::Temperature => "temperature",
            Quantity::Acceleration => "acceleration",
            Quantity::Magnetism => "magnetism",
            Quantity::Audio => "audio",
        }
    }
}

/// The measurements of a mote at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Index of the mote.
    pub mote: u16,
    /// Time of the sample.
    pub time: Time,
    /// The values, in the order of [`Quantity::ALL`].
    pub values: [f32; 5],
}

/// Length in bytes of the mote's number and the time at the beginning of each row.
pub const ROW: u32 = 5;
/// Length of a value in bytes.
pub const VALUE: u32 = 4;
/// Length in bytes of a measure with all quantities.
pub const MEASURE: u32 = ROW + VALUE * Quantity::ALL.len() as u32;

/// A value in a row of results.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number; NaN for an unknown value.
    Number(f64),
    /// The name of a mote.
    Mote(String),
    /// A truth value.
    Truth(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) if number.is_nan() => out.write_str("null"),
            Value::Number(number) => write!(out, "{}", (number * 1e4).round() / 1e4),
            Value::Mote(name) => out.write_str(name),
            Value::Truth(truth) => write!(out, "{truth}"),
        }
    }
}
