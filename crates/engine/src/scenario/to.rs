//! The destination of a flow: a node, or a list of nodes that receive a multicast flow.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// The destination of a flow: the name of a node or a pattern, or a list of them. After the
/// expansion of groups ([`super::groups`]), every flow has a single node, to which this type
/// dereferences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct To {
    first: String,
    others: Option<Vec<String>>,
}

impl To {
    /// Returns the names and patterns of a list; `None` for a single name or pattern.
    pub fn list(&self) -> Option<impl Iterator<Item = &String>> {
        let others = self.others.as_ref()?;
        Some(std::iter::once(&self.first).chain(others))
    }
}

impl From<String> for To {
    fn from(node: String) -> To {
        To { first: node, others: None }
    }
}

impl Deref for To {
    type Target = String;

    fn deref(&self) -> &String {
        &self.first
    }
}

impl fmt::Display for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first)?;
        self.others.iter().flatten().try_for_each(|other| write!(f, ", {other}"))
    }
}

impl Serialize for To {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.list() {
            None => serializer.serialize_str(&self.first),
            Some(list) => serializer.collect_seq(list),
        }
    }
}

impl<'de> Deserialize<'de> for To {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<To, D::Error> {
        struct OneOrSeveral;
        impl<'de> Visitor<'de> for OneOrSeveral {
            type Value = To;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node, or a list of nodes")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<To, E> {
                Ok(text.to_owned().into())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<To, A::Error> {
                let Some(first) = list.next_element()? else {
                    return Err(de::Error::custom("the list is empty; allowed: one node or more"));
                };
                let mut others = Vec::new();
                while let Some(other) = list.next_element()? {
                    others.push(other);
                }
                Ok(To { first, others: Some(others) })
            }
        }
        deserializer.deserialize_any(OneOrSeveral)
    }
}

impl JsonSchema for To {
    fn schema_name() -> Cow<'static, str> {
        "To".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
        })
    }
}
