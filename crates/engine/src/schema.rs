//! The scenario's JSON Schema, generated from the configuration structs beside the models.

use crate::scenario::Scenario;
use crate::tables::TRACES;
use schemars::{generate::SchemaSettings, Schema};
use serde_json::json;

/// The schema (JSON Schema 2020-12), with the names that only the engine knows: traces and congestion controls.
pub fn of_scenario() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Scenario>();
    let object = schema.as_object_mut().expect("the scenario is an object");
    object.insert("title".to_owned(), json!("bentpipe scenario"));
    // `preset` belongs to the loader, which lays the named fragments below the file.
    object["properties"]["preset"] = json!({
        "description": "Fragments to begin from, the later over the earlier; see `bentpipe new --list`.",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    });
    let traces: Vec<_> = TRACES.iter().map(|table| table.name).collect();
    restrict(object, "/$defs/Record/properties/traces/items", json!({"enum": traces}));
    let congestion: Vec<_> = bentpipe_congestion::variants().iter().map(|variant| variant.name).collect();
    for pointer in ["/$defs/Config/properties/congestion", "/$defs/Tcp/properties/congestion"] {
        restrict(object, pointer, json!({"enum": congestion}));
    }
    schema
}

fn restrict(root: &mut serde_json::Map<String, serde_json::Value>, pointer: &str, more: serde_json::Value) {
    let mut steps = pointer.split('/').skip(1);
    let first = steps.next().expect("a pointer has a first step");
    let Some(mut value) = root.get_mut(first) else { return };
    for step in steps {
        match value.get_mut(step) {
            Some(next) => value = next,
            None => return,
        }
    }
    if let (Some(object), serde_json::Value::Object(more)) = (value.as_object_mut(), more) {
        object.extend(more);
    }
}
