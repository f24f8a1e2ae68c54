//! Errors in a scenario, as text and as JSON.

use crate::value::Origin;
use serde::Serialize;
use std::fmt;

/// The command-line option for an override; it precedes the key.
pub(crate) const SET: &str = "--set";

/// One problem, with its location, the allowed values, and the value that was probably meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The name of the file, `preset NAME`, or `--set KEY.PATH` for an override.
    pub file: String,
    /// Line, from 1; `None` for an override or for a problem of the whole file.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Key path such as `flow.upload.transport.congestion`. Elements of a list are written by name,
    /// or by position from 0.
    pub path: String,
    /// The value as written, if any.
    pub value: Option<String>,
    /// The fault, as a sentence for the user.
    pub message: String,
    /// The allowed values: names, or the description of a range.
    pub allowed: Vec<String>,
    /// The allowed name that was probably meant.
    pub nearest: Option<String>,
}

impl Problem {
    /// Returns the end of the message: the suggestion, and at most `max` of the allowed names.
    pub(crate) fn choices(&self, max: usize) -> String {
        let mut text = String::new();
        if let Some(nearest) = &self.nearest {
            text.push_str(&format!(", did you mean \"{nearest}\"?"));
        }
        if !self.allowed.is_empty() {
            let separator = if self.nearest.is_some() { "" } else { ";" };
            let shown = self.allowed.iter().take(max).map(String::as_str).collect::<Vec<_>>().join(", ");
            text.push_str(&format!("{separator} allowed: {shown}"));
            if self.allowed.len() > max {
                text.push_str(&format!(" and {} more", self.allowed.len() - max));
            }
        }
        text
    }

    /// Returns a problem of a whole file.
    pub(crate) fn of_file(file: &str, message: String) -> Problem {
        let file = file.to_owned();
        let (line, column, path, value) = (None, None, String::new(), None);
        Problem { file, line, column, path, value, message, allowed: Vec::new(), nearest: None }.split()
    }

    /// Returns a problem at `origin`, with the key path as text.
    pub(crate) fn at(origin: &Origin, path: String, message: impl Into<String>) -> Problem {
        let position = origin.position();
        Problem {
            file: origin.file().to_owned(),
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
            path,
            value: None,
            message: message.into(),
            allowed: Vec::new(),
            nearest: None,
        }
        .split()
    }

    /// Moves the line number from the message "line N: ..." to the problem's line. This is for a
    /// file that is a single value.
    pub(crate) fn in_file(mut self) -> Problem {
        let found = self.message.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
        if let Some((Ok(line), message)) = found.map(|(line, message)| (line.parse(), message)) {
            (self.line, self.column, self.message) = (Some(line), Some(1), message.to_owned());
        }
        self
    }

    /// Adds the value as written, so that the message does not need to repeat it.
    pub(crate) fn with_value(mut self, value: Option<String>) -> Problem {
        if let Some(value) = &value {
            let quoted = format!("\"{value}\"");
            let message = &self.message;
            let rest = message.strip_prefix(value.as_str()).or_else(|| message.strip_prefix(&quoted));
            if let Some(rest) = rest.and_then(|rest| rest.strip_prefix(' ')) {
                self.message = rest.to_owned();
            }
        }
        self.value = value;
        self
    }

    /// Adds the allowed names, and the name that was probably meant by `word`.
    pub(crate) fn with_allowed<W: AsRef<str>>(mut self, word: &str, allowed: &[W]) -> Problem {
        self.allowed = allowed.iter().map(|name| name.as_ref().to_owned()).collect();
        self.with_nearest(word)
    }

    /// Adds the allowed name that was probably meant by `word`.
    pub(crate) fn with_nearest(mut self, word: &str) -> Problem {
        self.nearest = self.nearest.or_else(|| crate::nearest::nearest(word, &self.allowed));
        self
    }

    /// Moves the suggestion and the allowed values from the end of the message to their own fields.
    /// Single words are names; other text is a description.
    fn split(mut self) -> Problem {
        let message = std::mem::take(&mut self.message);
        let parts = message.split_once("; allowed: ").or_else(|| message.split_once("? allowed: "));
        let Some((fault, allowed)) = parts else { return Problem { message, ..self } };
        let names = allowed.split(", ");
        self.allowed = match allowed {
            "" => Vec::new(),
            _ if names.clone().any(|name| name.contains(' ')) => vec![allowed.to_owned()],
            _ => names.map(str::to_owned).collect(),
        };
        let (fault, meant) = match fault.split_once(", did you mean \"") {
            Some((fault, meant)) => (fault, Some(meant.trim_end_matches('"').to_owned())),
            None => (fault, None),
        };
        (self.message, self.nearest) = (fault.to_owned(), meant);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            // The name of an override already contains the key.
            if self.file.strip_prefix(SET).map(str::trim_start) != Some(&self.path) {
                write!(f, ": {}", self.path)?;
            }
            if let Some(value) = &self.value {
                write!(f, " = {value}")?;
            }
        }
        write!(f, ": {}", self.message)?;
        f.write_str(&self.choices(NAMES))
    }
}

/// The error for a rejected scenario, with all problems found, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct ScenarioError {
    /// The problems, at least one.
    pub problems: Vec<Problem>,
}

/// Maximum number of allowed names in a text message; the JSON of a problem contains all.
const NAMES: usize = 16;

/// Maximum number of problems in a text message. The first problems usually explain the others.
const SHOWN: usize = 20;

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().take(SHOWN).enumerate() {
            write!(f, "{}{problem}", if index == 0 { "" } else { "\n" })?;
        }
        match self.problems.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl ScenarioError {
    /// Returns the problems as JSON: `{"problems": [{"file": ..., "line": ..., ...}]}`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "problems": self.problems })
    }
}

impl From<Problem> for ScenarioError {
    fn from(problem: Problem) -> ScenarioError {
        ScenarioError { problems: vec![problem] }
    }
}

impl From<Vec<Problem>> for ScenarioError {
    /// Sorts `problems` in the order of the file. Problems without a line come first.
    fn from(mut problems: Vec<Problem>) -> ScenarioError {
        assert!(!problems.is_empty(), "a scenario is refused for a reason");
        problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        ScenarioError { problems }
    }
}
