//! Deserialization of variants. A variant is a table with the key `kind` and the variant's own
//! keys, or only the name of a variant without keys.

use super::{Cursor, Step, Trail};
use crate::fault::Fault;
use crate::merge::KIND;
use crate::value::{Node, Table};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};

/// The keys of a variant that is given by its name.
static NO_KEYS: Table = Table::new();

/// Passes the node at `cursor` to `visitor` as an enum.
pub(crate) fn visit<'de, V: Visitor<'de>>(
    cursor: Cursor<'_>,
    variants: &'static [&'static str],
    visitor: V,
) -> Result<V::Value, Fault> {
    match &cursor.value.node {
        Node::String(_) => {
            let content = Content { of: cursor, table: &NO_KEYS, kinds: variants };
            visitor
                .visit_enum(Variant { kind: cursor, content })
                .map_err(|fault| fault.at(|| cursor.location()))
        }
        Node::Table(table) => {
            let Some(entry) = table.get(KIND).filter(|entry| !cursor.is_out(Some(KIND), &entry.value)) else {
                return Err(Fault::no_kind(table.keys().map(String::as_str).collect(), variants)
                    .at(|| cursor.location()));
            };
            let trail = Trail { before: cursor.trail, of: cursor.value, step: Step::Key(KIND) };
            let kind = Cursor {
                value: &entry.value,
                trail: Some(&trail),
                is_config: false,
                context: cursor.context,
            };
            let content = Content { of: cursor, table, kinds: variants };
            // Faults in the variant's keys already have their location. The other faults concern
            // its name.
            visitor.visit_enum(Variant { kind, content }).map_err(|fault| fault.at(|| kind.location()))
        }
        _ => cursor.any(visitor),
    }
}

/// A variant: the node of its name, and its keys.
struct Variant<'a, 'b> {
    kind: Cursor<'b>,
    content: Content<'a>,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a, '_> {
    type Error = Fault;
    type Variant = Content<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content<'a>), Fault> {
        Ok((seed.deserialize(self.kind)?, self.content))
    }
}

/// The keys of a variant, in the table that contains them.
#[derive(Clone, Copy)]
pub(crate) struct Content<'a> {
    of: Cursor<'a>,
    table: &'a Table,
    /// The names of all variants of the enum.
    kinds: &'static [&'static str],
}

impl Content<'_> {
    fn map<'de, V: Visitor<'de>>(
        self,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let entries = self.of.entries(self.table, fields, Some(self.kinds));
        visitor.visit_map(entries).map_err(|fault| fault.at(|| self.of.location()))
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        // Reports unexpected keys; the content is discarded.
        self.of.entries(self.table, Some(&[]), Some(self.kinds));
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self).map_err(|fault| fault.at(|| self.of.location()))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Fault> {
        self.map(None, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.map(Some(fields), visitor)
    }
}

impl<'de> Deserializer<'de> for Content<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.map(None, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.map(Some(fields), visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.unit_variant()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf seq tuple tuple_struct
        map enum identifier ignored_any
    }
}
