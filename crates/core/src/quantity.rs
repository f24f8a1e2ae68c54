//! Quantities with units, as a scenario writes them: `"2048 kbit/s"`, `"250 ms"`, `"1.5 MB"`,
//! `"35786 km"`.
//!
//! Each quantity is parsed strictly, prints its shortest exact form, and describes itself in the
//! JSON Schema, where `units` lists its units with their sizes. Errors name the allowed values.
//! Values without a unit are [`Fraction`](crate::Fraction), [`Count`](crate::Count) and
//! [`Real`](crate::Real).

use crate::Span;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Units of one dimension, such as time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Units {
    /// The base unit: the unit of facts and results, one of `sizes`.
    pub base: &'static str,
    /// Each unit with its size in the unit in which [`Quantity::to_base`] calculates.
    pub sizes: &'static [(&'static str, f64)],
}

impl Units {
    const BIT_RATES: Units = Units {
        base: "bit/s",
        sizes: &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("Tbit/s", 1e12)],
    };
    const SYMBOL_RATES: Units =
        Units { base: "Bd", sizes: &[("Bd", 1.0), ("kBd", 1e3), ("MBd", 1e6), ("GBd", 1e9)] };

    /// Each unit with its size in the base unit.
    fn in_base(self) -> BTreeMap<&'static str, f64> {
        let (_, base) = self.sizes.iter().find(|(name, _)| *name == self.base).expect("the base is a unit");
        self.sizes.iter().map(|(name, size)| (*name, size / base)).collect()
    }
}

/// Units by base unit, each with its size in the base unit.
pub type UnitsByBase = BTreeMap<&'static str, BTreeMap<&'static str, f64>>;

fn by_base(all: &[&'static [Units]]) -> UnitsByBase {
    all.iter().copied().flatten().map(|units| (units.base, units.in_base())).collect()
}

/// A value that is written as a number and a unit.
pub trait Quantity: Sized {
    /// The noun for messages, such as "a rate".
    const WHAT: &'static str;
    /// A valid value, for messages.
    const EXAMPLE: &'static str;
    /// The allowed range, for messages.
    const RANGE: &'static str;
    /// The units, grouped by dimension. The first unit of the first group has the size 1.
    const UNITS: &'static [Units];
    /// Converts from a finite number of base units, or returns `None` if the value is out of range.
    fn from_base(value: f64) -> Option<Self>;
    /// Converts to base units.
    fn to_base(&self) -> f64;

    /// Parses a number and a unit.
    ///
    /// # Errors
    /// Returns an error that names the fault, the text and the allowed values.
    fn parse(text: &str) -> Result<Self, QuantityError> {
        let problem = |fault: String| QuantityError {
            message: format!(
                "{fault}{} allowed: {}, {}, for example \"{}\"",
                if fault.ends_with('?') { "" } else { ";" },
                Self::WHAT,
                Self::RANGE,
                Self::EXAMPLE
            ),
        };
        let (number, unit) = split(text);
        let value: f64 =
            number.parse().map_err(|_| problem(format!("\"{text}\" does not start with a number")))?;
        let names = || sizes(Self::UNITS).map(|(name, _)| name).collect::<Vec<_>>();
        if unit.is_empty() {
            return Err(problem(format!("\"{text}\" has no unit ({})", names().join(", "))));
        }
        let Some((_, size)) = sizes(Self::UNITS).find(|(name, _)| *name == unit) else {
            let known = names().join(", ");
            let fault = format!("\"{text}\" has the unit \"{unit}\", which is not one of {known}");
            return Err(match meant(unit, &names()) {
                Some((factor, meant)) if Self::parse(&format!("{} {meant}", value * factor)).is_err() => {
                    problem(format!("\"{text}\" is out of range"))
                }
                Some((factor, meant)) => {
                    problem(format!("{fault}, did you mean \"{} {meant}\"?", value * factor))
                }
                None => problem(fault),
            });
        };
        let base = value * size;
        if !base.is_finite() {
            return Err(problem(format!("\"{text}\" is not a finite number")));
        }
        let value = Self::from_base(base).ok_or_else(|| problem(format!("\"{text}\" is out of range")))?;
        Ok(value.in_unit(unit))
    }

    /// Returns the same value, marked as written in this unit.
    fn in_unit(self, _unit: &str) -> Self {
        self
    }

    /// Returns the shortest exact text: in the largest unit that needs at most three decimals.
    fn text(&self) -> String {
        shortest(self.to_base(), Self::UNITS)
    }
}

/// Returns the text in the largest of `units` in which the value has at most three decimals. The
/// base unit is the first of `units`.
fn shortest(base: f64, units: &'static [Units]) -> String {
    let mut largest_first: Vec<_> = sizes(units).collect();
    largest_first.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, size) in largest_first {
        let value = base / size;
        let rounded = (value * 1000.0).round() / 1000.0;
        if value.abs() >= 1.0 && (rounded * size).round() == base {
            return format!("{rounded} {name}");
        }
    }
    format!("{base} {}", units[0].sizes[0].0)
}

