//! The congestion controls of bentpipe. Each is one C file of the folder `variants` and is compiled
//! for two targets: this crate builds it into the engine, and clang builds a BPF struct_ops object
//! for a stock Linux kernel (`scripts/bpf`). `include/bentpipe.h` describes the form of a file.
//! [`variants`] lists the files found when this crate was built.
//!
//! ```
//! use std::collections::BTreeMap;
//! use bentpipe_congestion::interface::State;
//!
//! let parameters = BTreeMap::from([("alpha".to_owned(), 1)]);
//! let mut vegas = bentpipe_congestion::create("vegas", &parameters).unwrap();
//! let mut state = State { snd_cwnd: 10, snd_cwnd_clamp: 1000, ..State::default() };
//! vegas.init(&mut state);
//! assert_eq!(vegas.ssthresh(&mut state), 5);
//!
//! let error = bentpipe_congestion::create("vega", &BTreeMap::new()).err().unwrap().to_string();
//! assert!(error.contains("\"vega\", did you mean \"vegas\"? allowed: bbr,"));
//! ```

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::interface::{Congestion, MAX_PARAMETERS};

#[cfg(feature = "compile")]
pub mod compile;
pub mod interface;
mod linux;
mod raw;
mod source;
#[cfg(test)]
mod tests;

pub use linux::{of_linux, LINUX};
pub use raw::HEADERS;
use raw::{Control, RawVariant};
pub use source::{is_source, label, register, set_compiler, Compiled, Compiler, Maker};

/// A congestion control, described by its C file.
#[derive(Debug)]
pub struct Variant {
    /// Name of the variant and of its file; `bp_NAME` in the kernel.
    pub name: &'static str,
    /// Description of the variant in one line.
    pub about: &'static str,
    /// Publication that describes the variant.
    pub source: &'static str,
    /// Parameters of the variant, in the order of declaration.
    pub parameters: Vec<Parameter>,
    /// The first comment of the file: equations, constants with their sources, deviations.
    pub head: String,
    raw: &'static RawVariant,
}

/// A parameter of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter, as in a scenario.
    pub name: &'static str,
    /// Default value, for scenarios without this parameter.
    pub default: i64,
    /// Minimum value; smaller ones are refused.
    pub min: i64,
    /// Maximum value; larger ones are refused.
    pub max: i64,
    /// Unit and meaning of the parameter.
    pub about: &'static str,
}

/// An error in the selection of a congestion control.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CongestionError {
    /// No variant has the requested name.
    #[error("there is no congestion control {name:?}{}", choices(*.nearest, .known))]
    UnknownVariant {
        /// The requested variant name.
        name: String,
        /// The most similar known name, if any.
        nearest: Option<&'static str>,
        /// Names of all known variants.
        known: Vec<&'static str>,
    },
    /// The C source is not compiled: it is not allowed, or the compiler refuses it.
    #[error("{name}: {why}")]
    Refused {
        /// The name of the variant in its source, if any.
        name: String,
        /// The reason for the refusal, for the user.
        why: String,
    },
    /// The variant has no parameter of this name.
    #[error("{variant} has no parameter {name:?}{}", choices(*.nearest, .known))]
    UnknownParameter {
        /// The name of the variant.
        variant: String,
        /// The requested parameter name.
        name: String,
        /// The most similar known name, if any.
        nearest: Option<&'static str>,
        /// Names of all parameters of the variant.
        known: Vec<&'static str>,
    },
    /// The value is outside the parameter's range.
    #[error("{variant}'s parameter {parameter} is {value}; allowed: {min} to {max}")]
    OutOfRange {
        /// The name of the variant.
        variant: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The given parameter value.
        value: i64,
        /// The minimum allowed value.
        min: i64,
        /// The maximum allowed value.
        max: i64,
    },
    /// Two parameters contradict each other.
    #[error(
        "{variant}'s parameter {below} is {low} and {above} is {high}; allowed: {below} of at most {above}"
    )]
    WrongOrder {
        /// The name of the variant.
        variant: &'static str,
        /// The parameter whose value is too large.
        below: &'static str,
        /// The value of the parameter `below`.
        low: u32,
        /// The parameter that limits `below`.
        above: &'static str,
        /// The value of the parameter `above`.
        high: u32,
    },
}

/// Variant and two parameters, the first of which must not exceed the second: otherwise Vegas would
/// have to shrink and grow at the same time.
const IN_ORDER: [(&str, &str, &str); 2] = [("vegas", "alpha", "beta"), ("vegas95", "alpha", "beta")];

