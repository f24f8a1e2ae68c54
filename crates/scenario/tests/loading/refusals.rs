//! Complete error messages: `refusals.txt` contains inputs, each with its exact message.
//!
//! After an intended change of a message, run `BLESS=1 cargo test -p bentpipe-scenario` to rewrite
//! the file, and review the difference.

use crate::model::Scenario;
use bentpipe_scenario::{load, Presets, Source};
use std::path::Path;

/// Runs a case and returns its transcript. A case consists of a headline `== TITLE`, lines `$ --set
/// KEY.PATH=VALUE` or `$ preset NAME: TEXT`, the input, and the message on lines that start with
/// `=> `.
fn run(case: &str) -> String {
    let mut presets = Presets::new();
    let mut overrides = Vec::new();
    let mut text = String::new();
    let mut kept = String::new();
    for line in case.lines().filter(|line| !line.starts_with("=> ")) {
        kept += line;
        kept += "\n";
        if let Some(set) = line.strip_prefix("$ --set ") {
            overrides.push(set.to_owned());
        } else if let Some((name, content)) =
            line.strip_prefix("$ preset ").and_then(|rest| rest.split_once(": "))
        {
            presets.insert(name.to_owned(), content.replace("\\n", "\n"));
        } else if !line.starts_with("== ") {
            text += line;
            text += "\n";
        }
    }
    // The blank line between cases is not part of the input.
    let text = text.trim_end_matches('\n').replace("\\0", "\0");
    let source = Source::Text { name: "scenario.toml", text: &text };
    let answer = match load::<Scenario>(source, &presets, &overrides) {
        Ok(loaded) => loaded.notes.iter().map(|note| format!("accepted, {note}")).collect::<Vec<_>>(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    };
    let answer = if answer.is_empty() { vec!["accepted".to_owned()] } else { answer };
    let answer: String = answer.iter().map(|line| format!("=> {line}\n")).collect();
    format!("{}\n{answer}\n", kept.trim_end_matches('\n'))
}

#[test]
fn invalid_inputs_have_the_recorded_messages() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals.txt");
    let golden = std::fs::read_to_string(&path).expect("the table of refusals is readable");
    let cases = golden.split("\n== ").enumerate();
    let cases = cases.map(|(index, case)| if index == 0 { case.to_owned() } else { format!("== {case}") });
    let now: String = cases.map(|case| run(&case)).collect();
    let now = now.trim_end().to_owned() + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &now).expect("the table of refusals is writable");
    }
    for (number, (before, after)) in golden.lines().zip(now.lines()).enumerate() {
        assert_eq!(before, after, "refusals.txt, line {}", number + 1);
    }
    assert_eq!(golden.lines().count(), now.lines().count());
}
