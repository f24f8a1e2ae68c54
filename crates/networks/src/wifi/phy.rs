//! Timing of the physical layers: the airtime of frames, and the interframe spaces.
//!
//! | layer | preamble and header | data |
//! | --- | --- | --- |
//! | DSSS and CCK (802.11b) | 192 us, short 96 us (never at 1 Mbit/s) | 8 n / rate, rounded up to 1 us |
//! | OFDM (802.11a, and g with 6 us more) | 20 us | symbols of 4 us for 16 + 8 n + 6 bits |
//! | HT mixed format (802.11n) | 36 us, and 4 us for each further long training field | the same, symbols of 3.6 us with the short guard interval |
//!
//! An OFDM symbol carries (subcarriers) x (bits per subcarrier) x (code rate) bits. OFDM has 48
//! data subcarriers. HT has 52 in 20 MHz and 108 in 40 MHz, for each spatial stream. Above 300
//! Mbit/s, HT uses two encoders, which have two tails. In the 2.4 GHz band, every OFDM frame is
//! followed by a signal extension of 6 us, which gives receivers time to decode.
//!
//! Control frames use the highest basic rate that does not exceed the rate of the data. The basic
//! rates are 1, 2, 5.5 and 11 Mbit/s for 802.11b, and 6, 12 and 24 Mbit/s otherwise.
//!
//! Source: IEEE 802.11-2016, clauses 15 to 19 (TXTIME in 15.3.4, 17.4.3, 18.5.3, 19.4.3), not
//! checked against a copy of the standard. Durations are compared with
//! `tests/authorities/wifi/frame_durations.csv` and `timing.csv`.
//!
//! Deviation: TXTIME with the short guard interval is not rounded up to a multiple of 4 us.

use bentpipe_core::Span;
use bentpipe_link::channel::{Coding, Mode, Modulation};

/// The parameters that determine the timing of a network's frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standard {
    /// 802.11b: DSSS and CCK at 2.4 GHz, optionally with short preambles.
    B {
        /// True if frames have short preambles instead of long ones.
        short: bool,
    },
    /// 802.11a: OFDM at 5 GHz.
    A,
    /// 802.11g: OFDM at 2.4 GHz.
    G {
        /// True if 802.11b stations are near. Slots are then long, and the sender sends a CTS to
        /// itself before every data frame.
        protection: bool,
    },
    /// 802.11n: HT in mixed format.
    N {
        /// True if the network is in the 2.4 GHz band.
        low: bool,
        /// True if channels are 40 MHz wide.
        wide: bool,
        /// True if guard intervals are short (400 ns).
        short: bool,
        /// Number of spatial streams, 1 to 4.
        streams: u8,
    },
}

/// Parameters for computing the duration of frames at one rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Format {
    preamble: Span,
    symbol: Span,
    /// Number of half bits per symbol. 5.5 Mbit/s has 5.5 bits, or 11 half bits, per symbol of 1
    /// us.
    half_bits: u64,
    /// Number of half bits around the frame: service and tail.
    half_overhead: u64,
    extension: Span,
}

/// A rate at which data frames can be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    mode: Mode,
    format: Format,
    /// Index of the control rate for this rate.
    control: u8,
}

/// A physical layer: its rates, in ascending order, and its timing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phy {
    /// Length of a slot of the back-off.
    pub slot: Span,
    /// Short interframe space (SIFS), which precedes a response.
    pub sifs: Span,
    /// Smallest contention window, in slots.
    pub cw_min: u16,
    /// Largest contention window, in slots.
    pub cw_max: u16,
    /// Time from the start of a frame until a receiver has detected it (PHY-RX-START delay).
    pub detection: Span,
    /// True if data frames are preceded by a CTS to the sender itself.
    pub protection: bool,
    data: Vec<Entry>,
    control: Vec<(Mode, Format)>,
}

const fn dsss(kbit_s: u32, modulation: Modulation, short: bool) -> (Mode, Format) {
    let preamble = if short && kbit_s > 1000 { 96 } else { 192 };
    let format = Format {
        preamble: Span::from_micros(preamble),
        symbol: Span::from_micros(1),
        half_bits: kbit_s as u64 / 500,
        half_overhead: 0,
        extension: Span::ZERO,
    };
    (Mode { kbit_s, modulation }, format)
}

/// Number of half bits of the service field and of the tail of one encoder.
const SERVICE_AND_TAIL: u64 = 2 * (16 + 6);

