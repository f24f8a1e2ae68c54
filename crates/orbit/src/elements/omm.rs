//! Orbit mean-elements messages (CCSDS 502.0-B-3, section 4) as JSON, XML and CSV, with the
//! keywords of the standard.

use super::{Elements, ParseError};
use serde_json::Value;

/// Parses one message or a list of messages.
pub fn json(text: &str) -> Result<Vec<Elements>, ParseError> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| ParseError::at(error.line(), error.to_string()))?;
    let messages = match value {
        Value::Array(messages) => messages,
        message => vec![message],
    };
    let read = |(index, message): (usize, &Value)| {
        let field = |key: &str| match &message[key] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        elements(&field)
            .map_err(|fault| ParseError { line: None, message: format!("message {}: {fault}", index + 1) })
    };
    messages.iter().enumerate().map(read).collect()
}

/// Parses all `omm` elements, at any depth of the document.
pub fn xml(text: &str) -> Result<Vec<Elements>, ParseError> {
    let document = roxmltree::Document::parse(text)
        .map_err(|error| ParseError::at(error.pos().row as usize, error.to_string()))?;
    let messages = document.descendants().filter(|node| node.has_tag_name("omm"));
    let read = |message: roxmltree::Node<'_, '_>| {
        let field = |key: &str| {
            let found = message.descendants().find(|node| node.has_tag_name(key));
            found.and_then(|node| node.text()).map(|text| text.trim().to_owned())
        };
        let line = document.text_pos_at(message.range().start).row as usize;
        elements(&field).map_err(|fault| ParseError::at(line, fault))
    };
    messages.map(read).collect()
}

/// Parses CSV: a line of keywords, then one line per message.
pub fn csv(text: &str) -> Result<Vec<Elements>, ParseError> {
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let (_, header) = lines.next().expect("the caller has checked that the text is not empty");
    let keys = cells(header);
    let read = |(index, line): (usize, &str)| {
        let values = cells(line);
        if values.len() != keys.len() {
            let message = format!("{} values for {} keywords", values.len(), keys.len());
            return Err(ParseError::at(index + 1, message));
        }
        let field = |key: &str| keys.iter().position(|other| other == key).map(|index| values[index].clone());
        elements(&field).map_err(|fault| ParseError::at(index + 1, fault))
    };
    lines.map(read).collect()
}

/// Returns the cells of a line of CSV (RFC 4180, without line breaks in cells).
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.trim_end().chars().peekable();
    while let Some(character) = characters.next() {
        let cell = cells.last_mut().expect("the list starts with one cell");
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cell.push(other),
        }
    }
    cells
}

/// Reads the elements of a message by their keywords.
fn elements(field: &dyn Fn(&str) -> Option<String>) -> Result<Elements, String> {
    let given = |key: &str| field(key).ok_or_else(|| format!("{key} is missing"));
    let number = |key: &str| {
        let text = given(key)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("{key} is \"{text}\"; allowed: a number"))
    };
    let catalogue = given("NORAD_CAT_ID")?;
    let catalogue =
        catalogue.parse().map_err(|_| format!("NORAD_CAT_ID is \"{catalogue}\"; allowed: a number"))?;
    let epoch = given("EPOCH")?.parse().map_err(|fault: String| format!("EPOCH: {fault}"))?;
    let name = field("OBJECT_NAME").filter(|name| !name.is_empty());
    for (key, only) in [("REF_FRAME", "TEME"), ("TIME_SYSTEM", "UTC"), ("MEAN_ELEMENT_THEORY", "SGP4")] {
        // "SGP" also denotes SGP4.
        let fits = |value: &String| value.starts_with(only) || (only == "SGP4" && value == "SGP");
        let other = field(key).filter(|value| !fits(value));
        if let Some(other) = other {
            return Err(format!("{key} is \"{other}\"; allowed: {only}"));
        }
    }
    Ok(Elements {
        name: name.unwrap_or_else(|| format!("{catalogue}")),
        catalogue,
        epoch,
        inclination: number("INCLINATION")?,
        node: number("RA_OF_ASC_NODE")?,
        eccentricity: number("ECCENTRICITY")?,
        perigee: number("ARG_OF_PERICENTER")?,
        anomaly: number("MEAN_ANOMALY")?,
        mean_motion: number("MEAN_MOTION")?,
        drag: number("BSTAR")?,
    })
}
