//! Radio frames: how their bits are modulated and coded, which decides how much noise they
//! withstand.

use bentpipe_core::Rate;

/// A unit as it is sent over the air: a frame, or one MPDU of an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Bytes from the first one of its MAC header to the last one of its check sequence.
    pub bytes: u32,
    /// How the bits of a frame are sent.
    pub mode: Mode,
}

/// A modulation with its coding and the data rate that results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mode {
    /// Data rate in kbit/s, such as 5500 or 54000.
    pub kbit_s: u32,
    /// The modulation, with the coding in front of it.
    pub modulation: Modulation,
}

/// How bits become a radio signal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Modulation {
    /// Spread by a Barker sequence of 11 chips, two phases: 1 Mbit/s (IEEE 802.11-2016, clause 15).
    Dbpsk,
    /// Spread by a Barker sequence of 11 chips, four phases: 2 Mbit/s (clause 15).
    Dqpsk,
    /// Complementary code keying with 4 bits per symbol: 5.5 Mbit/s (clause 16).
    Cck4,
    /// Complementary code keying with 8 bits per symbol: 11 Mbit/s (clause 16).
    Cck8,
    /// Orthogonal subcarriers behind a convolutional code (clauses 17 to 19).
    Ofdm {
        /// Coded bits per subcarrier and stream: 1 (BPSK), 2 (QPSK), 4 (16-QAM) or 6 (64-QAM).
        bits: u8,
        /// The rate of the punctured code.
        coding: Coding,
    },
}

/// Rate of the convolutional code of constraint length 7 with the generators 133 and 171 (octal),
/// punctured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Coding {
    /// Rate 1/2: the code without puncturing.
    Half,
    /// Rate 2/3.
    TwoThirds,
    /// Rate 3/4.
    ThreeQuarters,
    /// Rate 5/6.
    FiveSixths,
}

impl Mode {
    /// Returns the data rate of the mode.
    pub fn rate(self) -> Rate {
        Rate::from_bits_per_second(u64::from(self.kbit_s) * 1000)
    }
}

impl Coding {
    /// Information bits and coded bits: 3 and 4 for a rate of 3/4.
    pub const fn ratio(self) -> (u32, u32) {
        match self {
            Coding::Half => (1, 2),
            Coding::TwoThirds => (2, 3),
            Coding::ThreeQuarters => (3, 4),
            Coding::FiveSixths => (5, 6),
        }
    }
}
