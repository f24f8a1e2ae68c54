//! Tables of MODCODs: modulation, code rate, bits per symbol, and the Es/N0 at which a frame is
//! decoded.
//!
//! - DVB-S2: EN 302 307-1, table 13 (normal FECFRAME, quasi-error-free in AWGN), as used by
//!   OpenSAND. Efficiencies have three decimals.
//! - DVB-S2X: EN 302 307-2 V1.1.1, table 20a (normal FECFRAME, AWGN, without VL-SNR), in addition
//!   to the MODCODs of DVB-S2.
//! - DVB-RCS2: EN 301 545-2, annex A, linear modulation bursts for IP traffic, as used by OpenSAND.
//!   Efficiencies have two decimals, so the bytes of a burst may differ by one or two from the
//!   standard's payload lengths.
//!
//! Tests compare all of them with `tests/authorities/dvb`. The efficiency of a frame is that of its
//! data field: with code rate r and m bits per symbol, (64 800 r - p - 80) bits in 64 800 / m
//! symbols, filled up to whole slots of 90, plus a header of 90 symbols. 80 bits are the baseband
//! header, and p the parity bits of BCH (192; 160 for the rates 2/3 and 5/6 of DVB-S2, 128 for its
//! 8/9 and 9/10). Frames have no pilots.
//!
//! Thresholds are sharp: a frame is decoded if its Es/N0 is at least the threshold, and lost
//! otherwise. The error rate of a real decoder falls within some tenths of a dB.

use bentpipe_core::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Modulation and coding of a frame or burst.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Modcod {
    /// Number in the standard; 0 if the table has none.
    pub id: u8,
    /// Modulation and code rate, such as "QPSK 1/4".
    pub name: &'static str,
    /// Number of symbols in a burst; 0 on links without bursts.
    pub symbols: u16,
    /// Efficiency in bits per symbol, after coding and framing of the physical layer.
    pub efficiency: f64,
    /// Threshold: the minimum Es/N0 in dB at which frames are decoded.
    pub threshold_db: f64,
}

impl Modcod {
    /// Returns the payload of a burst in bytes.
    pub fn bytes(&self) -> u32 {
        (self.efficiency * f64::from(self.symbols) / 8.0) as u32
    }

    /// Returns the data rate at this symbol rate, which is given as the rate at one bit per symbol.
    pub fn rate(&self, symbols: Rate) -> Rate {
        let rate = symbols.bits_per_second() as f64 * self.efficiency;
        Rate::from_bits_per_second((rate.round() as u64).max(1))
    }

    /// Returns the number of bytes in the data field of a baseband frame of DVB-S2 or DVB-S2X with
    /// long FECFRAMEs.
    pub fn frame_bytes(&self) -> u32 {
        let (_, rate) = self.name.split_once(' ').expect("a MODCOD is named by modulation and code rate");
        let (above, below) = rate.trim_end_matches("-L").split_once('/').expect("a code rate is a fraction");
        let number = |text: &str| text.parse::<u32>().expect("a code rate is a fraction of whole numbers");
        let parity = match (self.id, rate) {
            (1.., "2/3" | "5/6") => 160,
            (1.., "8/9" | "9/10") => 128,
            _ => 192,
        };
        (FECFRAME / number(below) * number(above) - parity - BASEBAND_HEADER) / 8
    }
}

/// Number of bits in a long FECFRAME (EN 302 307-1, table 5a).
const FECFRAME: u32 = 64_800;
/// Number of bits in the header of a baseband frame.
const BASEBAND_HEADER: u32 = 80;

/// The MODCODs that a forward link can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Modcods {
    /// The 28 MODCODs of DVB-S2 (EN 302 307-1).
    #[default]
    DvbS2,
    /// The 28 MODCODs of DVB-S2, and the 38 that DVB-S2X adds.
    DvbS2x,
}

impl Modcods {
    /// Returns the MODCODs of this choice.
    pub fn list(self) -> Vec<&'static Modcod> {
        match self {
            Modcods::DvbS2 => DVB_S2.iter().collect(),
            Modcods::DvbS2x => DVB_S2.iter().chain(DVB_S2X).collect(),
        }
    }
}

/// Returns the waveforms of DVB-RCS2 with bursts of `symbols` symbols; none for other burst
/// lengths.
pub fn waveforms(symbols: u16) -> Vec<&'static Modcod> {
    DVB_RCS2.iter().filter(|waveform| waveform.symbols == symbols).collect()
}

const fn entry(id: u8, name: &'static str, symbols: u16, efficiency: f64, threshold_db: f64) -> Modcod {
    Modcod { id, name, symbols, efficiency, threshold_db }
}

