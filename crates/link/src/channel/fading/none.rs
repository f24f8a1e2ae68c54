//! No fast fading: the power is constant.

use super::{Fading, Gain};
use bentpipe_core::{Sample, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No fast fading: the power is the mean power.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

struct Constant;

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Fading for Config {
    fn build(&self, _doppler: f64, _stream: &mut Stream) -> Box<dyn Gain> {
        Box::new(Constant)
    }

    fn mean(&self, of: &dyn Fn(f64) -> f64) -> f64 {
        of(1.0)
    }
}

impl Gain for Constant {
    fn at(&self, _time: f64) -> f64 {
        1.0
    }
}
