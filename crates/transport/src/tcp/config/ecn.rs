//! The kind of explicit congestion notification that an end requests.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The kind of explicit congestion notification. A scenario writes `false`, `true` or `"accurate"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// No explicit congestion notification.
    #[default]
    Off,
    /// One mark per round trip is fed back (RFC 3168).
    Classic,
    /// All marks are counted and fed back (AccECN, RFC 9768).
    Accurate,
}

/// The word of a scenario for [`Ecn::Accurate`].
const ACCURATE: &str = "accurate";

impl<'de> Deserialize<'de> for Ecn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ecn, D::Error> {
        struct Kind;
        impl Visitor<'_> for Kind {
            type Value = Ecn;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "true, false or \"{ACCURATE}\"")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Ecn, E> {
                Ok(if on { Ecn::Classic } else { Ecn::Off })
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ecn, E> {
                match text {
                    ACCURATE => Ok(Ecn::Accurate),
                    _ => Err(E::custom(format!(
                        "\"{text}\" is no kind of ECN; allowed: true, false, \"{ACCURATE}\""
                    ))),
                }
            }
        }
        deserializer.deserialize_any(Kind)
    }
}

impl Serialize for Ecn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Ecn::Off => serializer.serialize_bool(false),
            Ecn::Classic => serializer.serialize_bool(true),
            Ecn::Accurate => serializer.serialize_str(ACCURATE),
        }
    }
}

impl JsonSchema for Ecn {
    fn schema_name() -> Cow<'static, str> {
        "TcpEcn".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Explicit congestion notification: off, classic (RFC 3168), or accurate (AccECN, RFC 9768).",
            "anyOf": [{"type": "boolean"}, {"type": "string", "enum": [ACCURATE]}],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_a_boolean_or_a_word() {
        let kind = |json: &str| serde_json::from_str::<Ecn>(json);
        for (json, ecn) in [("false", Ecn::Off), ("true", Ecn::Classic), ("\"accurate\"", Ecn::Accurate)] {
            assert_eq!(kind(json).unwrap(), ecn);
            assert_eq!(serde_json::to_string(&ecn).unwrap(), json);
        }
        let error = kind("\"precise\"").unwrap_err().to_string();
        assert!(error.contains("allowed: true, false, \"accurate\""), "{error}");
        assert!(kind("2").is_err());
    }
}
