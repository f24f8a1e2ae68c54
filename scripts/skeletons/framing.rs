//! {Title}: the packing of packets into units, in a sentence.
//!
//! Bytes of header and trailer, source, deviations, limits.
//!
//! ```toml
//! framing = { kind = "{kebab}" }
//! ```

use super::{check_divides, Added, Framer, Framing};
use bentpipe_core::{Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the packing of packets into units, in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

const UNIT: u32 = 128;
const HEADER: u32 = 4;

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Framing for Config {
    fn build(&self, _carrier: Option<u32>) -> Option<Box<dyn Framer>> {
        Some(Box::new({Camel}))
    }

    fn longest(&self) -> u32 {
        65_535
    }

    fn check(&self, carrier: Option<u32>, problems: &mut Problems) {
        check_divides(UNIT, "units", carrier, problems);
    }
}

struct {Camel};

impl Framer for {Camel} {
    fn unit(&self) -> u32 {
        UNIT
    }

    fn add(&mut self, size: u32, _open: bool) -> Added {
        Added { units: size.div_ceil(UNIT - HEADER), shares: false }
    }
}
