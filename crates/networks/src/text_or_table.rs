//! Values that a scenario gives either as a text or as a table.

/// Deserializes a value that is either a text or a table so that errors inside the table keep their
/// key path, which serde's untagged enums lose.
macro_rules! text_or_table {
    ($type:ty, $expecting:literal, $from_text:expr, $from_table:expr) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct TextOrTable;
                impl<'de> ::serde::de::Visitor<'de> for TextOrTable {
                    type Value = $type;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        let make: fn(&str) -> Result<$type, String> = $from_text;
                        make(text).map_err(E::custom)
                    }
                    fn visit_map<A: ::serde::de::MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        let table = ::serde::de::value::MapAccessDeserializer::new(map);
                        ::serde::Deserialize::deserialize(table).map($from_table)
                    }
                }
                deserializer.deserialize_any(TextOrTable)
            }
        }
    };
}

pub(crate) use text_or_table;
