//! Scenario values that are documents themselves, written as text or as `{ file = "..." }`.

/// Implements deserialization for `$document`, a type with `parse(&str) -> Result<Self, impl
/// Display>` and a field `text`. `$name` is the type's name in messages, and `$about` describes the
/// text.
#[macro_export]
macro_rules! document {
    ($document:ty, $name:literal, $about:literal) => {
        impl<'de> serde::Deserialize<'de> for $document {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$document, D::Error> {
                let text = <std::borrow::Cow<'_, str> as serde::Deserialize>::deserialize(deserializer)?;
                <$document>::parse(&text).map_err(|wrong| {
                    // A single word is probably the name of a file rather than the document itself.
                    let file = !text.is_empty() && !text.contains(char::is_whitespace);
                    serde::de::Error::custom(match file {
                        true => format!("is not {}; allowed: the text itself, or {{ file = {:?} }}", $about, text),
                        false => wrong.to_string(),
                    })
                })
            }
        }

        impl serde::Serialize for $document {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.text)
            }
        }

        impl schemars::JsonSchema for $document {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": concat!($about, "; the text itself, or the file that holds it"),
                    "anyOf": [
                        {"type": "string"},
                        {
                            "type": "object",
                            "properties": {"file": {"type": "string"}},
                            "required": ["file"],
                            "additionalProperties": false,
                        },
                    ],
                })
            }
        }
    };
}