fn ofdm(bits: u8, coding: Coding, extension: Span) -> (Mode, Format) {
    let (information, coded) = coding.ratio();
    let per_symbol = 48 * u32::from(bits) * information / coded;
    let format = Format {
        preamble: Span::from_micros(20),
        symbol: Span::from_micros(4),
        half_bits: 2 * u64::from(per_symbol),
        half_overhead: SERVICE_AND_TAIL,
        extension,
    };
    (Mode { kbit_s: per_symbol * 250, modulation: Modulation::Ofdm { bits, coding } }, format)
}

/// MCS 0 to 7: bits per subcarrier, code rate, and index of the OFDM rate with the same modulation
/// and coding.
const MCS: [(u8, Coding, usize); 8] = [
    (1, Coding::Half, 0),
    (2, Coding::Half, 2),
    (2, Coding::ThreeQuarters, 3),
    (4, Coding::Half, 4),
    (4, Coding::ThreeQuarters, 5),
    (6, Coding::TwoThirds, 6),
    (6, Coding::ThreeQuarters, 7),
    (6, Coding::FiveSixths, 7),
];

/// The eight rates of OFDM, from the slowest to the fastest: bits per subcarrier and code rate.
const OFDM: [(u8, Coding); 8] = [
    (1, Coding::Half),
    (1, Coding::ThreeQuarters),
    (2, Coding::Half),
    (2, Coding::ThreeQuarters),
    (4, Coding::Half),
    (4, Coding::ThreeQuarters),
    (6, Coding::TwoThirds),
    (6, Coding::ThreeQuarters),
];

fn ht(mcs: usize, streams: u8, wide: bool, short: bool, extension: Span) -> (Mode, Format) {
    let (bits, coding, _) = MCS[mcs];
    let (information, coded) = coding.ratio();
    let subcarriers = if wide { 108 } else { 52 };
    let per_symbol = subcarriers * u32::from(bits) * u32::from(streams) * information / coded;
    let symbol = Span::from_nanos(if short { 3600 } else { 4000 });
    // The rate is rounded to the nearest kbit/s. For example, 6.5 Mbit/s is exact, and 7.222 Mbit/s
    // is rounded.
    let kbit_s = (u64::from(per_symbol) * 1_000_000 + symbol.as_nanos() / 2) / symbol.as_nanos();
    let encoders = if kbit_s > 300_000 { 2 } else { 1 };
    let training = [1, 2, 4, 4][usize::from(streams) - 1];
    let format = Format {
        preamble: Span::from_micros(32 + 4 * training),
        symbol,
        half_bits: 2 * u64::from(per_symbol),
        half_overhead: 2 * (16 + 6 * encoders),
        extension,
    };
    (Mode { kbit_s: kbit_s as u32, modulation: Modulation::Ofdm { bits, coding } }, format)
}

/// Signal extension of OFDM frames at 2.4 GHz, which gives receivers time to decode.
const SIGNAL_EXTENSION: Span = Span::from_micros(6);

impl Phy {
    /// Returns the physical layer of a standard.
    pub fn new(standard: Standard) -> Phy {
        let micros = Span::from_micros;
        let rates_b = |short| {
            [
                dsss(1000, Modulation::Dbpsk, short),
                dsss(2000, Modulation::Dqpsk, short),
                dsss(5500, Modulation::Cck4, short),
                dsss(11_000, Modulation::Cck8, short),
            ]
        };
        let legacy = |extension| OFDM.map(|(bits, coding)| ofdm(bits, coding, extension));
        // Indices of 6, 12 and 24 Mbit/s among the rates of OFDM.
        let basic = |extension| [0, 2, 4].map(|index| legacy(extension)[index]).to_vec();
        let of_legacy = |index: usize| if index < 2 { 0 } else { 1 + u8::from(index >= 4) };
        match standard {
            Standard::B { short } => {
                let control = rates_b(short).to_vec();
                let entries = control.iter().enumerate();
                let data =
                    entries.map(|(index, &(mode, format))| Entry { mode, format, control: index as u8 });
                Phy {
                    slot: micros(20),
                    sifs: micros(10),
                    cw_min: 31,
                    cw_max: 1023,
                    detection: micros(if short { 96 } else { 192 }),
                    protection: false,
                    data: data.collect(),
                    control,
                }
            }
            Standard::A | Standard::G { .. } => {
                let low = standard != Standard::A;
                let extension = if low { SIGNAL_EXTENSION } else { Span::ZERO };
                let protection = standard == Standard::G { protection: true };
                let rates = legacy(extension).into_iter().enumerate();
                let data =
                    rates.map(|(index, (mode, format))| Entry { mode, format, control: of_legacy(index) });
                let mut control = basic(extension);
                if protection {
                    control.push(dsss(11_000, Modulation::Cck8, false));
                }
                Phy {
                    slot: micros(if protection { 20 } else { 9 }),
                    sifs: micros(if low { 10 } else { 16 }),
                    cw_min: 15,
                    cw_max: 1023,
                    detection: micros(25),
                    protection,
                    data: data.collect(),
                    control,
                }
            }
            Standard::N { low, wide, short, streams } => {
                let extension = if low { SIGNAL_EXTENSION } else { Span::ZERO };
                let mut data = Vec::new();
                for of_streams in 1..=streams {
                    for (mcs, (.., equal)) in MCS.iter().enumerate() {
                        let (mode, format) = ht(mcs, of_streams, wide, short, extension);
                        data.push(Entry { mode, format, control: of_legacy(*equal) });
                    }
                }
                Phy {
                    slot: micros(9),
                    sifs: micros(if low { 10 } else { 16 }),
                    cw_min: 15,
                    cw_max: 1023,
                    detection: micros(33),
                    protection: false,
                    data,
                    control: basic(extension),
                }
            }
        }
    }

