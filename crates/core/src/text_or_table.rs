//! Values that a scenario gives either as a text or as a table.

/// Name under which such types deserialize, as newtypes of themselves. A scenario's deserializer
/// then leaves out the keys of the table that are unset, as for a struct; other self-describing
/// formats ignore the name.
pub const TEXT_OR_TABLE: &str = "text or table";

/// Deserializes a value that is either a text or a table so that errors inside the table keep their
/// key path, which serde's untagged enums lose.
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
