//! Notes on the effects of an error process that the expected loss does not include.

use super::{Config, Effect};

impl Config {
    /// Returns notes on the effects that the expected loss does not include.
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
