//! Lists of variants: [`kinds!`](crate::kinds) declares the variants of a model folder, one per
//! line.

/// An example of a variant's keys, implemented by its `Config`. Tests run every variant of every
/// list with its sample, so each new variant is tested.
pub trait Sample {
    /// The keys of the variant without its `kind`, as in an inline table of TOML: `packets = 60,
    /// min = 10`. Optional keys should have non-default values in the sample.
    const SAMPLE: &'static str;
}

/// Declares an enum over the `Config` structs of a folder, one variant per line:
///
/// ```
/// # use bentpipe_core::{kinds, Rate, Sample};
/// # mod bulk { #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// #            pub struct Config {}
/// #            impl bentpipe_core::Sample for Config { const SAMPLE: &'static str = ""; } }
/// # mod cbr { #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// #           pub struct Config { pub rate: bentpipe_core::Rate }
/// #           impl bentpipe_core::Sample for Config { const SAMPLE: &'static str = "rate = \"64 kbit/s\""; } }
/// kinds! {
///     /// The application of a flow.
///     pub enum App {
///         "bulk" => Bulk(bulk::Config),
///         "cbr" => Cbr(cbr::Config),
///     }
/// }
/// let app: App = serde_json::from_str(r#"{"cbr": {"rate": "64 kbit/s"}}"#).unwrap();
/// assert_eq!(app.kind(), "cbr");
/// assert_eq!(serde_json::to_string(&app).unwrap(), r#"{"kind":"cbr","rate":"64 kbit/s"}"#);
/// assert_eq!(App::samples(), [r#"{ kind = "bulk" }"#, r#"{ kind = "cbr", rate = "64 kbit/s" }"#]);
/// ```
///
/// With a trait after the name, `pub enum App: Workload { ... }`, the enum dereferences to that
/// trait object of the variant's `Config`. The `Config` is then the variant's factory, and a line
/// in the list is all that a new variant needs. The schema describes a variant with the doc comment
/// of its `Config`.
///
/// With `tables` after the trait, the tables that the variants write ([`Tables`](crate::Tables))
/// are also collected.
///
/// In a scenario, a variant is a table with the key `kind`, or only its name if every key has a
/// default. The scenario's own deserializer converts both forms to the enum that serde expects. It
/// keeps the key path of an error inside a variant, which serde's internally tagged enums would
/// lose.
#[macro_export]
macro_rules! kinds {
    (
        $(#[$meta:meta])*
        pub enum $name:ident: $factory:path, tables { $($(#[$variant_meta:meta])* $tag:literal => $variant:ident($config:ty)),+ $(,)? }
    ) => {
        $crate::kinds! {
            $(#[$meta])*
            pub enum $name: $factory { $($(#[$variant_meta])* $tag => $variant($config)),+ }
        }

        impl $name {
            /// Returns the traces that variants write during a run, in the order of the list.
            pub fn traces() -> impl Iterator<Item = &'static $crate::Table> {
                [$(<$config as $crate::Tables>::TRACES),+].into_iter().flatten().copied()
            }

            /// Returns the tables that variants write at the end of a run, in the order of the
            /// list.
            pub fn reports() -> impl Iterator<Item = &'static $crate::Table> {
                [$(<$config as $crate::Tables>::REPORTS),+].into_iter().flatten().copied()
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub enum $name:ident: $factory:path { $($(#[$variant_meta:meta])* $tag:literal => $variant:ident($config:ty)),+ $(,)? }
    ) => {
        $crate::kinds! {
            $(#[$meta])*
            pub enum $name { $($(#[$variant_meta])* $tag => $variant($config)),+ }
        }

        impl ::std::ops::Deref for $name {
            type Target = dyn $factory;
            fn deref(&self) -> &Self::Target {
                match self {
                    $($name::$variant(config) => config,)+
                }
            }
        }
    };
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $tag:literal => $variant:ident($config:ty)),+ $(,)? }) => {
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(tag = "kind")]
        #[schemars(transform = $crate::name_alone)]
        $(#[$meta])*
        pub enum $name {
            $(
                #[allow(missing_docs, reason = "the doc comment of its Config describes it")]
                $(#[$variant_meta])*
                #[serde(rename = $tag)]
                $variant($config),
            )+
        }

        impl $name {
            /// The names of all variants, in the order of the list.
            pub const KINDS: &'static [&'static str] = &[$($tag),+];

            /// Returns one [sample]($crate::Sample) per variant as an inline table of TOML, in the
            /// order of the list.
            pub fn samples() -> Vec<String> {
                let keys = [$(<$config as $crate::Sample>::SAMPLE),+];
                let named = Self::KINDS.iter().zip(keys);
                named.map(|(kind, keys)| $crate::inline_table(kind, keys)).collect()
            }

            /// Returns the name of this variant.
            pub fn kind(&self) -> &'static str {
                match self {
                    $($name::$variant(_) => $tag,)+
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Variants;
                impl<'de> ::serde::de::Visitor<'de> for Variants {
                    type Value = $name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        write!(f, "a table with the key kind, one of {}", $name::KINDS.join(", "))
                    }
                    fn visit_enum<A: ::serde::de::EnumAccess<'de>>(self, access: A) -> Result<$name, A::Error> {
                        use ::serde::de::VariantAccess;
                        let (kind, variant): (String, _) = access.variant()?;
                        match kind.as_str() {
                            $($tag => variant.newtype_variant().map($name::$variant),)+
                            other => Err(::serde::de::Error::unknown_variant(other, $name::KINDS)),
                        }
                    }
                }
                deserializer.deserialize_enum(stringify!($name), $name::KINDS, Variants)
            }
        }
    };
}

/// Returns a variant as an inline table of TOML.
#[doc(hidden)]
pub fn inline_table(kind: &str, keys: &str) -> String {
    let comma = if keys.is_empty() { "" } else { ", " };
    format!("{{ kind = \"{kind}\"{comma}{keys} }}")
}

/// Changes the schema of a variant so that its name alone is also valid.
#[doc(hidden)]
pub fn name_alone(schema: &mut schemars::Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    let Some(variants) = object.get_mut("oneOf").and_then(|list| list.as_array_mut()) else { return };
    let names: Vec<_> =
        variants.iter().filter_map(|variant| variant.pointer("/properties/kind/const").cloned()).collect();
    variants.push(schemars::json_schema!({"type": "string", "enum": names}).into());
}
