//! Radio frames: the modulation and coding of their bits, which determine the noise that they
//! withstand.

use bentpipe_core::Rate;

/// A unit on the air: a frame, or one MPDU of an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Size in bytes, from the MAC header to the frame check sequence, both included.
    pub bytes: u32,
    /// Modulation and coding of the frame.
    pub mode: Mode,
}

/// A modulation with its coding and the resulting data rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mode {
    /// Data rate in kbit/s, such as 5500 or 54000.
    pub kbit_s: u32,
    /// The modulation, with the channel code before it.
    pub modulation: Modulation,
}

/// The modulation of bits on a radio carrier.
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
    /// Rate 2/3, punctured.
    TwoThirds,
    /// Rate 3/4, punctured.
    ThreeQuarters,
    /// Rate 5/6, punctured.
    FiveSixths,
}

impl Mode {
    /// Returns the data rate of the mode.
    pub fn rate(self) -> Rate {
        Rate::from_bits_per_second(u64::from(self.kbit_s) * 1000)
    }
}

impl Coding {
    /// Returns information bits and coded bits: 3 and 4 for a rate of 3/4.
    pub const fn ratio(self) -> (u32, u32) {
        match self {
            Coding::Half => (1, 2),
            Coding::TwoThirds => (2, 3),
            Coding::ThreeQuarters => (3, 4),
            Coding::FiveSixths => (5, 6),
        }
    }
}
