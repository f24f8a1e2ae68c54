//! Values that a scenario gives either as a text or as a table.

/// Name under which these types deserialize as newtypes of themselves. It tells a scenario's
/// deserializer to omit unset keys of the table, as for a struct. Other self-describing formats
/// ignore the name.
pub const TEXT_OR_TABLE: &str = "text or table";

/// Implements deserialization for a type that is written as a text or as a table. Errors inside the
/// table keep their key path, which serde's untagged enums lose.
#[macro_export]
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
                    fn visit_newtype_struct<D: ::serde::Deserializer<'de>>(
                        self,
                        deserializer: D,
                    ) -> Result<$type, D::Error> {
                        deserializer.deserialize_any(self)
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
                deserializer.deserialize_newtype_struct($crate::TEXT_OR_TABLE, TextOrTable)
            }
        }
    };
}
