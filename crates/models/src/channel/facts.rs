//! What an error process does to packets, in numbers.

use super::{Config, Effect};
use crate::link::framing::Framed;

impl Config {
    /// Part of the packets of `bytes` that are expected to be spoiled, by their framing, when `packets` of them are sent.
    pub fn loss(&self, framed: Framed, bytes: u32, packets: u64) -> f64 {
        let units = (packets as f64 * framed.units).round() as u64;
        let of_unit = self.expected_loss(units, f64::from(framed.unit.unwrap_or(bytes)));
        1.0 - (1.0 - of_unit).powf(framed.units)
    }

    /// What it does that is not in the expected loss.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !matches!(self, Config::None(_) | Config::Packet(_) | Config::Bit(_)) {
            notes.push(format!("errors of the kind {} are not independent", self.kind()));
        }
        if self.effect() != Effect::Drop {
            notes.push("corrupted packets are delivered (error effect)".to_owned());
        }
        notes
    }
}
