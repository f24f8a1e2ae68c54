//! The scenario's JSON Schema, generated from the configuration structs next to the models.

use crate::check::mismatch;
use crate::scenario::Scenario;
use crate::tables::TRACES;
use bentpipe_core::Problems;
use bentpipe_scenario::{load, Check, Loaded, Presets, Source};
use bentpipe_transport::{self as transport, app};
use schemars::{generate::SchemaSettings, Schema};
use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Returns the schema (JSON Schema 2020-12). It contains lists that only the engine knows: the
/// names of traces and congestion controls, and the transports of each application.
pub fn of_scenario() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Scenario>();
    let object = schema.as_object_mut().expect("the scenario is an object");
    object.insert("title".to_owned(), json!("bentpipe scenario"));
    // `preset` belongs to the loader, which merges the named fragments with the file.
    object["properties"]["preset"] = json!({
        "description": "Names of the presets that the scenario builds on; later ones override earlier ones. `bentpipe new --list` shows all.",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    });
    let traces: Vec<_> = TRACES.iter().map(|table| table.name).collect();
    restrict(object, "traces", "items", &json!({"enum": traces}));
    let ours = bentpipe_congestion::variants().iter().map(|variant| variant.name);
    let congestion: Vec<_> = ours.chain(bentpipe_congestion::LINUX.iter().copied()).collect();
    // C source has more than one line: a resolved scenario contains the text of the file.
    let file = json!({
        "type": "object",
        "properties": {"file": {"type": "string"}},
        "required": ["file"],
        "additionalProperties": false,
    });
    let source = json!({"type": "string", "pattern": "\n"});
    let named = json!({"type": "string", "enum": congestion});
    restrict(object, "congestion", "", &json!({"anyOf": [named, file, source]}));
    describe_applications(&mut object["$defs"]["App"]);
    schema
}

/// Adds to each application in the schema the kinds of transport that carry it, and a valid table
/// as an example.
///
/// # Panics
/// Panics if the schema and the samples list different applications.
fn describe_applications(schema: &mut Value) {
    let samples: BTreeMap<_, _> = app::Config::KINDS.iter().copied().zip(app::Config::samples()).collect();
    for variant in schema["oneOf"].as_array_mut().expect("an application is one of several") {
        let Some(kind) = variant.pointer("/properties/kind/const").and_then(Value::as_str) else { continue };
        let sample = &samples[kind];
        let carried = |transport: &&&str| {
            read::<Carried>(&format!("app = {sample}\ntransport = \"{transport}\"")).is_some()
        };
        let transports: Vec<_> = transport::Config::KINDS.iter().filter(carried).collect();
        variant["transports"] = json!(transports);
        variant["examples"] = json!([smallest_valid(sample)]);
    }
}

/// Returns the valid table with the fewest keys of an application's sample.
fn smallest_valid(sample: &str) -> Value {
    let whole = read::<Alone>(&format!("app = {sample}")).expect("a sample is valid").tree().to_json();
    let fields = whole["app"].as_object().expect("an application is a table");
    let (kind, keys): (Vec<_>, Vec<_>) = fields.iter().partition(|(key, _)| *key == "kind");
    // Bit n of a set is key n.
    let mut sets: Vec<u32> = (0..1 << keys.len()).collect();
    sets.sort_by_key(|set| set.count_ones());
    let tables = sets.into_iter().map(|set| {
        let of_set = keys.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1).map(|(_, field)| field);
        let fields = kind.iter().chain(of_set).map(|(key, value)| ((*key).clone(), (*value).clone()));
        Value::Object(fields.collect())
    });
    let mut valid = tables.filter(|table| read::<Alone>(&json!({"app": table}).to_string()).is_some());
    valid.next().expect("the whole sample is valid")
}

fn read<T: DeserializeOwned + Check>(text: &str) -> Option<Loaded<T>> {
    load(Source::Text { name: "sample", text }, &Presets::new(), &[]).ok()
}

/// The configuration of an application, without its flow.
#[derive(Deserialize)]
struct Alone {
    app: app::Config,
}

impl Check for Alone {
    fn check(&self, problems: &mut Problems) {
        self.app.check(problems);
    }
}

/// An application and its transport.
#[derive(Deserialize)]
struct Carried {
    app: app::Config,
    transport: transport::Config,
}

impl Check for Carried {
    fn check(&self, problems: &mut Problems) {
        if let Some(message) = mismatch(&self.app, &self.transport) {
            problems.add("app", message);
        }
    }
}

