//! Element sets: files with the orbits of real satellites, as CelesTrak and Space-Track hand them out. Two-line elements
//! (TLE, with or without a line of the name) and orbit mean-elements messages (OMM, CCSDS 502.0-B-3) as JSON, XML and CSV; which
//! of them a text is, it tells itself.

mod omm;
mod tle;

use super::epoch::Epoch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Elements as they are made for SGP4: mean elements in TEME.
#[derive(Clone, Debug, PartialEq)]
pub struct Elements {
    /// Name of the satellite.
    pub name: String,
    /// Number in the catalogue of NORAD.
    pub catalogue: u64,
    /// Moment to which they belong.
    pub epoch: Epoch,
    /// Inclination in degrees.
    pub inclination: f64,
    /// Right ascension of the ascending node in degrees.
    pub node: f64,
    /// Eccentricity.
    pub eccentricity: f64,
    /// Argument of perigee in degrees.
    pub perigee: f64,
    /// Mean anomaly in degrees.
    pub anomaly: f64,
    /// Mean motion in revolutions per day, as Kozai has it.
    pub mean_motion: f64,
    /// Drag term B* in 1 / Earth radii.
    pub drag: f64,
}

/// What is wrong with a text of element sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Line, from 1; none where the text as a whole is wrong.
    pub line: Option<usize>,
    /// What.
    pub message: String,
}

impl Wrong {
    fn at(line: usize, message: impl Into<String>) -> Wrong {
        Wrong { line: Some(line), message: message.into() }
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line} of the element sets: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Element sets with the text that they were read from.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementSets {
    text: String,
    /// In the order of the text; every name once.
    pub sets: Arc<Vec<Elements>>,
}

impl ElementSets {
    /// Reads a text.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(text: &str) -> Result<ElementSets, Wrong> {
        let begin = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        let mut sets = match begin.as_bytes().first() {
            None => {
                return Err(Wrong { line: None, message: "no element sets: the text is empty".to_owned() })
            }
            Some(b'[' | b'{') => omm::json(text)?,
            Some(b'<') => omm::xml(begin)?,
            _ if begin.lines().next().is_some_and(|first| first.contains("MEAN_MOTION")) => omm::csv(text)?,
            _ => tle::parse(text)?,
        };
        if sets.is_empty() {
            return Err(Wrong { line: None, message: "no element sets; allowed: at least one".to_owned() });
        }
        tell_apart(&mut sets);
        Ok(ElementSets { text: text.to_owned(), sets: Arc::new(sets) })
    }
}

/// Satellites of one name get their catalogue numbers in addition, and where that is not enough their places.
fn tell_apart(sets: &mut [Elements]) {
    for naming in [
        |set: &Elements, _| format!("{} {}", set.name, set.catalogue),
        |set: &Elements, place| format!("{} #{place}", set.name),
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
