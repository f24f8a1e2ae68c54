//! Conversion of scenarios that are written in JSON.
//!
//! A JSON object differs from an inline table of TOML 1.1 in one character: TOML has `=` between
//! key and value. The text is therefore changed in place and parsed as TOML, so every value keeps
//! its line and column. JSON that TOML cannot express, `null` and some escapes (`\\/`, surrogate
//! pairs), is rejected with its location.

use crate::error::{Problem, ScenarioError};
use crate::value::{Origin, Text};
use serde::de::IgnoredAny;
use std::sync::Arc;

/// Returns true if a text is intended as JSON. No TOML document starts with a brace.
pub(crate) fn is_json(content: &str) -> bool {
    content.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Converts a JSON document to TOML. Every value keeps its line and column.
///
/// # Errors
/// Returns the syntax errors.
pub(crate) fn as_toml(text: &Arc<Text>) -> Result<Arc<Text>, ScenarioError> {
    let content = text.content.trim_start_matches('\u{feff}');
    let skipped = text.content.len() - content.len();
    if let Err(error) = serde_json::from_str::<IgnoredAny>(content) {
        let line: usize =
            content.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let offset = skipped + line + error.column().saturating_sub(1);
        let about = error.to_string();
        let about = about.split(" at line ").next().unwrap_or_default().to_owned();
        let origin = Origin::new(text, offset..offset);
        return Err(Problem::at(&origin, String::new(), format!("not valid JSON: {about}")).into());
    }
    let mut rewritten = vec![b' '; skipped];
    let (mut quoted, mut escaped) = (false, false);
    for byte in content.trim_end().bytes() {
        quoted ^= byte == b'"' && !escaped;
        // Outside of strings, valid JSON contains the letter n only at the start of null.
        if byte == b'n' && !quoted {
            let origin = Origin::new(text, rewritten.len()..rewritten.len() + 4);
            let message = "null is neither a value nor a table; allowed: leave the key out".to_owned();
            return Err(Problem::at(&origin, String::new(), message).into());
        }
        escaped = quoted && byte == b'\\' && !escaped;
        rewritten.push(if byte == b':' && !quoted { b'=' } else { byte });
    }
    let content = String::from_utf8(rewritten).expect("an ASCII character was replaced by another");
    Ok(Arc::new(Text { name: text.name.clone(), content, has_lines: text.has_lines, is_value: false }))
}

#[cfg(test)]
mod tests {
    use crate::parse::from_bytes;
    use crate::value::Node;

    fn refused(json: &str) -> String {
        from_bytes("a.json", json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn json_is_read_with_lines_and_columns() {
        let json = "{\n  \"a:b\": [1, -2.5e3, true, \"say \\\"x: y\\\" \\\\\"],\n  \"c\": {\"d\": {}}\n}\n";
        let value = from_bytes("a.json", json.as_bytes()).unwrap();
        let table = value.table().unwrap();
        let Node::Array(elements) = &table["a:b"].value.node else { panic!("a list") };
        assert_eq!(elements[1].node, Node::Float(-2500.0));
        assert_eq!(elements[3].text(), Some("say \"x: y\" \\"));
        assert_eq!(table["a:b"].key.position(), Some((2, 3)));
        assert_eq!(table["c"].value.table().unwrap()["d"].key.position(), Some((3, 9)));
    }

    #[test]
    fn invalid_documents_are_rejected_with_line_and_column() {
        assert_eq!(refused("{\n \"a\" 1}"), "a.json:2:6: not valid JSON: expected `:`");
        assert_eq!(refused("{\n \"a\": }"), "a.json:2:7: not valid JSON: expected value");
        assert_eq!(refused("{"), "a.json:1:1: not valid JSON: EOF while parsing an object");
        assert!(
            refused("{\"a\": null}").starts_with("a.json:1:7: null is neither a value nor a table"),
            "{}",
            refused("{\"a\": null}")
        );
        assert!(refused("{\"a\": 1, \"a\": 2}").contains("given twice"));
    }
}
