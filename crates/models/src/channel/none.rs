//! A channel without errors.

use super::{Channel, Process};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No errors: every packet arrives intact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        None
    }
}
