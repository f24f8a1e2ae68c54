//! Differentiated services code points, written as a number or as the name from their RFC.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A differentiated services code point, 0 to 63, written in a scenario as `46` or `"ef"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Dscp(u8);

/// Best effort and class selectors (RFC 2474), assured forwarding (RFC 2597: AFxy is class x with
/// drop precedence y), expedited forwarding (RFC 3246), admitted voice (RFC 5865), lower effort
/// (RFC 8622).
const NAMES: [(&str, u8); 24] = [
    ("be", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("voice-admit", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
    ("cs0", 0),
];

impl Dscp {
    /// The code point of best effort, 0.
    pub const BEST_EFFORT: Dscp = Dscp(0);
    /// The code point of expedited forwarding, 46.
    pub const EF: Dscp = Dscp(46);

    /// Creates the code point with this number, or returns `None` above 63.
    pub const fn new(number: u8) -> Option<Dscp> {
        if number < 64 {
            Some(Dscp(number))
        } else {
            None
        }
    }

    /// Returns the code point of assured forwarding class 1 to 4 with drop precedence 1 to 3.
    pub const fn af(class: u8, precedence: u8) -> Dscp {
        assert!(class >= 1 && class <= 4 && precedence >= 1 && precedence <= 3, "RFC 2597, section 6");
        Dscp(8 * class + 2 * precedence)
    }

    /// Returns the number of the code point, 0 to 63.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// Returns the name of the code point, if it has one.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(_, number)| *number == self.0).map(|(name, _)| *name)
    }

    /// Returns the drop precedence of an assured forwarding code point, from 0 (the lowest) to 2.
    /// All other code points have 0.
    pub const fn precedence(self) -> usize {
        match (self.0 >> 3, self.0 & 7) {
            (1..=4, 4) => 1,
            (1..=4, 6) => 2,
            _ => 0,
        }
    }
}

fn allowed() -> String {
    let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
    format!("0 to 63 or one of {}", names.join(", "))
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::str::FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Dscp, String> {
        let known = NAMES.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
        let number = text.parse().ok().and_then(Dscp::new);
        let found = known.map(|(_, number)| Dscp(*number)).or(number);
        found.ok_or_else(|| format!("\"{text}\" is not a DSCP; allowed: {}", allowed()))
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dscp, D::Error> {
        struct CodePoint;
        impl Visitor<'_> for CodePoint {
            type Value = Dscp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a DSCP, {}", allowed())
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Dscp, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Dscp, E> {
                let known = u8::try_from(number).ok().and_then(Dscp::new);
                known.ok_or_else(|| E::custom(format!("{number} is not a DSCP; allowed: {}", allowed())))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Dscp, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
        deserializer.deserialize_any(CodePoint)
    }
}

/// Serializes as the number, as in headers and results.
impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.0)
    }
}

impl JsonSchema for Dscp {
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "description": "A differentiated services code point, by number or name (RFC 2474, 2597, 3246, 5865, 8622).",
            "anyOf": [{"type": "integer", "minimum": 0, "maximum": 63}, {"type": "string", "enum": names}],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_code_points_of_their_rfcs() {
        for (text, bits) in [("ef", 0b101110), ("af11", 0b001010), ("AF43", 0b100110), ("cs6", 0b110000)] {
            assert_eq!(text.parse::<Dscp>().map(Dscp::value), Ok(bits), "{text}");
        }
        assert_eq!((Dscp::af(3, 2).to_string(), Dscp(46).to_string()), ("af32".into(), "ef".into()));
        assert_eq!((Dscp(0).to_string(), Dscp(7).to_string()), ("be".into(), "7".into()));
        for bad in ["af14", "64", "-1", "gold"] {
            assert!(bad.parse::<Dscp>().unwrap_err().contains("allowed: 0 to 63"), "{bad}");
        }
    }

    #[test]
    fn only_assured_forwarding_has_drop_precedences() {
        let higher: Vec<_> = (0..64).map(Dscp).filter(|dscp| dscp.precedence() > 0).collect();
        let expected: Vec<_> = (1..=4).flat_map(|class| [Dscp::af(class, 2), Dscp::af(class, 3)]).collect();
        assert_eq!(higher, expected);
        assert_eq!((Dscp::af(2, 2).precedence(), Dscp::af(2, 3).precedence()), (1, 2));
    }
}