/// Restricts the property `key`, or its part `part`, wherever it is defined, by the words of `to`.
///
/// # Panics
/// Panics if the property does not exist, so that a renamed key does not silently lose its list.
fn restrict(root: &mut Map<String, Value>, key: &str, part: &str, to: &Value) {
    assert!(
        root.values_mut().any(|value| restricted(value, key, part, to)),
        "nothing has the property {key}"
    );
}

fn restricted(value: &mut Value, key: &str, part: &str, to: &Value) -> bool {
    let mut found = false;
    if let Some(property) = value.get_mut("properties").and_then(|all| all.get_mut(key)) {
        let property = if part.is_empty() { property } else { &mut property[part] };
        let property = property.as_object_mut().expect("a property is an object");
        // An optional key has the default null, which is not one of the names and cannot be written
        // in TOML.
        if property.get("default").is_none_or(Value::is_null) {
            property.remove("default");
            if property.get("type").is_some_and(Value::is_array) {
                property.insert("type".to_owned(), json!("string"));
            }
        }
        let words = to.as_object().expect("a schema is an object").clone();
        if words.contains_key("anyOf") {
            property.remove("type");
        }
        property.extend(words);
        found = true;
    }
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| found |= restricted(value, key, part, to))
        }
        Value::Array(items) => items.iter_mut().for_each(|value| found |= restricted(value, key, part, to)),
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `check` with every object of the schema.
    fn each(value: &Value, check: &mut dyn FnMut(&Map<String, Value>)) {
        match value {
            Value::Object(fields) => {
                check(fields);
                fields.values().for_each(|value| each(value, check));
            }
            Value::Array(items) => items.iter().for_each(|value| each(value, check)),
            _ => {}
        }
    }

    /// Returns the allowed names of a key's value, from its own schema or from the definition that
    /// it refers to.
    fn names(schema: &Value, fields: &Map<String, Value>) -> Vec<Value> {
        let pointer = fields.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
        let defined = pointer.and_then(|pointer| schema.pointer(pointer)?.as_object()).unwrap_or(fields);
        let listed = defined.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
        let described = defined.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        let described = described
            .flat_map(|one| one.get("const").into_iter().chain(one.pointer("/properties/kind/const")));
        let either = defined.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let either = either.filter_map(|one| one.get("enum")?.as_array()).flatten();
        listed.into_iter().chain(described.cloned()).chain(either.cloned()).collect()
    }

    #[test]
    fn every_default_is_an_allowed_name_of_the_right_type() {
        let mut seen = 0;
        let schema = of_scenario();
        each(schema.as_value(), &mut |fields| {
            let Some(default) = fields.get("default") else { return };
            let names = names(schema.as_value(), fields);
            if !names.is_empty() && default.is_string() {
                assert!(names.contains(default), "{default} is not one of {names:?}");
                seen += 1;
            }
            if let Some(kind) = fields.get("type") {
                let kinds = kind.as_array().cloned().unwrap_or_else(|| vec![kind.clone()]);
                let own = match default {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::Number(number) if number.is_f64() => "number",
                    Value::Number(_) => "integer",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                    Value::Object(_) => "object",
                };
                let fits = |kind: &Value| kind == own || (own == "integer" && kind == "number");
                assert!(kinds.iter().any(fits), "{default} is not of the type {kind}");
            }
        });
        assert!(seen > 0, "some default has names to choose from");
    }

    #[test]
    fn the_schema_lists_traces_and_congestion_controls() {
        let schema = serde_json::to_string(&of_scenario()).unwrap();
        assert!(schema.contains(r#""enum":["bbr","bbr3""#), "congestion controls");
        assert!(schema.contains(r#""quic","quic_frame","delivery","tcp""#), "traces");
        assert!(schema.contains(r#"["bbr","bbr3""#) && !schema.contains(r#""congestion":{"type""#));
    }

    #[test]
    fn types_have_unique_names() {
        let schema = of_scenario();
        let names = schema.get("$defs").and_then(Value::as_object).expect("it has definitions").keys();
        // A second type of the same name gets a number, which depends on the order in which keys
        // are met.
        let numbered: Vec<_> = names
            .filter(|name| name.ends_with(|last: char| last.is_ascii_digit()) || *name == "Config")
            .collect();
        assert!(
            numbered.is_empty(),
            "give these names of their own, #[schemars(rename = \"...\")]: {numbered:?}"
        );
    }
}