    /// Returns the number of rates of data frames.
    pub fn rates(&self) -> usize {
        self.data.len()
    }

    /// Returns the rate of data frames with this index; for HT, the index is the MCS.
    pub fn mode(&self, rate: usize) -> Mode {
        self.data[rate].mode
    }

    /// Returns the indices of the rates in ascending order of speed. Among equally fast rates,
    /// those with fewer streams come first.
    pub fn by_speed(&self) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..self.data.len()).collect();
        indices.sort_by_key(|index| self.data[*index].mode.kbit_s);
        indices
    }

    /// Returns the mode of control frames that answer data at `rate`.
    pub fn control_mode(&self, rate: usize) -> Mode {
        self.control[usize::from(self.data[rate].control)].0
    }

    /// Returns the airtime of a data frame or an aggregate of `bytes` bytes.
    #[inline]
    pub fn data(&self, rate: usize, bytes: u32) -> Span {
        self.data[rate].format.duration(bytes)
    }

    /// Returns the time from the beginning of a data frame until its first `bytes` bytes have been
    /// received.
    #[inline]
    pub fn until(&self, rate: usize, bytes: u32) -> Span {
        let format = Format { extension: Span::ZERO, half_overhead: 32, ..self.data[rate].format };
        format.duration(bytes)
    }

    /// Returns the airtime of a control frame in an exchange with data at `rate`.
    #[inline]
    pub fn control(&self, rate: usize, bytes: u32) -> Span {
        self.control[usize::from(self.data[rate].control)].1.duration(bytes)
    }

    /// Returns the airtime of the CTS that a sender sends to itself for protection from 802.11b
    /// stations.
    pub fn protecting(&self) -> Span {
        self.control[self.control.len() - 1].1.duration(super::CTS)
    }

    /// Returns the airtime of an ACK at the lowest basic rate, which is a part of EIFS.
    pub fn lowest_ack(&self) -> Span {
        self.control[0].1.duration(super::ACK)
    }

    /// Returns the interframe space of SIFS and `number` slots. The station counts back-off slots
    /// after this time on an idle medium. DIFS has 2 slots.
    pub fn space(&self, number: u64) -> Span {
        self.sifs + self.slot * number
    }

    /// Returns the maximum time from the end of a frame to the detection of its response.
    pub fn timeout(&self) -> Span {
        self.sifs + self.slot + self.detection
    }
}

#[cfg(test)]
impl Phy {
    /// Returns the physical layer of Bianchi 2000: FHSS at 1 Mbit/s, headers of 128 us.
    pub(super) fn fhss_of_bianchi() -> Phy {
        let (mode, format) = dsss(1000, Modulation::Dbpsk, false);
        let format = Format { preamble: Span::from_micros(128), ..format };
        Phy {
            slot: Span::from_micros(50),
            sifs: Span::from_micros(28),
            cw_min: 31,
            cw_max: 255,
            detection: Span::ZERO,
            protection: false,
            data: vec![Entry { mode, format, control: 0 }],
            control: vec![(mode, format)],
        }
    }
}