/// DVB-S2 (EN 302 307-1, table 13).
pub static DVB_S2: &[Modcod] = &[
    entry(1, "QPSK 1/4", 0, 0.49, -2.35),
    entry(2, "QPSK 1/3", 0, 0.656, -1.24),
    entry(3, "QPSK 2/5", 0, 0.789, -0.3),
    entry(4, "QPSK 1/2", 0, 0.988, 1.0),
    entry(5, "QPSK 3/5", 0, 1.188, 2.23),
    entry(6, "QPSK 2/3", 0, 1.322, 3.1),
    entry(7, "QPSK 3/4", 0, 1.487, 4.03),
    entry(8, "QPSK 4/5", 0, 1.587, 4.68),
    entry(9, "QPSK 5/6", 0, 1.655, 5.18),
    entry(10, "QPSK 8/9", 0, 1.767, 6.2),
    entry(11, "QPSK 9/10", 0, 1.789, 6.42),
    entry(12, "8PSK 3/5", 0, 1.78, 5.5),
    entry(13, "8PSK 2/3", 0, 1.981, 6.62),
    entry(14, "8PSK 3/4", 0, 2.228, 7.91),
    entry(15, "8PSK 5/6", 0, 2.479, 9.35),
    entry(16, "8PSK 8/9", 0, 2.646, 10.69),
    entry(17, "8PSK 9/10", 0, 2.679, 10.98),
    entry(18, "16APSK 2/3", 0, 2.637, 8.97),
    entry(19, "16APSK 3/4", 0, 2.967, 10.21),
    entry(20, "16APSK 4/5", 0, 3.166, 11.03),
    entry(21, "16APSK 5/6", 0, 3.3, 11.61),
    entry(22, "16APSK 8/9", 0, 3.523, 12.89),
    entry(23, "16APSK 9/10", 0, 3.567, 13.13),
    entry(24, "32APSK 3/4", 0, 3.703, 12.73),
    entry(25, "32APSK 4/5", 0, 3.952, 13.64),
    entry(26, "32APSK 5/6", 0, 4.12, 14.28),
    entry(27, "32APSK 8/9", 0, 4.398, 15.69),
    entry(28, "32APSK 9/10", 0, 4.453, 16.05),
];

/// The MODCODs that DVB-S2X adds (EN 302 307-2, table 20a).
pub static DVB_S2X: &[Modcod] = &[
    entry(0, "QPSK 13/45", 0, 0.567805, -2.03),
    entry(0, "QPSK 9/20", 0, 0.889135, 0.22),
    entry(0, "QPSK 11/20", 0, 1.088581, 1.45),
    entry(0, "8APSK 5/9-L", 0, 1.647211, 4.73),
    entry(0, "8APSK 26/45-L", 0, 1.713601, 5.13),
    entry(0, "8PSK 23/36", 0, 1.896173, 6.12),
    entry(0, "8PSK 25/36", 0, 2.062148, 7.02),
    entry(0, "8PSK 13/18", 0, 2.145136, 7.49),
    entry(0, "16APSK 1/2-L", 0, 1.972253, 5.97),
    entry(0, "16APSK 8/15-L", 0, 2.10485, 6.55),
    entry(0, "16APSK 5/9-L", 0, 2.193247, 6.84),
    entry(0, "16APSK 26/45", 0, 2.281645, 7.51),
    entry(0, "16APSK 3/5", 0, 2.370043, 7.8),
    entry(0, "16APSK 3/5-L", 0, 2.370043, 7.41),
    entry(0, "16APSK 28/45", 0, 2.458441, 8.1),
    entry(0, "16APSK 23/36", 0, 2.524739, 8.38),
    entry(0, "16APSK 2/3-L", 0, 2.635236, 8.43),
    entry(0, "16APSK 25/36", 0, 2.745734, 9.27),
    entry(0, "16APSK 13/18", 0, 2.856231, 9.71),
    entry(0, "16APSK 7/9", 0, 3.077225, 10.65),
    entry(0, "16APSK 77/90", 0, 3.386618, 11.99),
    entry(0, "32APSK 2/3-L", 0, 3.289502, 11.1),
    entry(0, "32APSK 32/45", 0, 3.510192, 11.75),
    entry(0, "32APSK 11/15", 0, 3.620536, 12.17),
    entry(0, "32APSK 7/9", 0, 3.841226, 13.05),
    entry(0, "64APSK 32/45-L", 0, 4.206428, 13.98),
    entry(0, "64APSK 11/15", 0, 4.338659, 14.81),
    entry(0, "64APSK 7/9", 0, 4.603122, 15.47),
    entry(0, "64APSK 4/5", 0, 4.735354, 15.87),
    entry(0, "64APSK 5/6", 0, 4.933701, 16.55),
    entry(0, "128APSK 3/4", 0, 5.163248, 17.73),
    entry(0, "128APSK 7/9", 0, 5.355556, 18.53),
    entry(0, "256APSK 29/45-L", 0, 5.06569, 16.98),
    entry(0, "256APSK 2/3-L", 0, 5.241514, 17.24),
    entry(0, "256APSK 31/45-L", 0, 5.417338, 18.1),
    entry(0, "256APSK 32/45", 0, 5.593162, 18.59),
    entry(0, "256APSK 11/15-L", 0, 5.768987, 18.84),
    entry(0, "256APSK 3/4", 0, 5.900855, 19.57),
];