/// Each unit with its size.
fn sizes(units: &'static [Units]) -> impl Iterator<Item = (&'static str, f64)> {
    units.iter().flat_map(|units| units.sizes).copied()
}

/// Common misspellings of units: the spelling in lower case, the factor to the intended unit, and
/// that unit.
const SPELLINGS: &[(&str, f64, &str)] = &[
    ("bps", 1.0, "bit/s"),
    ("kbps", 1.0, "kbit/s"),
    ("mbps", 1.0, "Mbit/s"),
    ("gbps", 1.0, "Gbit/s"),
    ("tbps", 1.0, "Tbit/s"),
    ("bits/s", 1.0, "bit/s"),
    ("kb/s", 8.0, "kbit/s"),
    ("mb/s", 8.0, "Mbit/s"),
    ("gb/s", 8.0, "Gbit/s"),
    ("usec", 1.0, "us"),
    ("\u{b5}s", 1.0, "us"),
    ("\u{3bc}s", 1.0, "us"),
    ("msec", 1.0, "ms"),
    ("millis", 1.0, "ms"),
    ("milliseconds", 1.0, "ms"),
    ("sec", 1.0, "s"),
    ("secs", 1.0, "s"),
    ("second", 1.0, "s"),
    ("seconds", 1.0, "s"),
    ("minute", 1.0, "min"),
    ("minutes", 1.0, "min"),
    ("hr", 1.0, "h"),
    ("hour", 1.0, "h"),
    ("hours", 1.0, "h"),
    ("day", 1.0, "d"),
    ("days", 1.0, "d"),
    ("week", 7.0, "d"),
    ("weeks", 7.0, "d"),
    ("year", 365.25, "d"),
    ("years", 365.25, "d"),
    ("byte", 1.0, "B"),
    ("bytes", 1.0, "B"),
    ("kbyte", 1.0, "kB"),
    ("mbyte", 1.0, "MB"),
    ("gbyte", 1.0, "GB"),
    ("metres", 1.0, "m"),
    ("meters", 1.0, "m"),
    ("degree", 1.0, "deg"),
    ("degrees", 1.0, "deg"),
    ("\u{b0}", 1.0, "deg"),
    ("baud", 1.0, "Bd"),
    ("kbaud", 1.0, "kBd"),
    ("mbaud", 1.0, "MBd"),
];

/// Returns the unit that was probably meant by `unit`, with the factor to it: a unit that differs
/// only in case, or the correction of a known misspelling. Returns `None` if there is no such unit.
fn meant(unit: &str, units: &[&'static str]) -> Option<(f64, &'static str)> {
    // An upper-case B means bytes.
    let bits = unit.contains('b') && unit.ends_with("/s");
    let plain = unit.to_lowercase();
    let same = units.iter().find(|name| name.to_lowercase() == plain).map(|name| (1.0, *name));
    same.or_else(|| {
        let (_, factor, name) = SPELLINGS.iter().find(|(spelling, ..)| *spelling == plain)?;
        let factor = if bits { 1.0 } else { *factor };
        units.contains(name).then_some((factor, *name))
    })
}

/// The error for a text that is not a valid quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    message: String,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for QuantityError {}

/// Splits `"2048 kbit/s"` into number and unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let letters = |c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_'));
    let mut end = text.find(letters).unwrap_or(text.len());
    // An exponent belongs to the number if a digit follows it.
    let rest = &text[end..];
    if let Some(after) = rest.strip_prefix(['e', 'E']) {
        let digits = after.trim_start_matches(['+', '-']);
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            let exponent = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            end = text.len() - digits.len() + exponent;
        }
    }
    (&text[..end], text[end..].trim())
}

