//! The scenario's JSON Schema, generated from the configuration structs beside the models.

use crate::scenario::Scenario;
use crate::tables::TRACES;
use schemars::{generate::SchemaSettings, Schema};
use serde_json::{json, Map, Value};

/// The schema (JSON Schema 2020-12), with the names that only the engine knows: those of traces and congestion controls.
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
    restrict(object, "traces", "items", &json!(traces));
    let congestion: Vec<_> = bentpipe_congestion::variants().iter().map(|variant| variant.name).collect();
    restrict(object, "congestion", "", &json!(congestion));
    schema
}

/// Restricts the property `key`, or its part `part`, to these names wherever it is defined.
///
/// # Panics
/// If nothing has the property, so that a renamed key does not silently lose its list.
fn restrict(root: &mut Map<String, Value>, key: &str, part: &str, names: &Value) {
    assert!(
        root.values_mut().any(|value| restricted(value, key, part, names)),
        "nothing has the property {key}"
    );
}

fn restricted(value: &mut Value, key: &str, part: &str, names: &Value) -> bool {
    let mut found = false;
    if let Some(property) = value.get_mut("properties").and_then(|all| all.get_mut(key)) {
        let property = if part.is_empty() { property } else { &mut property[part] };
        property["enum"] = names.clone();
        found = true;
    }
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| found |= restricted(value, key, part, names))
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|value| found |= restricted(value, key, part, names))
        }
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_lists_traces_and_congestion_controls() {
        let schema = serde_json::to_string(&of_scenario()).unwrap();
        assert!(schema.contains(r#""enum":["bbr","bbr3""#), "congestion controls");
        assert!(schema.contains(r#""enum":["tcp""#), "traces");
    }

    #[test]
    fn types_have_names_of_their_own() {
        let schema = of_scenario();
        let names = schema.get("$defs").and_then(Value::as_object).expect("it has definitions").keys();
        // A second type of the same name gets a number, which depends on the order in which keys are met.
        let numbered: Vec<_> = names
            .filter(|name| name.ends_with(|last: char| last.is_ascii_digit()) || *name == "Config")
            .collect();
        assert!(
            numbered.is_empty(),
            "give these names of their own, #[schemars(rename = \"...\")]: {numbered:?}"
        );
    }
}