/// DVB-RCS2 (EN 301 545-2, table A-1).
pub static DVB_RCS2: &[Modcod] = &[
    entry(3, "QPSK 1/3", 536, 0.56, 0.22),
    entry(4, "QPSK 1/2", 536, 0.87, 2.34),
    entry(5, "QPSK 2/3", 536, 1.26, 4.29),
    entry(6, "QPSK 3/4", 536, 1.42, 5.36),
    entry(7, "QPSK 5/6", 536, 1.6, 6.68),
    entry(8, "8PSK 2/3", 536, 1.7, 8.08),
    entry(9, "8PSK 3/4", 536, 1.93, 9.31),
    entry(10, "8PSK 5/6", 536, 2.13, 10.82),
    entry(11, "16QAM 3/4", 536, 2.59, 11.17),
    entry(12, "16QAM 5/6", 536, 2.87, 12.56),
    entry(13, "QPSK 1/3", 1616, 0.61, -0.51),
    entry(14, "QPSK 1/2", 1616, 0.93, 1.71),
    entry(15, "QPSK 2/3", 1616, 1.3, 3.69),
    entry(16, "QPSK 3/4", 1616, 1.47, 4.73),
    entry(17, "QPSK 5/6", 1616, 1.64, 5.94),
    entry(18, "8PSK 2/3", 1616, 1.75, 7.49),
    entry(19, "8PSK 3/4", 1616, 1.98, 8.77),
    entry(20, "8PSK 5/6", 1616, 2.19, 10.23),
    entry(21, "16QAM 3/4", 1616, 2.66, 10.72),
    entry(22, "16QAM 5/6", 1616, 2.96, 12.04),
];

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::math;

    /// Returns the rows of a table of `tests/authorities/dvb`, without its head.
    fn authority(name: &str) -> Vec<Vec<String>> {
        let path = format!("{}/../../tests/authorities/dvb/{name}.csv", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }

    fn held_to(rows: &[Vec<String>], list: &[Modcod]) {
        assert_eq!(rows.len(), list.len());
        for (row, modcod) in rows.iter().zip(list) {
            let number = |cell: &String| cell.split(' ').next().unwrap().parse::<f64>().unwrap();
            assert_eq!(number(&row[0]), f64::from(modcod.id));
            assert_eq!(format!("{} {}", row[1], row[2]), modcod.name);
            // Equality is exact: both are the nearest number to the same digits.
            assert_eq!(
                (number(&row[3]), number(&row[4])),
                (modcod.efficiency, modcod.threshold_db),
                "{row:?}"
            );
            assert_eq!(row.get(5).map_or(0.0, number), f64::from(modcod.symbols));
        }
    }

    #[test]
    fn the_tables_are_those_of_the_standards() {
        held_to(&authority("dvb_s2_modcod_esn0"), DVB_S2);
        held_to(&authority("dvb_s2x_modcod_esn0"), DVB_S2X);
        held_to(&authority("dvb_rcs2_waveforms_esn0"), DVB_RCS2);
        assert_eq!((DVB_S2.len(), DVB_S2X.len(), DVB_RCS2.len()), (28, 38, 20));
    }

    #[test]
    fn efficiencies_are_those_of_the_frames() {
        for modcod in DVB_S2.iter().chain(DVB_S2X) {
            let bits = match modcod.name.split_once(' ').unwrap().0 {
                "QPSK" => 2,
                "8PSK" | "8APSK" => 3,
                "16APSK" => 4,
                "32APSK" => 5,
                "64APSK" => 6,
                "128APSK" => 7,
                _ => 8,
            };
            let symbols = 90 * FECFRAME.div_ceil(90 * bits) + 90;
            let efficiency = f64::from(8 * modcod.frame_bytes()) / f64::from(symbols);
            // The table of DVB-S2X has six decimals, rounded, and that of DVB-S2 three, rounded or
            // cut off.
            let within = if modcod.id > 0 { 1e-3 } else { 0.51e-6 };
            assert!((efficiency - modcod.efficiency).abs() <= within, "{modcod:?}: {efficiency}");
        }
        // EN 302 307-1, table 5a: 16 008, 32 208, 43 040, 58 192 bits, less 80.
        let bytes = [0, 3, 5, 10].map(|place| DVB_S2[place].frame_bytes());
        assert_eq!(bytes, [1991, 4016, 5370, 7264]);
    }

    #[test]
    fn higher_efficiency_needs_a_stronger_signal() {
        // No MODCOD exceeds the capacity of the channel, log2(1 + Es/N0).
        for modcod in DVB_S2.iter().chain(DVB_S2X).chain(DVB_RCS2) {
            let capacity = math::log2(1.0 + math::powf(10f64, modcod.threshold_db / 10.0));
            assert!(modcod.efficiency < capacity, "{modcod:?}");
        }
        for symbols in [536, 1616] {
            let list = waveforms(symbols);
            assert_eq!(list.len(), 10);
            assert!(list.windows(2).all(|pair| {
                pair[0].efficiency < pair[1].efficiency && pair[0].threshold_db < pair[1].threshold_db
            }));
        }
        assert_eq!(waveforms(1616)[4].bytes(), 331, "1.64 x 1616 / 8 = 331.28");
    }
}