struct QuantityVisitor<Q>(std::marker::PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for QuantityVisitor<Q> {
    type Value = Q;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with its unit as text ({}), for example \"{}\"", Q::WHAT, Q::RANGE, Q::EXAMPLE)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        Q::parse(text).map_err(E::custom)
    }
}

macro_rules! quantities {
    ($($type:ident),+) => {
        $(quantity!($type);)+

        /// The units of all quantities.
        pub fn units() -> UnitsByBase {
            by_base(&[$(<$type>::UNITS),+])
        }
    };
}

macro_rules! quantity {
    ($type:ty) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(QuantityVisitor(std::marker::PhantomData))
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&Quantity::text(self))
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&Quantity::text(self))
            }
        }
        impl std::str::FromStr for $type {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                Quantity::parse(text)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let units: Vec<_> = sizes(<$type>::UNITS).map(|(name, _)| name).collect();
                json_schema!({
                    "type": "string",
                    "description": format!("{}, {}", <$type>::WHAT, <$type>::RANGE),
                    "examples": [<$type>::EXAMPLE],
                    "pattern": format!(
                        r"^\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*({})\s*$", units.join("|")
                    ),
                    "units": by_base(&[<$type>::UNITS]),
                })
            }
        }
    };
}

/// A data rate in bit/s; greater than zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rate(u64);

impl Rate {
    /// Creates a rate of `bits_per_second`, which must not be zero.
    pub const fn from_bits_per_second(bits_per_second: u64) -> Rate {
        assert!(bits_per_second > 0, "a rate is greater than zero");
        Rate(bits_per_second)
    }

    /// Returns the rate in bit/s.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Returns the time that `bytes` take at this rate, rounded down to the nanosecond.
    #[inline]
    pub const fn span_of(self, bytes: u64) -> Span {
        // 64-bit division is several times faster than 128-bit and sufficient up to 2.3 GB.
        if bytes < 1 << 31 {
            Span::from_nanos(bytes * 8_000_000_000 / self.0)
        } else {
            Span::from_nanos((bytes as u128 * 8_000_000_000 / self.0 as u128) as u64)
        }
    }

    /// Returns the number of whole bytes that pass in `span`.
    #[inline]
    pub const fn bytes_in(self, span: Span) -> u64 {
        (self.0 as u128 * span.as_nanos() as u128 / 8_000_000_000) as u64
    }
}

impl Quantity for Rate {
    const WHAT: &'static str = "a rate";
    const EXAMPLE: &'static str = "2048 kbit/s";
    const RANGE: &'static str = "1 bit/s to 100 Tbit/s";
    const UNITS: &'static [Units] = &[Units::BIT_RATES];
    fn from_base(value: f64) -> Option<Rate> {
        (1.0..=1e14).contains(&value).then(|| Rate(value.round() as u64))
    }
    fn to_base(&self) -> f64 {
        self.0 as f64
    }
}

/// The rate of a channel: a data rate, or a symbol rate in baud, which counts as the rate at one
/// bit per symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChannelRate {
    rate: Rate,
    symbols: bool,
}

impl ChannelRate {
    /// Returns true if the rate was given in baud.
    pub const fn is_symbol_rate(self) -> bool {
        self.symbols
    }
}

impl From<Rate> for ChannelRate {
    fn from(rate: Rate) -> ChannelRate {
        ChannelRate { rate, symbols: false }
    }
}

impl std::ops::Deref for ChannelRate {
    type Target = Rate;
    fn deref(&self) -> &Rate {
        &self.rate
    }
}

impl Quantity for ChannelRate {
    const WHAT: &'static str = "a rate, or a symbol rate with ACM";
    const EXAMPLE: &'static str = Rate::EXAMPLE;
    const RANGE: &'static str = Rate::RANGE;
    const UNITS: &'static [Units] = &[Units::BIT_RATES, Units::SYMBOL_RATES];
    fn from_base(value: f64) -> Option<ChannelRate> {
        Rate::from_base(value).map(ChannelRate::from)
    }
    fn to_base(&self) -> f64 {
        self.rate.to_base()
    }
    fn in_unit(self, unit: &str) -> ChannelRate {
        ChannelRate { symbols: sizes(&[Units::SYMBOL_RATES]).any(|(name, _)| name == unit), ..self }
    }
    fn text(&self) -> String {
        if self.symbols {
            shortest(self.to_base(), &[Units::SYMBOL_RATES])
        } else {
            self.rate.text()
        }
    }
}

