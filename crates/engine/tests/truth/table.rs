//! Compares a text with a golden file. With `BLESS=1`, writes the golden file instead.

use std::fmt::Write as _;

/// Compares `text` with the golden file `name` and panics at a difference. With `BLESS=1`, writes
/// the golden file instead.
pub fn check(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("the golden file is writable");
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    if golden == text {
        return;
    }
    let mut difference = String::new();
    let (mut old, mut new) = (golden.lines(), text.lines());
    loop {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => {
                let _ = writeln!(difference, "- {}\n+ {}", old.unwrap_or(""), new.unwrap_or(""));
            }
        }
    }
    panic!("{name} differs (BLESS=1 writes it again):\n{difference}");
}
