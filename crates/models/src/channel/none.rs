//! A channel without errors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}
