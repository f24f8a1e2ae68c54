//! The signals that motes sense. They are synthetic and model no real location.
//!
//! Each quantity is the sum of a mean, a sine over the day, and independent Gaussian noise in each
//! sample. The phase of the sine differs between motes. Means and amplitudes have the magnitude
//! that landers on Mars have reported (temperature, illuminance, gravity). Sound has bursts: a
//! sample is 30 dB louder with a probability of 1/20.

use crate::measure::{Measure, Quantity};
use bentpipe_core::{math, Span, Stream, Time};
use std::f64::consts::TAU;

/// Length of the day, a Martian solar day.
pub const DAY: Span = Span::from_secs(88_775);

/// Returns the mean of a quantity, its amplitude over the day, and the standard deviation of its
/// noise.
fn signal(quantity: Quantity) -> (f64, f64, f64) {
    match quantity {
        Quantity::Light => (20_000.0, 20_000.0, 500.0),
        Quantity::Temperature => (-60.0, 30.0, 0.5),
        Quantity::Acceleration => (3.72, 0.0, 0.02),
        Quantity::Magnetism => (0.2, 0.05, 0.01),
        Quantity::Audio => (35.0, 5.0, 3.0),
    }
}

/// Samples all quantities at a mote.
pub fn sample(mote: u16, time: Time, stream: &mut Stream) -> Measure {
    let day = time.as_secs_f64() / DAY.as_secs_f64();
    let values = Quantity::ALL.map(|quantity| {
        let (mean, amplitude, deviation) = signal(quantity);
        let phase = f64::from(mote) / 40.0;
        let value = mean + amplitude * math::sin(TAU * (day + phase)) + deviation * stream.normal();
        match quantity {
            Quantity::Light => value.max(0.0) as f32,
            Quantity::Audio if stream.chance(0.05) => (value + 30.0) as f32,
            _ => value as f32,
        }
    });
    Measure { mote, time, values }
}