/// Returns all variants, in alphabetical order.
pub fn variants() -> &'static [Variant] {
    static VARIANTS: LazyLock<Vec<Variant>> = LazyLock::new(|| {
        raw::variants().into_iter().zip(raw::heads()).map(|(raw, head)| Variant::new(raw, head)).collect()
    });
    &VARIANTS
}

/// Creates a congestion control for one connection: the variant `name`, with `parameters` instead
/// of its defaults.
pub fn create(
    name: &str,
    parameters: &BTreeMap<String, i64>,
) -> Result<Box<dyn Congestion>, CongestionError> {
    match source::registered(name) {
        Some(_) if !parameters.is_empty() => Err(CongestionError::UnknownParameter {
            variant: name.to_owned(),
            name: parameters.keys().next().cloned().unwrap_or_default(),
            nearest: None,
            known: Vec::new(),
        }),
        Some(control) => Ok(control),
        None => variant(name)?.create(parameters),
    }
}

/// Returns true if [`variant`] finds a scalable congestion control (RFC 9331).
pub fn is_scalable(name: &str) -> bool {
    variant(name).is_ok_and(|variant| variant.raw.is_scalable != 0)
}

/// Returns the variant `name`; if `name` is C source, the variant that the source defines.
pub fn variant(name: &str) -> Result<&'static Variant, CongestionError> {
    if is_source(name) {
        return source::compiled(name);
    }
    variants().iter().find(|variant| variant.name == name).ok_or_else(|| {
        let known: Vec<_> = variants().iter().map(|variant| variant.name).collect();
        CongestionError::UnknownVariant { name: name.to_owned(), nearest: nearest(name, &known), known }
    })
}

impl Variant {
    fn new(raw: &'static RawVariant, head: String) -> Variant {
        let (name, about, source) = raw.description();
        let parameters = raw.parameters();
        assert!(parameters.len() <= MAX_PARAMETERS, "bentpipe.h holds variants to MAX_PARAMETERS");
        Variant { name, about, source, parameters, head, raw }
    }

    /// Creates this variant for one connection, with `parameters` instead of its defaults.
    pub fn create(
        &'static self,
        parameters: &BTreeMap<String, i64>,
    ) -> Result<Box<dyn Congestion>, CongestionError> {
        let mut values = [0; MAX_PARAMETERS];
        for (place, value) in values.iter_mut().zip(self.values(parameters)?) {
            *place = value;
        }
        Ok(Box::new(Control::new(self.name, self.raw, values)))
    }

    /// Returns the values of all parameters in the order of declaration: the given values, and
    /// defaults for the others.
    pub fn values(&self, parameters: &BTreeMap<String, i64>) -> Result<Vec<u32>, CongestionError> {
        if let Some(name) = parameters.keys().find(|name| self.parameters.iter().all(|p| p.name != *name)) {
            let known: Vec<_> = self.parameters.iter().map(|parameter| parameter.name).collect();
            let nearest = nearest(name, &known);
            return Err(CongestionError::UnknownParameter {
                variant: self.name.to_owned(),
                name: name.clone(),
                nearest,
                known,
            });
        }
        let values: Vec<u32> = self
            .parameters
            .iter()
            .map(|parameter| {
                let &Parameter { name, min, max, default, .. } = parameter;
                let value = parameters.get(name).copied().unwrap_or(default);
                u32::try_from(value).ok().filter(|_| (min..=max).contains(&value)).ok_or(
                    CongestionError::OutOfRange { variant: self.name, parameter: name, value, min, max },
                )
            })
            .collect::<Result<_, _>>()?;
        let value = |name| self.parameters.iter().position(|one| one.name == name).map(|index| values[index]);
        for (_, below, above) in IN_ORDER.into_iter().filter(|(variant, ..)| *variant == self.name) {
            if let (Some(low), Some(high)) = (value(below), value(above)) {
                if low > high {
                    return Err(CongestionError::WrongOrder { variant: self.name, below, low, above, high });
                }
            }
        }
        Ok(values)
    }
}

/// Returns the name most similar to `name`, if any is similar.
fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    /// Minimum similarity of a suggestion, from 0 (nothing in common) to 1 (equal).
    const SIMILAR: f64 = 0.5;
    known
        .iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), *candidate))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Returns the end of a message about an unknown name: the suggestion, if any, and the known names.
fn choices(nearest: Option<&str>, known: &[&str]) -> String {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    match nearest {
        Some(name) => format!(", did you mean {name:?}? allowed: {known}"),
        None => format!("; allowed: {known}"),
    }
}