/// A data rate in bit/s that may be zero, such as a guaranteed or offered rate. A transmitter's
/// rate is a [`Rate`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct RateOrZero(u64);

impl RateOrZero {
    /// Creates a rate of `bits_per_second`.
    pub const fn from_bits_per_second(bits_per_second: u64) -> RateOrZero {
        RateOrZero(bits_per_second)
    }

    /// Returns the rate in bit/s.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }
}

impl Quantity for RateOrZero {
    const WHAT: &'static str = "a rate or zero";
    const EXAMPLE: &'static str = "64 kbit/s";
    const RANGE: &'static str = "0 bit/s to 100 Tbit/s";
    const UNITS: &'static [Units] = Rate::UNITS;
    fn from_base(value: f64) -> Option<RateOrZero> {
        (0.0..=1e14).contains(&value).then(|| RateOrZero(value.round() as u64))
    }
    fn to_base(&self) -> f64 {
        self.0 as f64
    }
}

impl Quantity for Span {
    const WHAT: &'static str = "a span of time";
    const EXAMPLE: &'static str = "250 ms";
    const RANGE: &'static str = "0 s to 36600 d";
    const UNITS: &'static [Units] = &[Units {
        base: "s",
        sizes: &[
            ("ns", 1.0),
            ("us", 1e3),
            ("ms", 1e6),
            ("s", 1e9),
            ("min", 60e9),
            ("h", 3600e9),
            ("d", 86400e9),
        ],
    }];
    fn from_base(value: f64) -> Option<Span> {
        (0.0..=100.0 * 366.0 * 86400e9).contains(&value).then(|| Span::from_nanos(value.round() as u64))
    }
    fn to_base(&self) -> f64 {
        self.as_nanos() as f64
    }
    fn text(&self) -> String {
        // Short spans are most readable in seconds: "400 s", not "6.667 min".
        let nanos = self.as_nanos();
        let (size, unit) = match nanos {
            0 => return "0 s".to_owned(),
            _ if nanos >= 1_000_000_000 => (1e9, "s"),
            _ if nanos >= 1_000_000 => (1e6, "ms"),
            _ if nanos >= 1_000 => (1e3, "us"),
            _ => (1.0, "ns"),
        };
        format!("{} {unit}", nanos as f64 / size)
    }
}

/// An amount of data in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Size(u64);

impl Size {
    /// Creates a size of `bytes` bytes.
    pub const fn from_bytes(bytes: u64) -> Size {
        Size(bytes)
    }

    /// Returns the size in bytes.
    #[inline]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl Quantity for Size {
    const WHAT: &'static str = "a size";
    const EXAMPLE: &'static str = "1.5 MB";
    const RANGE: &'static str = "0 B to 1 EB, k = 1000 and Ki = 1024";
    const UNITS: &'static [Units] = &[Units {
        base: "B",
        sizes: &[
            ("B", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("TB", 1e12),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
        ],
    }];
    fn from_base(value: f64) -> Option<Size> {
        (0.0..=1e18).contains(&value).then(|| Size(value.round() as u64))
    }
    fn to_base(&self) -> f64 {
        self.0 as f64
    }
    /// Returns the shortest exact text with at most three decimals: "75 kB" rather than "73.242
    /// KiB", but "64 KiB".
    fn text(&self) -> String {
        let base = self.to_base();
        let texts = sizes(Self::UNITS).filter_map(|(name, size)| {
            let rounded = (base / size * 1000.0).round() / 1000.0;
            let exact = rounded >= 1.0 && (rounded * size).round() == base;
            exact.then(|| format!("{rounded} {name}"))
        });
        // Among equally short texts, the text with the larger unit is chosen.
        texts
            .reduce(|best, next| if next.len() <= best.len() { next } else { best })
            .unwrap_or_else(|| format!("{base} B"))
    }
}

/// A distance or altitude in metres.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Distance(f64);

impl Distance {
    /// Creates a distance of `metres` metres.
    pub const fn from_metres(metres: f64) -> Distance {
        Distance(metres)
    }

    /// Returns the distance in metres.
    pub const fn metres(self) -> f64 {
        self.0
    }
}

