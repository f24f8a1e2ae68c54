//! Channel codes of space links (CCSDS 131.0-B, 231.0-B), by their names in scenarios.
//! [`bentpipe_dtn::coding`] has their error rates.
//!
//! ```toml
//! code = { kind = "reed-solomon", correctable = 16, interleave = 5 }
//! ```

use bentpipe_core::{kinds, Count, Fraction, Sample};
use bentpipe_dtn::coding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kinds! {
    /// The channel code of a space link.
    pub enum Code: Coding {
        "none" => None(NoCode),
        "reed-solomon" => ReedSolomon(ReedSolomon),
        "bch" => Bch(Bch),
        "convolutional" => Convolutional(Convolutional),
        "concatenated" => Concatenated(Concatenated),
        "turbo" => Turbo(Turbo),
        "ldpc" => Ldpc(Ldpc),
    }
}

impl Default for Code {
    fn default() -> Code {
        Code::None(NoCode {})
    }
}

/// The contract of a code's `Config`.
pub trait Coding {
    /// Returns the code that protects the frames.
    fn code(&self) -> coding::Code;
}

/// No channel code: a single bit error loses the frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoCode {}

impl Sample for NoCode {
    const SAMPLE: &'static str = "";
}

impl Coding for NoCode {
    fn code(&self) -> coding::Code {
        coding::Code::None
    }
}

/// Reed-Solomon code over bytes with codewords of 255 bytes, interleaved (CCSDS 131.0-B).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReedSolomon {
    /// Number of correctable bytes per codeword: 16 (the default), which is RS(255,223), or 8,
    /// RS(255,239).
    pub correctable: Count<1, 127>,
    /// Interleaving depth: the number of codewords in a frame, over which a burst of errors is
    /// spread. Default 5; CCSDS allows 1, 2, 3, 4, 5 and 8.
    pub interleave: Count<1, 16>,
}

impl Default for ReedSolomon {
    fn default() -> ReedSolomon {
        ReedSolomon { correctable: Count::new(16), interleave: Count::new(5) }
    }
}

impl Sample for ReedSolomon {
    const SAMPLE: &'static str = "correctable = 8, interleave = 4";
}

impl Coding for ReedSolomon {
    fn code(&self) -> coding::Code {
        let [t, interleave] = [self.correctable.value(), self.interleave.value()].map(|value| value as u32);
        coding::Code::ReedSolomon { t, interleave }
    }
}

/// BCH(63,56) code of telecommand (CCSDS 231.0-B), which corrects one bit error in each block of 56
/// bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bch {}

impl Sample for Bch {
    const SAMPLE: &'static str = "";
}

impl Coding for Bch {
    fn code(&self) -> coding::Code {
        coding::Code::Bch
    }
}

/// Convolutional code of rate 1/2 and constraint length 7 (CCSDS 131.0-B) with a Viterbi decoder,
/// evaluated by its union bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Convolutional {}

impl Sample for Convolutional {
    const SAMPLE: &'static str = "";
}

impl Coding for Convolutional {
    fn code(&self) -> coding::Code {
        coding::Code::Convolutional
    }
}

/// A Reed-Solomon code around the convolutional code of rate 1/2 (CCSDS 131.0-B), with ideal
/// interleaving between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Concatenated {
    /// Number of correctable bytes per Reed-Solomon codeword, 16 by default.
    pub correctable: Count<1, 127>,
    /// Interleaving depth: the number of codewords in a frame, 5 by default.
    pub interleave: Count<1, 16>,
}

impl Default for Concatenated {
    fn default() -> Concatenated {
        Concatenated { correctable: Count::new(16), interleave: Count::new(5) }
    }
}

impl Sample for Concatenated {
    const SAMPLE: &'static str = "";
}

impl Coding for Concatenated {
    fn code(&self) -> coding::Code {
        let [t, interleave] = [self.correctable.value(), self.interleave.value()].map(|value| value as u32);
        coding::Code::Concatenated { t, interleave }
    }
}

/// A turbo code (CCSDS 131.0-B), modelled as the best code of its length and rate with a loss of
/// `loss_db`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Turbo {
    /// Information bits per codeword, 64 to 65536. Default 8920; CCSDS has 1784, 3568, 7136 and
    /// 8920.
    pub information: Count<64, 65_536>,
    /// Code rate, 0 to 1. Default 0.5; CCSDS has 1/2, 1/3, 1/4 and 1/6.
    pub rate: Fraction,
    /// Loss of the code and its decoder in dB, relative to the best code. Default 0.7, an
    /// assumption.
    pub loss_db: f64,
}

impl Default for Turbo {
    fn default() -> Turbo {
        Turbo { information: Count::new(8920), rate: half(), loss_db: 0.7 }
    }
}

impl Sample for Turbo {
    const SAMPLE: &'static str = "information = 1784";
}

impl Coding for Turbo {
    fn code(&self) -> coding::Code {
        let Turbo { information, rate, loss_db } = self;
        near_best(information.value(), *rate, *loss_db)
    }
}

/// An LDPC code (CCSDS 131.0-B), modelled as the best code of its length and rate with a loss of
/// `loss_db`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ldpc {
    /// Information bits per codeword, 64 to 65536. Default 4096; CCSDS has 1024, 4096 and 16384,
    /// and 7136.
    pub information: Count<64, 65_536>,
    /// Code rate, 0 to 1. Default 0.5; CCSDS has 1/2, 2/3, 4/5, and 0.875 with 7136 bits.
    pub rate: Fraction,
    /// Loss of the code and its decoder in dB, relative to the best code. Default 0.7, an
    /// assumption.
    pub loss_db: f64,
}

impl Default for Ldpc {
    fn default() -> Ldpc {
        Ldpc { information: Count::new(4096), rate: half(), loss_db: 0.7 }
    }
}

impl Sample for Ldpc {
    const SAMPLE: &'static str = "rate = 0.8";
}

impl Coding for Ldpc {
    fn code(&self) -> coding::Code {
        let Ldpc { information, rate, loss_db } = self;
        near_best(information.value(), *rate, *loss_db)
    }
}

fn half() -> Fraction {
    Fraction::new(0.5).expect("a half is a fraction")
}

fn near_best(information: u64, rate: Fraction, loss_db: f64) -> coding::Code {
    coding::Code::NearBest { information: information as u32, rate: rate.value().max(0.01), loss_db }
}
