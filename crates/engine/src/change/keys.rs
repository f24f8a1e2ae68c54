//! The keys that can change while a network runs, as marked in the configuration structs.
//!
//! `#[schemars(extend("changeable" = true))]` on a key marks it and everything below it. The mark
//! is in the scenario's schema, so the reference page also shows it. A model that marks a key
//! applies its changes in [`Stage::change`](bentpipe_stage::Stage::change).

use crate::scenario::{LinkPair, NetworkKind};
use schemars::{generate::SchemaSettings, JsonSchema};
use serde_json::Value;

/// Returns every changeable key, as a key path with `NAME` for the link's or network's name.
pub fn changeable() -> Vec<String> {
    let under = |list: &'static str, keys: Vec<String>| {
        keys.into_iter().map(move |key| format!("{list}.NAME.{key}")).collect::<Vec<_>>()
    };
    [under("link", of::<LinkPair>()), under("network", of::<NetworkKind>())].concat()
}

/// Returns the marked keys of a configuration, for all kinds of its parts.
pub(super) fn of<Config: JsonSchema>() -> Vec<String> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Config>();
    let mut keys = Vec::new();
    collect(schema.as_value(), schema.as_value(), "", &mut Vec::new(), &mut keys);
    keys
}

/// Returns the marked keys of one kind of a configuration that chooses among kinds.
pub(super) fn of_kind<Config: JsonSchema>(kind: &str) -> Vec<String> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Config>();
    let root = schema.as_value();
    let variants = root["oneOf"].as_array().into_iter().flatten();
    let mut keys = Vec::new();
    for variant in variants.filter(|variant| variant["properties"]["kind"]["const"] == kind) {
        collect(root, variant, "", &mut Vec::new(), &mut keys);
    }
    keys
}

/// Collects marked keys. `within` contains the definitions on the path to this point, because kinds
/// may contain kinds of the same list.
fn collect<'a>(
    root: &'a Value,
    schema: &'a Value,
    path: &str,
    within: &mut Vec<&'a str>,
    keys: &mut Vec<String>,
) {
    if let Some(name) = schema["$ref"].as_str().filter(|name| !within.contains(name)) {
        let target = name.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        within.push(name);
        collect(root, target.expect("a schema refers to its own definitions"), path, within, keys);
        within.pop();
    }
    for alternatives in ["anyOf", "oneOf"].map(|key| schema[key].as_array()) {
        alternatives.into_iter().flatten().for_each(|schema| collect(root, schema, path, within, keys));
    }
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{key}");
        if property["changeable"] != true {
            collect(root, property, &path, within, keys);
        } else if !keys.contains(&path) {
            keys.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_in_tables_within_tables_and_in_kinds() {
        let directions = ["", "return."];
        let acm = ["esn0_db", "feeder_esn0_db", "hysteresis_db", "margin_db"].map(|key| format!("acm.{key}"));
        let keys = acm.into_iter().chain(["delay", "error", "jitter", "queue", "rate"].map(str::to_owned));
        let of_link =
            directions.iter().flat_map(|direction| keys.clone().map(move |key| format!("{direction}{key}")));
        assert_eq!(of::<LinkPair>(), of_link.collect::<Vec<_>>());
        assert!(changeable().contains(&"network.NAME.return.dama.scheme.gamma".to_owned()));
        assert_eq!(of_kind::<NetworkKind>("atm"), ["access", "contract", "legs", "others"]);
        assert_eq!(of_kind::<NetworkKind>("constellation"), Vec::<String>::new());
    }
}