impl Quantity for Distance {
    const WHAT: &'static str = "a distance";
    const EXAMPLE: &'static str = "35786 km";
    const RANGE: &'static str = "-12000 km to 1e12 km (a depth is negative)";
    const UNITS: &'static [Units] =
        &[Units { base: "m", sizes: &[("m", 1.0), ("km", 1e3), ("au", 149_597_870_700.0)] }];
    fn from_base(value: f64) -> Option<Distance> {
        (-12e6..=1e15).contains(&value).then_some(Distance(value))
    }
    fn to_base(&self) -> f64 {
        self.0
    }
    fn text(&self) -> String {
        if self.0.abs() >= 1e3 {
            format!("{} km", self.0 / 1e3)
        } else {
            format!("{} m", self.0)
        }
    }
}

/// A speed in metres per second; zero is allowed.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Speed(f64);

impl Speed {
    /// Creates a speed of `value` metres per second.
    pub const fn from_metres_per_second(value: f64) -> Speed {
        Speed(value)
    }

    /// Returns the speed in metres per second.
    pub const fn metres_per_second(self) -> f64 {
        self.0
    }
}

impl Quantity for Speed {
    const WHAT: &'static str = "a speed";
    const EXAMPLE: &'static str = "1.2 m/s";
    const RANGE: &'static str = "0 m/s to 12 km/s";
    const UNITS: &'static [Units] =
        &[Units { base: "m/s", sizes: &[("m/s", 1.0), ("km/h", 1.0 / 3.6), ("km/s", 1e3)] }];
    fn from_base(value: f64) -> Option<Speed> {
        (0.0..=12e3).contains(&value).then_some(Speed(value))
    }
    fn to_base(&self) -> f64 {
        self.0
    }
    fn text(&self) -> String {
        format!("{} m/s", self.0)
    }
}

/// An angle in degrees.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Angle(f64);

impl Angle {
    /// Creates an angle of `degrees` degrees.
    pub const fn from_degrees(degrees: f64) -> Angle {
        Angle(degrees)
    }

    /// Returns the angle in degrees.
    pub const fn degrees(self) -> f64 {
        self.0
    }

    /// Returns the angle in radians.
    pub const fn radians(self) -> f64 {
        self.0.to_radians()
    }
}

impl Quantity for Angle {
    const WHAT: &'static str = "an angle";
    const EXAMPLE: &'static str = "48.1 deg";
    const RANGE: &'static str = "-360 deg to 360 deg";
    const UNITS: &'static [Units] =
        &[Units { base: "deg", sizes: &[("deg", 1.0), ("rad", 180.0 / std::f64::consts::PI)] }];
    fn from_base(value: f64) -> Option<Angle> {
        (-360.0..=360.0).contains(&value).then_some(Angle(value))
    }
    fn to_base(&self) -> f64 {
        self.0
    }
    fn text(&self) -> String {
        format!("{} deg", self.0)
    }
}

/// A frequency in Hz, or a symbol rate in baud (symbols per second).
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Frequency(f64);

impl Frequency {
    /// Returns the frequency in Hz, or the symbol rate in baud.
    pub const fn hertz(self) -> f64 {
        self.0
    }
}

impl Quantity for Frequency {
    const WHAT: &'static str = "a frequency or symbol rate";
    const EXAMPLE: &'static str = "19.7 GHz";
    const RANGE: &'static str = "1 Hz to 10 THz";
    const UNITS: &'static [Units] = &[
        Units { base: "Hz", sizes: &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9), ("THz", 1e12)] },
        Units::SYMBOL_RATES,
    ];
    fn from_base(value: f64) -> Option<Frequency> {
        (1.0..=1e13).contains(&value).then_some(Frequency(value))
    }
    fn to_base(&self) -> f64 {
        self.0
    }
}

