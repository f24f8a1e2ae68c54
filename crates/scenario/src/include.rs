//! Texts in separate files: a table `{ file = "PATH" }` at any position is replaced by the text of
//! that file. The path is relative to the folder of the file that contains the table, or to the
//! current folder for presets and overrides.
//!
//! The text becomes part of the scenario, so a run's resolved scenario needs no other file. The
//! caller's [`Files`] may convert other formats to text, as the Python package does with Parquet.

use crate::error::{Problem, ScenarioError};
use crate::read::{too_large, Files, SIZE_LIMIT};
use crate::value::{addresses, path_text, Node, Origin, Table, Text, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The key that names a file.
const FILE: &str = "file";

/// Returns true if a table is to be replaced by the text of a file.
pub(crate) fn is_file(table: &Table) -> bool {
    table.len() == 1 && table.contains_key(FILE)
}

/// Replaces all such tables by the texts of their files.
pub(crate) fn files(root: &mut Value, files: Files<'_>) -> Result<(), ScenarioError> {
    let mut problems = Vec::new();
    include(root, files, &mut Vec::new(), &mut problems);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.into())
    }
}

fn include(value: &mut Value, files: Files<'_>, path: &mut Vec<String>, problems: &mut Vec<Problem>) {
    match &mut value.node {
        Node::Table(table) => {
            let only = if is_file(table) { table.get(FILE) } else { None };
            if let Some((name, entry)) = only.and_then(|entry| Some((entry.value.text()?.to_owned(), entry)))
            {
                match text(&name, &entry.value.origin, files) {
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
                include(&mut entry.value, files, path, problems);
                path.pop();
            }
        }
        Node::Array(elements) => {
            for (address, element) in addresses(elements).into_iter().zip(elements) {
                path.push(address);
                include(element, files, path, problems);
                path.pop();
            }
        }
        _ => {}
    }
}

/// First bytes of every Parquet file.
pub const PARQUET_BEGINS: &[u8] = b"PAR1";

fn text(name: &str, origin: &Origin, files: Files<'_>) -> Result<Arc<Text>, String> {
    let folder = Path::new(origin.file()).parent().filter(|_| origin.position().is_some());
    let path = folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    let shown = path.display().to_string();
    let bytes = files(&path).map_err(|message| format!("{shown}: {message}"))?;
    if bytes.starts_with(PARQUET_BEGINS) {
        return Err(format!(
            "{shown}: is a Parquet file, which only the Python package reads; allowed: comma-separated text"
        ));
    }
    let content =
        String::from_utf8(bytes).map_err(|_| format!("{shown}: is neither UTF-8 text nor a Parquet file"))?;
    if content.len() as u64 > SIZE_LIMIT {
        return Err(format!("{shown}: as text it {}", too_large(&format!("{} bytes", content.len()))));
    }
    Ok(Arc::new(Text { name: shown, content, has_lines: true, is_value: true }))
}
