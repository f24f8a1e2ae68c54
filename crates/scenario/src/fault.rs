//! The error type of deserialization, before and after the location of the fault is known.

use crate::error::Problem;
use serde::de::{self, Expected, Unexpected};
use std::fmt;

/// A fault found by any `Deserialize` implementation. It is boxed, because every result carries it.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug, Default)]
struct Inner {
    message: String,
    /// The faulty word and the allowed names.
    choice: Option<(String, &'static [&'static str])>,
    missing: Option<&'static str>,
    location: Option<Location>,
}

/// The location at which a fault was reported.
#[derive(Debug)]
pub(crate) struct Location {
    /// Identity of the node whose deserialization failed.
    pub(crate) node: usize,
    /// The problem at this location, without its message.
    pub(crate) problem: Problem,
    /// True if the node is the content of a separate file.
    pub(crate) is_file: bool,
}

impl Fault {
    fn new(message: String) -> Fault {
        Fault(Box::new(Inner { message, ..Inner::default() }))
    }

    /// Returns the fault of a variant's table that has these keys but no `kind`.
    pub(crate) fn no_kind(keys: Vec<&str>, variants: &'static [&'static str]) -> Fault {
        let mut fault = Fault::new(match keys.is_empty() {
            true => "missing key \"kind\"".to_owned(),
            false => format!("missing key \"kind\", to which {} would belong", keys.join(", ")),
        });
        fault.0.choice = Some((String::new(), variants));
        fault
    }

    /// Sets the location of the fault, unless it was reported by an inner node and already has one.
    pub(crate) fn at(mut self, location: impl FnOnce() -> Location) -> Fault {
        if self.0.location.is_none() {
            self.0.location = Some(location());
        }
        self
    }

    /// Returns the missing key, if the fault is a missing key.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        self.0.missing
    }

    /// Returns the node that failed, and its problem.
    pub(crate) fn into_problem(self) -> (usize, Problem) {
        let inner = *self.0;
        let location = inner.location.expect("each node sets the location of its faults");
        let Problem { file, line, column, path, value, .. } = location.problem;
        let located =
            Problem { line, column, path, ..Problem::of_file(&file, inner.message) }.with_value(value);
        let located = if location.is_file { located.in_file() } else { located };
        let problem = match inner.choice {
            Some((word, allowed)) => located.with_allowed(&word, allowed),
            None => located,
        };
        (location.node, problem)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Fault {
        Fault::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        Fault::new(format!("expected {}, found {}", plain(&expected.to_string()), what(&found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        match found {
            Unexpected::Signed(_) | Unexpected::Unsigned(_) => {
                Fault::new(format!("is out of range; allowed: {}", plain(&expected.to_string())))
            }
            found => Fault::invalid_type(found, expected),
        }
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Fault {
        Fault::new(format!("expected {}, found {length}", plain(&expected.to_string())))
    }

    fn unknown_variant(variant: &str, allowed: &'static [&'static str]) -> Fault {
        let mut fault = Fault::new("unknown variant".to_owned());
        fault.0.choice = Some((variant.to_owned(), allowed));
        fault
    }

    fn unknown_field(field: &str, allowed: &'static [&'static str]) -> Fault {
        let mut fault = Fault::new("unknown key".to_owned());
        fault.0.choice = Some((field.to_owned(), allowed));
        fault
    }

    fn missing_field(field: &'static str) -> Fault {
        let mut fault = Fault::new(format!("missing key \"{field}\""));
        fault.0.missing = Some(field);
        fault
    }

    fn duplicate_field(field: &'static str) -> Fault {
        Fault::new(format!("the key \"{field}\" is given twice, once by another name"))
    }
}

/// Translates serde's type names to the terms of a scenario.
fn plain(expected: &str) -> String {
    match expected {
        "i8" => "a whole number from -128 to 127".to_owned(),
        "i16" => "a whole number from -32768 to 32767".to_owned(),
        "i32" => "a whole number from -2147483648 to 2147483647".to_owned(),
        "i64" | "isize" => "a whole number".to_owned(),
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        // TOML has no larger numbers.
        "u64" | "usize" => "a whole number from 0 to 9223372036854775807".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") || other.starts_with("unit struct ") => "a table".to_owned(),
        other if other.starts_with("an array of length ") || other.starts_with("a tuple of size ") => {
            format!("a list of {} elements", other.rsplit(' ').next().unwrap_or_default())
        }
        other if other.starts_with("enum ") => "a name, or a table with the key kind".to_owned(),
        other => other.to_owned(),
    }
}

fn what(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(_) => "true or false".to_owned(),
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number".to_owned(),
        Unexpected::Float(_) => "a number".to_owned(),
        Unexpected::Char(_) | Unexpected::Str(_) => "text".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}
