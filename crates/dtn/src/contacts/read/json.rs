//! Plans in JSON, in bentpipe's or HDTN's form.
//!
//! Values are kept as source text ([`RawValue`]), so that numbers are read exactly and errors have
//! line numbers.

use super::{Content, Lines};
use crate::contacts::{number, Entry, ParseError};
use bentpipe_core::{Span, Time};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The keys of a contact, each with its alternative names. Only `id` is optional.
const KEYS: [(&str, &[&str]); 7] = [
    ("id", &["contact"]),
    ("src", &["source"]),
    ("dst", &["dest"]),
    ("start", &["startTime"]),
    ("end", &["endTime"]),
    ("rate_bps", &["rateBitsPerSec", "rate_bytes_s", "rate"]),
    ("owlt_s", &["owlt"]),
];

/// A key in older plans of HDTN that repeats the receiver.
const FINAL: &str = "finalDestination";

/// An object as pairs of keys and values in their order, including duplicates.
struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    pairs.push((key, value));
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A key. It borrows the source text unless it contains escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

pub(super) fn read(text: &str) -> Result<Content, Vec<ParseError>> {
    let lines = Lines::new(text);
    let (contacts, nodes): (Vec<&RawValue>, _) = if text.trim_start().starts_with('[') {
        (lines.parse(text)?, None)
    } else {
        let Object(pairs) = lines.parse(text)?;
        let of = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        let Some(contacts) = of("contacts") else {
            return Err(vec![ParseError::at(0, "has no list \"contacts\"; allowed: {\"contacts\": [...]}")]);
        };
        let nodes = of("nodes").map(|nodes| lines.nodes(nodes)).transpose()?;
        (lines.parse(contacts.get())?, nodes)
    };
    let mut errors = Vec::new();
    let mut entries = Vec::with_capacity(contacts.len());
    for contact in contacts {
        match lines.parse::<Object<'_>>(contact.get()) {
            Ok(Object(pairs)) => entries.extend(lines.entry(contact, &pairs, &mut errors)),
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() {
        Ok(Content { entries, nodes })
    } else {
        Err(errors)
    }
}

impl<'a> Lines<'a> {
    /// Parses a part of the text.
    fn parse<T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, Vec<ParseError>> {
        serde_json::from_str(part).map_err(|error| {
            let line = self.line(part) + error.line().saturating_sub(1);
            let said = error.to_string();
            let field = said.split(" at line ").next().unwrap_or(&said);
            let source_line = part.lines().nth(error.line().saturating_sub(1)).map_or("", str::trim);
            let hint = if ["NaN", "Infinity"].iter().any(|word| source_line.contains(word)) {
                "; NaN and Infinity are not numbers of JSON"
            } else {
                ""
            };
            vec![ParseError::at(line, format!("{field}{hint}; allowed: JSON with a list of contacts"))]
        })
    }

    fn line(&self, part: &str) -> usize {
        self.of((part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize))
    }

    fn nodes(&self, list: &'a RawValue) -> Result<Vec<String>, Vec<ParseError>> {
        let nodes: Vec<&RawValue> = self.parse(list.get())?;
        let named = nodes.into_iter().map(|node| {
            node_name("a node", node.get()).map_err(|said| vec![ParseError::at(self.line(node.get()), said)])
        });
        named.collect()
    }

    /// Returns the contact of an object. Adds the errors of the object and returns `None` if there
    /// are any.
    fn entry(
        &self,
        whole: &RawValue,
        pairs: &[(Cow<'_, str>, &RawValue)],
        errors: &mut Vec<ParseError>,
    ) -> Option<Entry> {
        let line = self.line(whole.get());
        let before = errors.len();
        let mut values: [Option<(&str, &RawValue)>; KEYS.len()] = [None; KEYS.len()];
        for (key, value) in pairs {
            if key == FINAL {
                continue;
            }
            let index = KEYS.iter().position(|(name, others)| name == key || others.contains(&key.as_ref()));
            let here = self.line(value.get());
            match index {
                None => {
                    let allowed = KEYS.map(|(name, _)| name).join(", ");
                    errors.push(ParseError::at(here, format!("unknown key \"{key}\"; allowed: {allowed}")));
                }
                Some(index) if values[index].is_some() => {
                    errors.push(ParseError::at(
                        here,
                        format!("\"{key}\" says again what another key says; allowed: once"),
                    ));
                }
                Some(index) => values[index] = Some((key, value)),
            }
        }
        for ((name, _), value) in KEYS.iter().zip(&values).skip(1) {
            if value.is_none() {
                errors.push(ParseError::at(line, format!("the contact has no \"{name}\"")));
            }
        }
        let take =
            |index: usize| values[index].map(|(key, value)| (key, value.get(), self.line(value.get())));
        let mut note = |line: usize, message: String| errors.push(ParseError::at(line, message));
        let id = take(0).and_then(|(key, text, line)| match text.parse::<u64>() {
            Ok(id) => Some(id),
            Err(_) => {
                note(line, format!("{key} is {text}; allowed: a whole number from 0"));
                None
            }
        });
        let mut read = |index: usize, reader: &dyn Fn(&str, &str) -> Result<String, String>| {
            take(index).and_then(|(key, text, line)| reader(key, text).map_err(|said| note(line, said)).ok())
        };
        let from = read(1, &node_name);
        let to = read(2, &node_name);
        // Older plans of HDTN repeat the receiver. A different node in this key would restrict the
        // bundles of the contact, which is not supported.
        if let (Some((_, value)), Some(to)) = (pairs.iter().find(|(key, _)| key == FINAL), &to) {
            let text = value.get();
            if node_name(FINAL, text).as_ref() != Ok(to) {
                let here = self.line(text);
                note(here, format!("{FINAL} is {text}; allowed: the node {to}, which receives"));
            }
        }
        let mut number = |index: usize| {
            take(index).and_then(|(key, text, line)| {
                number::nanoseconds(key, text).map_err(|said| note(line, said)).ok()
            })
        };
        let (start, end, delay) = (number(3), number(4), number(6));
        let rate = take(5).and_then(|(key, text, line)| {
            let (text, bits): (Cow<'_, str>, i128) = match key {
                "rate_bytes_s" => (text.into(), 8),
                // A deprecated key of HDTN, in Mbit/s.
                "rate" => (format!("{text}e6").into(), 1),
                _ => (text.into(), 1),
            };
            number::rate(key, &text, bits).map_err(|said| note(line, said)).ok()
        });
        if errors.len() > before {
            return None;
        }
        let at = Time::from_nanos;
        Some(Entry {
            line,
            id,
            from: from?,
            to: to?,
            start: at(start?),
            end: at(end?),
            rate: rate?,
            delay: Span::from_nanos(delay?),
        })
    }
}

/// Reads the name of a node, which is a number or a string.
fn node_name(field: &str, text: &str) -> Result<String, String> {
    let name = match text.parse::<u64>() {
        Ok(number) => number.to_string(),
        Err(_) => serde_json::from_str::<String>(text).unwrap_or_default(),
    };
    match name.is_empty() {
        true => Err(format!("{field} is {text}; allowed: a whole number from 0, or a name")),
        false => Ok(name),
    }
}
