//! Loading of a scenario: read, merge layers, deserialize, check.

use crate::deserialize::{deserialize, Typed};
use crate::error::{Problem, ScenarioError};
use crate::merge::{self, Presets};
use crate::overrides::Given;
use crate::read::{read_file, Files};
use crate::renamed::Renamed;
use crate::value::{path_text, Value};
use crate::{include, overrides, parse, print};
use bentpipe_core::Problems;
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The source of a scenario.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A file, by its path.
    File(&'a Path),
    /// A text, with a name for messages.
    Text {
        /// Name of the text in messages.
        name: &'a str,
        /// The complete text of the scenario.
        text: &'a str,
    },
}

/// The keys at which group members were written: for the key path of each member, the key of its
/// group, which replaces the last key of the path.
pub type Members = BTreeMap<Vec<String>, String>;

/// Checks of a scenario, in addition to those of its types.
pub trait Check {
    /// Former names, which are rejected with the current names.
    const RENAMED: &'static [Renamed] = &[];

    /// Returns the scenario with every group replaced by its members, as it is passed to
    /// [`check`](Check::check), and the keys at which the members were written. Returns `None` if
    /// there is no group. Adds the problems of the groups to `problems`.
    fn expanded(&self, _problems: &mut Problems) -> Option<(Self, Members)>
    where
        Self: Sized,
    {
        None
    }

    /// Adds problems with their key paths to `problems`. Elements of a list are addressed by name,
    /// or by position from 0 if the name is not unique.
    fn check(&self, problems: &mut Problems);
}

/// A scenario that has passed all checks.
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    /// The scenario, with members in place of groups.
    pub value: T,
    /// The scenario before its groups were replaced, if it has any.
    written: Option<T>,
    members: Members,
    /// Notes about keys of a lower layer that are unused because an upper layer selected another
    /// `kind`.
    pub notes: Vec<Problem>,
    tree: Value,
}

/// Loads a scenario. The layers are the presets named by its key `preset`, the file, and
/// `overrides` (`KEY.PATH=VALUE`).
///
/// # Errors
/// Returns as many problems as can be found at once, each with its location.
pub fn load<T: DeserializeOwned + Check>(
    source: Source<'_>,
    presets: &Presets,
    overrides: &[String],
) -> Result<Loaded<T>, ScenarioError> {
    let overrides: Vec<Given> = overrides.iter().cloned().map(Given::from).collect();
    load_given(source, presets, &overrides, &read_file)
}

/// Loads a scenario like [`load`]. The overrides have their own names in messages, and `files`
/// replaces the file system.
///
/// # Errors
/// Returns problems as [`load`] does.
pub fn load_given<T: DeserializeOwned + Check>(
    source: Source<'_>,
    presets: &Presets,
    overrides: &[Given],
    files: Files<'_>,
) -> Result<Loaded<T>, ScenarioError> {
    let tree = layered(source, presets, overrides, files)?;
    let (typed, found) = deserialize::<T>(&tree, T::RENAMED);
    let Some(Typed { value, notes }) = typed else { return Err(found.into()) };
    let mut problems = Problems::default();
    let loaded = match value.expanded(&mut problems) {
        Some((expanded, members)) => Loaded { value: expanded, written: Some(value), members, notes, tree },
        None => Loaded { value, written: None, members: Members::new(), notes, tree },
    };
    if problems.count() == 0 {
        loaded.value.check(&mut problems);
    }
    let checked = loaded.placed(problems);
    if found.is_empty() && checked.is_empty() {
        return Ok(loaded);
    }
    Err(found.into_iter().chain(checked).collect::<Vec<_>>().into())
}

/// Returns the tree with all its layers merged, before deserialization.
fn layered(
    source: Source<'_>,
    presets: &Presets,
    overrides: &[Given],
    files: Files<'_>,
) -> Result<Value, ScenarioError> {
    let mut tree = match source {
        Source::File(path) => {
            let name = path.display().to_string();
            let bytes = read_file(path).map_err(|message| Problem::of_file(&name, message))?;
            parse::from_bytes(&name, &bytes)?
        }
        Source::Text { name, text } => parse::from_bytes(name, text.as_bytes())?,
    };
    // Overrides of the presets are applied first, since they change the lower layers.
    let (below, above): (Vec<_>, Vec<_>) =
        overrides::parse(overrides)?.into_iter().partition(|over| over.is_preset());
    for over in below {
        overrides::apply(&mut tree, over)?;
    }
    let mut tree = merge::over_presets(tree, presets)?;
    let refused = above.into_iter().filter_map(|over| overrides::apply(&mut tree, over).err());
    let problems: Vec<Problem> = refused.flat_map(|error| error.problems).collect();
    if problems.is_empty() {
        include::files(&mut tree, files)?;
        Ok(tree)
    } else {
        Err(problems.into())
    }
}

impl<T> Loaded<T> {
    /// Rejects the scenario because of problems found by a later check, such as a missing route.
    /// Adds their locations.
    ///
    /// # Errors
    /// Returns the problems, if there are any.
    pub fn refuse(&self, problems: Problems) -> Result<(), ScenarioError> {
        let problems = self.placed(problems);
        if problems.is_empty() {
            return Ok(());
        }
        Err(problems.into())
    }

    /// Returns the tree of all layers, in which every value records where it was written.
    pub fn tree(&self) -> &Value {
        &self.tree
    }

    /// Returns the problems with their locations. The members of a group share their location, so
    /// only the first problem at each location is reported.
    fn placed(&self, problems: Problems) -> Vec<Problem> {
        let mut seen = BTreeSet::new();
        let mut placed = Vec::new();
        for mut problem in problems.into_vec() {
            let mut is_member = false;
            for depth in 0..problem.path.len() {
                // The keys of a member are now below the path of its group.
                let expanded = &problem.path[..=depth];
                if let Some(group) = self.members.get(expanded) {
                    problem.path[depth].clone_from(group);
                    is_member = true;
                }
            }
            if !is_member || seen.insert(problem.path.clone()) {
                placed.push(self.place(&problem));
            }
        }
        placed
    }

    fn place(&self, problem: &bentpipe_core::Problem) -> Problem {
        let (depth, value) = self.tree.follow(&problem.path);
        // A value that was not written is reported at the table to which it belongs.
        let found = (depth == problem.path.len()).then_some(value);
        let placed = Problem::at(&value.origin, path_text(&problem.path), problem.message.as_str());
        let placed = if value.origin.is_file() { placed.in_file() } else { placed };
        placed
            .with_value(found.and_then(Value::written))
            .with_nearest(found.and_then(Value::text).unwrap_or_default())
    }
}

impl<T: Serialize> Loaded<T> {
    /// Returns the scenario before its groups were replaced.
    fn written(&self) -> &T {
        self.written.as_ref().unwrap_or(&self.value)
    }

    /// Returns the resolved scenario as TOML, with all defaults and without presets. Loading it
    /// returns the same value.
    pub fn to_toml(&self) -> String {
        print::to_toml(self.written()).expect("a value loaded from TOML can be written as TOML")
    }

    /// Returns the resolved scenario as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self.written()).expect("a value loaded from TOML can be written as JSON")
    }
}
