//! Numbers without a unit, as a scenario writes them: `0.01`, `16`.
//!
//! The range of a number is part of its type. Values outside the range are rejected with a message
//! that contains the range. The JSON Schema contains the range, too.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A dimensionless number from 0 to 1: a probability, a weight, a load.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Fraction(f64);

impl Fraction {
    /// Creates the fraction, or returns `None` if `value` is outside 0 to 1.
    pub fn new(value: f64) -> Option<Fraction> {
        (0.0..=1.0).contains(&value).then_some(Fraction(value))
    }

    /// Creates a fraction of this many thousandths, for constants.
    pub const fn thousandths(value: u32) -> Fraction {
        assert!(value <= 1000, "a fraction is at most 1");
        Fraction(value as f64 / 1000.0)
    }

    /// Returns the value of the fraction, 0 to 1.
    #[inline]
    pub const fn value(self) -> f64 {
        self.0
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Count<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Count<MIN, MAX> {
    /// Creates the number from a constant, which must be in range.
    pub const fn new(value: u64) -> Self {
        assert!(value >= MIN && value <= MAX, "a default lies in its range");
        Count(value)
    }

    /// Returns the value of the number.
    #[inline]
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// A dimensionless real number in a range given in thousandths, so that the range can be part of
/// the type.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Real<const MIN: i64, const MAX: i64>(f64);

impl<const MIN: i64, const MAX: i64> Real<MIN, MAX> {
    const LOW: f64 = MIN as f64 / 1000.0;
    const HIGH: f64 = MAX as f64 / 1000.0;

    /// Creates the number from a constant in thousandths, which must be in range.
    pub const fn thousandths(value: i64) -> Self {
        assert!(value >= MIN && value <= MAX, "a default lies in its range");
        Real(value as f64 / 1000.0)
    }

    /// Creates the number from a constant, which must be in range.
    pub const fn of(value: f64) -> Self {
        assert!(value >= Self::LOW && value <= Self::HIGH, "a default lies in its range");
        Real(value)
    }

    /// Returns the value of the number.
    #[inline]
    pub const fn value(self) -> f64 {
        self.0
    }
}

fn out_of_range(value: f64) -> String {
    format!("{value} is out of range")
}

macro_rules! number {
    ([$($generics:tt)*], $type:ty, $what:expr, $schema:expr, $from_f64:expr, $from_u64:expr, $put:expr) => {
        impl<'de, $($generics)*> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct V<T>(std::marker::PhantomData<T>);
                impl<'de, $($generics)*> Visitor<'de> for V<$type> {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(&$what)
                    }
                    fn visit_f64<E: de::Error>(self, value: f64) -> Result<$type, E> {
                        let make: fn(f64) -> Result<$type, String> = $from_f64;
                        make(value).map_err(|wrong| E::custom(format!("{wrong}; allowed: {}", $what)))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        let make: fn(f64) -> Result<$type, String> = $from_f64;
                        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
                        let value = percent.map(|percent: f64| percent / 100.0);
                        Err(match value.filter(|value| make(*value).is_ok()) {
                            Some(value) => E::custom(format!(
                                "\"{text}\" is a percentage, did you mean \"{value}\"? allowed: {}", $what
                            )),
                            None => E::invalid_type(de::Unexpected::Str(text), &self),
                        })
                    }
                    fn visit_i64<E: de::Error>(self, value: i64) -> Result<$type, E> {
                        let make: fn(i64) -> Option<$type> = $from_u64;
                        make(value).ok_or_else(|| E::custom(format!("{value} is out of range; allowed: {}", $what)))
                    }
                    fn visit_u64<E: de::Error>(self, value: u64) -> Result<$type, E> {
                        match i64::try_from(value) {
                            Ok(value) => self.visit_i64(value),
                            Err(_) => Err(E::custom(format!("{value} is out of range; allowed: {}", $what))),
                        }
                    }
                }
                deserializer.deserialize_any(V::<$type>(std::marker::PhantomData))
            }
        }
        impl<$($generics)*> Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let put: fn(&$type, S) -> Result<S::Ok, S::Error> = $put;
                put(self, serializer)
            }
        }
        impl<$($generics)*> JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $what.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

number!(
    [],
    Fraction,
    format!("a number from {} to {}", 0, 1),
    json_schema!({"type": "number", "minimum": 0, "maximum": 1}),
    |value| Fraction::new(value).ok_or_else(|| out_of_range(value)),
    |value| Fraction::new(value as f64),
    |value, serializer| serializer.serialize_f64(value.0)
);

number!(
    [const MIN: u64, const MAX: u64],
    Count<MIN, MAX>,
    format!("a whole number from {MIN} to {MAX}"),
    json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX}),
    |value| Err(format!("{value:?} is not a whole number")),
    |value| u64::try_from(value).ok().filter(|value| (MIN..=MAX).contains(value)).map(Count),
    |value, serializer| serializer.serialize_u64(value.0)
);

number!(
    [const MIN: i64, const MAX: i64],
    Real<MIN, MAX>,
    format!("a number from {} to {}", Real::<MIN, MAX>::LOW, Real::<MIN, MAX>::HIGH),
    json_schema!({
        "type": "number",
        "minimum": Real::<MIN, MAX>::LOW,
        "maximum": Real::<MIN, MAX>::HIGH,
    }),
    |value| {
        let fits = (Real::<MIN, MAX>::LOW..=Real::<MIN, MAX>::HIGH).contains(&value);
        fits.then_some(Real(value)).ok_or_else(|| out_of_range(value))
    },
    |value| {
        let value = value as f64;
        (Real::<MIN, MAX>::LOW..=Real::<MIN, MAX>::HIGH).contains(&value).then_some(Real(value))
    },
    |value, serializer| serializer.serialize_f64(value.0)
);
