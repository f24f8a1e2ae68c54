//! Texts in files of their own: a table `{ file = "PATH" }` stands for the text in that file, at any place.
//! The path is relative to the folder of the file that contains it, or to the current folder for presets and
//! overrides.
//!
//! The text becomes part of the scenario, so that a run's resolved scenario needs no other file.

use crate::error::{Problem, ScenarioError};
use crate::read;
use crate::value::{address, path_text, Node, Origin, Text, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "file";

/// Replaces the tables by the texts.
pub(crate) fn files(root: &mut Value) -> Result<(), ScenarioError> {
    let mut problems = Vec::new();
    include(root, &mut Vec::new(), &mut problems);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.into())
    }
}

fn include(value: &mut Value, path: &mut Vec<String>, problems: &mut Vec<Problem>) {
    match &mut value.node {
        Node::Table(table) => {
            let only = if table.len() == 1 { table.get(FILE) } else { None };
            if let Some((name, entry)) = only.and_then(|entry| Some((entry.value.text()?.to_owned(), entry)))
            {
                match text(&name, &entry.value.origin) {
                    Ok(text) => {
                        value.origin = Origin::new(&text, 0..text.content.len());
                        value.node = Node::String(text.content.clone());
                    }
                    Err(message) => {
                        let written = entry.value.written();
                        path.push(FILE.to_owned());
                        problems.push(
                            Problem::at(&entry.value.origin, path_text(path), message).with_value(written),
                        );
                        path.pop();
                    }
                }
                return;
            }
            for (key, entry) in table {
                path.push(key.clone());
                include(&mut entry.value, path, problems);
                path.pop();
            }
        }
        Node::Array(elements) => {
            for index in 0..elements.len() {
                path.push(address(elements, index));
                include(&mut elements[index], path, problems);
                path.pop();
            }
        }
        _ => {}
    }
}

fn text(name: &str, origin: &Origin) -> Result<Arc<Text>, String> {
    let folder = Path::new(origin.file()).parent().filter(|_| origin.position().is_some());
    let path = folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    let shown = path.display().to_string();
    let bytes = read::read(&path).map_err(|error| {
        let messages: Vec<_> = error.problems.into_iter().map(|problem| problem.message).collect();
        format!("{shown}: {}", messages.join("; "))
    })?;
    let content = String::from_utf8(bytes).map_err(|_| format!("{shown}: is not UTF-8 text"))?;
    Ok(Arc::new(Text { name: shown, content, has_lines: true }))
}
