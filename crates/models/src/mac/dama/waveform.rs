//! Waveforms of DVB-RCS2 (EN 301 545-2, annex A: linear modulation bursts) and their choice by a terminal's signal (ACM).
//!
//! A terminal uses the waveform with the most bits per symbol whose threshold its Es/N0 exceeds by the
//! margin. A slot then carries as many whole bytes as the waveform's efficiency allows for the symbols of the
//! burst. All terminals share slots of one length, so the capacity of a slot differs between terminals, and
//! so do their requests: they count slots of their own capacity.
//!
//! Thresholds and efficiencies are those of EN 301 545-2 as used by OpenSAND (quasi-error-free). The
//! efficiencies have two decimals, so the bytes of a burst may differ by one or two from the standard's
//! payload lengths.
//!
//! Limit: a terminal's signal does not change during a run; errors are those of `error`, whatever the margin.
//!
//! ```toml
//! [network.sat.return]
//! acm = { burst = 1616, margin_db = 1.0 }
//! ```

use bentpipe_core::{Problems, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Es/N0 in dB.
pub type Decibel = Real<-50_000, 60_000>;

/// Adaptive coding and modulation (ACM) with the linear modulation bursts of DVB-RCS2 (EN 301 545-2, annex
/// A): each terminal uses the most efficient waveform that its signal permits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Acm")]
pub struct Config {
    /// Number of symbols in a burst, which must be 536 or 1616.
    pub burst: u16,
    /// Margin in dB by which a terminal's Es/N0 must exceed a waveform's threshold.
    pub margin_db: Decibel,
    /// Es/N0 in dB of terminals that have none of their own.
    pub esn0_db: Decibel,
}

/// Modulation and coding of a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waveform {
    /// Number of the waveform in EN 301 545-2.
    pub id: u8,
    /// Modulation and code rate.
    pub name: &'static str,
    /// Number of symbols in the burst.
    pub symbols: u16,
    /// Bits per symbol, overhead included.
    pub efficiency: f64,
    /// Required Es/N0 in dB.
    pub threshold_db: f64,
}

impl Waveform {
    /// Number of bytes that a burst carries.
    pub fn bytes(&self) -> u32 {
        (self.efficiency * f64::from(self.symbols) / 8.0) as u32
    }
}

impl Config {
    /// The waveform of a terminal with this Es/N0; `None` if the signal is too weak even for the most robust
    /// one.
    pub fn choose(&self, own: Option<Decibel>) -> Option<&'static Waveform> {
        let signal = own.unwrap_or(self.esn0_db).value() - self.margin_db.value();
        let usable = WAVEFORMS
            .iter()
            .filter(|waveform| waveform.symbols == self.burst && waveform.threshold_db <= signal);
        usable.max_by(|a, b| a.efficiency.total_cmp(&b.efficiency))
    }

    /// Adds the problems of this configuration.
    pub fn check(&self, problems: &mut Problems) {
        if !WAVEFORMS.iter().any(|waveform| waveform.symbols == self.burst) {
            problems.add("burst", format!("{} symbols; allowed: 536 or 1616", self.burst));
        }
    }

    /// Adds a problem if the terminal's signal is too weak for any waveform.
    pub fn check_signal(&self, own: Option<Decibel>, key: &str, problems: &mut Problems) {
        let robust = WAVEFORMS.iter().filter(|waveform| waveform.symbols == self.burst);
        let Some(robust) = robust.min_by(|a, b| a.threshold_db.total_cmp(&b.threshold_db)) else { return };
        if self.choose(own).is_none() {
            let message = format!(
                "{} dB minus the margin of {} dB is below the {} dB that the most robust waveform needs ({}, {}); allowed: at \
                 least {} dB",
                own.unwrap_or(self.esn0_db).value(),
                self.margin_db.value(),
                robust.threshold_db,
                robust.id,
                robust.name,
                robust.threshold_db + self.margin_db.value()
            );
            problems.add(key, message);
        }
    }
}

const fn waveform(id: u8, name: &'static str, symbols: u16, efficiency: f64, threshold_db: f64) -> Waveform {
    Waveform { id, name, symbols, efficiency, threshold_db }
}

/// Those of EN 301 545-2, table A-1, for IP traffic.
pub static WAVEFORMS: &[Waveform] = &[
    waveform(3, "QPSK 1/3", 536, 0.56, 0.22),
    waveform(4, "QPSK 1/2", 536, 0.87, 2.34),
    waveform(5, "QPSK 2/3", 536, 1.26, 4.29),
    waveform(6, "QPSK 3/4", 536, 1.42, 5.36),
    waveform(7, "QPSK 5/6", 536, 1.6, 6.68),
    waveform(8, "8PSK 2/3", 536, 1.7, 8.08),
    waveform(9, "8PSK 3/4", 536, 1.93, 9.31),
    waveform(10, "8PSK 5/6", 536, 2.13, 10.82),
    waveform(11, "16QAM 3/4", 536, 2.59, 11.17),
    waveform(12, "16QAM 5/6", 536, 2.87, 12.56),
    waveform(13, "QPSK 1/3", 1616, 0.61, -0.51),
    waveform(14, "QPSK 1/2", 1616, 0.93, 1.71),
    waveform(15, "QPSK 2/3", 1616, 1.3, 3.69),
    waveform(16, "QPSK 3/4", 1616, 1.47, 4.73),
    waveform(17, "QPSK 5/6", 1616, 1.64, 5.94),
    waveform(18, "8PSK 2/3", 1616, 1.75, 7.49),
    waveform(19, "8PSK 3/4", 1616, 1.98, 8.77),
    waveform(20, "8PSK 5/6", 1616, 2.19, 10.23),
    waveform(21, "16QAM 3/4", 1616, 2.66, 10.72),
    waveform(22, "16QAM 5/6", 1616, 2.96, 12.04),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_waveform_that_the_signal_allows() {
        let config: Config =
            serde_json::from_str(r#"{"burst": 1616, "margin_db": 1.0, "esn0_db": 8.0}"#).unwrap();
        let id = |own: Option<f64>| {
            let own = own.map(|own| serde_json::from_str::<Decibel>(&own.to_string()).unwrap());
            config.choose(own).map(|waveform| (waveform.id, waveform.bytes()))
        };
        // 8 - 1 = 7 dB: above 5.94, below 7.49. 1.64 x 1616 / 8 = 331.28.
        assert_eq!(id(None), Some((17, 331)));
        assert_eq!(id(Some(8.5)), Some((18, 353)), "a threshold that is just met is met");
        assert_eq!(id(Some(30.0)), Some((22, 597)));
        assert_eq!(id(Some(0.5)), Some((13, 123)));
        assert_eq!(id(Some(0.4)), None);
    }

    #[test]
    fn more_bits_need_more_signal() {
        for symbols in [536, 1616] {
            let list: Vec<_> = WAVEFORMS.iter().filter(|waveform| waveform.symbols == symbols).collect();
            assert_eq!(list.len(), 10);
            assert!(list.windows(2).all(|pair| {
                pair[0].efficiency < pair[1].efficiency && pair[0].threshold_db < pair[1].threshold_db
            }));
        }
    }
}
