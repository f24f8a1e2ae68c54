//! Checks the descriptions in the user's reference: of every key, table, kind and value of the
//! schema, of every column, and of every parameter of a congestion control. No description may be
//! missing, empty or circular.

use bentpipe_engine::{schema, tables};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// First words that refer to text outside the description.
const OPENERS: [&str; 9] = ["see", "it", "its", "they", "their", "them", "that", "those", "these"];

/// Words without information about a key.
const FILLERS: [&str; 18] = [
    "a", "an", "the", "of", "in", "is", "are", "for", "to", "at", "by", "on", "and", "or", "all", "how",
    "what", "which",
];

/// Phrases with a plainer equivalent, such as "continues", "again", "what happens to",
/// "retransmitted", "if unset".
const PHRASES: [&str; 14] = [
    "goes on",
    "go on",
    "anew",
    "what becomes of",
    "that there is not",
    "is no more",
    "sent again",
    "takes no notice",
    "when not given",
    "spoils",
    "spoiled",
    "mend",
    "mended",
    "under way",
];

#[derive(Default)]
struct Offenders(String);

impl Offenders {
    /// Checks the description of `name` at `place`.
    fn check(&mut self, place: &str, name: &str, about: Option<&str>, words: usize) {
        let about = about.unwrap_or_default().split("\n\n").next().unwrap_or_default();
        if let Some(wrong) = fault(name, about, words) {
            let _ = writeln!(self.0, "{place}: {wrong}: {about:?}");
        }
    }

    /// Checks a description that must be a sentence.
    fn check_sentence(&mut self, place: &str, name: &str, about: Option<&str>) {
        let first = about.unwrap_or_default().split("\n\n").next().unwrap_or_default();
        if !first.is_empty() && (!first.ends_with('.') || first.starts_with(char::is_lowercase)) {
            let _ = writeln!(self.0, "{place}: is not a sentence: {first:?}");
        }
        self.check(place, name, about, 5);
    }
}

/// Returns the fault of the description of `name`, if any.
fn fault(name: &str, about: &str, min: usize) -> Option<&'static str> {
    let text = about.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    let stem = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    let name = name.to_lowercase();
    let named: Vec<String> = name.split(|c: char| !c.is_alphanumeric()).map(stem).collect();
    let told = words.iter().filter(|word| !FILLERS.contains(word) && !named.contains(&stem(word))).count();
    if words.is_empty() {
        Some("has no description")
    } else if OPENERS.contains(&words[0]) {
        Some("refers to something that the reader does not see")
    } else if words.len() < min {
        Some("has too few words")
    } else if told < 2 {
        Some("repeats the name")
    } else if PHRASES.iter().any(|phrase| format!(" {} ", words.join(" ")).contains(&format!(" {phrase} "))) {
        Some("has a phrase to be replaced by a plain one")
    } else {
        None
    }
}

fn about(schema: &Value) -> Option<&str> {
    schema["description"].as_str()
}

/// Checks the keys of a table and the values of a choice, and everything below them.
fn check_parts(place: &str, schema: &Value, offenders: &mut Offenders) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        if property.get("const").is_none() {
            offenders.check_sentence(&format!("{place}.{key}"), key, about(property));
        }
    }
    for choice in ["oneOf", "anyOf"].iter().filter_map(|word| schema[*word].as_array()).flatten() {
        let name = choice["const"].as_str().or_else(|| choice["properties"]["kind"]["const"].as_str());
        let place = format!("{place}: {}", name.unwrap_or_default());
        if let Some(name) = name {
            offenders.check_sentence(&place, name, about(choice));
        }
        check_parts(&place, choice, offenders);
    }
}

#[test]
fn everything_in_the_schema_has_a_meaningful_description() {
    let schema = schema::of_scenario().to_value();
    let mut offenders = Offenders::default();
    check_parts("scenario", &schema, &mut offenders);
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        // A quantity is described by a noun and its range, which messages also use.
        match definition.get("pattern") {
            Some(_) => offenders.check(name, name, about(definition), 4),
            None => offenders.check_sentence(name, name, about(definition)),
        }
        check_parts(name, definition, &mut offenders);
    }
    assert!(offenders.0.is_empty(), "\n{}", offenders.0);
}

#[test]
fn every_table_and_column_has_a_meaningful_description() {
    let mut offenders = Offenders::default();
    for table in tables::TRACES.iter().chain(tables::REPORTS.iter()) {
        offenders.check(table.name, table.name, Some(table.about), 3);
        for column in table.columns {
            let place = format!("{}.{}", table.name, column.name);
            offenders.check(&place, "", Some(column.about), 3);
        }
    }
    assert!(offenders.0.is_empty(), "\n{}", offenders.0);
}

#[test]
fn every_table_of_the_sources_is_listed() {
    fn files(place: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let path = entry.unwrap().path();
        // The table of packets is written for pages only, by no model.
        if !path.ends_with("preview") {
            files(&path.join("src"), &mut found);
        }
    }
    let mut defined = Vec::new();
    for text in found.iter().map(|file| fs::read_to_string(file).unwrap()) {
        let mut lines = text.lines().map(str::trim);
        while lines
            .by_ref()
            .any(|line| line.starts_with("pub static ") && line.ends_with(": Table = Table {"))
        {
            let name = lines.next().and_then(|line| line.strip_prefix("name: \"")?.strip_suffix("\","));
            defined.push(name.expect("a table begins with its name").to_owned());
        }
    }
    let mut listed: Vec<_> =
        tables::TRACES.iter().chain(tables::REPORTS.iter()).map(|table| table.name).collect();
    defined.sort();
    listed.sort();
    assert_eq!(defined, listed, "each table must be listed in `impl Tables` of the type that writes it");
}

#[test]
fn every_congestion_control_and_parameter_has_a_meaningful_description() {
    let mut offenders = Offenders::default();
    for variant in bentpipe_congestion::variants() {
        offenders.check(variant.name, variant.name, Some(variant.about), 4);
        for parameter in &variant.parameters {
            let place = format!("{}.{}", variant.name, parameter.name);
            offenders.check(&place, parameter.name, Some(parameter.about), 4);
        }
    }
    assert!(offenders.0.is_empty(), "\n{}", offenders.0);
}

#[test]
fn meaningless_descriptions_are_found() {
    for (name, text) in [
        ("rate", ""),
        ("rate", "The rate."),
        ("rates", "The rate of the rates."),
        ("number", "How many."),
        ("stage", "See the module."),
        ("name", "Its name, in results and messages."),
        ("error", "What becomes of a packet that the channel loses."),
    ] {
        assert!(fault(name, text, 4).is_some(), "{text:?} passes");
    }
    assert_eq!(fault("rate", "Rate of the link at the network layer.", 4), None);
}
