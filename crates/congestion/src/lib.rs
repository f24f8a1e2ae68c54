//! bentpipe's congestion controls. Each is one C file of the folder `variants` with two homes:
//! compiled into the engine, through this crate, and compiled by clang into a BPF struct_ops object
//! for a stock Linux kernel (`scripts/bpf`). `include/bentpipe.h` describes how a file is written;
//! [`variants`] lists the files found when this crate was built.
//!
//! ```
//! use std::collections::BTreeMap;
//! use bentpipe_congestion::interface::State;
//!
//! let mut vegas = bentpipe_congestion::create("vegas", &BTreeMap::from([("alpha".to_owned(), 1)])).unwrap();
//! let mut state = State { snd_cwnd: 10, snd_cwnd_clamp: 1000, ..State::default() };
//! vegas.init(&mut state);
//! assert_eq!(vegas.ssthresh(&mut state), 5);
//!
//! let error = bentpipe_congestion::create("vega", &BTreeMap::new()).err().unwrap();
//! assert!(error.to_string().starts_with("there is no congestion control \"vega\" (is \"vegas\" meant?); there are bbr"));
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

/// A congestion control: one C file.
#[derive(Debug)]
pub struct Variant {
    /// Name of the variant and of its file; `bp_NAME` in the kernel.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// The publication that describes it.
    pub source: &'static str,
    /// Its parameters, in the order of their declaration.
    pub parameters: Vec<Parameter>,
    /// The comment at its file's head: equations, constants with their sources, deviations.
    pub head: String,
    raw: &'static RawVariant,
}

/// A parameter of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Value if none is given.
    pub default: i64,
    /// Minimum value.
    pub min: i64,
    /// Maximum value.
    pub max: i64,
    /// Unit and meaning.
    pub about: &'static str,
}

/// An error in the choice of a congestion control.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CongestionError {
    /// No file has this name.
    #[error("there is no congestion control {name:?}{}; there are {}", meant(.nearest), .known.join(", "))]
    UnknownVariant {
        /// The requested name.
        name: String,
        /// The most similar known name, if any.
        nearest: Option<&'static str>,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// C source is not compiled, or not by the compiler.
    #[error("{name}: {why}")]
    Refused {
        /// The name that the source gives itself, if any.
        name: String,
        /// The reason of the refusal, for the user.
        why: String,
    },
    /// The variant has no parameter of this name.
    #[error("{variant} has no parameter {name:?}{}; it has {}", meant(.nearest), list(.known))]
    UnknownParameter {
        /// The variant.
        variant: String,
        /// The requested name.
        name: String,
        /// The most similar known name, if any.
        nearest: Option<&'static str>,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// The value is outside the parameter's range.
    #[error("{variant}'s parameter {parameter} is {value}; allowed is {min} to {max}")]
    OutOfRange {
        /// The variant.
        variant: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The given value.
        value: i64,
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// Two parameters contradict each other.
    #[error(
        "{variant}'s parameter {below} is {low} and {above} is {high}; allowed is {below} of at most {above}"
    )]
    WrongOrder {
        /// The variant.
        variant: &'static str,
        /// The parameter that is too large.
        below: &'static str,
        /// The value of `below`.
        low: u32,
        /// The parameter that bounds it.
        above: &'static str,
        /// The value of `above`.
        high: u32,
    },
}

/// Pairs of a variant's parameters of which the first must not exceed the second: Vegas would
/// shrink and grow at once.
const IN_ORDER: [(&str, &str, &str); 2] = [("vegas", "alpha", "beta"), ("vegas95", "alpha", "beta")];

/// Returns all variants, in alphabetical order.
pub fn variants() -> &'static [Variant] {
    static VARIANTS: LazyLock<Vec<Variant>> = LazyLock::new(|| {
        raw::variants().into_iter().zip(raw::heads()).map(|(raw, head)| Variant::new(raw, head)).collect()
    });
    &VARIANTS
}

/// Creates a congestion control for one connection: the variant called `name`, with `parameters`
/// instead of its defaults.
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

/// Returns the variant called `name`, or the one of C source in its place.
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

    /// Returns the values of all parameters in the order of their declaration: the given ones, and
    /// the defaults of the others.
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
    const ALIKE: f64 = 0.5;
    known
        .iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), *candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn meant(nearest: &Option<&str>) -> String {
    nearest.map(|name| format!(" (is {name:?} meant?)")).unwrap_or_default()
}

fn list(known: &[&str]) -> String {
    if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    }
}
