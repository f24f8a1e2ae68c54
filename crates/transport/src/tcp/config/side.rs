//! TCP on one side of a proxy. Unless the scenario sets a congestion control for the side, the side
//! uses the congestion control of each flow.

use super::{Config, Draft, Profile};
use crate::sending::saved_path::Parameters;
use bentpipe_core::Problems;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// TCP on a side of a proxy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Draft")]
pub struct Side {
    config: Config,
    /// True if the side uses each flow's congestion control and parameters.
    inherits: bool,
}

impl From<Draft> for Side {
    fn from(draft: Draft) -> Side {
        // Profile scps has its own congestion control, which is an essential part of the profile.
        let common = draft.profile.config().congestion == Profile::default().config().congestion;
        Side { inherits: draft.congestion.is_none() && common, config: draft.into() }
    }
}

impl From<Config> for Side {
    /// Creates a side with the congestion control of `config`.
    fn from(config: Config) -> Side {
        Side { config, inherits: false }
    }
}

impl Default for Side {
    fn default() -> Side {
        Draft::default().into()
    }
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.inherits {
            return self.config.serialize(serializer);
        }
        let mut keys = serde_json::to_value(&self.config).map_err(serde::ser::Error::custom)?;
        if let Some(keys) = keys.as_object_mut() {
            keys.remove("congestion");
        }
        keys.serialize(serializer)
    }
}

impl JsonSchema for Side {
    fn schema_name() -> Cow<'static, str> {
        Config::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Config::json_schema(generator)
    }
}

impl Side {
    /// Returns the values of this side. If the side inherits the congestion control, ignore
    /// `congestion` and `parameters` here, and use the keys of the flow.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the congestion control of the side; `None` if the side uses the congestion control
    /// of each flow.
    pub fn own_congestion(&self) -> Option<&str> {
        (!self.inherits).then_some(self.config.congestion.as_str())
    }

    /// Returns the configuration of this side for a flow. `flow` is the TCP of the flow's ends.
    pub fn serving(&self, flow: Option<&Config>) -> Config {
        match flow.filter(|_| self.inherits) {
            None => self.config.clone(),
            Some(flow) => Config {
                congestion: flow.congestion.clone(),
                parameters: flow.parameters.clone(),
                ..self.config.clone()
            },
        }
    }

    /// Adds the problems that only a side can have. [`Config::check`] adds the other problems.
    pub fn check(&self, problems: &mut Problems) {
        if self.config.careful_resume == Some(Parameters::Earlier) {
            problems.add(
                "careful_resume",
                "\"earlier\" is not available at a proxy; allowed: a table with cwnd and rtt",
            );
        }
        if self.inherits && !self.config.parameters.is_empty() {
            problems.add(
                "parameters",
                "belong to a congestion control; allowed: together with the key congestion",
            );
        }
    }
}