impl Format {
    #[inline]
    fn duration(&self, bytes: u32) -> Span {
        let symbols = (16 * u64::from(bytes) + self.half_overhead).div_ceil(self.half_bits);
        self.preamble + self.symbol * symbols + self.extension
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURATIONS: &str = include_str!("../../../../tests/authorities/wifi/frame_durations.csv");
    const TIMING: &str = include_str!("../../../../tests/authorities/wifi/timing.csv");

    #[test]
    fn frame_durations_match_the_published_table() {
        let mut rows = 0;
        for row in DURATIONS.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let [what, layer, rate, width, guard, preamble, bytes, expected] = fields[..] else {
                panic!("{row}")
            };
            let standard = match layer {
                "Dsss" => Standard::B { short: preamble == "short" },
                "Ofdm" => Standard::A,
                "ErpOfdm" => Standard::G { protection: false },
                "Ht" => Standard::N { low: false, wide: width == "40", short: guard == "400", streams: 1 },
                other => panic!("{other}"),
            };
            let phy = Phy::new(standard);
            let rate = match rate.strip_prefix("HtMcs") {
                Some(mcs) => mcs.parse().unwrap(),
                None => {
                    let kbit_s = (rate.parse::<f64>().unwrap() * 1000.0) as u32;
                    (0..phy.rates()).find(|index| phy.mode(*index).kbit_s == kbit_s).unwrap()
                }
            };
            let mut duration = phy.data(rate, bytes.parse().unwrap());
            if what == "payload" {
                duration = duration - phy.data[rate].format.preamble;
            }
            let expected = (expected.parse::<f64>().unwrap() * 1000.0).round() as u64;
            assert_eq!(duration.as_nanos(), expected, "{row}");
            rows += 1;
        }
        assert_eq!(rows, 61);
    }

    #[test]
    fn slots_spaces_and_acknowledgments_match_the_standards() {
        let of = |row: &str| -> Vec<u64> {
            let row = TIMING.lines().find(|line| line.trim_start_matches('"').starts_with(row)).unwrap();
            let numbers = row.rsplit_once("stream").map_or(row, |_| row);
            let numbers = numbers.trim_start_matches('"');
            let after = numbers.find(',').unwrap();
            let fields = match row.starts_with('"') {
                true => &numbers[numbers.find("\",").unwrap() + 2..],
                false => &numbers[after + 1..],
            };
            fields.split(',').map_while(|field| field.parse().ok()).collect()
        };
        let n = Standard::N { low: false, wide: false, short: false, streams: 1 };
        for (row, standard) in [
            ("802.11b long", Standard::B { short: false }),
            ("802.11b short", Standard::B { short: true }),
            ("802.11a", Standard::A),
            ("802.11g only", Standard::G { protection: false }),
            ("802.11g with", Standard::G { protection: true }),
        ] {
            let phy = Phy::new(standard);
            let preamble = phy.data[phy.rates() - 1].format.preamble;
            let found = [phy.slot, phy.sifs, phy.space(2), preamble].map(Span::as_micros);
            let windows = [u64::from(phy.cw_min), u64::from(phy.cw_max)];
            assert_eq!([&found[..], &windows].concat(), of(row), "{row}");
        }
        let phy = Phy::new(n);
        assert_eq!([phy.slot, phy.sifs, phy.space(2)].map(Span::as_micros), [9, 16, 34]);
        let acks = |standard, rates: &[usize]| -> Vec<u64> {
            let phy = Phy::new(standard);
            rates.iter().map(|rate| phy.control(*rate, 14).as_micros()).collect()
        };
        assert_eq!(acks(Standard::B { short: false }, &[0, 1, 2, 3]), [304, 248, 213, 203]);
        // Data at 6 and 9 Mbit/s is answered at 6 Mbit/s, data at 12 and 18 Mbit/s at 12 Mbit/s,
        // and faster data at 24 Mbit/s.
        assert_eq!(acks(Standard::A, &[0, 1, 2, 3, 4, 7]), [44, 44, 32, 32, 28, 28]);
        assert_eq!(acks(n, &[0, 1, 2, 3, 7]), [44, 32, 32, 28, 28]);
    }

    #[test]
    fn the_fastest_rates_of_ht_match_its_table() {
        let fastest = |wide, short, streams| {
            let phy = Phy::new(Standard::N { low: false, wide, short, streams });
            phy.mode(phy.rates() - 1).kbit_s
        };
        // IEEE 802.11-2016, tables 19-27 to 19-41.
        assert_eq!(fastest(false, false, 1), 65_000);
        assert_eq!(fastest(false, true, 2), 144_444);
        assert_eq!(fastest(true, false, 2), 270_000);
        assert_eq!(fastest(true, true, 4), 600_000);
    }
}
