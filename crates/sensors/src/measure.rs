//! The measures of motes, and their length in messages.
//!
//! A measure consists of the number of its mote (1 byte), its time in milliseconds (4 bytes), and a
//! value of 4 bytes for each of the five quantities: 25 bytes, as in the platform study. A message
//! with only some of its columns is shorter accordingly.

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

    /// Returns the name of its column.
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
    /// A value for each of [`Quantity::ALL`].
    pub values: [f32; 5],
}

/// Bytes of the mote's number and the time, with which every row begins.
pub const ROW: u32 = 5;
/// Bytes of a value.
pub const VALUE: u32 = 4;
/// Bytes of a whole measure.
pub const MEASURE: u32 = ROW + VALUE * Quantity::ALL.len() as u32;

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number; NaN if it is unknown.
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