quantities!(Rate, ChannelRate, RateOrZero, Span, Size, Distance, Speed, Angle, Frequency);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_listed_once_with_their_sizes_in_a_base_unit() {
        let units = units();
        assert!(units.iter().all(|(base, sizes)| sizes[base] == 1.0));
        let mut names: Vec<_> = units.values().flat_map(|sizes| sizes.keys()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a unit belongs to one base unit");
        assert_eq!((units["s"]["ms"], units["s"]["d"], units["Bd"]["MBd"]), (1e-3, 86400.0, 1e6));
    }

    #[test]
    fn quantities_read_numbers_with_units() {
        assert_eq!(Rate::parse("2048 kbit/s").unwrap().bits_per_second(), 2_048_000);
        assert_eq!(Rate::parse("1.5e3kbit/s").unwrap().bits_per_second(), 1_500_000);
        assert_eq!(Span::parse("23.5 ms").unwrap(), Span::from_micros(23_500));
        assert_eq!(Size::parse("1.5 MB").unwrap().bytes(), 1_500_000);
        assert_eq!(Size::parse("64 KiB").unwrap().bytes(), 65_536);
        assert_eq!(RateOrZero::parse("0 kbit/s").unwrap(), RateOrZero::default());
        assert_eq!(Angle::parse("-13.5 deg").unwrap().degrees(), -13.5);
        assert_eq!(Quantity::text(&Angle::from_degrees(-13.5)), "-13.5 deg");
        assert_eq!(Distance::parse("35786 km").unwrap().metres(), 35_786_000.0);
    }

    #[test]
    fn errors_name_the_value_and_the_allowed_values() {
        for (text, fault) in [
            ("0 bit/s", "out of range"),
            ("-3 Mbit/s", "out of range"),
            ("1e400 Mbit/s", "not a finite number"),
            ("nan kbit/s", "does not start with a number"),
            ("250 ms", "which is not one of bit/s"),
            ("10 mbit/s", ", did you mean \"10 Mbit/s\"? allowed: a rate"),
            ("5 MB/s", ", did you mean \"40 Mbit/s\"?"),
            ("5 Mb/s", ", did you mean \"5 Mbit/s\"?"),
            ("5 Mbps", ", did you mean \"5 Mbit/s\"?"),
            ("2048", "has no unit"),
            ("", "does not start with a number"),
        ] {
            let message = Rate::parse(text).unwrap_err().to_string();
            assert!(message.contains(fault) && message.contains("2048 kbit/s"), "{text}: {message}");
        }
    }

    #[test]
    fn symbol_rate_keeps_its_unit() {
        let symbols = ChannelRate::parse("10 MBd").unwrap();
        assert!(symbols.is_symbol_rate() && symbols.bits_per_second() == 10_000_000);
        assert_eq!(Quantity::text(&symbols), "10 MBd");
        assert_eq!(Quantity::text(&ChannelRate::parse("10 Mbit/s").unwrap()), "10 Mbit/s");
        assert!(Rate::parse("10 MBd").is_err());
    }

    #[test]
    fn misspelled_units_are_corrected_in_messages() {
        let refused = |message: Result<Span, QuantityError>| message.unwrap_err().to_string();
        assert!(refused(Span::parse("280 msec")).contains("did you mean \"280 ms\"?"));
        assert!(refused(Span::parse("280 \u{b5}s")).contains("did you mean \"280 us\"?"));
        let years = refused(Span::parse("1000 years"));
        assert!(years.contains("is out of range; allowed: a span of time, 0 s to 36600 d"));
        assert!(refused(Span::parse("2 weeks")).contains("did you mean \"14 d\"?"));
        assert!(refused(Span::parse("1 furlong")).contains("d; allowed: "));
    }

    #[test]
    fn sizes_use_the_shortest_exact_unit() {
        for text in ["75 kB", "7.5 kB", "1.5 kB", "64 KiB", "4416 KiB", "16 MiB", "1514 B", "0 B", "1 MB"] {
            assert_eq!(Quantity::text(&Size::parse(text).unwrap()), text);
        }
    }

    #[test]
    fn transmission_time_is_exact_if_it_is_a_whole_number() {
        let rate = Rate::from_bits_per_second(10_000_000);
        assert_eq!(rate.span_of(1500), Span::from_micros(1200));
        assert_eq!(rate.bytes_in(Span::from_micros(1200)), 1500);
        assert_eq!(Rate::from_bits_per_second(8).span_of(1 << 33), Span::from_secs(1 << 33));
    }

    proptest! {
        #[test]
        fn printed_values_are_read_back_unchanged(rate in 1u64..=100_000_000_000_000, nanos in 0u64..1 << 60) {
            let rate = Rate::from_bits_per_second(rate);
            prop_assert_eq!(Rate::parse(&Quantity::text(&rate)).unwrap(), rate);
            let span = Span::from_nanos(nanos);
            let back = Span::parse(&Quantity::text(&span)).unwrap();
            // The text is converted to f64 and back, with two roundings by 2^-53 of the value. It
            // is exact to the nanosecond below 2^51 ns, or 26 days.
            prop_assert!(back.as_nanos().abs_diff(nanos) <= nanos >> 51);
        }
    }
}
