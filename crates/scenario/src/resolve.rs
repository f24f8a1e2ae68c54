//! Loading: read, merge layers, deserialize, check.

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
        /// The text of the whole scenario.
        text: &'a str,
    },
}

/// The written places of group members: by the key path of a member, the key of its group, which
/// replaces the path's last key.
pub type Members = BTreeMap<Vec<String>, String>;

/// Checks of a scenario beyond the types of its keys.
pub trait Check {
    /// Former names, which are refused with the current ones.
    const RENAMED: &'static [Renamed] = &[];

    /// Returns the scenario with every group replaced by its members, as [`check`](Check::check)
    /// sees it, and the places where the members were written. Returns `None` if there is no group.
    /// Adds the problems of the groups.
    fn expanded(&self, _problems: &mut Problems) -> Option<(Self, Members)>
    where
        Self: Sized,
    {
        None
    }

    /// Adds problems by key path. Elements of a list are addressed by name, or by position from 0
    /// if the name is not unique.
    fn check(&self, problems: &mut Problems);
}

/// A scenario that has passed all checks.
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    /// The scenario, with members in place of groups.
    pub value: T,
    /// The scenario with its groups, if it has any.
    written: Option<T>,
    members: Members,
    /// Notes about keys of a lower layer that are unused because an upper layer chose another
    /// `kind`.
    pub notes: Vec<Problem>,
    tree: Value,
}

/// Loads a scenario: the file over the presets named by its key `preset`, and `overrides`
/// (`KEY.PATH=VALUE`) over the file.
///
/// # Errors
/// Returns as many problems as can be found at once, each with its place.
pub fn load<T: DeserializeOwned + Check>(
    source: Source<'_>,
    presets: &Presets,
    overrides: &[String],
) -> Result<Loaded<T>, ScenarioError> {
    let overrides: Vec<Given> = overrides.iter().cloned().map(Given::from).collect();
    load_given(source, presets, &overrides, &read_file)
}

/// Loads a scenario as [`load`] does, with overrides that have their own names in messages. Reads
/// files through `files` instead of the file system.
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

/// Returns the tree with all its layers, before deserialization.
fn layered(
    source: Source<'_>,
    presets: &Presets,
    overrides: &[Given],
    files: Files<'_>,
) -> Result<Value, ScenarioError> {
    let mut tree = match source {
        Source::File(path) => {
            let name = path.display().to_string();
            let bytes = files(path).map_err(|message| Problem::of_file(&name, message))?;
            parse::from_bytes(&name, &bytes)?
        }
        Source::Text { name, text } => parse::from_bytes(name, text.as_bytes())?,
    };
    // The presets can be overridden too, so those overrides come first.
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
    /// Adds places in the scenario to the problems that a later check has found, such as a missing
    /// route.
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

    /// Returns the tree of all layers, in which every value knows where it was written.
    pub fn tree(&self) -> &Value {
        &self.tree
    }

    /// Returns the problems with their places. Of the members of a group, which share their
    /// problems, only the first at each place is reported.
    fn placed(&self, problems: Problems) -> Vec<Problem> {
        let mut seen = BTreeSet::new();
        let mut placed = Vec::new();
        for mut problem in problems.into_vec() {
            let mut is_member = false;
            for depth in 0..problem.path.len() {
                // By now, a member's own keys are below the path of its group.
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
    /// Returns the scenario with its groups.
    fn written(&self) -> &T {
        self.written.as_ref().unwrap_or(&self.value)
    }

    /// Returns the resolved scenario as TOML, with every default and without presets. It loads to
    /// the same value.
    pub fn to_toml(&self) -> String {
        print::to_toml(self.written()).expect("what was loaded from TOML can be written as TOML")
    }

    /// Returns the resolved scenario as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self.written()).expect("what was loaded from TOML can be written as JSON")
    }
}
