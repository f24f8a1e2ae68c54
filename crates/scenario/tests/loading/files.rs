//! Files that are not scenarios, and very large scenarios.

use crate::model::Scenario;
use bentpipe_scenario::{load, parse_bytes, Presets, Source, SIZE_LIMIT};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Returns the error message for the file at `path`, with the folder replaced by DIR.
fn refusal(path: &Path) -> String {
    let error =
        load::<Scenario>(Source::File(path), &Presets::new(), &[]).expect_err("the file is not a scenario");
    error.to_string().replace(&path.parent().expect("the file is in a folder").display().to_string(), "DIR")
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for tests is writable");
    folder
}

#[test]
fn files_that_are_not_scenarios_are_rejected() {
    let folder = folder("files");
    let written = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).expect("the folder for tests is writable");
        path
    };
    assert_eq!(refusal(&folder.join("none.toml")), "DIR/none.toml: there is no such file");
    fs::create_dir(folder.join("folder.toml")).expect("the folder for tests is writable");
    assert_eq!(refusal(&folder.join("folder.toml")), "DIR/folder.toml: is a directory, not a scenario file");
    assert_eq!(refusal(&written("empty.toml", b"")), "DIR/empty.toml: is empty, not a scenario");
    assert_eq!(
        refusal(&written("blank.toml", b"\xef\xbb\xbf \n")),
        "DIR/blank.toml: is empty, not a scenario"
    );
    assert_eq!(
        refusal(&written("latin1.toml", b"duration = \"400 s\"\nname = \"M\xfcnchen\"\n")),
        "DIR/latin1.toml:2:10: not UTF-8: byte 0xfc at byte offset 28"
    );
    assert_eq!(
        refusal(&written("utf16.toml", b"\xff\xfen\0a\0m\0e\0")),
        "DIR/utf16.toml:1:1: not UTF-8: byte 0xff at byte offset 0, it looks like UTF-16"
    );
    let huge = folder.join("huge.toml");
    File::create(&huge).and_then(|file| file.set_len(100_000_000)).expect("the folder for tests is writable");
    assert_eq!(
        refusal(&huge),
        "DIR/huge.toml: is too large for a scenario: 100.0 MB; allowed: at most 4 MiB"
    );
    fs::remove_dir_all(&folder).expect("the folder for tests is writable");
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_rejected_without_opening_them() {
    let folder = folder("pipes");
    let pipe = folder.join("pipe.toml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is part of any Unix");
    assert!(made.success());
    let message = "is not a regular file but a pipe, a socket or a device";
    assert_eq!(refusal(&pipe), format!("DIR/pipe.toml: {message}"));
    assert_eq!(refusal(Path::new("/dev/zero")), format!("DIR/zero: {message}"));
    fs::remove_dir_all(&folder).expect("the folder for tests is writable");
}

#[test]
fn byte_order_mark_and_windows_line_ends_do_not_change_positions() {
    let source = Source::Text { name: "a.toml", text: "\u{feff}nam = \"a\"\r\nduration = \"400 kg\"\r\n" };
    let error = load::<Scenario>(source, &Presets::new(), &[]).unwrap_err();
    let places: Vec<_> = error.problems.iter().map(|problem| (problem.line, problem.column)).collect();
    assert_eq!(places, [(Some(1), Some(1)), (Some(2), Some(12))]);
}

#[test]
fn problems_are_available_as_json() {
    let source = Source::Text { name: "a.toml", text: "duration = \"400 s\"\nsede = 3" };
    let error = load::<Scenario>(source, &Presets::new(), &[]).unwrap_err();
    let problem = &error.to_json()["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["line"], &problem["column"]),
        (&"a.toml".into(), &2.into(), &1.into())
    );
    assert_eq!((&problem["path"], &problem["nearest"]), (&"sede".into(), &"seed".into()));
    assert_eq!(problem["allowed"].as_array().map(Vec::len), Some(6));
}

#[test]
fn errors_in_long_lists_are_found() {
    let entries = "\"cwnd\", ".repeat(200_000);
    let text = format!("duration = \"400 s\"\nrecord = [{entries}3]");
    let error =
        load::<Scenario>(Source::Text { name: "a.toml", text: &text }, &Presets::new(), &[]).unwrap_err();
    assert_eq!(error.to_string(), "a.toml:2:1600011: record.200000 = 3: expected text, found a whole number");
    assert!(parse_bytes(&vec![b' '; SIZE_LIMIT as usize + 1]).is_err());
}

#[test]
fn number_of_reported_unknown_keys_is_limited() {
    let keys: String = (0..50_000).map(|number| format!("k{number} = 1\n")).collect();
    let error =
        load::<Scenario>(Source::Text { name: "a.toml", text: &keys }, &Presets::new(), &[]).unwrap_err();
    assert!(error.to_string().ends_with("more"), "{error}");
}

/// Deep nesting uses stack in the parser and when its tree is dropped, so the test runs on a small
/// stack.
#[test]
fn nesting_bombs_do_not_overflow_the_stack() {
    let keys = "a.".repeat(79);
    let header = "a.".repeat(28);
    let bombs = [
        format!("x = {}{}", "[".repeat(1_000_000), "]".repeat(1_000_000)),
        format!("x = {}1{}", "{a=".repeat(100_000), "}".repeat(100_000)),
        format!("x = {}1{}", format!("{{{keys}a=").repeat(79), "}".repeat(79)),
        format!("x = {}1{}", format!("[{{{keys}a=").repeat(39), "}]".repeat(39)),
        format!("x = {}1", format!("{{]{keys}a=").repeat(79)),
        format!("[{header}a]\nx = {}1{}", "{a=".repeat(30), "}".repeat(30)),
        format!("[[{header}a]]\n[[{header}a.b]]\n{}a = 1", "a.".repeat(31)),
        format!("{}a = 1", "a.".repeat(1_000_000)),
        format!("[{}a]", "a.".repeat(1_000_000)),
    ];
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let tried = small.spawn(move || bombs.iter().filter(|bomb| parse_bytes(bomb.as_bytes()).is_ok()).count());
    let accepted = tried.expect("a thread starts").join().expect("no bomb makes it panic");
    // Within the limit, the depth is the sum of the keys of a header and the depth of a value.
    assert_eq!(accepted, 2);
}
