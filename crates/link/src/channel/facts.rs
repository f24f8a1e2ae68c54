//! What an error process does to packets, in words, where the expected loss does not hold it.

use super::{Config, Effect};

impl Config {
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
