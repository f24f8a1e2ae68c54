//! Element sets: files with the orbits of real satellites, as distributed by CelesTrak and
//! Space-Track. Formats are two-line elements (TLE, with or without a name line) and orbit
//! mean-elements messages (OMM, CCSDS 502.0-B-3) as JSON, XML and CSV. The format is detected.

mod omm;
mod tle;

use super::epoch::Epoch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The elements of an orbit for SGP4: mean elements in TEME.
#[derive(Clone, Debug, PartialEq)]
pub struct Elements {
    /// Name of the satellite.
    pub name: String,
    /// Catalogue number of the satellite (NORAD).
    pub catalogue: u64,
    /// The time to which the elements apply.
    pub epoch: Epoch,
    /// Inclination of the orbit to the equator, in degrees.
    pub inclination: f64,
    /// Right ascension of the ascending node in degrees.
    pub node: f64,
    /// Eccentricity of the orbit, from 0 (a circle) to below 1.
    pub eccentricity: f64,
    /// Argument of perigee in degrees.
    pub perigee: f64,
    /// Mean anomaly in degrees.
    pub anomaly: f64,
    /// Mean motion in revolutions per day, as defined by Kozai.
    pub mean_motion: f64,
    /// Drag term B* in 1 / Earth radii.
    pub drag: f64,
}

/// An error in a text of element sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Number of the line, from 1; `None` if the fault is not in a single line.
    pub line: Option<usize>,
    /// Description of the fault for the user.
    pub message: String,
}

impl ParseError {
    fn at(line: usize, message: impl Into<String>) -> ParseError {
        ParseError { line: Some(line), message: message.into() }
    }
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line} of the element sets: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Element sets together with the text from which they were read.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementSets {
    text: String,
    /// The sets in the order of the text, with unique names.
    pub sets: Arc<Vec<Elements>>,
}

impl ElementSets {
    /// Parses the text of element sets: TLE, or OMM as JSON, XML or CSV.
    ///
    /// # Errors
    /// Returns the first error in the text.
    pub fn parse(text: &str) -> Result<ElementSets, ParseError> {
        let begin = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        let mut sets = match begin.as_bytes().first() {
            None => {
                return Err(ParseError {
                    line: None,
                    message: "no element sets: the text is empty".to_owned(),
                })
            }
            Some(b'[' | b'{') => omm::json(text)?,
            Some(b'<') => omm::xml(begin)?,
            _ if begin.lines().next().is_some_and(|first| first.contains("MEAN_MOTION")) => omm::csv(text)?,
            _ => tle::parse(text)?,
        };
        if sets.is_empty() {
            return Err(ParseError {
                line: None,
                message: "no element sets; allowed: at least one".to_owned(),
            });
        }
        make_names_unique(&mut sets);
        Ok(ElementSets { text: text.to_owned(), sets: Arc::new(sets) })
    }
}

/// Makes names unique. Appends the catalogue number to repeated names, and the position in the text
/// if they are still not unique.
fn make_names_unique(sets: &mut [Elements]) {
    for naming in [
        |set: &Elements, _| format!("{} {}", set.name, set.catalogue),
        |set: &Elements, position| format!("{} #{position}", set.name),
    ] {
        let mut count: BTreeMap<String, u32> = BTreeMap::new();
        sets.iter().for_each(|set| *count.entry(set.name.clone()).or_default() += 1);
        for (index, set) in sets.iter_mut().enumerate() {
            if count[&set.name] > 1 {
                set.name = naming(set, index + 1);
            }
        }
    }
}

bentpipe_core::document!(ElementSets, "element sets", "element sets: TLE, or OMM as JSON, XML or CSV");
